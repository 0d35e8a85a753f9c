"""The bounded compact form of a JSON value: small, whole JSON, and the same bytes for the same value.

A page needs to see what kind of thing went in and came out, not all of it. Long texts keep their head, long
arrays and objects their first members, deep ones their outer levels, and each cut says how much it left out.
Redaction runs before this, so a secret is never cut in half and missed.
"""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import islice

import msgspec

LIMIT_BYTES = 4096
_LONGEST_NUMBER = 64

# From generous to stingy: (characters of a text, members of an array or object, levels). The first that fits
# is taken.
_STEPS = (
    (1024, 64, 12),
    (512, 48, 10),
    (256, 32, 8),
    (128, 24, 6),
    (96, 16, 5),
    (64, 12, 4),
    (48, 8, 4),
    (32, 6, 3),
    (24, 4, 3),
    (16, 3, 2),
    (8, 2, 1),
    (4, 1, 1),
)

_decoder = msgspec.json.Decoder(float_hook=Decimal)
_encoder = msgspec.json.Encoder(decimal_format="number")


def compact_value(raw: bytes, limit_bytes: int = LIMIT_BYTES) -> tuple[bytes, bool]:
    """Return `raw`, or a shortened JSON value of at most `limit_bytes`, and whether anything was left out.

    What PostgreSQL cannot store is replaced on the way: NUL by U+2400, half surrogate pairs by U+FFFD. What cannot be
    read at all, too deep or with a number of thousands of digits, is told by its size.
    """
    try:
        storable = _storable(raw)
        if len(storable) <= limit_bytes:
            return storable, False
        value = _decoder.decode(storable)
        dense = _encoder.encode(value)
        if len(dense) <= limit_bytes:
            return dense, False
        for characters, members, levels in _STEPS:
            shorter = _encoder.encode(_shorten(value, characters, members, levels))
            if len(shorter) <= limit_bytes:
                return shorter, True
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    return f'"…(+{len(raw)} bytes)"'.encode(), True


def storable_text(text: str) -> str:
    """Return `text` as PostgreSQL can store it."""
    if "\0" in text:
        text = text.replace("\0", "\u2400")
    try:
        text.encode()
    except UnicodeEncodeError:
        # utf-16 joins the halves that belong together; those that are left alone become U+FFFD.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def repaired(raw: bytes) -> bytes:
    """Return one JSON value as strict JSON in UTF-8 that PostgreSQL can store; raises ValueError."""
    value = json.loads(raw.decode("utf-8", "replace"), parse_float=Decimal, strict=False)
    return _encoder.encode(_clean(value))


def _storable(raw: bytes) -> bytes:
    if b"\\u" not in raw and raw.isascii():
        return raw
    try:
        if b"\\u0000" not in raw:
            _decoder.decode(raw)
            return raw
    except (msgspec.DecodeError, RecursionError):
        pass
    return repaired(raw)


def _clean(value: object) -> object:
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, list):
        return [_clean(member) for member in value]
    if isinstance(value, dict):
        return {storable_text(key): _clean(member) for key, member in value.items()}
    return value


def _shorten(value: object, characters: int, members: int, levels: int) -> object:
    if isinstance(value, str):
        return _shorten_text(value, characters)
    if isinstance(value, list):
        if not levels and value:
            return [f"…(+{len(value)} items)"]
        kept = [_shorten(member, characters, members, levels - 1) for member in value[:members]]
        return [*kept, f"…(+{len(value) - members} items)"] if len(value) > members else kept
    if isinstance(value, dict):
        if not levels and value:
            return {"…": f"(+{len(value)} members)"}
        short: dict[str, object] = {}
        for key, member in islice(value.items(), members):
            name = _shorten_text(key, characters)
            while name in short:
                name += "'"
            short[name] = _shorten(member, characters, members, levels - 1)
        return short | {"…": f"(+{len(value) - members} members)"} if len(value) > members else short
    if isinstance(value, Decimal | int) and len(text := str(value)) > _LONGEST_NUMBER:
        return f"{text[:characters]}…(+{max(0, len(text) - characters)} digits)"
    return value


def _shorten_text(text: str, characters: int) -> str:
    # The mark itself takes room: a text that would hardly become shorter stays whole.
    if len(text) <= characters + 12:
        return text
    return f"{text[:characters]}…(+{len(text) - characters} chars)"
