"""Arguments and results as they come in attributes: structured, or as text that may hold JSON, maybe twice.

What goes into a record is the JSON as it was sent, byte for byte where that is possible, so that equal
values have equal digests whichever way they came.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import msgspec

from operations import compact, digests, limits, redaction, wire

#: What emitters write where they have nothing to say.
UNSAID = "<not specified>"
PLACEHOLDERS = frozenset({"", UNSAID, "None", "undefined"})

Part = TypeVar("Part", bound=wire.Payload)

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_OPENINGS = frozenset('{["-0123456789tfn \n\r\t')


class Json(NamedTuple):
    """A value, and the JSON text that says it."""

    raw: bytes
    value: Any


def read(told: object) -> Json | None:
    """Return what an attribute says; text is parsed as JSON at most twice, and a placeholder is nothing."""
    if not isinstance(told, str):
        return Json(_encode(told), told)
    if told in PLACEHOLDERS:
        return None
    outer = _parse(told)
    if outer is None:
        return Json(_encode(told), told)
    if isinstance(outer.value, str):
        inner = _parse(outer.value) if outer.value[:1] in {"{", "["} else None
        return inner or (None if outer.value in PLACEHOLDERS else outer)
    if isinstance(outer.value, dict) and list(outer.value.values()) == [UNSAID]:
        return None
    return outer


def payload(kind: type[Part], told: Json) -> Part:
    """Return `told` as a record's input or output; one beyond the limit as its digest and compact form.

    The compact form is redacted first: shortening could cut a secret in two that no rule finds again.
    """
    if len(told.raw) <= limits.VALUE_BYTES_MAX:
        return kind(value=msgspec.Raw(told.raw))
    clean, _ = redaction.redact_json(told.raw)
    short, _ = compact.compact_value(clean, limits.COMPACT_BYTES_MAX)
    digest, size = digests.value_digest(told.raw), len(told.raw)
    return kind(digest=digest, bytes=size, compact=msgspec.Raw(short), truncated=True)


def _parse(text: str) -> Json | None:
    if text[0] not in _OPENINGS:
        return None
    try:
        return Json(text.strip().encode(), _decode(text))
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None
