from __future__ import annotations

import json

import msgspec
import pytest

from operations import facts, limits, merging, moments, records, rejections, wire
from operations.marks import Mark

NOON_US = moments.parse("2026-11-30T12:00:00Z", pointer="")
START = "2026-11-30T11:59:00Z"
SENDER = records.Sender(b"k" * 32)


def tell(sender: records.Sender = SENDER, **fields: object) -> records.Told:
    raw = json.dumps({"operation_id": "op", "tool": "refund", "started_at": START, **fields})
    record = msgspec.json.decode(raw, type=wire.Operation)
    return records.tell(record, sender=sender, now_us=NOON_US)


def derived(**fields: object) -> merging.Derived:
    return merging.derive(tell(**fields).facts)


def refusal(sender: records.Sender = SENDER, **fields: object) -> tuple[str, str]:
    with pytest.raises(rejections.Rejection) as caught:
        tell(sender, **fields)
    return caught.value.reason, caught.value.pointer


def test_a_start_alone_is_running_and_an_approval_awaited_says_so() -> None:
    assert derived().status == "running"
    assert derived(status="awaiting_approval").status == "awaiting_approval"


def test_done_without_an_outcome_is_success_and_loses_to_what_was_told() -> None:
    inferred = tell(status="done", ended_at="2026-11-30T11:59:01Z").facts
    told = tell(status="done", outcome="failure", ended_at="2026-11-30T11:59:09Z").facts

    assert merging.derive(inferred).outcome == "success"
    assert merging.derive(merging.join(inferred, told)).outcome == "failure"


def test_the_earliest_of_two_told_endings_wins_and_the_contradiction_is_marked() -> None:
    early = tell(status="done", outcome="failure", code="quota", ended_at="2026-11-30T11:59:01Z").facts
    late = tell(status="done", outcome="success", ended_at="2026-11-30T11:59:05Z").facts

    both = merging.derive(merging.join(late, early))
    assert (both.outcome, both.code) == ("failure", "quota")
    assert both.marks & Mark.CONTRADICTED
    assert not merging.derive(early).marks & Mark.CONTRADICTED


def test_two_tools_under_one_id_are_kept_and_marked() -> None:
    both = merging.join(tell(tool="charge").facts, tell(tool="refund").facts)

    assert both.tool == "charge"
    assert both.greatest_tool == "refund"
    assert merging.derive(both).marks & Mark.ID_REUSED


def test_an_answer_in_time_but_delivered_late_is_negative() -> None:
    found = derived(
        status="timed_out", ended_at="2026-11-30T11:59:30Z", answered_at="2026-11-30T11:59:29Z", effect="read"
    )

    assert found.late_by_us == -1_000_000
    assert found.marks & Mark.LATE_ANSWER
    assert not found.marks & Mark.PHANTOM_FAILURE


def test_an_end_before_its_start_has_no_duration() -> None:
    assert derived(status="done", ended_at="2026-11-30T11:58:59Z").duration_us is None


def test_prose_is_never_a_code() -> None:
    told = tell(status="done", outcome="failure", code="Quota exceeded!", ended_at=START)

    assert told.facts.answer_code == "unlisted"
    assert [json.loads(bytes(e.content))["code"] for e in told.excerpts] == ["Quota exceeded!"]


def test_a_contract_error_takes_its_kind_from_either_side() -> None:
    by_code = derived(status="contract_error", code="unknown_tool")
    by_kind = derived(contract={"kind": "unknown_tool", "issues": [{"path": "/a", "keyword": "type"}]})

    assert (by_code.status, by_code.contract_kind, by_code.code) == (
        "contract_error",
        "unknown_tool",
        "unknown_tool",
    )
    assert (by_kind.status, by_kind.contract_kind, by_kind.code) == (
        "contract_error",
        "unknown_tool",
        "unknown_tool",
    )
    assert by_kind.marks & Mark.UNKNOWN_TOOL


def test_each_single_signal_has_its_mark() -> None:
    done = {"status": "done", "outcome": "success", "ended_at": START}

    assert derived(**done, verified=False).marks & Mark.UNVERIFIED_SUCCESS
    assert not derived(**done, verified=True).marks & Mark.UNVERIFIED_SUCCESS
    assert derived(**done, verified=True).marks & Mark.HAS_VERIFIED
    assert derived(input={"digest": "aa" * 32, "sent_digest": "bb" * 32}).marks & Mark.ALTERED_IN_TRANSIT
    assert derived(status="runtime_error", error={"safe_for_model": False, "told_model": True}).marks & (
        Mark.UNSAFE_ERROR_TOLD
    )
    assert (
        derived(conflict={"resource": "doc/1"}, status="done", outcome="failure").marks & Mark.STALE_REVISION
    )
    slow = tell(timeout_ms=1000, legs=[{"name": "a", "ms": 950}]).facts
    assert merging.derive(slow, legs_ms=950.0).marks & Mark.OVER_BUDGET
    assert not merging.derive(slow, legs_ms=900.0).marks & Mark.OVER_BUDGET


