"""Personal data that shows by its form: cards, accounts, social security numbers, mail, phone and IP addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from operations.redaction import patterns, validators
from operations.redaction.patterns import Span

CARD_PATTERN = (
    # Not after a point: fractions have as many digits, and every measured duration has one.
    r"(?:^|[^0-9A-Za-z.])([2-6][0-9]{11,18}|[2-6][0-9]{3}(?:[ -][0-9]{4}){3}(?:[ -]?[0-9]{1,3})?"
    r"|3[0-9]{3}[ -][0-9]{6}[ -][0-9]{4,5})"
    r"(?:\b|_)"
)
_COUNTRIES = "|".join(validators.IBAN_LENGTHS)
IBAN_PATTERN = rf"\b(?i:{_COUNTRIES})[0-9]{{2}}(?:[ -]?[A-Za-z0-9]{{4}}){{2}}[ -]?[A-Za-z0-9]{{3}}"
SSN_PATTERN = (
    r"(?:\b|_)([0-9]{3}-[0-9]{2}-[0-9]{4})(?:\b|_)"
    r"|(?i:ssn|social security)[^0-9]{0,12}([0-9]{3}[ .-]?[0-9]{2}[ .-]?[0-9]{4})\b"
)
_L = patterns.LETTERS
MAIL_PATTERN = rf"[{_L}][{_L}._%+'-]*@(?:[{_L}-]+\.)+[{_L}-]{{2,}}"
PHONE_PATTERN = (
    r"(\+[1-9](?:[ ./()-]{0,2}[0-9]){7,14})\b|(\([2-9][0-9]{2}\)[ .-]?[2-9][0-9]{2}[ .-][0-9]{4})\b"
    r"|\b(?:1[ .-])?([2-9][0-9]{2}[.-][2-9][0-9]{2}[.-][0-9]{4})\b"
    r"|(?i:\b(?:tel|phone|mobile|cell|fax|call|sms|whatsapp))[.:]?[ \t]{1,3}([0-9](?:[ ./()-]{0,2}[0-9]){7,13})\b"
)
IP_PATTERN = (
    r"\b([0-9]{1,3}(?:\.[0-9]{1,3}){3})\b"
    r"|((?:[0-9A-Fa-f]{1,4}:){1,6}(?::[0-9A-Fa-f]{1,4}){1,6}|(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}"
    r"|[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){1,6}::)"
)

_card = patterns.compiled(CARD_PATTERN)
_ssn = patterns.compiled(SSN_PATTERN)
_mail = patterns.compiled(MAIL_PATTERN)
_phone = patterns.compiled(PHONE_PATTERN)
_ip = patterns.compiled(IP_PATTERN)

_ACCOUNT_START = re.compile(r"\b[A-Za-z]{2}[0-9]{2}(?=[ -]?[A-Za-z0-9]{4})", re.ASCII)
_ACCOUNT = re.compile(r"[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]{4})+(?:[ -]?[A-Za-z0-9]{1,3})?")
_MAIL_LOCAL = re.compile(r"[^\W_][\w.%+'-]*\Z")
_MAIL_DOMAIN = re.compile(r"(?:[^\W_][\w-]{0,62}\.)+(?:xn--[a-z0-9-]+|[^\W\d_]{2,24})")
_LONGEST_MAIL_LOCAL = 128
_LONGEST_MAIL_DOMAIN = 255
_NOT_A_DIGIT = re.compile(r"[^0-9]")
_SPEAKS_OF_CARDS = re.compile(r"(?i)card|visa|maestro|amex|\bpan\b|\bcc\b")
_VERSION_BEFORE = re.compile(r"(?i)(?:[A-Za-z]/|\bv|version[ :=]*|\bver[ .:=]*|lib \S*|[=~^><]=?\s?)\Z")
_BEFORE_HOST = re.compile(r"://[^\s/\"'<>]*\Z")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def find_cards(text: str) -> Iterator[Span]:
    """Yield card numbers, with or without spaces and dashes."""
    for match in _card.finditer(text):
        start, end = match.span(1)
        is_named = bool(_SPEAKS_OF_CARDS.search(text, max(0, start - 40), start))
        if _is_apart(text, start, end) and validators.is_card(_digits(text[start:end]), is_named=is_named):
            yield Span(start, end, "card")


def find_accounts(text: str) -> Iterator[Span]:
    """Yield international bank account numbers, with or without spaces."""
    for match in _ACCOUNT_START.finditer(text):
        start = match.start()
        end = _end_after(text, start, validators.IBAN_LENGTHS.get(text[start : start + 2].upper(), 0))
        if _ACCOUNT.fullmatch(text, start, end) and validators.is_iban(re.sub("[ -]", "", text[start:end])):
            yield Span(start, end, "iban")


def find_ssns(text: str) -> Iterator[Span]:
    """Yield social security numbers of the United States."""
    for match in _ssn.finditer(text):
        start, end = match.span(1) if match[1] else match.span(2)
        if _is_apart(text, start, end) and validators.is_ssn(_digits(text[start:end])):
            yield Span(start, end, "ssn")


def find_mail_addresses(text: str) -> Iterator[Span]:
    """Yield mail addresses, with international domains too."""
    for match in _mail.finditer(text):
        at = text.index("@", match.start())
        local = _MAIL_LOCAL.search(text, max(match.start(), at - _LONGEST_MAIL_LOCAL), at)
        domain = _MAIL_DOMAIN.match(text, at + 1, at + 1 + _LONGEST_MAIL_DOMAIN)
        if not local or not domain or _BEFORE_HOST.search(text, max(0, local.start() - 256), local.start()):
            continue
        if validators.is_mail_address(local[0], domain[0]):
            yield Span(local.start(), domain.end(), "email")


def find_phones(text: str) -> Iterator[Span]:
    """Yield phone numbers with a country's code, in the form of North America, or after a word for them."""
    for match in _phone.finditer(text):
        for group in range(1, 5):
            start, end = match.span(group)
            if start < 0 or not _is_apart(text, start, end) or _DATE.search(text, start, end):
                continue
            if group > 1 or validators.is_international_phone(_digits(text[start:end])):
                yield Span(start, end, "phone")


