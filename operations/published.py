"""One operation as the read API tells it: under the wire's names, with what follows from the facts.

Times are RFC 3339 in UTC and durations milliseconds. Digests and the subject are hexadecimal in their stored,
keyed form: equal ones are equal, and nothing can be guessed back. What was not told is null.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from operations import display, excerpts, facts, find, marks

Part = TypeVar("Part", bound=msgspec.Struct)


class Input(msgspec.Struct, frozen=True, gc=False):
    """What is known of the arguments; their words stand under `excerpts`."""

    digest: str | None
    bytes: int | None
    sent_digest: str | None
    altered: str | None


class Output(msgspec.Struct, frozen=True, gc=False):
    """What is known of the returned value."""

    digest: str | None
    bytes: int | None


class Error(msgspec.Struct, frozen=True, gc=False):
    """The error contract of the ending."""

    category: str | None
    retryable: bool | None
    safe_for_model: bool | None
    told_model: bool | None


class Issue(msgspec.Struct, frozen=True, gc=False):
    """One failed rule of the input schema."""

    path: str
    keyword: str


class Contract(msgspec.Struct, frozen=True, gc=False):
    """Why the call never ran."""

    kind: str | None
    issues: list[Issue]


class Conflict(msgspec.Struct, frozen=True, gc=False):
    """A write refused because the revision had moved."""

    resource: str | None
    expected_revision: str | None
    actual_revision: str | None


class Leg(msgspec.Struct, frozen=True, gc=False):
    """What one serial leg of the call took."""

    name: str
    ms: float


class Manifest(msgspec.Struct, frozen=True, gc=False):
    """The manifest that the model saw."""

    sequence: int | None
    digest: str | None


class Answer(msgspec.Struct, frozen=True, gc=False):
    """The answer that came although the caller had been told `timed_out` or `cancelled`."""

    status: str
    outcome: str | None
    code: str | None
    error: Error | None


class Operation(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The merged facts of one attempt to run one tool."""

    operation_id: str
    attempt: int
    status: str
    outcome: str | None
    code: str | None
    marks: list[str]
    tool: str | None
    tool_version: str | None
    #: The other tool that records of this id named; the mark `id_reused` goes with it.
    other_tool: str | None
    effect: str | None
    mode: str | None
    environment: str | None
    runtime: str | None
    instance: str | None
    subject: str | None
    source: str | None
    provider: str | None
    model: str | None
    tool_call_id: str | None
    session_id: str | None
    turn_id: str | None
    iteration: int | None
    parent_id: str | None
    trace_id: str | None
    span_id: str | None
    started_at: str | None
    ended_at: str | None
    duration_ms: float | None
    timeout_ms: int | None
    legs: list[Leg]
    error: Error | None
    contract: Contract | None
    conflict: Conflict | None
    answered_at: str | None
    late_by_ms: float | None
    answer: Answer | None
    idempotency_key: str | None
    approval_id: str | None
    input: Input | None
    output: Output | None
    manifest: Manifest | None
    verified: bool | None
    received_at: str


class Remark(msgspec.Struct, frozen=True, gc=False):
    """One removal: where, by which rule, and how long the removed text was."""

    path: str
    rule: str
    length: int


class Excerpt(msgspec.Struct, frozen=True, gc=False):
    """Redacted, bounded words from the outside."""

    content: msgspec.Raw
    truncated: bool
    remarks: list[Remark]
    rules_version: int


class Detail(Operation, frozen=True, gc=False, kw_only=True):
    """One operation with its words.

    `excerpts` has `input`, `output`, `error`, `attributes` and `answer_error` where they were told; one that
    was told and is gone by now is null.
    """

    attempts: list[int]
    excerpts: dict[str, Excerpt | None]


def operation(found: find.Operation) -> Operation:
    """Return `found` as the list tells it."""
    return Operation(**_fields(found))


