"""Two senders at the same moment, each on a connection of its own."""

from __future__ import annotations

import datetime
import functools
import random
from typing import Any

import psycopg
import pytest
from django.db import connection

from operations import partitions
from tests import make
from tests.hard_cases import door

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("now")]

MIDNIGHT = datetime.datetime(2026, 3, 10, tzinfo=datetime.UTC)
ROUNDS = 25


def deadlocks(owner: psycopg.Connection[Any]) -> object:
    row = owner.execute(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    ).fetchone()
    return row and row[0]


def near_midnight(operation_id: str, seconds: float, **facts: Any) -> door.Record:
    moment = MIDNIGHT + datetime.timedelta(seconds=seconds)
    return {"operation_id": operation_id, "tool": "refund", "started_at": moment.isoformat(), **facts}


@pytest.mark.parametrize("size", [1, 4, 5, 200])
def test_one_batch_on_two_connections_is_accepted_once_and_once_a_duplicate(
    size: int, owner_connection: psycopg.Connection[Any]
) -> None:
    by = make.key()
    before = deadlocks(owner_connection)
    for turn in range(5 if size == 200 else ROUNDS):
        batch = [door.call(f"op-{turn}-{n}", error={"text": f"words {n}"}) for n in range(size)]
        found = door.at_once(*[functools.partial(door.tell, *batch, by=by)] * 2)

        assert [sorted(both) for both in zip(*found, strict=True)] == [["accepted", "duplicate"]] * size
    assert deadlocks(owner_connection) == before
    door.assert_counted()


@pytest.mark.parametrize("size", [3, 60])
def test_the_same_calls_in_opposite_orders_do_not_lock_each_other_out(
    size: int, owner_connection: psycopg.Connection[Any]
) -> None:
    by = make.key()
    before = deadlocks(owner_connection)
    for turn in range(10):
        starts = [door.start(f"op-{turn}-{n}") for n in range(size)]
        endings = [door.call(f"op-{turn}-{n}") for n in reversed(range(size))]
        door.tell(*starts[::2], by=by)
        responses = door.at_once(
            functools.partial(door.post, starts, by=by), functools.partial(door.post, endings, by=by)
        )

        assert {response.status_code for response in responses} == {200}
    assert deadlocks(owner_connection) == before
    assert {row[0] for row in door.rows("status")} == {"done"}
    door.assert_counted()


def test_a_few_records_and_many_that_share_calls_all_come_through() -> None:
    by = make.key()
    for turn in range(10):
        known, new = f"op-{turn}-a", f"op-{turn}-b"
        door.tell(door.start(known), by=by)
        many = [door.call(known), door.call(new), *(door.call(f"op-{turn}-{n}") for n in range(20))]
        responses = door.at_once(
            functools.partial(door.post, [door.call(new), door.call(known)], by=by),
            functools.partial(door.post, many, by=by),
        )

        assert {response.status_code for response in responses} == {200}
    assert len(door.rows("operation_id")) == 10 * 22
    door.assert_counted()


def test_two_records_on_either_side_of_midnight_at_once_make_one_row() -> None:
    by = make.key()
    for turn in range(ROUNDS):
        name = f"op-{turn}"
        found = door.at_once(
            functools.partial(door.tell, near_midnight(name, -1), by=by),
            functools.partial(door.tell, near_midnight(name, 1, status="done"), by=by),
        )

        assert sorted(found) == [["accepted"], ["merged"]]
    assert [row[0] for row in door.rows("operation_id")] == sorted(f"op-{turn}" for turn in range(ROUNDS))
    assert {row[0] for row in door.rows("started_at")} == {MIDNIGHT - datetime.timedelta(seconds=1)}
    door.assert_counted()


