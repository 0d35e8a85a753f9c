"""Records late, early, twice, in any order, under one id or from a wrong clock: one truth, whatever came first."""

from __future__ import annotations

import datetime
import itertools
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from operations import marks, sweeps
from tests import make
from tests.hard_cases import door

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("now")]

NOON = datetime.datetime(2026, 3, 10, 12, 0, tzinfo=datetime.UTC)


def in_every_order(told: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    """Tell one call in every order of its records, a batch for each place in the order; returns the rows."""
    orders = list(itertools.permutations(told))
    for place in range(len(told)):
        door.tell(*({"operation_id": f"op-{n}", **order[place]} for n, order in enumerate(orders)))
    columns = "tool, status, outcome, code, marks, duration_us, late_by_us, answer_outcome, output_bytes"
    found = door.rows(f"started_at, {columns}")
    assert len(found) == len(orders)
    door.assert_counted()
    return set(found)


def has(found: set[tuple[Any, ...]], mark: marks.Mark) -> bool:
    (row,) = found
    return bool(row[5] & mark)


def test_a_batch_told_twice_changes_nothing_at_all() -> None:
    batch = [
        door.start("a"),
        door.ending("a", output={"value": {"hits": 3}}),
        door.call("b", outcome="failure", code="quota", error={"text": "words"}),
        door.ending("nobody"),
    ]
    door.tell(*batch)
    before = door.all_told()

    assert door.tell(*batch) == ["duplicate"] * 4
    assert door.tell(*reversed(batch)) == ["duplicate"] * 4
    assert door.all_told() == before


def test_a_call_told_in_five_records_is_the_same_in_every_order() -> None:
    found = in_every_order(
        [
            {"tool": "refund", "effect": "write", "started_at": door.ago(seconds=60), "status": "running"},
            {"status": "timed_out", "ended_at": door.ago(seconds=50), "code": "deadline"},
            {"answered_at": door.ago(seconds=40), "answer": {"outcome": "success", "bytes": 12}},
            {"tool_version": "2", "session_id": "s-1", "environment": "production"},
            {"tool": "refund", "status": "awaiting_approval", "model": "m-1"},
        ]
    )

    started_at = NOON - datetime.timedelta(minutes=1)
    row = (started_at, "refund", "timed_out", None, "deadline", 10_000_000, 10_000_000, "success", 12)
    assert {found_row[:5] + found_row[6:] for found_row in found} == {row}
    assert has(found, marks.Mark.LATE_ANSWER)
    assert has(found, marks.Mark.PHANTOM_FAILURE)


def test_of_two_different_endings_the_earliest_wins_in_every_order_and_the_call_is_contradicted() -> None:
    found = in_every_order(
        [
            {"tool": "refund", "started_at": door.ago(seconds=60)},
            {"status": "done", "outcome": "failure", "code": "quota", "ended_at": door.ago(seconds=50)},
            {"status": "done", "outcome": "success", "ended_at": door.ago(seconds=40)},
        ]
    )

    assert {row[2:5] for row in found} == {("done", "failure", "quota")}
    assert has(found, marks.Mark.CONTRADICTED)


def test_an_id_used_again_with_another_tool_is_marked_in_every_order_and_refused_in_none() -> None:
    found = in_every_order(
        [
            {
                "tool": "refund",
                "started_at": door.ago(seconds=60),
                "status": "done",
                "ended_at": door.ago(seconds=50),
            },
            {"tool": "search", "started_at": door.ago(seconds=30)},
        ]
    )

    assert {row[1] for row in found} == {"refund"}
    assert has(found, marks.Mark.ID_REUSED)


def test_one_id_in_two_projects_is_two_calls() -> None:
    other = make.key(make.globex())
    door.tell(door.call(tool="refund"))

    assert door.tell(door.call(tool="search"), by=other) == ["accepted"]
    assert sorted(door.rows("tool, marks")) == [("refund", 0), ("search", 0)]


def test_the_same_id_further_apart_than_an_hour_around_midnight_is_two_rows_that_the_hourly_job_marks() -> (
    None
):
    before, after = ({"started_at": f"2026-03-{moment}:00:00Z"} for moment in ("09T22", "10T02"))

    assert door.tell(door.start(**before)) == ["accepted"]
    assert door.tell(door.start(**after)) == ["accepted"]
    assert [row[0] & marks.Mark.ID_REUSED for row in door.rows("marks")] == [0, 0]
    sweeps.mark_reused(now=timezone.now())

    assert [row[0] & marks.Mark.ID_REUSED for row in door.rows("marks")] == [marks.Mark.ID_REUSED] * 2
    assert door.tell(door.start(**before), door.start(**after)) == ["duplicate", "duplicate"]
    door.assert_counted()


def test_attempts_told_as_three_one_two_are_three_calls() -> None:
    for attempt in (3, 1, 2):
        assert door.tell(door.call(attempt=attempt, code=None)) == ["accepted"]

    assert door.rows("attempt, status") == [(1, "done"), (2, "done"), (3, "done")]


def test_a_child_may_come_before_its_parent_and_without_one() -> None:
    assert door.tell(door.call("child", parent_id="parent"), door.call("alone", parent_id="never")) == [
        "accepted",
        "accepted",
    ]
    assert door.tell(door.call("parent")) == ["accepted"]

    assert door.rows("operation_id, parent_id") == [("alone", "never"), ("child", "parent"), ("parent", None)]


def test_an_ending_whose_call_never_comes_is_kept_and_never_dropped() -> None:
    assert door.tell(door.ending("orphan")) == ["accepted"]

    sweeps.match_pending(now=timezone.now() + datetime.timedelta(hours=2))

    assert door.rows("operation_id") == []
    with connection.cursor() as cursor:
        cursor.execute("SELECT operation_id FROM pending")
        assert cursor.fetchall() == [("orphan",)]


def test_an_ending_before_its_start_by_the_senders_clock_has_no_duration_rather_than_a_negative_one() -> None:
    door.tell(door.start(started_at=door.ago(seconds=10)), door.ending(ended_at=door.ago(seconds=20)))

    assert door.rows("status, duration_us") == [("done", None)]
    door.assert_counted()


@pytest.mark.parametrize(
    ("told", "result"),
    [
        ("2026-03-07T12:00:00Z", "accepted"),  # three days behind
        ("2026-03-10T12:10:00Z", "accepted"),
        ("2026-03-11T12:00:00Z", "accepted"),
        ("2026-03-11T12:00:00.000001Z", "too_far_ahead"),
        ("9999-12-31T23:59:59Z", "too_far_ahead"),
        ("9999-12-31T23:59:60Z", "too_far_ahead"),
        ("9999-12-31T23:59:59-23:59", "too_far_ahead"),
        ("1970-01-01T00:00:00Z", "older_than_retention"),
        ("0001-01-01T00:00:00Z", "older_than_retention"),
        ("0001-01-01T00:00:00+23:59", "older_than_retention"),
        ("9" * 19, "too_far_ahead"),
        ("-" + "9" * 19, "older_than_retention"),
        ("0", "older_than_retention"),
        ("20000-01-01T00:00:00Z", "bad_time"),
        ("-0044-03-15T00:00:00Z", "bad_time"),
        ("infinity", "bad_time"),
        ("-infinity", "bad_time"),
        ("now", "bad_time"),
        ("", "bad_time"),
        ("2026-03-10T11:59:00", "bad_time"),  # naive
        ("2026-03-10 11:59:00", "bad_time"),
        ("2026-03-10", "bad_time"),
        ("2026-03-09T24:00:00Z", "bad_time"),
        ("2026-02-29T12:00:00Z", "bad_time"),
        ("2026-03-10T11:59:61Z", "bad_time"),
        ("٢٠٢٦-03-10T11:59:00Z", "bad_time"),
        ("9" * 40, "bad_time"),
        ("9" * 41, "too_long"),
        (1773144000, "wrong_type"),
        (None, "accepted"),
    ],
)
@pytest.mark.parametrize("field", ["started_at", "ended_at", "answered_at"])
def test_a_wrong_clock_is_kept_and_marked_or_refused_by_name(field: str, told: object, result: str) -> None:
    record = {**door.start(), "status": "done", field: told}
    if told is None:
        record.pop("started_at")

    response = door.post([record])

    assert door.results(response) == [result]
    if result != "accepted":
        assert response.json()["results"][0]["pointer"] == f"/{field}"


def test_a_clock_ahead_is_kept_as_told_beside_ours_and_marked() -> None:
    door.tell(
        door.start("a", started_at="2026-03-10T12:10:00Z"), door.start("b", started_at="2026-03-10T12:04:00Z")
    )

    ahead = NOON + datetime.timedelta(minutes=10)
    assert door.rows("started_at, received_at")[0] == (ahead, NOON)
    assert [bool(row[0] & marks.Mark.CLOCK_AHEAD) for row in door.rows("marks")] == [True, False]


@pytest.mark.parametrize(
    ("told", "micros"),
    [
        ("2026-03-10T11:58:60Z", 0),
        ("2026-03-10T11:59:00.123456789Z", 123_456),
        ("2026-03-10T17:29:00.5+05:30", 500_000),
        ("1773143940123456789", 123_456),
    ],
)
def test_a_told_time_is_one_moment_to_the_microsecond_however_it_is_written(told: str, micros: int) -> None:
    door.tell(door.start(started_at=told))

    moment = datetime.datetime(2026, 3, 10, 11, 59, 0, micros, tzinfo=datetime.UTC)
    assert door.rows("started_at") == [(moment,)]
