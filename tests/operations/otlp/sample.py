"""Spans as exporters send them: `span(...)` in a `request(...)`, as protobuf bytes or as JSON."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Sequence
from typing import Any

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

INTERNAL, SERVER, CLIENT = 1, 2, 3
UNSET, OK, ERROR = 0, 1, 2
TRACE = "0af7651916cd43dd8448eb211c80319c"

Attributes = dict[str, Any]


def any_value(value: Any) -> common_pb2.AnyValue:
    """`value` as OTLP's AnyValue."""
    if value is None:
        return common_pb2.AnyValue()
    if isinstance(value, bool):
        return common_pb2.AnyValue(bool_value=value)
    if isinstance(value, str):
        return common_pb2.AnyValue(string_value=value)
    if isinstance(value, int):
        return common_pb2.AnyValue(int_value=value)
    if isinstance(value, float):
        return common_pb2.AnyValue(double_value=value)
    if isinstance(value, bytes):
        return common_pb2.AnyValue(bytes_value=value)
    if isinstance(value, dict):
        return common_pb2.AnyValue(kvlist_value=common_pb2.KeyValueList(values=pairs(value)))
    return common_pb2.AnyValue(array_value=common_pb2.ArrayValue(values=[any_value(item) for item in value]))


def pairs(attributes: Attributes) -> list[common_pb2.KeyValue]:
    """`attributes` as OTLP's key-value pairs."""
    return [common_pb2.KeyValue(key=key, value=any_value(value)) for key, value in attributes.items()]


def span(
    name: str = "execute_tool get_weather",
    span_id: str = "b7ad6b7169203331",
    *,
    trace_id: str = TRACE,
    parent: str = "",
    kind: int = INTERNAL,
    start_ns: int | None = None,
    duration_ns: int = 2_000_000,
    status: int = UNSET,
    message: str = "",
    events: Sequence[tuple[str, Attributes]] = (),
    **attributes: Any,
) -> trace_pb2.Span:
    """One span; attributes are given with `__` for each dot, or as `attributes={…}`."""
    start = time.time_ns() - 60_000_000_000 if start_ns is None else start_ns
    told = dict(attributes.pop("attributes", {}))
    told |= {key.replace("__", "."): value for key, value in attributes.items()}
    return trace_pb2.Span(
        trace_id=bytes.fromhex(trace_id),
        span_id=bytes.fromhex(span_id),
        parent_span_id=bytes.fromhex(parent),
        name=name,
        kind=kind,  # type: ignore[arg-type]
        start_time_unix_nano=start,
        end_time_unix_nano=start + duration_ns if duration_ns else 0,
        status=trace_pb2.Status(code=status, message=message),  # type: ignore[arg-type]
        attributes=pairs(told),
        events=[trace_pb2.Span.Event(name=name, attributes=pairs(told)) for name, told in events],
    )


def tool_span(tool: str = "get_weather", span_id: str = "b7ad6b7169203331", **more: Any) -> trace_pb2.Span:
    """A span by the GenAI conventions: `execute_tool`, with `more` as for `span`."""
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, **more.pop("attributes", {})}
    return span(f"execute_tool {tool}", span_id, attributes=told, **more)


def exception(kind: str, message: str) -> tuple[str, Attributes]:
    """An `exception` event."""
    return "exception", {"exception.type": kind, "exception.message": message, "exception.stacktrace": "…"}


def request(
    *spans: trace_pb2.Span,
    resource: Attributes | None = None,
    scope: tuple[str, str] = ("agent-sdk", "2.1.0"),
) -> trace_service_pb2.ExportTraceServiceRequest:
    """A request with `spans` of one service."""
    made = trace_service_pb2.ExportTraceServiceRequest()
    resource_spans = made.resource_spans.add()
    told = {"service.name": "shop-agent", "service.version": "3.2"} if resource is None else resource
    resource_spans.resource.attributes.extend(pairs(told))
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name, scope_spans.scope.version = scope
    scope_spans.spans.extend(spans)
    return made


def body(*spans: trace_pb2.Span, **more: Any) -> bytes:
    """A request as protobuf."""
    return request(*spans, **more).SerializeToString()


def json_body(*spans: trace_pb2.Span, **more: Any) -> bytes:
    """The same request as OTLP/JSON, whose ids are hexadecimal where protobuf's JSON has base64."""
    made = json_format.MessageToDict(request(*spans, **more), use_integers_for_enums=True)
    for resource_spans in made["resourceSpans"]:
        for scope_spans in resource_spans["scopeSpans"]:
            for told in scope_spans.get("spans", []):
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in told:
                        told[name] = base64.b64decode(told[name]).hex()
    return json.dumps(made).encode()