def test_an_identity_is_derived_and_the_same_for_start_and_end() -> None:
    start = tell(operation_id=None, session_id="s", tool_call_id="c").facts
    end = tell(operation_id=None, session_id="s", tool_call_id="c", started_at=None, status="done").facts
    place = tell(operation_id=None, session_id="s", iteration=2).facts

    assert start.operation_id == end.operation_id
    assert start.operation_id.startswith("derived:")
    assert place.operation_id not in {
        start.operation_id,
        tell(operation_id=None, session_id="s").facts.operation_id,
    }
    assert refusal(operation_id=None) == ("identity_missing", "/operation_id")


@pytest.mark.parametrize(
    ("fields", "reason", "pointer"),
    [
        ({"started_at": "2026-11-30T11:59:00"}, "bad_time", "/started_at"),
        ({"started_at": "2026-11-30T24:00:00Z"}, "bad_time", "/started_at"),
        ({"ended_at": "infinity"}, "bad_time", "/ended_at"),
        ({"ended_at": "2026-02-30T11:59:00Z"}, "bad_time", "/ended_at"),
        ({"started_at": "2026-12-01T12:00:01Z"}, "too_far_ahead", "/started_at"),
        ({"started_at": "9999-12-31T23:59:59Z"}, "too_far_ahead", "/started_at"),
        ({"started_at": "1970-01-01T00:00:00Z"}, "older_than_retention", "/started_at"),
        ({"started_at": "-99999999999999999"}, "older_than_retention", "/started_at"),
        ({"outcome": "success", "status": "denied"}, "outcome_without_done", "/outcome"),
        ({"answer": {}, "status": "denied"}, "answer_with_other_ending", "/answer"),
        ({"input": {"digest": "abcdefabcdef0"}}, "bad_digest", "/input/digest"),
        ({"input": {"compact": "x" * 4096}}, "too_long", "/input/compact"),
        ({"output": {"value": "x" * limits.VALUE_BYTES_MAX}}, "too_long", "/output/value"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(fields: dict[str, object], reason: str, pointer: str) -> None:
    assert refusal(**fields) == (reason, pointer)


def test_a_clock_up_to_a_day_ahead_is_kept_and_marked() -> None:
    assert derived(started_at="2026-12-01T11:00:00Z").marks & Mark.CLOCK_AHEAD
    assert not derived(started_at="2026-11-30T12:00:30Z").marks & Mark.CLOCK_AHEAD


def test_a_key_bound_to_an_environment_fills_it_in_and_refuses_another() -> None:
    bound = SENDER._replace(environment="production", runtime="agent", tool_prefix="ref")

    assert tell(bound).facts.environment == "production"
    assert tell(bound, runtime="agent@2").facts.runtime == "agent@2"
    assert refusal(bound, environment="staging") == ("environment_not_allowed", "/environment")
    assert refusal(bound, runtime="agentic") == ("runtime_not_allowed", "/runtime")
    assert refusal(bound, tool="charge") == ("tool_not_allowed", "/tool")


def test_a_secret_in_an_id_becomes_its_keyed_hash_and_stays_comparable() -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    one, other = tell(session_id=token).facts, tell(session_id=token).facts

    assert token not in repr(one)
    assert one.session_id == other.session_id
    assert one.session_id != tell(session_id="ghp_" + "z1B2c3D4e5F6" * 3).facts.session_id


def test_digests_and_subjects_are_stored_only_under_the_projects_key() -> None:
    told = tell(input={"digest": "ab" * 32}, subject="customer-7").facts
    other = tell(
        SENDER._replace(digest_key=b"j" * 32), input={"digest": "ab" * 32}, subject="customer-7"
    ).facts

    assert told.input_digest not in {None, bytes.fromhex("ab" * 32), other.input_digest}
    assert told.subject not in {None, b"customer-7", other.subject}


def test_a_whole_value_is_measured_digested_and_forgotten() -> None:
    value = {"text": "word " * 5000}
    told = tell(input={"value": value})

    assert told.facts.input_bytes == len(json.dumps(value))
    assert told.facts.input_digest == tell(input={"value": {"text": "word " * 5000}}).facts.input_digest
    (excerpt,) = told.excerpts
    assert len(bytes(excerpt.content)) <= limits.COMPACT_BYTES_MAX
    assert excerpt.is_truncated
    assert json.loads(bytes(excerpt.content))


def test_the_same_words_about_the_verdict_and_the_answer_are_kept_once() -> None:
    told = tell(status="timed_out", ended_at=START, code="Out of luck!", answer={"code": "Out of luck!"})

    assert [json.loads(bytes(e.content)) for e in told.excerpts] == [{"code": "Out of luck!"}]
    assert told.facts.verdict_excerpt == told.facts.error_excerpt == told.excerpts[0].hash


def test_words_from_which_different_secrets_were_taken_are_the_same_words() -> None:
    code, answered = (f"Token sk-ant-api03-{'A1b2C3d4' * times} refused" for times in (6, 9))
    told = tell(
        status="timed_out", ended_at=START, code=code, answer={"code": answered}, input={"value": {"a": 1}}
    )

    assert [one.kind for one in told.excerpts] == ["input", "error"]
    assert len({one.hash for one in told.excerpts}) == 2


def test_every_flag_of_the_error_contract_is_told_apart_from_not_told() -> None:
    told = tell(status="runtime_error", error={"retryable": False, "told_model": True}).facts

    assert told.answer_flags == facts.RETRYABLE_TOLD | facts.MODEL_TOLD | facts.MODEL
