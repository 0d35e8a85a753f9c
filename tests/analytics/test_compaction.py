from __future__ import annotations

import datetime
import threading
from typing import Any

import pytest
from django.db import connection, connections
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytics import compaction, grains, recount
from analytics.grains import Grain
from operations import jobs
from tests import make, traffic
from tests.jobs import taken

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.UTC)
MINUTE = datetime.timedelta(minutes=1)
HOUR = datetime.timedelta(hours=1)

_ENDINGS: list[dict[str, Any]] = [
    {},
    {"status": "done", "outcome": "success"},
    {"status": "done", "outcome": "failure", "code": "quota"},
    {"status": "timed_out"},
]
_writes = st.tuples(
    st.integers(0, 12),  # which operation
    st.sampled_from([0, 1, 2, 61, 600, 1500, 2900, 3000]),  # minutes ago
    st.sampled_from(["search", "refund", None]),
    st.sampled_from(_ENDINGS),
    st.integers(0, 5_000),  # how long it took
)


def write(number: int, minutes_ago: int, tool: str | None, ending: dict[str, Any], took_ms: int) -> None:
    started_at = NOW - minutes_ago * MINUTE
    told: dict[str, Any] = {"operation_id": f"{number}-{minutes_ago}", "started_at": started_at.isoformat()}
    if tool:
        told["tool"] = tool
    if ending:
        ended_at = started_at + datetime.timedelta(milliseconds=took_ms)
        told |= {**ending, "ended_at": ended_at.isoformat()}
    traffic.send(told, now=NOW)


def answers(grain: Grain, since: datetime.datetime) -> list[tuple[Any, ...]]:
    """What a reader of `grain` is told from `since` on, by minute, hour or day, every key and both tables."""
    width = {Grain.HOUR: "1 hour", Grain.HOUR_PACE: "1 hour", Grain.DAY: "1 day"}.get(grain, "1 minute")
    found: list[tuple[Any, ...]] = []
    for table in compaction.TABLES:
        kept = [compaction.kept_key(k, table, grain) for k in compaction.KEYS[table]]
        if grain in grains.FEW_KEYS and grain not in grains.KEPT[table]:
            continue
        duration = "sum(duration_us)" if table == "tally" else "0"
        places = ", ".join(str(n + 3) for n in range(len(kept)))
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT project_id, date_bin('{width}', bucket, 'epoch'), {', '.join(kept)}, "
                f"sum(operations), {duration} "
                f"FROM {table} WHERE grain IN (0, %s) AND bucket >= %s GROUP BY 1, 2, {places} "
                f"HAVING sum(operations) <> 0 OR {duration} <> 0 ORDER BY 1, 2, {places}",
                [grain, since],
            )
            found += cursor.fetchall()
    return found


def all_answers() -> list[list[tuple[Any, ...]]]:
    minutes_from, always = NOW - grains.MINUTES_KEPT, NOW - datetime.timedelta(days=80)
    return [
        answers(Grain.MINUTE, minutes_from),
        answers(Grain.PACE, minutes_from),
        answers(Grain.HOUR, always.replace(minute=0)),
        answers(Grain.HOUR_PACE, always.replace(minute=0)),
        answers(Grain.DAY, always.replace(hour=0)),
    ]


def rows(grain: Grain, table: str = "tally") -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table} WHERE grain = %s", [grain])
        return int(cursor.fetchone()[0])


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=st.lists(st.lists(_writes, min_size=1, max_size=4), min_size=1, max_size=4),
    limit=st.integers(1, 6),
)
def test_no_answer_changes_however_folding_and_writing_alternate(
    batches: list[list[tuple[int, int, str | None, dict[str, Any], int]]], limit: int
) -> None:
    for batch in batches:
        for one in batch:
            write(*one)
        before = all_answers()
        compaction.fold(now=NOW, rows=limit)

        assert all_answers() == before
        assert rows(Grain.FRESH) == rows(Grain.FRESH, "tally_histogram") == 0
    compaction.fold(now=NOW)

    assert all_answers() == before
    assert recount.verify(now=NOW).differences == []


