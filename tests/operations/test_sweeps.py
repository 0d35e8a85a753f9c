from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.db import connection, transaction

from analytics import recount
from operations import facts, jobs, marks, pending, sweeps
from tests import make, traffic
from tests.jobs import another_connection, taken

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.UTC)
MINUTE = datetime.timedelta(minutes=1)
DAY = datetime.timedelta(days=1)


def start(name: str, started_at: datetime.datetime, **told: Any) -> None:
    record = {"operation_id": name, "tool": "search", "started_at": started_at.isoformat(), **told}
    traffic.send(record, now=NOW)


def marked(mark: marks.Mark) -> list[tuple[str, datetime.date]]:
    """The operations that carry `mark`, each with its day; the tally must say the same."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT operation_id, day FROM operation WHERE marks & %s <> 0 ORDER BY 1, 2", [mark])
        found = cursor.fetchall()
        cursor.execute("SELECT coalesce(sum(operations), 0) FROM tally WHERE marks & %s <> 0", [mark])
        assert cursor.fetchone()[0] == len(found)
    assert recount.verify(now=NOW).differences == []
    return found


def test_a_call_that_runs_past_its_time_is_unfinished() -> None:
    start("over", NOW - 16 * MINUTE)
    start("within", NOW - 14 * MINUTE)
    start("allowed-more", NOW - 16 * MINUTE, timeout_ms=3_600_000)
    start("allowed-less", NOW - 1 * MINUTE, timeout_ms=30_000)
    start("ended", NOW - 16 * MINUTE, status="done")
    start("waits", NOW - 16 * MINUTE, status="awaiting_approval")
    outcome = sweeps.mark_unfinished(now=NOW)

    assert outcome.rows == 2
    assert marked(marks.Mark.UNFINISHED) == [("allowed-less", NOW.date()), ("over", NOW.date())]


def test_marking_again_changes_nothing() -> None:
    start("over", NOW - 16 * MINUTE)
    sweeps.mark_unfinished(now=NOW)
    outcome = sweeps.mark_unfinished(now=NOW + MINUTE)

    assert outcome == jobs.Outcome(rows=0, steps=1, is_done=True, was_taken=False)
    assert marked(marks.Mark.UNFINISHED) == [("over", NOW.date())]


def test_an_ending_takes_unfinished_back_and_is_recounted() -> None:
    start("over", NOW - 16 * MINUTE)
    sweeps.mark_unfinished(now=NOW)
    ending = {"operation_id": "over", "status": "done", "outcome": "success", "ended_at": NOW.isoformat()}
    traffic.send(ending, now=NOW)

    assert marked(marks.Mark.UNFINISHED) == []
    with connection.cursor() as cursor:
        cursor.execute("SELECT status, sum(operations) FROM tally GROUP BY 1 HAVING sum(operations) <> 0")
        assert cursor.fetchall() == [("done", 1)]


def test_many_are_marked_in_small_steps() -> None:
    for n in range(7):
        start(f"over-{n}", NOW - 20 * MINUTE)
    outcome = sweeps.mark_unfinished(now=NOW, rows=3)

    assert (outcome.rows, outcome.steps) == (7, 4)
    assert len(marked(marks.Mark.UNFINISHED)) == 7


def test_a_row_that_somebody_is_storing_is_left_for_the_next_run() -> None:
    start("over", NOW - 16 * MINUTE)
    with another_connection() as other:
        other.execute("SELECT FROM operation WHERE operation_id = 'over' FOR UPDATE")
        assert sweeps.mark_unfinished(now=NOW).rows == 0

    assert sweeps.mark_unfinished(now=NOW).rows == 1


def test_an_id_used_on_two_days_is_marked_on_both() -> None:
    start("twice", NOW)
    start("twice", NOW - 3 * DAY)
    start("once", NOW)
    start("twice-but-attempts", NOW, attempt=1)
    start("twice-but-attempts", NOW - 3 * DAY, attempt=2)
    outcome = sweeps.mark_reused(now=NOW)

    assert outcome.rows == 2
    both = [("twice", (NOW - 3 * DAY).date()), ("twice", NOW.date())]
    assert marked(marks.Mark.ID_REUSED) == both
    assert sweeps.mark_reused(now=NOW).rows == 0

    start("twice", NOW - 5 * DAY)
    assert sweeps.mark_reused(now=NOW).rows == 1
    assert len(marked(marks.Mark.ID_REUSED)) == 3


def test_ids_used_far_apart_are_marked_within_a_week() -> None:
    start("twice", NOW - 20 * DAY)
    start("twice", NOW - 60 * DAY)
    for hours in range(7 * 24):
        sweeps.mark_reused(now=NOW + datetime.timedelta(hours=hours))

    assert len(marked(marks.Mark.ID_REUSED)) == 2


def test_one_id_in_two_projects_is_not_reused() -> None:
    record = {"operation_id": "a", "tool": "search", "started_at": NOW.isoformat()}
    traffic.send(record, now=NOW)
    traffic.send({**record, "started_at": (NOW - 3 * DAY).isoformat()}, now=NOW, to=make.globex())
    sweeps.mark_reused(now=NOW)

    assert marked(marks.Mark.ID_REUSED) == []


def test_facts_that_wait_join_an_operation_that_came_by_another_way() -> None:
    start("a", NOW - MINUTE)
    # As when the operation lives in a day further back than storing looks.
    waits("a")
    outcome = sweeps.match_pending(now=NOW)

    assert outcome.rows == 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT operation_id, awaits_approval, started_at FROM operation")
        assert cursor.fetchall() == [("a", True, NOW - MINUTE)]
        cursor.execute("SELECT count(*) FROM pending")
        assert cursor.fetchone() == (0,)
    assert recount.verify(now=NOW).differences == []


def test_facts_without_an_operation_wait_on_and_count_as_orphans_after_an_hour() -> None:
    waits("nobody")
    assert sweeps.match_pending(now=NOW).rows == 0

    project_id = make.acme().pk
    assert pending.waiting(project_id=project_id, now=NOW) == (0, 1)
    assert pending.waiting(project_id=project_id, now=NOW + 61 * MINUTE) == (1, 1)


def test_old_facts_have_their_turn_within_an_hour() -> None:
    start("a", NOW - MINUTE)
    waits("a", received_at=NOW - 2 * DAY)
    for minutes in range(60):
        sweeps.match_pending(now=NOW + minutes * MINUTE)

    assert pending.waiting(project_id=make.acme().pk, now=NOW) == (0, 0)


@pytest.mark.parametrize("name", ["mark_unfinished", "mark_reused", "match_pending"])
def test_a_job_that_another_worker_is_at_is_left_alone(name: str) -> None:
    start("a", NOW - 16 * MINUTE)
    start("a", NOW - 3 * DAY)
    with taken(name):
        assert getattr(sweeps, name)(now=NOW) == jobs.Outcome(0, 0, is_done=False, was_taken=True)


def waits(name: str, *, received_at: datetime.datetime = NOW) -> None:
    known = facts.Facts(operation_id=name, attempt=1, awaits_approval=True)
    with transaction.atomic():
        pending.put(project_id=make.acme().pk, batch=[known], received_at=received_at)
