from __future__ import annotations

import pytest
from django.db import OperationalError, connection
from psycopg import errors as pg

from operations import jobs
from tests.jobs import taken

pytestmark = pytest.mark.django_db(transaction=True)


def beats() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM heartbeat")
        return int(cursor.fetchone()[0])


def beat(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO heartbeat VALUES (%s, now())", [name])


def test_each_step_is_run_until_it_finds_nothing_and_committed_by_itself() -> None:
    left = ["a", "b", "c"]

    def step(rows: int) -> int | None:
        if not left:
            return None
        beat(left.pop())
        return 1

    def failing(rows: int) -> int | None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        jobs.run("test", step, failing)
    assert beats() == 3


def test_a_run_ends_in_time_and_says_that_more_is_left() -> None:
    outcome = jobs.run("test", lambda rows: 1, for_s=0)

    assert outcome == jobs.Outcome(rows=1, steps=1, is_done=False, was_taken=False)


def test_a_step_that_takes_too_long_is_tried_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "STEP_MS", 30)
    tried: list[int] = []

    def step(rows: int) -> int | None:
        tried.append(rows)
        beat(f"of {rows}")
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(%s)", [1 if rows > 10 else 0])
        return None

    outcome = jobs.run("test", step, rows=100)

    assert (tried, outcome.is_done) == ([100, 25, 6], True)
    assert beats() == 1


def test_a_step_that_is_too_long_even_for_one_row_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "STEP_MS", 30)

    def step(rows: int) -> int | None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(1)")
        return None

    with pytest.raises(OperationalError) as raised:
        jobs.run("test", step, rows=1)
    assert isinstance(raised.value.__cause__, pg.QueryCanceled)


def test_the_bound_of_a_step_ends_with_it() -> None:
    def timeout() -> str:
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            return str(cursor.fetchone()[0])

    before, during = timeout(), []

    def step(rows: int) -> int | None:
        during.append(timeout())
        return None

    jobs.run("test", step)

    assert during == ["5s"]
    assert timeout() == before


def test_one_runner_at_a_time_for_each_job() -> None:
    with taken("test"):
        assert jobs.run("test", lambda rows: None).was_taken
        assert jobs.run("another", lambda rows: None).is_done
    assert jobs.run("test", lambda rows: None).is_done
