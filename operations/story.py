"""What happened to one tool call, as sentences: the verdict, and the steps in their order. Pure.

Names in these sentences come from outside; templates print them through `{% visible %}`.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from operations import display, endings, facts, find
from operations.marks import Mark


class Issue(msgspec.Struct, frozen=True):
    """One rule of the input schema that the arguments broke."""

    path: str
    keyword: str


class Leg(msgspec.Struct, frozen=True):
    """One serial leg of the call."""

    name: str
    ms: float


class Step(NamedTuple):
    """One thing that happened, when, and how grave it was (the key of an ending, or nothing)."""

    at_us: int
    words: str
    detail: str = ""
    tone: str = ""


_issues = msgspec.json.Decoder(list[Issue]).decode
_legs = msgspec.json.Decoder(list[Leg]).decode


def verdict(call: find.Operation, *, now_us: int) -> str:
    """Say in one or two sentences how the call went."""
    sentences = [_ending(call, now_us)]
    if call.marks & Mark.STALE_REVISION and (call.expected_revision or call.actual_revision):
        where = f" of {call.conflict_resource}" if call.conflict_resource else ""
        expected, actual = call.expected_revision or "unknown", call.actual_revision or "unknown"
        sentences.append(f"The write was based on revision {expected}{where}, which stood at {actual}.")
    if call.marks & Mark.UNVERIFIED_SUCCESS:
        sentences.append("The tool reports success without having checked it.")
    if call.marks & Mark.CONTRADICTED:
        sentences.append("Records contradict each other: at least two different endings were told.")
    if call.marks & Mark.ID_REUSED:
        sentences.append("The same id names more than one call.")
    return " ".join(sentences)


def steps(call: find.Operation) -> list[Step]:
    """Return what happened to the call, in the order of told times; what we did stands at our own clock."""
    found = [Step(call.start, "Called", _caller(call))]
    if call.verdict_status is not None and call.verdict_at is not None:
        words = "timed out" if call.verdict_status == "timed_out" else call.verdict_status
        limit = f"Its limit was {_timeout(call)}." if call.timeout_ms is not None else ""
        found.append(Step(call.verdict_at, f"The caller was told: {words}", limit, call.verdict_status))
    answered_at = call.answered_at if call.answered_at is not None else call.answer_ended_at
    if call.answer_status is not None and answered_at is not None:
        ending = _answer(call)
        late = display.lateness(call.late_by_us).capitalize() if call.late_by_us is not None else ""
        words = "Never ran" if call.answer_status == "contract_error" else "Answered"
        words = "Denied" if call.answer_status == "denied" else words
        found.append(Step(answered_at, f"{words}: {ending.words}", late, ending.key))
    found.sort(key=lambda step: step.at_us)
    found.append(Step(call.received_at, "First record reached the console"))
    return found


def issues(call: find.Operation) -> list[Issue]:
    """Return the rules of the input schema that the arguments broke."""
    return _issues(call.contract_issues) if call.contract_issues else []


def legs(call: find.Operation) -> list[Leg]:
    """Return what each serial leg of the call took."""
    return _legs(call.legs) if call.legs else []


def error_facts(call: find.Operation) -> list[tuple[str, str]]:
    """Return what the error contract of the ending says, as pairs of words."""
    is_verdict = call.verdict_status is not None
    flags = call.verdict_flags if is_verdict else call.answer_flags
    category = call.verdict_category if is_verdict else call.answer_category
    found = [("Category", category)] if category else []
    for words, told, true in (
        ("Retryable", facts.RETRYABLE_TOLD, facts.RETRYABLE),
        ("Safe for the model", facts.SAFE_TOLD, facts.SAFE),
        ("Told to the model", facts.MODEL_TOLD, facts.MODEL),
    ):
        if flags and flags & told:
            found.append((words, "yes" if flags & true else "no"))
    return found


def _ending(call: find.Operation, now_us: int) -> str:
    took = (
        f"after {display.duration(call.duration_us)}" if call.duration_us is not None else "at an untold time"
    )
    if call.verdict_status is not None:
        return _told_verdict(call, took)
    if call.status == "done":
        if call.outcome == "failure":
            return f"It ran, and {took} answered with a failure{_with_code(call)}."
        return f"It succeeded {took}."
    if call.status == "runtime_error":
        return f"It broke {took} with an exception{_with_code(call)}."
    if call.status == "contract_error":
        return _never_ran(call)
    if call.status == "denied":
        return f"It never ran: it was denied{_with_code(call)}."
    since = display.duration(max(0, now_us - call.start))
    if call.status == "awaiting_approval":
        return f"It waits for an approval since {since}."
    if call.marks & Mark.UNFINISHED:
        limit = f" Its limit of {_timeout(call)} has long passed." if call.timeout_ms is not None else ""
        return f"It was started {since} ago and no ending was ever told.{limit}"
    return f"It is running since {since}."


def _told_verdict(call: find.Operation, took: str) -> str:
    gave_up = "timed out" if call.verdict_status == "timed_out" else "was cancelled"
    if call.answer_status is None:
        return f"The caller was told that it {gave_up} {took}{_with_code(call)}. No answer was ever told."
    if call.marks & Mark.PHANTOM_FAILURE:
        return (
            f"The caller was told that it {gave_up} {took}, but it happened: "
            f"the tool answered success, {display.lateness(call.late_by_us)}."
        )
    words = _answer(call).words
    late = display.lateness(call.late_by_us)
    return f"The caller was told that it {gave_up} {took}; the answer came {late}: {words}."


def _never_ran(call: find.Operation) -> str:
    if call.contract_kind == "unknown_tool":
        return f"It never ran: there is no tool named {call.tool or 'that'}."
    if call.contract_kind == "unsupported_protocol":
        return "It never ran: the protocol is not supported."
    broken = issues(call)
    if broken:
        more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        return (
            f"It never ran: its arguments broke “{broken[0].keyword}” at {broken[0].path or 'the top'}{more}."
        )
    return f"It never ran: its arguments did not fit{_with_code(call)}."


def _answer(call: find.Operation) -> endings.Ending:
    return endings.of(
        call.answer_status or "", call.answer_outcome, call.answer_code, call.answer_contract_kind
    )


def _with_code(call: find.Operation) -> str:
    return f": {call.code}" if call.code else ""


def _timeout(call: find.Operation) -> str:
    return display.duration((call.timeout_ms or 0) * display.MILLISECOND)


def _caller(call: find.Operation) -> str:
    parts = [f"by {call.model}" if call.model else "", f"through {call.runtime}" if call.runtime else ""]
    if call.iteration is not None:
        parts.append(f"in iteration {call.iteration}")
    if call.approval_id:
        parts.append(f"under approval {call.approval_id}")
    return " ".join(part for part in parts if part)