def test_many_senders_around_midnight_at_once_make_one_row_for_each_call() -> None:
    by = make.key()
    told = [
        near_midnight(f"op-{n}", seconds, **({"status": "done"} if seconds == 5 else {}))
        for n in range(20)
        for seconds in (-1800, -3, 0, 5, 1800)
    ]

    def send(seed: int) -> None:
        mine = random.Random(seed).sample(told, len(told))
        for place in range(0, len(mine), 10):
            assert door.post(mine[place : place + 10], by=by).status_code == 200

    door.at_once(*[functools.partial(send, seed) for seed in range(4)])

    assert len(door.rows("operation_id")) == 20
    assert set(door.rows("started_at, status")) == {(MIDNIGHT - datetime.timedelta(minutes=30), "done")}
    door.assert_counted()


@pytest.mark.parametrize("told_last", [-1800, -60, 60, 1800])
def test_what_is_told_again_around_midnight_finds_its_row(told_last: int) -> None:
    for seconds in (60, -60, -1800, 1800):
        door.tell(near_midnight("op-1", seconds))

    assert door.tell(near_midnight("op-1", told_last)) == ["duplicate"]
    assert len(door.rows("operation_id")) == 1


def test_a_start_and_its_ending_that_pass_each_other_are_joined_at_once() -> None:
    by = make.key()
    for turn in range(ROUNDS):
        name = f"op-{turn}"
        found = door.at_once(
            functools.partial(door.tell, door.start(name), by=by),
            functools.partial(door.tell, door.ending(name), by=by),
        )

        assert found[0] == ["accepted"]
        assert found[1] in (["accepted"], ["merged"])
        assert [status for name_, status in door.rows("operation_id, status") if name_ == name] == ["done"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pending")
        assert cursor.fetchone() == (0,)
    door.assert_counted()


def test_many_batches_of_starts_and_of_endings_that_pass_each_other_are_joined_at_once() -> None:
    by = make.key()
    names = [f"op-{n}" for n in range(60)]

    def send(seed: int) -> None:
        make_record = door.start if seed % 2 else door.ending
        mine = [make_record(name) for name in random.Random(seed).sample(names, len(names))]
        for place in range(0, len(mine), 7):
            assert door.post(mine[place : place + 7], by=by).status_code == 200

    door.at_once(*[functools.partial(send, seed) for seed in range(4)])

    assert door.rows("operation_id, status") == [(name, "done") for name in sorted(names)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pending")
        assert cursor.fetchone() == (0,)
    door.assert_counted()


def test_two_endings_without_a_start_at_once_wait_as_one() -> None:
    by = make.key()
    for turn in range(10):
        ending = door.ending(f"op-{turn}")
        found = door.at_once(*[functools.partial(door.tell, ending, by=by)] * 2)

        assert sorted(found) == [["accepted"], ["duplicate"]]
    assert sorted(door.tell(*(door.start(f"op-{turn}") for turn in range(10)), by=by)) == ["accepted"] * 10
    assert {row[0] for row in door.rows("status")} == {"done"}


def test_a_new_code_told_by_two_at_once_enters_the_code_book_once() -> None:
    by = make.key()
    for turn in range(10):
        batches = [
            [door.call(f"op-{turn}-{who}-{n}", outcome="failure", code=f"code_{turn}_{n}") for n in range(5)]
            for who in "ab"
        ]
        batches[1].reverse()
        responses = door.at_once(*(functools.partial(door.post, batch, by=by) for batch in batches))

        assert {response.status_code for response in responses} == {200}
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*), count(DISTINCT code) FROM code_entry")
        assert cursor.fetchone() == (50, 50)


def test_two_senders_who_need_the_same_new_days_at_once_are_both_served() -> None:
    by = make.key()
    for days in range(1, 11):
        records = [door.call(f"op-{days}-{who}", started_at=door.ago(days=40 + days)) for who in "abcd"]
        partitions.forget()
        responses = door.at_once(*(functools.partial(door.post, [told], by=by) for told in records))

        assert [response.status_code for response in responses] == [200] * 4
    assert len(door.rows("day")) == 40
