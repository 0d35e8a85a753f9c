"""PostgreSQL slow, locked, full, read-only, cut off or without its partition: told plainly, never half stored."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection, connections

from operations import keys, partitions
from tests import jobs, make
from tests.hard_cases import door

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("now")]

Owner = psycopg.Connection[Any]


@pytest.fixture
def failing(owner_connection: Owner) -> Iterator[Callable[[str, str], None]]:
    """Let every INSERT into a table fail with an error of this SQLSTATE, until the end of the test."""
    with contextlib.ExitStack() as ended:

        def fail(table: str, state: str) -> None:
            owner_connection.execute(
                "CREATE OR REPLACE FUNCTION fail_by_hand() RETURNS trigger LANGUAGE plpgsql AS "
                f"$$ BEGIN RAISE 'failed by hand' USING ERRCODE = '{state}'; END $$"
            )
            owner_connection.execute(
                f"CREATE TRIGGER by_hand BEFORE INSERT ON {table} EXECUTE FUNCTION fail_by_hand()"
            )
            ended.callback(owner_connection.execute, f"DROP TRIGGER IF EXISTS by_hand ON {table}")

        yield fail


@contextlib.contextmanager
def session_with(name: str, value: str) -> Iterator[None]:
    """Give this test's connection another setting for a while."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET {name} = '{value}'")
    yield
    with connection.cursor() as cursor:
        cursor.execute(f"RESET {name}")


def assert_try_again(response: Any) -> None:
    assert (response.status_code, response.json()["reason"]) == (503, "store_unavailable")
    assert int(response["Retry-After"]) > 0


def wait_until_blocked(owner: Owner) -> None:
    """Wait until somebody waits for a lock in this database."""
    until = time.monotonic() + 30
    question = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0"
    )
    while owner.execute(question).fetchone() == (0,):
        assert time.monotonic() < until, "nobody waits"
        time.sleep(0.01)


@contextlib.contextmanager
def on_the_way(work: Callable[[], Any], found: list[Any]) -> Iterator[None]:
    """Run `work` beside the block, on a connection of its own; what it returned is appended to `found`."""

    def run() -> None:
        try:
            found.append(work())
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join(timeout=60)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    "state",
    [
        "53100",
        "53200",
        "53300",
        "57014",
        "55P03",
        "25006",
        "40001",
        "40P01",
        "58030",
        "57P03",
        "XX001",
        "42501",
    ],
)
@pytest.mark.parametrize("table", ["operation", "excerpt", "tally", "first_seen", "ingest_count"])
def test_a_database_that_fails_is_told_as_try_again_and_nothing_is_half_stored(
    table: str, state: str, failing: Callable[[str, str], None], owner_connection: Owner
) -> None:
    by = make.key()
    batch = [door.call(f"op-{n}", error={"text": "words"}) for n in range(5)]
    before = door.all_told()
    failing(table, state)

    assert_try_again(door.post(batch, by=by))
    assert door.all_told() == before

    owner_connection.execute(f"DROP TRIGGER by_hand ON {table}")
    assert door.tell(*batch, by=by) == ["accepted"] * 5
    door.assert_counted()


def test_what_a_failure_cut_in_two_is_completed_by_sending_it_again(
    failing: Callable[[str, str], None], owner_connection: Owner
) -> None:
    by = make.key()
    batch = [door.start("a"), door.ending("b"), door.ending("nobody")]
    door.tell(door.start("b"), by=by)
    failing("pending", "53100")

    assert_try_again(door.post(batch, by=by))
    door.assert_counted()

    owner_connection.execute("DROP TRIGGER by_hand ON pending")
    assert set(door.tell(*batch, by=by)) <= {"accepted", "merged", "duplicate"}
    assert door.rows("operation_id, status") == [("a", "running"), ("b", "done")]
    door.assert_counted()


def test_a_database_that_may_only_be_read_refuses_records_and_goes_on_answering() -> None:
    by, reader, alice = make.key(), make.key(scopes=["read"]), make.browser(make.alice())
    door.tell(door.call("op-1"), by=by)
    with session_with("default_transaction_read_only", "on"):
        assert_try_again(door.post([door.call("op-2")], by=by))
        answers = [
            alice.get(f"/v1/{path}", headers=make.bearer(reader))
            for path in ("operations", "tally", "whoami")
        ]
        answers += [alice.get(f"/p/acme/{page}") for page in ("", "operations", "operation?id=op-1")]

    assert [answer.status_code for answer in answers] == [200] * 6
    assert door.rows("operation_id") == [("op-1",)]


def test_a_table_that_stays_locked_is_told_as_try_again_after_the_statement_timeout() -> None:
    by = make.key()
    with session_with("statement_timeout", "300ms"), jobs.another_connection() as other:
        other.execute("LOCK TABLE operation IN SHARE MODE")

        assert_try_again(door.post([door.call()], by=by))
    assert door.tell(door.call(), by=by) == ["accepted"]