def find_ip_addresses(text: str) -> Iterator[Span]:
    """Yield IP addresses of somebody outside: not of this machine, of private networks, or versions of software."""
    yield from ip_spans(text)


def ip_spans(text: str, *, also_private: bool = False) -> Iterator[Span]:
    """Yield the IP addresses in `text`; `also_private` where a name says that they are a person's."""
    for match in _ip.finditer(text):
        start, end = match.span()
        before, after = text[start - 1 : start], text[end : end + 1]
        if match[1]:
            if before in (".", "-", "_") or (after in (".", "-", "_") and text[end + 1 : end + 2].isalnum()):
                continue
            if _VERSION_BEFORE.search(text, max(0, start - 16), start):
                continue
        elif (
            before.isalnum()
            or before in (":", "_")
            or after.isalnum()
            or after in (":", "_")
            or not _is_ipv6(match[2] or "")
        ):
            continue
        if validators.is_address_of_somebody(text[start:end], also_private=also_private):
            yield Span(start, end, "ip")


def _is_ipv6(text: str) -> bool:
    # `a::b` is how programs write names; an address has more groups, or begins with four digits.
    return text.count(":") > 2 or len(text.split(":")[0]) == 4


def _is_apart(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    if before.isalnum() or after.isalnum():
        return False
    if before in (".", "-", "+") and (text[start - 2 : start - 1].isalnum() or before == "."):
        return False
    return not (
        after in (".", "-") and text[end + 1 : end + 2].isalnum() and text[end + 1 : end + 2].isascii()
    )


def _end_after(text: str, start: int, length: int) -> int:
    seen = 0
    for at in range(start, min(len(text), start + 2 * length)):
        seen += text[at] not in " -"
        if seen == length:
            return 0 if text[at + 1 : at + 2].isalnum() else at + 1
    return 0


def _digits(text: str) -> str:
    return _NOT_A_DIGIT.sub("", text)
