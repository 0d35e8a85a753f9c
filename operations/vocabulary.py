"""The fields of the filter grammar: their names, what they compare, and whether the tally can answer them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from operations import marks

Kind = Literal["text", "choice", "number", "signal", "has"]


class Field(NamedTuple):
    """One word before the colon."""

    name: str
    column: str
    kind: Kind
    words: str
    is_tallied: bool = False
    choices: tuple[str, ...] = ()
    units: tuple[tuple[str, int], ...] = ()


#: From the least unit up; the first may be left out. `kB` is 1000, `KiB` 1024.
DURATIONS = (
    ("us", 1),
    ("ms", 1_000),
    ("s", 1_000_000),
    ("m", 60_000_000),
    ("h", 3_600_000_000),
    ("d", 86_400_000_000),
)
MILLISECONDS = (("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000))
SIZES = (
    ("B", 1),
    ("kB", 1_000),
    ("KiB", 1_024),
    ("MB", 1_000_000),
    ("MiB", 1_048_576),
    ("GB", 1_000_000_000),
)

STATUSES = (
    "running",
    "awaiting_approval",
    "done",
    "contract_error",
    "denied",
    "runtime_error",
    "timed_out",
    "cancelled",
)

#: What `has:` asks, and the column that must be known for it.
HAS: dict[str, str] = {
    "answer": "answer_status",
    "approval": "approval_id",
    "attributes": "attributes_excerpt",
    "code": "code",
    "conflict": "conflict_resource",
    "digest": "input_digest",
    "error": "error_excerpt",
    "input": "input_excerpt",
    "legs": "legs",
    "manifest": "manifest_sequence",
    "output": "output_excerpt",
    "sent_digest": "sent_digest",
    "session": "session_id",
    "timeout": "timeout_ms",
    "trace": "trace_id",
    "verdict": "verdict_status",
    "verified": "verified",
}

_FIELDS = (
    Field("tool", "tool", "text", "tool", is_tallied=True),
    Field("version", "tool_version", "text", "tool version", is_tallied=True),
    Field("status", "status", "choice", "status", is_tallied=True, choices=STATUSES),
    Field("outcome", "outcome", "choice", "outcome", is_tallied=True, choices=("success", "failure")),
    Field("code", "code", "text", "code", is_tallied=True),
    Field("signal", "marks", "signal", "signal", is_tallied=True, choices=tuple(marks.BY_NAME)),
    Field(
        "kind",
        "contract_kind",
        "choice",
        "contract error",
        is_tallied=True,
        choices=("invalid_arguments", "unknown_tool", "unsupported_protocol"),
    ),
    Field("env", "environment", "text", "environment", is_tallied=True),
    Field("model", "model", "text", "model", is_tallied=True),
    Field("provider", "provider", "text", "provider", is_tallied=True),
    Field("runtime", "runtime", "text", "runtime", is_tallied=True),
    Field(
        "effect", "effect", "choice", "effect", is_tallied=True, choices=("read", "write", "consequential")
    ),
    Field("mode", "mode", "text", "mode", is_tallied=True),
    Field("source", "source", "text", "source", is_tallied=True),
    Field("session", "session_id", "text", "session"),
    Field("turn", "turn_id", "text", "turn"),
    Field("iteration", "iteration", "number", "iteration"),
    Field("id", "operation_id", "text", "operation id"),
    Field("attempt", "attempt", "number", "attempt"),
    Field("parent", "parent_id", "text", "parent"),
    Field("call", "tool_call_id", "text", "provider's call id"),
    Field("trace", "trace_id", "text", "trace"),
    Field("instance", "instance", "text", "instance"),
    Field("resource", "conflict_resource", "text", "resource in conflict"),
    Field("key", "idempotency_key", "text", "idempotency key"),
    Field("approval", "approval_id", "text", "approval"),
    Field("category", "answer_category", "text", "error category"),
    Field("duration", "duration_us", "number", "duration", units=DURATIONS),
    Field("late", "late_by_us", "number", "lateness", units=DURATIONS),
    Field("timeout", "timeout_ms", "number", "timeout", units=MILLISECONDS),
    Field("bytes", "output_bytes", "number", "output size", units=SIZES),
    Field("input", "input_bytes", "number", "input size", units=SIZES),
    Field("has", "", "has", "known fact", choices=tuple(HAS)),
)

FIELDS: dict[str, Field] = {field.name: field for field in _FIELDS}

#: Other words for the same field; they become the field's own name.
ALIASES = {
    "environment": "env",
    "tool_version": "version",
    "contract_kind": "kind",
    "session_id": "session",
    "turn_id": "turn",
    "operation_id": "id",
    "tool_call_id": "call",
    "trace_id": "trace",
    "parent_id": "parent",
    "approval_id": "approval",
    "idempotency_key": "key",
    "mark": "signal",
    "output": "bytes",
    "lateness": "late",
}

#: Where an index leads straight to the rows, so that no scan limit is needed (find.py).
INDEXED = frozenset({"session", "id"})
