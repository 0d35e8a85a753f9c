"""OTLP trace requests, protobuf or JSON, to one frozen `Span` tuple.

Only the attributes that somebody asked for are read: most spans of a trace are no tool calls, and walking
every attribute of them costs more than everything else together. Protobuf goes through upb; its pure Python
twin is a hundred times slower and is refused when the process starts.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

from operations import compact, rejections

if api_implementation.Type() != "upb":
    raise ImportError(
        "OTLP needs protobuf's upb; PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION chose something else."
    )

#: An attribute's value: text, number, boolean, list or mapping of these.
Value = Any

CLIENT, SERVER = 3, 2  # SpanKind
ERROR = 2  # StatusCode


class Event(NamedTuple):
    """Something that happened during a span."""

    name: str
    attributes: dict[str, Value]


class Origin(NamedTuple):
    """Who sent a span: its resource's attributes and the instrumentation's name and version."""

    attributes: dict[str, Value]
    scope_name: str
    scope_version: str


class Span(NamedTuple):
    """One span, with the wanted ones of its attributes; what was not told is empty or 0."""

    trace_id: str
    span_id: str
    parent_span_id: str
    name: str
    kind: int
    start_ns: int
    end_ns: int
    status_code: int
    status_message: str
    attributes: dict[str, Value]
    events: tuple[Event, ...]
    origin: Origin


class Decoded(NamedTuple):
    """The spans of a request, and how many were too broken to read."""

    spans: list[Span]
    broken: int


def read(body: bytes, *, is_json: bool, wanted: Collection[str]) -> Decoded:
    """Decode the spans of an ExportTraceServiceRequest, keeping the `wanted` attributes.

    Raises `BodyNotOtlp` when there are no single spans to tell apart.
    """
    if is_json:
        return _read_json(body, wanted)
    try:
        request = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
    except DecodeError:
        raise rejections.BodyNotOtlp from None
    return Decoded(list(_protobuf_spans(request, wanted)), 0)


# --- Protobuf -------------------------------------------------------------------------------------


def _protobuf_spans(request: Any, wanted: Collection[str]) -> Iterator[Span]:
    for resource_spans in request.resource_spans:
        resource = _pick(resource_spans.resource.attributes, wanted)
        for scope_spans in resource_spans.scope_spans:
            scope = scope_spans.scope
            origin = Origin(resource, scope.name, scope.version)
            for span in scope_spans.spans:
                status = span.status
                yield Span(
                    _id(span.trace_id, 16),
                    _id(span.span_id, 8),
                    _id(span.parent_span_id, 8),
                    span.name,
                    span.kind,
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    status.code,
                    status.message,
                    _pick(span.attributes, wanted),
                    tuple(Event(event.name, _pick(event.attributes, wanted)) for event in span.events),
                    origin,
                )


def _id(told: bytes, length: int) -> str:
    """Return an id in hex; one of another length, or of zeroes alone, is invalid and as good as none."""
    return told.hex() if len(told) == length and any(told) else ""


def _pick(pairs: Iterable[Any], wanted: Collection[str]) -> dict[str, Value]:
    found = {}
    for pair in pairs:
        key = pair.key
        if key in wanted:
            value = pair.value
            plain = value.string_value or _plain(value)
            if plain is not None:
                found[key] = plain
    return found


def _plain(value: Any) -> Value:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    told = getattr(value, kind)
    if kind == "array_value":
        return [_plain(item) for item in told.values]
    if kind == "kvlist_value":
        return {pair.key: _plain(pair.value) for pair in told.values}
    return base64.b64encode(told).decode() if kind == "bytes_value" else told


# --- JSON ----------------------------------------------------------------------------------------- As
# really sent: 64-bit integers as numbers or strings, `status: {}`, `value: {}`, `body: null`, `traceId:
# ""`, ids in either case. Each span is decoded by itself, so that a broken one is refused alone.


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
    kind: int | str | None = None
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
_KINDS = {"SPAN_KIND_SERVER": SERVER, "SPAN_KIND_CLIENT": CLIENT}
_STATUSES = {"STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": ERROR}


def _read_json(body: bytes, wanted: Collection[str]) -> Decoded:
    try:
        request = _decode_request(body) if body else _Request()
    except (msgspec.MsgspecError, RecursionError, ValueError):
        request = _read_odd_json(body)
    spans, broken = [], 0
    for resource_spans in request.resource_spans or ():
        resource = _pick_json((resource_spans.resource or _Resource()).attributes, wanted)
        for scope_spans in resource_spans.scope_spans or ():
            scope = scope_spans.scope or _Scope()
            origin = Origin(resource, scope.name or "", scope.version or "")
            for raw in scope_spans.spans or ():
                try:
                    spans.append(_json_span(_decode_span(raw), origin, wanted))
                except (msgspec.MsgspecError, RecursionError, ValueError):
                    broken += 1
    return Decoded(spans, broken)


def _read_odd_json(body: bytes) -> _Request:
    """Read JSON that holds halves of surrogate pairs, which JavaScript sends; they become U+FFFD."""
    try:
        text = compact.storable_text(json.dumps(json.loads(body), ensure_ascii=False))
        return _decode_request(text.encode())
    except (msgspec.MsgspecError, RecursionError, ValueError):
        raise rejections.BodyNotOtlp from None


def _json_span(span: _Span, origin: Origin, wanted: Collection[str]) -> Span:
    status = span.status or _Status()
    events = [Event(event.name or "", _pick_json(event.attributes, wanted)) for event in span.events or ()]
    return Span(
        _hex(span.trace_id, 32),
        _hex(span.span_id, 16),
        _hex(span.parent_span_id, 16),
        span.name or "",
        _enum(span.kind, _KINDS),
        _int(span.start_time_unix_nano),
        _int(span.end_time_unix_nano),
        _enum(status.code, _STATUSES),
        status.message or "",
        _pick_json(span.attributes, wanted),
        tuple(events),
        origin,
    )


def _hex(told: str | None, length: int) -> str:
    return told.lower() if told and len(told) == length and _HEX.match(told) and told.strip("0") else ""


def _enum(told: int | str | None, names: dict[str, int]) -> int:
    return names.get(told, 0) if isinstance(told, str) else told or 0


def _int(told: int | str | None) -> int:
    return int(told) if told else 0


def _pick_json(pairs: Iterable[_Pair] | None, wanted: Collection[str]) -> dict[str, Value]:
    found = {}
    for pair in pairs or ():
        if pair.key in wanted and pair.value is not None:
            plain = pair.value.string_value
            if plain is None:
                plain = _plain_json(pair.value)
            if plain is not None:
                found[pair.key] = plain
    return found


def _plain_json(value: _Any | None) -> Value:
    if value is None:
        return None
    if value.array_value is not None:
        return [_plain_json(item) for item in value.array_value.values or ()]
    if value.kvlist_value is not None:
        return {pair.key: _plain_json(pair.value) for pair in value.kvlist_value.values or ()}
    if isinstance(value.bool_value, str):
        return value.bool_value == "true"
    if value.int_value is not None:
        return int(value.int_value)
    for told in (value.string_value, value.bool_value, value.double_value, value.bytes_value):
        if told is not None:
            return told
    return None
