"""Join the facts of one operation, in any order, any number of times.

The principle: an operation is the least upper bound of everything told about it. Each rule is a join, so
records may come twice, split or shuffled and the row is the same. The danger: a rule that looks at arrival
(last write wins, "if empty then set") silently makes rows depend on the network. `store.py` states the same
rules in SQL from the same table, and a property test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from msgspec import structs

from operations import facts
from operations import marks as marking
from operations.marks import Mark

_DESCRIPTIVE = tuple((name, facts.TOLD_BIT[name]) for name in facts.NAMES if name in facts.TOLD_BIT)
_GREATEST = tuple(fact.name for fact in facts.FACTS if fact.join == "greatest")
_LEAST = tuple(fact.name for fact in facts.FACTS if fact.join == "least")
_ANY = tuple(fact.name for fact in facts.FACTS if fact.join == "any")
_VERDICT = tuple(fact.name for fact in facts.FACTS if fact.join == "verdict")
_ANSWER = tuple(fact.name for fact in facts.FACTS if fact.join == "answer")


def join(one: facts.Facts, other: facts.Facts) -> facts.Facts:
    """Return what both told together; both must be of one identity."""
    assert (one.operation_id, one.attempt) == (other.operation_id, other.attempt)
    joined: dict[str, Any] = {"told": one.told | other.told}
    for name, bit in _DESCRIPTIVE:
        joined[name] = _told_least(one, other, name, bit)
    for name in _GREATEST:
        joined[name] = _pick(getattr(one, name), getattr(other, name), max)
    for name in _LEAST:
        joined[name] = _pick(getattr(one, name), getattr(other, name), min)
    for name in _ANY:
        joined[name] = getattr(one, name) or getattr(other, name)
    verdict = _ranked(one, other, one.verdict_rank, other.verdict_rank)
    joined.update((name, getattr(verdict, name)) for name in _VERDICT)
    answer = _ranked(one, other, one.answer_rank, other.answer_rank)
    joined.update((name, getattr(answer, name)) for name in _ANSWER)
    return structs.replace(one, **joined)


def fold(records: Iterable[facts.Facts]) -> list[facts.Facts]:
    """Join the records of equal identity; one `Facts` for each identity, sorted by it."""
    folded: dict[tuple[str, int], facts.Facts] = {}
    for record in records:
        identity = (record.operation_id, record.attempt)
        known = folded.get(identity)
        folded[identity] = record if known is None else join(known, record)
    return [folded[identity] for identity in sorted(folded)]


def _told_least(one: facts.Facts, other: facts.Facts, name: str, bit: int) -> Any:
    left, right = getattr(one, name), getattr(other, name)
    if left is None or right is None:
        return right if left is None else left
    if (one.told ^ other.told) & bit:
        return left if one.told & bit else right
    return min(left, right)


def _pick(left: Any, right: Any, choose: Any) -> Any:
    if left is None or right is None:
        return right if left is None else left
    return choose(left, right)


def _ranked(
    one: facts.Facts, other: facts.Facts, rank: bytes | None, other_rank: bytes | None
) -> facts.Facts:
    if other_rank is None:
        return one
    return other if rank is None or other_rank < rank else one


class Derived(NamedTuple):
    """What follows from the facts; the generated columns of `operation` say the same in SQL."""

    status: str
    outcome: str | None
    code: str | None
    contract_kind: str | None
    ended_at: int | None
    duration_us: int | None
    late_by_us: int | None
    marks: int


def derive(known: facts.Facts, *, legs_ms: float | None = None, job_marks: int = 0) -> Derived:
    """Return the verdicts that the facts amount to; `legs_ms` is the sum of the told legs."""
    told_by_caller = known.verdict_rank is not None
    answered = known.answer_rank is not None
    if told_by_caller:
        status = known.verdict_status or ""
    else:
        status = known.answer_status or ("awaiting_approval" if known.awaits_approval else "running")
    outcome = known.answer_outcome if status == "done" else None
    ended_at = known.verdict_at if told_by_caller else _first(known.answer_ended_at, known.answered_at)
    duration_us = None
    if ended_at is not None and known.started_at is not None and ended_at >= known.started_at:
        duration_us = ended_at - known.started_at
    late_by_us = None
    if told_by_caller and answered and known.answered_at is not None and known.verdict_at is not None:
        late_by_us = known.answered_at - known.verdict_at
    return Derived(
        status=status,
        outcome=outcome,
        code=known.verdict_code if told_by_caller else known.answer_code,
        contract_kind=None if told_by_caller else known.answer_contract_kind,
        ended_at=ended_at,
        duration_us=duration_us,
        late_by_us=late_by_us,
        marks=int(_ending_marks(known, status) | _fact_marks(known, outcome, legs_ms))
        | _job_marks(status, job_marks),
    )


def _first(one: int | None, other: int | None) -> int | None:
    return other if one is None else one


def _ending_marks(known: facts.Facts, status: str) -> Mark:
    """The marks that follow from how it ended."""
    found = Mark(0)
    if status == "contract_error":
        found |= Mark.CONTRACT_ERROR
        if known.answer_contract_kind == "unknown_tool":
            found |= Mark.UNKNOWN_TOOL
    if status == "done" and known.answer_outcome == "failure":
        found |= Mark.STRUCTURED_FAILURE
    if status == "runtime_error":
        found |= Mark.RUNTIME_ERROR
    if status == "timed_out":
        found |= Mark.TIMED_OUT
    if known.verdict_rank is not None and known.answer_rank is not None:
        found |= Mark.LATE_ANSWER
        succeeded = known.answer_status == "done" and known.answer_outcome == "success"
        if succeeded and known.effect in {"write", "consequential"}:
            found |= Mark.PHANTOM_FAILURE
    return found


def _fact_marks(known: facts.Facts, outcome: str | None, legs_ms: float | None) -> Mark:
    """The marks that follow from single facts."""
    found = _judged_marks(known, outcome)
    if known.answer_code == "stale_revision" or _has_conflict(known):
        found |= Mark.STALE_REVISION
    if legs_ms is not None and known.timeout_ms is not None:
        found |= Mark.HAS_LEGS
        if legs_ms * (100 + marking.HEADROOM_PERCENT) > known.timeout_ms * 100:
            found |= Mark.OVER_BUDGET
    if known.ending_least != known.ending_greatest or known.output_least != known.output_greatest:
        found |= Mark.CONTRADICTED
    if known.clock_is_ahead:
        found |= Mark.CLOCK_AHEAD
    if known.greatest_tool is not None and known.greatest_tool != known.tool:
        found |= Mark.ID_REUSED
    return found


def _judged_marks(known: facts.Facts, outcome: str | None) -> Mark:
    """The marks that can only be judged where both sides were told, with their denominators."""
    found = Mark(0)
    if known.sent_digest is not None and known.input_digest is not None:
        found |= Mark.HAS_SENT_DIGEST
        if known.sent_digest != known.input_digest:
            found |= Mark.ALTERED_IN_TRANSIT
    if outcome == "success" and known.verified is not None:
        found |= Mark.HAS_VERIFIED
        if not known.verified:
            found |= Mark.UNVERIFIED_SUCCESS
    flags = known.verdict_flags if known.verdict_rank is not None else known.answer_flags
    if flags is not None and flags & facts.SAFE_TOLD and flags & facts.MODEL_TOLD:
        found |= Mark.HAS_ERROR_TOLD
        if flags & facts.MODEL and not flags & facts.SAFE:
            found |= Mark.UNSAFE_ERROR_TOLD
    return found


def _has_conflict(known: facts.Facts) -> bool:
    parts = (known.conflict_resource, known.expected_revision, known.actual_revision)
    return any(part is not None for part in parts)


def _job_marks(status: str, job_marks: int) -> int:
    """`unfinished` is taken back by any ending, the others stay."""
    return job_marks if status == "running" else job_marks & ~int(Mark.UNFINISHED)
