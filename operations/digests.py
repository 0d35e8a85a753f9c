"""Canonical bytes of a JSON value, and digests of them.

Two values get the same digest exactly when they are the same JSON value, so what an approver saw can be compared with
what a tool was given. The danger is a parser that makes two values look alike: it keeps the last of two equal keys, or
rounds a large number. Everything that two readers could read differently is therefore refused by name here, and the
canonical form is RFC 8785 (JCS) over what remains.

A plain digest of a short secret can be guessed back; what is stored is always keyed (`keyed`, `short`).
"""

from __future__ import annotations

import hashlib
import json
import re
from decimal import Decimal
from typing import Never

import msgspec
import rfc8785

from operations import rejections

#: The most bytes that are canonicalised: what a record may carry as one value.
LIMIT_BYTES = 256 * 1024
#: The deepest nesting. Beyond some 1,000 levels the parsers end in RecursionError; nobody reads a 65th level.
LIMIT_DEPTH = 64
#: RFC 8785 writes numbers as IEEE doubles, which hold every integer up to here and then begin to skip some.
LARGEST_INTEGER = 2**53 - 1

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")
_NOT_PLAIN = re.compile(rb"\\u|-0|[0-9]{16}")
_SENT = re.compile(r"(?:[a-z0-9-]{1,20}:[0-9a-fA-F]{1,128}|[0-9a-fA-F]{64})")
_LONGEST_SENT = 128


_sorted = msgspec.json.Encoder(order="sorted").encode


def canonical(raw: bytes) -> bytes:
    """Return the RFC 8785 form of one JSON value; raises a named rejection when two readers could differ about it."""
    if len(raw) > LIMIT_BYTES:
        raise rejections.ValueTooLarge
    plain = _canonical_if_plain(raw)
    if plain is not None:
        return plain
    if depth(raw) > LIMIT_DEPTH:
        raise rejections.TooDeep
    try:
        return rfc8785.dumps(
            json.loads(
                raw.decode("utf-8"),
                object_pairs_hook=_unrepeated,
                parse_constant=_no_constant,
                parse_float=_exact_float,
                parse_int=_safe_integer,
            )
        )
    except UnicodeEncodeError:
        raise rejections.BrokenText from None
    except UnicodeDecodeError:
        raise rejections.NotUtf8 from None
    except RecursionError:
        raise rejections.TooDeep from None
    except ValueError:
        raise rejections.ValueNotJson from None


def _canonical_if_plain(raw: bytes) -> bytes | None:
    """Return the same form by a parser written in C, for a value in which the two cannot differ; else None.

    That is ASCII without `\\u`, whose keys sort alike in any encoding, without fractions, exponents, minus zero and
    integers of 16 digits, shallow, and with no key twice: one that stands twice would lose a colon.
    """
    if not raw.isascii() or _NOT_PLAIN.search(raw) or raw.count(b"{") + raw.count(b"[") > LIMIT_DEPTH:
        return None
    try:
        written = _sorted(_plain(raw))
    except (msgspec.DecodeError, ValueError):
        return None
    return written if written.count(b":") == raw.count(b":") else None


def _no_fraction(text: str) -> Never:
    raise ValueError(text)


_plain = msgspec.json.Decoder(float_hook=_no_fraction).decode


def value_digest(raw: bytes) -> str:
    """Return `jcs1-sha256:…` of the canonical form, or `raw-sha256:…` of the bytes as sent when there is none.

    A record is a fact that happened: it is never refused because its value has no canonical form.
    """
    try:
        return "jcs1-sha256:" + hashlib.sha256(canonical(raw)).hexdigest()
    except rejections.Rejection:
        return "raw-sha256:" + hashlib.sha256(raw).hexdigest()


def keyed(key: bytes, digest: str) -> bytes:
    """Return 16 bytes that are equal for equal digests of one project and tell nothing without its key.

    BLAKE2b's keyed mode (RFC 7693), a MAC of its own that costs half of HMAC-SHA256; every record makes several.
    """
    return hashlib.blake2b(digest.encode(), key=key, digest_size=16).digest()


def short(key: bytes, data: bytes, kind: bytes = b"") -> int:
    """Return a keyed hash of `data` as a signed 64-bit integer, fit for a bigint column; apart for every `kind`."""
    digest = hashlib.blake2b(data, key=key, digest_size=8, person=kind).digest()
    return int.from_bytes(digest, "big", signed=True)


def well_formed(digest: str) -> bool:
    """Tell whether a sender may give this digest: `algorithm:hexadecimal`, or 64 hexadecimal digits."""
    return len(digest) <= _LONGEST_SENT and _SENT.fullmatch(digest) is not None


def depth(raw: bytes) -> int:
    """Return how deep the arrays and objects of a JSON text are nested, without parsing it."""
    if raw.count(b"[") + raw.count(b"{") <= 1:
        return raw.count(b"[") + raw.count(b"{")
    level = deepest = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", raw)):
        if bracket in b"[{":
            level += 1
            deepest = max(deepest, level)
        else:
            level -= 1
    return deepest


def _unrepeated(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise rejections.RepeatedKey
    return members


def _no_constant(text: str) -> Never:
    raise rejections.NumberNotFinite


def _exact_float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise rejections.NumberNotFinite
    # The exponent is bounded before Decimal compares: 1e-999999999 would make it build a billion digits.
    if number == 0.0 and re.search(r"[1-9]", re.split("[eE]", text)[0]):
        raise rejections.NumberNotExact
    if Decimal(text) != Decimal(repr(number)):
        raise rejections.NumberNotExact
    return number


def _safe_integer(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > LARGEST_INTEGER:
        raise rejections.NumberNotExact
    return int(text)
