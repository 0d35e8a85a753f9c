"""Checks that tell a real number of a card, an account or a person from one that only looks like it."""

from __future__ import annotations

import ipaddress

from operations.redaction import patterns

_MAESTRO_LENGTHS = frozenset(range(12, 20))
# (first, last, lengths): the ranges of leading six digits that a brand issues.
_BRANDS = (
    (400000, 499999, frozenset({16})),
    (510000, 559999, frozenset({16})),
    (222100, 272099, frozenset({16})),
    (340000, 349999, frozenset({15})),
    (370000, 379999, frozenset({15})),
    (300000, 305999, frozenset({14, 16})),
    (309500, 309599, frozenset({14, 16})),
    (360000, 369999, frozenset({14, 16})),
    (380000, 399999, frozenset({14, 16})),
    (601100, 601199, frozenset({16, 19})),
    (622126, 622925, frozenset({16, 19})),
    (644000, 659999, frozenset({16, 19})),
    (620000, 629999, frozenset({16, 17, 18, 19})),
    (352800, 358999, frozenset({16, 19})),
    (220000, 220499, frozenset({16, 19})),
    (508500, 508999, frozenset({16})),
    (606900, 608999, frozenset({16})),
)
# Lengths that other numbers have as often: only where the text speaks of cards.
_NAMED_BRANDS = (
    (400000, 499999, frozenset({13, 19})),
    (500000, 509999, _MAESTRO_LENGTHS),
    (560000, 699999, _MAESTRO_LENGTHS),
)
#: How long the account numbers of each country are.
IBAN_LENGTHS = {
    country: int(length)
    for country, length in (
        entry.split(":")
        for entry in patterns.words("""
    AD:24 AE:23 AL:28 AT:20 AZ:28 BA:20 BE:16 BG:22 BH:22 BI:27 BR:29 BY:28 CH:21 CR:22 CY:28 CZ:24
    DE:22 DJ:27 DK:18 DO:28 EE:20 EG:29 ES:24 FI:18 FK:18 FO:18 FR:27 GB:22 GE:22 GI:23 GL:18 GR:27
    GT:28 HN:28 HR:21 HU:28 IE:22 IL:23 IQ:23 IS:26 IT:27 JO:30 KW:30 KZ:20 LB:28 LC:32 LI:21 LT:20
    LU:20 LV:21 LY:25 MC:27 MD:24 ME:22 MK:19 MN:20 MR:27 MT:31 MU:30 NI:28 NL:18 NO:15 OM:23 PK:24
    PL:28 PS:29 PT:25 QA:29 RO:24 RS:22 RU:33 SA:24 SC:31 SD:18 SE:24 SI:19 SK:24 SM:27 SO:23 ST:25
    SV:28 TL:23 TN:24 TR:26 UA:29 VA:22 VG:24 XK:20 YE:30
    """)
    )
}
_COUNTRY_CODES = frozenset(
    patterns.words("""
    1 7 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65
    66 81 82 84 86 90 91 92 93 94 95 98
    """)
)
_COUNTRY_CODE_TENS = frozenset(
    patterns.words("21 22 23 24 25 26 29 35 37 38 42 50 59 67 68 69 80 85 87 88 96 97 99")
)


def is_card(digits: str, *, is_named: bool = False) -> bool:
    """Tell whether `digits` is a card number: a brand's range and length, and the Luhn check."""
    leading = int(digits[:6])
    brands = _BRANDS + _NAMED_BRANDS if is_named else _BRANDS
    if not any(first <= leading <= last and len(digits) in lengths for first, last, lengths in brands):
        return False
    return len(set(digits)) > 1 and passes_luhn(digits)


def passes_luhn(digits: str) -> bool:
    """Tell whether the last digit of `digits` is its Luhn check digit."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit) * (1 + place % 2)
        total += number - 9 if number > 9 else number
    return total % 10 == 0


def is_iban(text: str) -> bool:
    """Tell whether `text`, without spaces, is an account number of a country's length with the right check digits."""
    if len(text) != IBAN_LENGTHS.get(text[:2].upper()):
        return False
    turned = (text[4:] + text[:4]).upper()
    return int("".join(str(int(c, 36)) for c in turned)) % 97 == 1


def is_ssn(digits: str) -> bool:
    """Tell whether nine digits can be a social security number of the United States."""
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def is_international_phone(digits: str) -> bool:
    """Tell whether `digits` begin with a country's code and are as long as a phone number."""
    if not 8 <= len(digits) <= 15:
        return False
    return digits[0] in _COUNTRY_CODES or digits[:2] in _COUNTRY_CODES or digits[:2] in _COUNTRY_CODE_TENS


def is_address_of_somebody(text: str, *, also_private: bool = False) -> bool:
    """Tell whether `text` is an IP address outside this machine and, unless `also_private`, outside private networks.

    The ranges for documentation count as somebody's: they stand for real addresses.
    """
    if ":" not in text:
        return _is_ipv4_of_somebody(text, also_private=also_private)
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return False
    if address.ipv4_mapped is not None:
        return _is_ipv4_of_somebody(str(address.ipv4_mapped), also_private=also_private)
    if address.is_loopback or address.is_unspecified or address.is_multicast or address.is_link_local:
        return False
    return also_private or address not in _PRIVATE_IPV6


def _is_ipv4_of_somebody(text: str, *, also_private: bool) -> bool:
    # By hand: addresses are frequent in what operations say, and `ipaddress` takes ten times as long.
    parts = text.split(".")
    if any((len(part) > 1 and part[0] == "0") or int(part) > 255 for part in parts):
        return False
    first, second = int(parts[0]), int(parts[1])
    if first in (0, 127, 255) or 224 <= first <= 239 or (first, second) == (169, 254):
        return False
    is_inside = (
        first == 10
        or (first == 172 and 16 <= second <= 31)
        or (first == 192 and second == 168)
        or (first == 100 and 64 <= second <= 127)
    )
    return also_private or not is_inside


_PRIVATE_IPV6 = ipaddress.ip_network("fc00::/7")
_FILE_ENDINGS = frozenset(
    patterns.words("""
    png jpg jpeg gif svg webp ico js mjs cjs jsx tsx css scss json html htm txt lock yaml yml toml tgz
    tar gz zip whl jar log map xml csv pdf
    """)
)


def is_mail_address(local: str, domain: str) -> bool:
    """Tell whether `local@domain` names a person's mailbox, not a package's version, an image or a git remote."""
    labels = domain.lower().split(".")
    if labels[-1] in _FILE_ENDINGS or local.lower() in ("git", "hg", "svn"):
        return False
    # left-pad@1.3.0-beta.next is a version: its labels begin with digits.
    return not (labels[0].lstrip("v^~")[:1].isdigit() and labels[1][:1].isdigit())