def test_a_deadlock_is_tried_again_and_the_batch_is_stored(owner_connection: Owner) -> None:
    by = make.key()
    door.tell(door.start("a"), door.start("b"), by=by)
    found: list[Any] = []
    lock = "SELECT FROM operation WHERE operation_id = %s FOR UPDATE"
    before = owner_connection.execute(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    )
    with jobs.another_connection() as other:
        other.execute(lock, ["b"])
        with on_the_way(functools.partial(door.tell, door.call("a"), door.call("b"), by=by), found):
            wait_until_blocked(owner_connection)
            # Each now waits for the other; the one that waited longer is the one that PostgreSQL stops.
            other.execute(lock, ["a"])
            other.rollback()

    assert found == [["merged", "merged"]]
    assert door.rows("status") == [("done",), ("done",)]
    assert before.fetchone() is not None
    door.assert_counted()


def test_a_partition_that_went_away_is_made_again_on_demand(owner_connection: Owner) -> None:
    by = make.key()
    told = [door.call(f"op-{n}", started_at=door.ago(days=20), error={"text": "words"}) for n in range(5)]
    door.tell(*told, by=by)
    for parent in ("operation", "excerpt"):
        for day in partitions.existing(parent):
            owner_connection.execute(f"DROP TABLE {parent}_{day:%Y%m%d}")

    assert door.tell(door.call("op-9", started_at=door.ago(days=20)), by=by) == ["accepted"]
    assert door.rows("operation_id") == [("op-9",)]
    owner_connection.execute("DELETE FROM tally")


def test_a_partition_that_cannot_be_made_in_time_is_told_as_try_again() -> None:
    by = make.key()
    told = door.call(started_at=door.ago(days=70))
    door.tell(door.call("op-0"), by=by)
    with session_with("statement_timeout", "300ms"), jobs.another_connection() as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtext('opsconsole.partition.operation'))")

        assert_try_again(door.post([told], by=by))
    assert door.tell(told, by=by) == ["accepted"]


def test_a_connection_cut_in_the_middle_is_told_as_try_again_and_nothing_is_stored(
    owner_connection: Owner,
) -> None:
    by = make.key()
    batch = [door.call(f"op-{n}") for n in range(50)]
    found: list[Any] = []
    with jobs.another_connection() as other:
        other.execute("LOCK TABLE operation IN SHARE MODE")
        with on_the_way(functools.partial(door.post, batch, by=by), found):
            wait_until_blocked(owner_connection)
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0"
            )

    assert_try_again(found[0])
    assert door.rows("operation_id") == []
    assert door.tell(*batch, by=by) == ["accepted"] * 50


@pytest.mark.parametrize("how", ["key", "project"])
def test_a_key_revoked_while_its_batch_is_being_stored_stores_nothing(
    how: str, owner_connection: Owner
) -> None:
    by = make.key()
    found: list[Any] = []
    before = door.all_told()
    with jobs.another_connection() as other:
        other.execute("LOCK TABLE operation IN SHARE MODE")
        with on_the_way(functools.partial(door.post, [door.call(), door.call("op-2")], by=by), found):
            wait_until_blocked(owner_connection)
            if how == "key":
                keys.revoke(by.key)
            else:
                make.acme().__class__.objects.filter(slug="acme").update(deleted_at="2026-03-10T12:00:00Z")
            other.rollback()

    assert (found[0].status_code, found[0].json()["reason"]) == (401, "key_revoked")
    assert door.all_told() == before


@pytest.mark.parametrize("place", ["body", "header", "query", "cookie"])
def test_a_project_named_by_the_sender_is_never_believed(place: str) -> None:
    acme, by = make.acme(), make.key(make.globex())
    told = door.call(project_id=acme.pk, project="acme") if place == "body" else door.call()
    query = f"?project_id={acme.pk}" if place == "query" else "?results=1"
    headers = {"X_Project": "acme"} if place == "header" else {}
    headers |= {"Cookie": "opsconsole_project=acme"} if place == "cookie" else {}

    response = door.post([told], by=by, query=query, **headers)

    if place == "query":
        assert (response.status_code, door.rows("project_id")) == (422, [])
    else:
        assert door.results(response) == ["accepted"]
        assert door.rows("project_id") == [(make.globex().pk,)]


def test_a_key_of_another_project_finds_nothing_and_cannot_tell_it_from_nothing() -> None:
    door.tell(door.call("op-1"))
    stranger = make.bearer(make.key(make.globex(), scopes=["read"]))
    browser = make.browser()

    there, nowhere = (browser.get(f"/v1/operations/{name}", headers=stranger) for name in ("op-1", "op-2"))

    assert (there.status_code, there.content) == (nowhere.status_code, nowhere.content)
    assert there.status_code == 404
    assert browser.get("/v1/operations", headers=stranger).json()["operations"] == []
