"""What senders post: the record of the wire format, version 1, with its limits in the types.

Decoding is strict about types and lengths and generous about the rest: a field this version does not know is
left out and counted, never an error. `docs/record.md` explains every field.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from operations import limits

Text32 = Annotated[str, msgspec.Meta(max_length=32)]
Text64 = Annotated[str, msgspec.Meta(max_length=64)]
Text128 = Annotated[str, msgspec.Meta(max_length=128)]
Text256 = Annotated[str, msgspec.Meta(max_length=256)]
Identifier = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9._:/=+\-]{1,128}\Z")]
Hex = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-fA-F]{1,64}\Z")]
Digest = Annotated[str, msgspec.Meta(pattern=r"^(?:[a-z0-9-]{1,20}:)?[0-9a-fA-F]{8,128}\Z", max_length=128)]
Moment = Annotated[str, msgspec.Meta(max_length=40)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
Small = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]

Status = Literal[
    "running",
    "awaiting_approval",
    "done",
    "contract_error",
    "denied",
    "runtime_error",
    "timed_out",
    "cancelled",
]
Outcome = Literal["success", "failure"]
Effect = Literal["read", "write", "consequential"]
ContractKind = Literal["invalid_arguments", "unknown_tool", "unsupported_protocol"]
Altered = Literal["quotes", "unicode", "whitespace", "newlines", "paths", "other"]

#: Marks "not told" for JSON kept as the bytes that were sent.
ABSENT = msgspec.Raw(b"")


class Part(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """A nested object of the record."""


class Error(Part, frozen=True):
    """The error contract; `text` goes to an excerpt."""

    category: Text32 | None = None
    retryable: bool | None = None
    safe_for_model: bool | None = None
    told_model: bool | None = None
    suggested_actions: Annotated[tuple[Text64, ...], msgspec.Meta(max_length=8)] = ()
    text: Annotated[str, msgspec.Meta(max_length=limits.ERROR_TEXT_CHARS_MAX)] | None = None


class ContractIssue(Part, frozen=True):
    """One failed rule of the input schema: where in the arguments, and which keyword failed."""

    path: Text256
    keyword: Text64


class Contract(Part, frozen=True):
    """Why the call never ran."""

    kind: ContractKind
    issues: Annotated[tuple[ContractIssue, ...], msgspec.Meta(max_length=20)] = ()


class Conflict(Part, frozen=True):
    """A write refused because the revision had moved."""

    resource: Text256 | None = None
    expected_revision: Text128 | None = None
    actual_revision: Text128 | None = None


class Leg(Part, frozen=True):
    """What one serial leg of the call took."""

    name: Text32
    ms: Milliseconds


class Answer(Part, frozen=True):
    """An answer told apart from the ending: it means `done`."""

    outcome: Outcome | None = None
    code: Text256 | None = None
    bytes: Count | None = None
    digest: Digest | None = None


class Payload(Part, frozen=True):
    """An input or output: its digest and compact form, or the whole value."""

    digest: Digest | None = None
    bytes: Count | None = None
    compact: msgspec.Raw = ABSENT
    truncated: bool | None = None
    value: msgspec.Raw = ABSENT


class Input(Payload, frozen=True):
    """The arguments, and how the model's provider handed them over."""

    sent_digest: Digest | None = None
    altered: Altered | None = None


class ManifestSeen(Part, frozen=True):
    """The manifest that the model saw."""

    sequence: Small | None = None
    digest: Digest | None = None


class Operation(
    msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """One record: some facts about one attempt to run one tool."""

    operation_id: Identifier | None = None
    attempt: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    tool_call_id: Text128 | None = None
    tool: Annotated[str, msgspec.Meta(min_length=1, max_length=128)] | None = None
    tool_version: Text64 | None = None
    effect: Effect | None = None
    mode: Text32 | None = None
    environment: Text64 | None = None
    runtime: Text128 | None = None
    instance: Text128 | None = None
    subject: Text128 | None = None
    source: Text64 | None = None
    provider: Text64 | None = None
    model: Text128 | None = None
    session_id: Text128 | None = None
    turn_id: Text128 | None = None
    iteration: Small | None = None
    parent_id: Text128 | None = None
    trace_id: Hex | None = None
    span_id: Hex | None = None
    started_at: Moment | None = None
    ended_at: Moment | None = None
    status: Status | None = None
    outcome: Outcome | None = None
    code: Annotated[str, msgspec.Meta(max_length=4096)] | None = None
    error: Error | None = None
    contract: Contract | None = None
    conflict: Conflict | None = None
    timeout_ms: Milliseconds | None = None
    legs: Annotated[tuple[Leg, ...], msgspec.Meta(max_length=8)] = ()
    answered_at: Moment | None = None
    answer: Answer | None = None
    idempotency_key: Text128 | None = None
    approval_id: Text128 | None = None
    input: Input | None = None
    output: Payload | None = None
    manifest: ManifestSeen | None = None
    verified: bool | None = None
    attributes: (
        Annotated[dict[Text64, str | int | float | bool | None], msgspec.Meta(max_length=16)] | None
    ) = None


#: The nested objects of a record, for leaving out what this version does not know.
PARTS: dict[str, type[msgspec.Struct]] = {
    "error": Error,
    "contract": Contract,
    "conflict": Conflict,
    "answer": Answer,
    "input": Input,
    "output": Payload,
    "manifest": ManifestSeen,
}
