"""OTLP trace requests, protobuf or JSON, to one frozen tuple a span.

Only the attributes that somebody asked for are read: most spans of a trace are no tool calls, and walking
every attribute of them costs more than everything else together. Protobuf goes through upb; its pure Python
twin is a hundred times slower and is refused when the process starts.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

from operations import rejections
from operations.otlp import json_spans, shapes

if api_implementation.Type() != "upb":
    raise ImportError(
        "OTLP needs protobuf's upb; PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION chose something else."
    )


class Decoded(NamedTuple):
    """The spans of a request, and how many were too broken to read."""

    spans: list[shapes.Span]
    broken: int


def read(body: bytes, *, is_json: bool, wanted: Collection[str]) -> Decoded:
    """Decode the spans of an ExportTraceServiceRequest, keeping the `wanted` attributes.

    Raises `BodyNotOtlp` when there are no single spans to tell apart.
    """
    if is_json:
        return Decoded(*json_spans.read(body, wanted))
    try:
        request = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
    except DecodeError:
        raise rejections.BodyNotOtlp from None
    return Decoded(list(_spans(request, wanted)), 0)


def _spans(request: Any, wanted: Collection[str]) -> Iterator[shapes.Span]:
    for resource_spans in request.resource_spans:
        resource = _pick(resource_spans.resource.attributes, wanted)
        for scope_spans in resource_spans.scope_spans:
            scope = scope_spans.scope
            origin = shapes.Origin(resource, scope.name, scope.version)
            for span in scope_spans.spans:
                status = span.status
                yield shapes.Span(
                    _id(span.trace_id, 16),
                    _id(span.span_id, 8),
                    _id(span.parent_span_id, 8),
                    span.name,
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    status.code,
                    status.message,
                    _pick(span.attributes, wanted),
                    tuple(shapes.Event(event.name, _pick(event.attributes, wanted)) for event in span.events),
                    origin,
                )


def _id(told: bytes, length: int) -> str:
    """Return an id in hex; one of another length, or of zeroes alone, is invalid and as good as none."""
    return told.hex() if len(told) == length and any(told) else ""


def _pick(pairs: Iterable[Any], wanted: Collection[str]) -> dict[str, shapes.Value]:
    found = {}
    for pair in pairs:
        key = pair.key
        if key in wanted:
            value = pair.value
            plain = value.string_value or _plain(value)
            if plain is not None:
                found[key] = plain
    return found


def _plain(value: Any) -> shapes.Value:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    told = getattr(value, kind)
    if kind == "array_value":
        return [_plain(item) for item in told.values]
    if kind == "kvlist_value":
        return {pair.key: _plain(pair.value) for pair in told.values}
    return base64.b64encode(told).decode() if kind == "bytes_value" else told
