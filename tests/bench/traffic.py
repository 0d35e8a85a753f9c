"""Seeded tool calls as request bodies: JSON, two-phase JSON, and OTLP of the same kind."""

from __future__ import annotations

import datetime
import json
import random
from typing import Any

from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2

TOOLS = (
    "read_file", "search_code", "run_shell", "edit_file", "list_dir", "web_fetch", "sql_query", "http_request",
    "send_email", "create_issue", "vector_search", "calendar_lookup", "delegate_task",
)  # fmt: skip
WRITES = {"edit_file", "run_shell", "send_email", "create_issue"}
MODELS = ("claude-x", "gpt-y", "gemini-z")
RUNTIMES = ("coder@2.3", "researcher@1.9", "support@4.0", "analyst@0.7", "release-bot@1.1")
CODES = ("not_found", "quota_exceeded", "permission_denied", "stale_revision", "exit_status")
WORDS = [
    "error",
    "handler",
    "returns",
    "the",
    "cached",
    "value",
    "when",
    "upstream",
    "rejects",
    "a",
    "request",
    "with",
    "retry",
    "budget",
    "left",
    "otherwise",
    "propagate",
    "status",
    "to",
    "caller",
    "and",
    "record",
    "latency",
    "histogram",
    "bucket",
    "index",
    "open",
    "file",
    "path",
    "line",
    "column",
    "parse",
    "config",
    "yaml",
    "migrate",
    "table",
    "rows",
    "user",
    "session",
    "tenant",
    "invoice",
    "shipment",
    "order",
    "refund",
    "ticket",
    "priority",
    "queue",
    "worker",
    "lease",
]

Record = dict[str, Any]


def records(count: int, *, seed: int, begin: datetime.datetime, spread: datetime.timedelta) -> list[Record]:
    """Return finished calls of about 1 kB each, begun evenly over `spread`, in sessions of twenty."""
    rng = random.Random(seed)
    step = spread / max(1, count)
    return [_record(rng, seed, number, begin + step * number) for number in range(count)]


def _record(rng: random.Random, seed: int, number: int, started: datetime.datetime) -> Record:
    tool = rng.choice(TOOLS)
    ended = started + datetime.timedelta(milliseconds=rng.lognormvariate(4.5, 1.2))
    session = f"session-{seed}-{number // 20}"
    told: Record = {
        "operation_id": f"{session}/{number % 20}",
        "tool_call_id": f"call_{rng.getrandbits(96):024x}",
        "tool": tool,
        "tool_version": "1.4.2",
        "effect": "write" if tool in WRITES else "read",
        "environment": "production",
        "runtime": rng.choice(RUNTIMES),
        "provider": "example",
        "model": rng.choice(MODELS),
        "session_id": session,
        "turn_id": f"turn-{number % 20 // 5}",
        "iteration": number % 5,
        "trace_id": f"{rng.getrandbits(128):032x}",
        "span_id": f"{rng.getrandbits(64):016x}",
        "started_at": started.isoformat(),
        "ended_at": ended.isoformat(),
        "timeout_ms": 30_000,
        "status": "done",
        "outcome": "success",
        "input": _payload(rng, {"path": f"src/app/{number}.py", "query": _text(rng, 200), "limit": 20}),
        "output": _payload(rng, {"ok": True, "text": _text(rng, 210)}),
    }
    luck = rng.random()
    if luck < 0.08:
        told |= {"outcome": "failure", "code": rng.choice(CODES)}
    elif luck < 0.11:
        told |= {"status": "runtime_error", "outcome": None, "code": "connection_reset"}
    return told


def _payload(rng: random.Random, compact: Record) -> Record:
    return {"digest": f"sha256:{rng.getrandbits(256):064x}", "bytes": len(str(compact)), "compact": compact}


def _text(rng: random.Random, length: int) -> str:
    words: list[str] = []
    size = 0
    while size < length:
        words.append(rng.choice(WORDS))
        size += len(words[-1]) + 1
    return " ".join(words)[:length]


def two_phase(told: list[Record]) -> list[Record]:
    """Return each call as its start and its ending, the ending a little later in the stream."""
    ending = {"ended_at", "status", "outcome", "code", "output"}
    starts = [{k: v for k, v in record.items() if k not in ending} for record in told]
    ends = [
        {k: v for k, v in record.items() if k in ending or k in {"operation_id", "started_at"}}
        for record in told
    ]
    lag = 100
    return [
        record
        for number in range(len(told) + lag)
        for record in (
            starts[number : number + 1] + (ends[number - lag : number - lag + 1] if number >= lag else [])
        )
    ]


def json_bodies(told: list[Record], size: int) -> list[tuple[int, bytes]]:
    """Return (records, body) of batches of `size`."""
    batches = [told[first : first + size] for first in range(0, len(told), size)]
    return [(len(batch), json.dumps(batch).encode()) for batch in batches]


def otlp_bodies(told: list[Record], size: int) -> list[tuple[int, bytes]]:
    """Return the same calls as OTLP/HTTP protobuf bodies of `execute_tool` spans."""
    return [
        (len(batch), _otlp(batch))
        for batch in (told[first : first + size] for first in range(0, len(told), size))
    ]


def _otlp(batch: list[Record]) -> bytes:
    request = trace_service_pb2.ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.append(_attribute("service.name", "coder"))
    resource.resource.attributes.append(_attribute("deployment.environment.name", "production"))
    scope = resource.scope_spans.add()
    scope.scope.name, scope.scope.version = "coder", "2.3"
    for told in batch:
        span = scope.spans.add()
        span.trace_id, span.span_id = bytes.fromhex(told["trace_id"]), bytes.fromhex(told["span_id"])
        span.name, span.kind = f"execute_tool {told['tool']}", 1
        span.start_time_unix_nano, span.end_time_unix_nano = (
            _nano(told["started_at"]),
            _nano(told["ended_at"]),
        )
        for name, value in (
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", told["tool"]),
            ("gen_ai.tool.call.id", told["tool_call_id"]),
            ("gen_ai.conversation.id", told["session_id"]),
            ("gen_ai.tool.type", "function"),
            ("gen_ai.request.model", told["model"]),
            ("gen_ai.tool.call.arguments", json.dumps(told["input"]["compact"])),
            ("gen_ai.tool.call.result", json.dumps(told["output"]["compact"])),
        ):
            span.attributes.append(_attribute(name, value))
        if told["status"] == "runtime_error":
            span.attributes.append(_attribute("error.type", "ConnectionResetError"))
            span.status.code = 2
    return request.SerializeToString()


def _attribute(name: str, value: str) -> common_pb2.KeyValue:
    return common_pb2.KeyValue(key=name, value=common_pb2.AnyValue(string_value=value))


def _nano(moment: str) -> int:
    since = datetime.datetime.fromisoformat(moment) - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000