def test_equal_keys_do_not_pile_up_in_hours_and_days_and_minutes_gain_a_row_a_fold() -> None:
    for n in range(5):
        write(n, 61, "search", {"status": "done", "outcome": "success"}, 100)
        compaction.fold(now=NOW)

    assert [rows(grain) for grain in Grain] == [0, 5, 1, 1, 5, 1]
    assert [rows(grain, "tally_histogram") for grain in Grain] == [0, 5, 1, 1, 0, 1]


def test_what_adds_up_to_nothing_is_dropped_from_hours_and_days() -> None:
    write(1, 61, "search", {}, 0)
    compaction.fold(now=NOW)
    write(1, 61, "search", {"status": "done", "outcome": "success"}, 100)
    compaction.fold(now=NOW)

    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT status, operations FROM tally WHERE grain IN (2, 3, 5)")
        assert cursor.fetchall() == [("done", 1)]
        cursor.execute("SELECT status FROM tally WHERE grain = 1 GROUP BY status HAVING sum(operations) <> 0")
        assert cursor.fetchall() == [("done",)]


def test_minutes_go_after_two_days_and_hours_after_ninety() -> None:
    write(1, 10, "search", {"status": "done", "outcome": "success"}, 100)
    compaction.fold(now=NOW)
    compaction.fold(now=NOW + grains.MINUTES_KEPT)

    assert [rows(grain) for grain in Grain] == [0, 1, 1, 1, 1, 1]
    compaction.fold(now=NOW + grains.MINUTES_KEPT + 2 * HOUR)

    assert [rows(grain) for grain in Grain] == [0, 0, 1, 1, 0, 1]
    compaction.fold(now=NOW + grains.HOURS_KEPT + 26 * HOUR)

    assert [rows(grain) for grain in Grain] == [0, 0, 0, 1, 0, 0]
    assert [rows(grain, "tally_histogram") for grain in Grain] == [0, 0, 0, 1, 0, 0]


def test_a_second_folder_leaves_a_taken_job_alone() -> None:
    write(1, 10, "search", {}, 0)
    with taken("fold_tally"):
        assert compaction.fold(now=NOW) == jobs.Outcome(0, 0, is_done=False, was_taken=True)
    assert rows(Grain.FRESH) == 1

    assert compaction.fold(now=NOW).is_done
    assert rows(Grain.FRESH) == 0


def test_folders_at_once_count_nothing_twice() -> None:
    for n in range(30):
        write(n, n, "search", {"status": "done", "outcome": "success"}, n)
    before = all_answers()

    def fold() -> None:
        compaction.fold(now=NOW, rows=3)
        connections.close_all()

    threads = [threading.Thread(target=fold) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    compaction.fold(now=NOW)

    assert all_answers() == before
    assert rows(Grain.FRESH) == 0


def test_projects_are_folded_apart() -> None:
    told = {"operation_id": "a", "tool": "search", "started_at": NOW.isoformat()}
    traffic.send(told, now=NOW)
    traffic.send(told, now=NOW, to=make.globex())
    before = all_answers()
    compaction.fold(now=NOW)

    assert all_answers() == before
    assert rows(Grain.DAY) == 2


def test_the_keys_are_those_of_the_tables() -> None:
    def columns(table: str) -> list[str]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT column_name FROM information_schema.columns "
                "WHERE table_name = %s ORDER BY ordinal_position",
                [table],
            )
            return [name for (name,) in cursor.fetchall()]

    place = ["id", "project_id", "grain", "bucket"]
    assert columns("tally") == [*place, *grains.KEYS, "operations", "duration_us"]
    measure = grains.HISTOGRAM_KEYS
    assert columns("tally_histogram") == [*place, *measure, "operations"]
