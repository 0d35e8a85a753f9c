"""OTLP/JSON, tolerant of what is really sent.

64-bit integers come as numbers or texts, `status: {}`, `value: {}`, `traceId: ""`, null for anything, ids in either
case. Each span is decoded by itself, so that a broken one is refused alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable

import msgspec

from operations import compact, rejections
from operations.otlp import shapes


class _Message(msgspec.Struct, rename="camel", gc=False):
    """A message of OTLP/JSON; null is the default of every field, and fields unknown to us are left out."""


class _Values(_Message):
    values: list[_Any | None] | None = None


class _Pairs(_Message):
    values: list[_Pair] | None = None


class _Any(_Message):
    string_value: str | None = None
    bool_value: bool | str | None = None
    int_value: int | float | str | None = None
    double_value: float | str | None = None
    bytes_value: str | None = None
    array_value: _Values | None = None
    kvlist_value: _Pairs | None = None


class _Pair(_Message):
    key: str = ""
    value: _Any | None = None


class _Event(_Message):
    name: str | None = None
    attributes: list[_Pair] | None = None


class _Status(_Message):
    code: int | str | None = None
    message: str | None = None


class _Span(_Message):
    trace_id: str | None = None
    span_id: str | None = None
    parent_span_id: str | None = None
    name: str | None = None
    start_time_unix_nano: int | str | None = None
    end_time_unix_nano: int | str | None = None
    status: _Status | None = None
    attributes: list[_Pair] | None = None
    events: list[_Event] | None = None


class _Scope(_Message):
    name: str | None = None
    version: str | None = None


class _ScopeSpans(_Message):
    scope: _Scope | None = None
    spans: list[msgspec.Raw] | None = None


class _Resource(_Message):
    attributes: list[_Pair] | None = None


class _ResourceSpans(_Message):
    resource: _Resource | None = None
    scope_spans: list[_ScopeSpans] | None = None


class _Request(_Message):
    resource_spans: list[_ResourceSpans] | None = None


_decode_request = msgspec.json.Decoder(_Request).decode
_decode_span = msgspec.json.Decoder(_Span).decode

_HEX = re.compile(r"[0-9a-fA-F]+\Z")
_STATUSES = {"STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": shapes.ERROR}


def read(body: bytes, wanted: Collection[str]) -> tuple[list[shapes.Span], int]:
    """Return the spans of a request with their `wanted` attributes, and how many were too broken to read."""
    try:
        request = _decode_request(body) if body else _Request()
    except (msgspec.MsgspecError, RecursionError, ValueError):
        request = _read_odd(body)
    spans, broken = [], 0
    for resource_spans in request.resource_spans or ():
        resource = _pick((resource_spans.resource or _Resource()).attributes, wanted)
        for scope_spans in resource_spans.scope_spans or ():
            scope = scope_spans.scope or _Scope()
            origin = shapes.Origin(resource, scope.name or "", scope.version or "")
            for raw in scope_spans.spans or ():
                try:
                    spans.append(_span(_decode_span(raw), origin, wanted))
                except (msgspec.MsgspecError, RecursionError, ValueError):
                    broken += 1
    return spans, broken


def _read_odd(body: bytes) -> _Request:
    """Read JSON that holds halves of surrogate pairs, which JavaScript sends; they become U+FFFD."""
    try:
        text = compact.storable_text(json.dumps(json.loads(body), ensure_ascii=False))
        return _decode_request(text.encode())
    except (msgspec.MsgspecError, RecursionError, ValueError):
        raise rejections.BodyNotOtlp from None


def _span(span: _Span, origin: shapes.Origin, wanted: Collection[str]) -> shapes.Span:
    status = span.status or _Status()
    events = [shapes.Event(event.name or "", _pick(event.attributes, wanted)) for event in span.events or ()]
    return shapes.Span(
        _hex(span.trace_id, 32),
        _hex(span.span_id, 16),
        _hex(span.parent_span_id, 16),
        span.name or "",
        _int(span.start_time_unix_nano),
        _int(span.end_time_unix_nano),
        _status_code(status.code),
        status.message or "",
        _pick(span.attributes, wanted),
        tuple(events),
        origin,
    )


def _hex(told: str | None, length: int) -> str:
    return told.lower() if told and len(told) == length and _HEX.match(told) and told.strip("0") else ""


def _status_code(told: int | str | None) -> int:
    return _STATUSES.get(told, 0) if isinstance(told, str) else told or 0


def _int(told: int | str | None) -> int:
    return int(told) if told else 0


def _pick(pairs: Iterable[_Pair] | None, wanted: Collection[str]) -> dict[str, shapes.Value]:
    found = {}
    for pair in pairs or ():
        if pair.key in wanted and pair.value is not None:
            plain = pair.value.string_value
            if plain is None:
                plain = _plain(pair.value)
            if plain is not None:
                found[pair.key] = plain
    return found


def _plain(value: _Any | None) -> shapes.Value:
    if value is None:
        return None
    if value.array_value is not None:
        return [_plain(item) for item in value.array_value.values or ()]
    if value.kvlist_value is not None:
        return {pair.key: _plain(pair.value) for pair in value.kvlist_value.values or ()}
    if isinstance(value.bool_value, str):
        return value.bool_value == "true"
    if value.int_value is not None:
        return int(value.int_value)
    for told in (value.string_value, value.bool_value, value.double_value, value.bytes_value):
        if told is not None:
            return told
    return None
