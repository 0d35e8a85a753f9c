from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.db import connection

from analytics import squashing
from tests import make, traffic

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.UTC)
MINUTE = datetime.timedelta(minutes=1)
HOUR = datetime.timedelta(hours=1)


def call(number: int, at: datetime.datetime, *, ahead: datetime.timedelta = datetime.timedelta()) -> None:
    told = {"operation_id": str(number), "started_at": (at + ahead).isoformat(), "runtime": "agent@1"}
    traffic.send(told, now=at)


def select(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def test_rows_of_a_past_minute_become_one_for_each_key() -> None:
    key = make.key(make.acme())
    insert = (
        "INSERT INTO ingest_count (project_id, bucket, key_id, result, reason, records) "
        "VALUES (%s, %s, %s, %s, %s, 1)"
    )
    with connection.cursor() as cursor:
        for result, reason in [
            ("accepted", None),
            ("accepted", None),
            ("rejected", "bad_time"),
            ("accepted", None),
        ]:
            cursor.execute(insert, [make.acme().pk, NOW - 5 * MINUTE, key.key.keyid, result, reason])
    squashing.squash(now=NOW)

    assert sorted(select("SELECT bucket, result, reason, records FROM ingest_count")) == [
        (NOW - 5 * MINUTE, "accepted", None, 3),
        (NOW - 5 * MINUTE, "rejected", "bad_time", 1),
    ]


def test_the_minute_that_is_still_written_is_left_alone() -> None:
    for n in range(3):
        call(n, NOW)
    assert squashing.squash(now=NOW).rows == 0


def test_skew_keeps_its_extremes() -> None:
    for n in range(3):
        call(n, NOW - 5 * MINUTE, ahead=datetime.timedelta(seconds=n - 1))
    squashing.squash(now=NOW)

    assert select("SELECT runtime, instance, records, sum_us, least_us, greatest_us FROM ingest_skew") == [
        ("agent@1", None, 3, 0, -1_000_000, 1_000_000)
    ]


def test_minutes_become_hours_after_two_days() -> None:
    for n in range(4):
        call(n, NOW + n * 20 * MINUTE)
    before = select("SELECT sum(records) FROM ingest_count")
    squashing.squash(now=NOW + 48 * HOUR)
    assert len(select("SELECT DISTINCT bucket FROM ingest_skew")) == 4

    squashing.squash(now=NOW + 51 * HOUR)
    assert select("SELECT bucket, records FROM ingest_skew ORDER BY 1") == [(NOW, 3), (NOW + HOUR, 1)]
    assert select("SELECT sum(records) FROM ingest_count") == before == [(4,)]
    assert squashing.squash(now=NOW + 51 * HOUR).rows == 0


def test_squashing_goes_on_where_a_step_was_too_small() -> None:
    for n in range(9):
        call(n, NOW + n * MINUTE)
    squashing.squash(now=NOW + 51 * HOUR, rows=2)

    assert select("SELECT bucket, records FROM ingest_skew") == [(NOW, 9)]