def detail(found: find.Found, kept: Iterable[excerpts.Kept]) -> Detail:
    """Return one operation with the excerpts that its facts name."""
    by_hash = {(one.kind, one.hash): one for one in kept}
    row = found.operation
    is_told_otherwise = row.verdict_status is not None
    named = {
        "input": ("input", row.input_excerpt),
        "output": ("output", row.output_excerpt),
        "error": ("error", row.verdict_excerpt if is_told_otherwise else row.error_excerpt),
        "attributes": ("attributes", row.attributes_excerpt),
        "answer_error": ("error", row.error_excerpt if is_told_otherwise else None),
    }
    words = {
        name: _excerpt(by_hash.get((kind, hashed)))
        for name, (kind, hashed) in named.items()
        if hashed is not None
    }
    return Detail(**_fields(row), attempts=[one.attempt for one in found.attempts], excerpts=words)


def mark_names(bits: int) -> list[str]:
    """Return the names of the signals in `bits`."""
    return [name for name, mark in marks.BY_NAME.items() if bits & mark]


#: Facts that are told under their own name.
_SAME = (
    "operation_id", "attempt", "status", "outcome", "code", "tool", "tool_version", "effect", "mode",
    "environment", "runtime", "instance", "source", "provider", "model", "tool_call_id", "session_id",
    "turn_id", "iteration", "parent_id", "trace_id", "span_id", "timeout_ms", "idempotency_key",
    "approval_id", "verified",
)  # fmt: skip


def _fields(row: find.Operation) -> dict[str, Any]:
    has_verdict = row.verdict_status is not None
    return {
        **{name: getattr(row, name) for name in _SAME},
        "marks": mark_names(row.marks),
        "other_tool": row.greatest_tool if row.greatest_tool != row.tool else None,
        "subject": _hex(row.subject),
        "started_at": _moment(row.started_at),
        "ended_at": _moment(row.ended_at),
        "answered_at": _moment(row.answered_at),
        "received_at": _moment(row.received_at),
        "duration_ms": _milliseconds(row.duration_us),
        "late_by_ms": _milliseconds(row.late_by_us),
        "legs": msgspec.json.decode(row.legs, type=list[Leg]) if row.legs else [],
        "error": _error(row.verdict_category, row.verdict_flags)
        if has_verdict
        else _error(row.answer_category, row.answer_flags),
        "contract": _contract(row),
        "conflict": _unless_empty(
            Conflict(row.conflict_resource, row.expected_revision, row.actual_revision)
        ),
        "answer": _late_answer(row) if has_verdict else None,
        "input": _unless_empty(
            Input(_hex(row.input_digest), row.input_bytes, _hex(row.sent_digest), row.altered)
        ),
        "output": _unless_empty(Output(_hex(row.output_digest), row.output_bytes)),
        "manifest": _unless_empty(Manifest(row.manifest_sequence, _hex(row.manifest_digest))),
    }


def _late_answer(row: find.Operation) -> Answer | None:
    if row.answer_status is None:
        return None
    error = _error(row.answer_category, row.answer_flags)
    return Answer(row.answer_status, row.answer_outcome, row.answer_code, error)


def _contract(row: find.Operation) -> Contract | None:
    issues = (
        msgspec.json.decode(row.contract_issues, type=list[Issue]) if row.contract_issues is not None else []
    )
    if row.answer_contract_kind is None and not issues:
        return None
    return Contract(row.answer_contract_kind, issues)


def _error(category: str | None, flags: int | None) -> Error | None:
    if category is None and not flags:
        return None
    bits = flags or 0
    return Error(
        category,
        _told(bits, facts.RETRYABLE_TOLD, facts.RETRYABLE),
        _told(bits, facts.SAFE_TOLD, facts.SAFE),
        _told(bits, facts.MODEL_TOLD, facts.MODEL),
    )


def _told(bits: int, told: int, true: int) -> bool | None:
    return bool(bits & true) if bits & told else None


def _unless_empty(part: Part) -> Part | None:
    return None if all(value is None for value in msgspec.structs.astuple(part)) else part


def _excerpt(kept: excerpts.Kept | None) -> Excerpt | None:
    if kept is None:
        return None
    remarks = msgspec.json.decode(kept.remarks, type=list[Remark]) if kept.remarks else []
    return Excerpt(msgspec.Raw(kept.content.encode()), kept.is_truncated, remarks, kept.rules_version)


def _hex(digest: bytes | None) -> str | None:
    return bytes(digest).hex() if digest is not None else None


def _moment(at_us: int | None) -> str | None:
    return None if at_us is None else display.iso(at_us)


def _milliseconds(duration_us: int | None) -> float | None:
    return None if duration_us is None else duration_us / 1000
