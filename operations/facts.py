"""The facts of one operation, and how each joins with what another record told.

One declared table, `FACTS`, serves both languages: `merging.py` joins in Python, `store.py` writes the SQL
from it. Every join is commutative, associative and idempotent, so the order and number of deliveries cannot
matter. Change a join here and both change; the property test in `tests/operations/test_merging.py` compares
them.

Moments are integer Unix microseconds in this struct and `timestamptz` in the table.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

Join = Literal[
    "identity",  # equal by definition
    "told",  # the mask of told facts: bitwise or
    "told_least",  # told beats inferred, among equals the least
    "least",
    "greatest",
    "any",  # true if any record says so
    "verdict",  # moves with the least `verdict_rank`
    "answer",  # moves with the least `answer_rank`
]


class Fact(NamedTuple):
    """A column of `operation` that records fill: its name, its type in SQL and its join."""

    name: str
    sql: str
    join: Join


TEXT = 'text COLLATE "C"'

FACTS: tuple[Fact, ...] = (
    Fact("operation_id", TEXT, "identity"),
    Fact("attempt", "smallint", "identity"),
    Fact("told", "bigint", "told"),
    Fact("started_at", "timestamptz", "told_least"),
    Fact("tool", TEXT, "told_least"),
    Fact("tool_version", TEXT, "told_least"),
    Fact("effect", TEXT, "told_least"),
    Fact("mode", TEXT, "told_least"),
    Fact("environment", TEXT, "told_least"),
    Fact("runtime", TEXT, "told_least"),
    Fact("instance", TEXT, "told_least"),
    Fact("subject", "bytea", "told_least"),
    Fact("source", TEXT, "told_least"),
    Fact("provider", TEXT, "told_least"),
    Fact("model", TEXT, "told_least"),
    Fact("tool_call_id", TEXT, "told_least"),
    Fact("session_id", TEXT, "told_least"),
    Fact("turn_id", TEXT, "told_least"),
    Fact("iteration", "integer", "told_least"),
    Fact("parent_id", TEXT, "told_least"),
    Fact("trace_id", TEXT, "told_least"),
    Fact("span_id", TEXT, "told_least"),
    Fact("timeout_ms", "bigint", "told_least"),
    Fact("idempotency_key", TEXT, "told_least"),
    Fact("approval_id", TEXT, "told_least"),
    Fact("input_digest", "bytea", "told_least"),
    Fact("input_bytes", "bigint", "told_least"),
    Fact("sent_digest", "bytea", "told_least"),
    Fact("altered", TEXT, "told_least"),
    Fact("input_excerpt", "bigint", "told_least"),
    Fact("attributes_excerpt", "bigint", "told_least"),
    Fact("manifest_sequence", "integer", "told_least"),
    Fact("manifest_digest", "bytea", "told_least"),
    Fact("legs", TEXT, "told_least"),
    Fact("greatest_tool", TEXT, "greatest"),
    Fact("awaits_approval", "boolean", "any"),
    Fact("clock_is_ahead", "boolean", "any"),
    Fact("ending_least", "bigint", "least"),
    Fact("ending_greatest", "bigint", "greatest"),
    Fact("output_least", "bigint", "least"),
    Fact("output_greatest", "bigint", "greatest"),
    Fact("verdict_rank", "bytea", "verdict"),
    Fact("verdict_status", TEXT, "verdict"),
    Fact("verdict_at", "timestamptz", "verdict"),
    Fact("verdict_code", TEXT, "verdict"),
    Fact("verdict_category", TEXT, "verdict"),
    Fact("verdict_flags", "smallint", "verdict"),
    Fact("verdict_excerpt", "bigint", "verdict"),
    Fact("answer_rank", "bytea", "answer"),
    Fact("answer_status", TEXT, "answer"),
    Fact("answer_outcome", TEXT, "answer"),
    Fact("answer_code", TEXT, "answer"),
    Fact("answered_at", "timestamptz", "answer"),
    Fact("answer_ended_at", "timestamptz", "answer"),
    Fact("answer_category", TEXT, "answer"),
    Fact("answer_flags", "smallint", "answer"),
    Fact("answer_contract_kind", TEXT, "answer"),
    Fact("contract_issues", TEXT, "answer"),
    Fact("conflict_resource", TEXT, "answer"),
    Fact("expected_revision", TEXT, "answer"),
    Fact("actual_revision", TEXT, "answer"),
    Fact("output_digest", "bytea", "answer"),
    Fact("output_bytes", "bigint", "answer"),
    Fact("output_excerpt", "bigint", "answer"),
    Fact("error_excerpt", "bigint", "answer"),
    Fact("verified", "boolean", "answer"),
)

NAMES: tuple[str, ...] = tuple(fact.name for fact in FACTS)

#: The bit of each descriptive fact in `told`.
TOLD_BIT: dict[str, int] = {
    fact.name: 1 << position
    for position, fact in enumerate(fact for fact in FACTS if fact.join == "told_least")
}

#: Bits of `answer_flags` and `verdict_flags`: whether the error contract said it, and what it said.
RETRYABLE_TOLD, RETRYABLE, SAFE_TOLD, SAFE, MODEL_TOLD, MODEL = 1, 2, 4, 8, 16, 32


class Facts(msgspec.Struct, gc=False, kw_only=True):
    """What is known of one operation; the fields stand in the order of `FACTS`."""

    operation_id: str
    attempt: int
    told: int = 0
    started_at: int | None = None
    tool: str | None = None
    tool_version: str | None = None
    effect: str | None = None
    mode: str | None = None
    environment: str | None = None
    runtime: str | None = None
    instance: str | None = None
    subject: bytes | None = None
    source: str | None = None
    provider: str | None = None
    model: str | None = None
    tool_call_id: str | None = None
    session_id: str | None = None
    turn_id: str | None = None
    iteration: int | None = None
    parent_id: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    timeout_ms: int | None = None
    idempotency_key: str | None = None
    approval_id: str | None = None
    input_digest: bytes | None = None
    input_bytes: int | None = None
    sent_digest: bytes | None = None
    altered: str | None = None
    input_excerpt: int | None = None
    attributes_excerpt: int | None = None
    manifest_sequence: int | None = None
    manifest_digest: bytes | None = None
    legs: str | None = None
    greatest_tool: str | None = None
    awaits_approval: bool = False
    clock_is_ahead: bool = False
    ending_least: int | None = None
    ending_greatest: int | None = None
    output_least: int | None = None
    output_greatest: int | None = None
    verdict_rank: bytes | None = None
    verdict_status: str | None = None
    verdict_at: int | None = None
    verdict_code: str | None = None
    verdict_category: str | None = None
    verdict_flags: int | None = None
    verdict_excerpt: int | None = None
    answer_rank: bytes | None = None
    answer_status: str | None = None
    answer_outcome: str | None = None
    answer_code: str | None = None
    answered_at: int | None = None
    answer_ended_at: int | None = None
    answer_category: str | None = None
    answer_flags: int | None = None
    answer_contract_kind: str | None = None
    contract_issues: str | None = None
    conflict_resource: str | None = None
    expected_revision: str | None = None
    actual_revision: str | None = None
    output_digest: bytes | None = None
    output_bytes: int | None = None
    output_excerpt: int | None = None
    error_excerpt: int | None = None
    verified: bool | None = None
