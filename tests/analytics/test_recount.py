from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
import time_machine
from django.core import management
from django.db import connection

from analytics import compaction, recount
from tests import make, traffic

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)
DAY = datetime.timedelta(days=1)


@pytest.fixture
def calls() -> None:
    """Three finished calls: of today, of four days ago, and of eighty days ago."""
    for n, age in enumerate((HOUR, 4 * DAY, 80 * DAY)):
        started_at = NOW - age
        ended_at = started_at + datetime.timedelta(seconds=1)
        told = {"started_at": started_at.isoformat(), "ended_at": ended_at.isoformat()}
        traffic.send({"operation_id": str(n), "tool": "search", "status": "done", **told}, now=NOW)


def spoil(statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        assert cursor.rowcount == 1


def test_a_recount_finds_every_operation_and_no_difference(calls: None) -> None:
    for _ in range(2):
        report = recount.verify(now=NOW)

        assert (report.projects, report.operations, report.differences) == (1, 3, [])
        compaction.fold(now=NOW)


@pytest.mark.parametrize("grain", [0, 1, 2, 3, 4, 5])
def test_a_row_missing_from_any_grain_is_found(calls: None, grain: int) -> None:
    if grain:
        compaction.fold(now=NOW)
    spoil(
        "DELETE FROM tally WHERE grain = %s AND bucket >= %s",
        grain,
        NOW.replace(hour=0),
    )

    found = recount.verify(now=NOW).differences
    assert {(d.table, abs(d.operations), abs(d.duration_us)) for d in found} == {("tally", 1, 1_000_000)}


def test_a_histogram_that_counts_too_much_is_found(calls: None) -> None:
    compaction.fold(now=NOW)
    spoil("UPDATE tally_histogram SET operations = 3 WHERE grain = 2 AND bucket = %s", NOW - 80 * DAY)

    found = recount.verify(now=NOW).differences
    assert [(d.grain, d.operations, d.keys["measure"]) for d in found] == [
        ("hour", -2, "duration"),
        ("day", 2, "duration"),
    ]


def test_a_fact_that_was_changed_without_being_counted_is_found(calls: None) -> None:
    spoil("UPDATE operation SET tool = 'refund' WHERE operation_id = '1'")

    found = recount.verify(now=NOW).differences
    named = [d for d in found if (d.table, d.grain) != ("tally_histogram", "hour_pace")]
    assert {(d.keys["tool"], d.operations) for d in named} == {("refund", 1), ("search", -1)}


def test_the_last_days_alone_can_be_recounted(calls: None) -> None:
    assert recount.verify(now=NOW, days=1).operations == 1
    assert recount.verify(now=NOW, days=5).operations == 2


def test_the_command_ends_with_one_after_a_difference(
    calls: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with time_machine.travel(NOW, tick=False):
        management.call_command("verify_tally", "--project", "acme")
        assert capsys.readouterr().out.endswith("3 operations in 3 hours of 1 projects: no difference\n")

        spoil("UPDATE operation SET tool = NULL WHERE operation_id = '0'")
        with pytest.raises(SystemExit) as ended:
            management.call_command("verify_tally", "--json", "--days", "1")
    told = json.loads(capsys.readouterr().out)

    assert ended.value.code == 1
    assert told["differences_count"] == len(told["differences"]) == 10
    assert told["differences"][0]["bucket"] == "2026-11-30T11:00:00+00:00"


def test_another_projects_tally_is_not_counted(calls: None) -> None:
    traffic.send({"operation_id": "x", "started_at": NOW.isoformat()}, now=NOW, to=make.globex())

    assert recount.verify(now=NOW, project_id=make.acme().pk).operations == 3
    assert recount.verify(now=NOW).differences == []
