"""Parts are killed with `kill -9` in the middle of traffic: what was acknowledged is there, exactly once."""

from __future__ import annotations

import base64
import http.client
import json
import urllib.request
from collections.abc import Callable, Iterator
from typing import LiteralString

import pytest

from tests.chaos import console, sending

OPERATIONS = 5_000
OTHER_VERSIONS = [
    ("operations.tasks.gone", "[[], {}, {}]"),
    ("operations.tasks.beat_heart", "[[1, 2, 3, 4], {}, {}]"),
    ("analytics.tasks.fold_tally", '[[], {"since": "yesterday"}, {}]'),
    ("analytics.tasks.fold_tally", "[["),
]


def message(task: str, arguments: str) -> str:
    """A message as another version of the code would have sent it."""
    delivery = {"delivery_info": {"exchange": "", "routing_key": "bulk"}, "delivery_mode": 2, "priority": 0}
    return json.dumps(
        {
            "body": base64.b64encode(arguments.encode()).decode(),
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": {"lang": "py", "task": task, "id": "1", "root_id": "1"},
            "properties": {**delivery, "correlation_id": "1", "body_encoding": "base64", "delivery_tag": "1"},
        }
    )


@pytest.fixture(scope="module")
def shared() -> Iterator[console.Console]:
    """One console for all tests of killing, which send records of their own."""
    with console.running("killing") as running:
        yield running


@pytest.fixture
def killing(shared: console.Console) -> console.Console:
    """The console, whole; each test leaves all parts running."""
    shared.parts.wait_until_ready()
    return shared


def rows(of: console.Console, *, seed: int) -> list[tuple[str, str]]:
    """The operations that were told with this seed, each with its status."""
    with of.connect() as connection:
        found = connection.execute(
            "SELECT operation_id, status FROM operation WHERE starts_with(operation_id, %s)", [f"op-{seed}-"]
        )
        return [(str(name), str(status)) for name, status in found.fetchall()]


def count(of: console.Console, what: LiteralString) -> object:
    """Count the rows of a table."""
    with of.connect() as connection:
        row = connection.execute(f"SELECT count(*) FROM {what}").fetchone()
        return row and row[0]


def unfolded(of: console.Console) -> object:
    """Count the sums that the folding job has not taken yet."""
    return count(of, "tally WHERE grain = 0")


def assert_exactly_once(of: console.Console, operations: int, *, seed: int) -> None:
    """Every call is one row and ended, nothing waits, and the tally agrees."""
    found = rows(of, seed=seed)
    names = {f"op-{seed}-{number}" for number in range(operations)}

    assert len(found) == operations
    assert {name for name, _ in found} == names
    assert {status for _, status in found} == {"done"}
    assert count(of, "pending") == 0
    assert of.differences() == []


def past(sent: sending.Sent, records: int) -> Callable[[], bool]:
    return lambda: sent.acknowledged >= records


def test_what_was_acknowledged_while_every_part_was_killed_in_turn_is_there_exactly_once(
    killing: console.Console,
) -> None:
    batches = sending.two_phases(OPERATIONS, seed=1)
    turns = ["web", "postgres", "workers", "beat", "valkey", "web", "postgres"]
    step = 2 * OPERATIONS // (len(turns) + 1)
    with sending.clients(killing, batches, number=4) as sent:
        for turn, name in enumerate(turns, start=1):
            console.wait_for(past(sent, turn * step), what=f"nothing was stored before {name} was killed")
            killing.kill(name)
            killing.begin(name)

    assert sent.retries > 0
    assert_exactly_once(killing, OPERATIONS, seed=1)


def test_everything_killed_at_once_comes_back_with_what_was_acknowledged(killing: console.Console) -> None:
    batches = sending.two_phases(1_000, seed=2)
    with sending.clients(killing, batches, number=4) as sent:
        console.wait_for(past(sent, 500))
        for name in ("postgres", "web", "workers", "valkey", "beat"):
            killing.kill(name)
        for name in ("valkey", "postgres", "beat", "workers", "web"):
            killing.begin(name)

    assert_exactly_once(killing, 1_000, seed=2)
    killing.parts.wait_until_ready()


def test_a_postgresql_that_is_away_is_told_as_try_again_and_used_as_soon_as_it_is_back(
    killing: console.Console,
) -> None:
    record = {
        "operation_id": "op-3-0",
        "tool": "search",
        "started_at": sending.two_phases(1, seed=3)[0][0]["started_at"],
    }
    killing.kill("postgres")
    refused = [post(killing, record) for _ in range(4)]
    killing.begin("postgres")
    console.wait_for(lambda: post(killing, record)[0] == 200, within_s=20)

    assert [status for status, _ in refused] == [503] * 4
    assert all(come_back_s > 0 for _, come_back_s in refused)
    assert rows(killing, seed=3) == [("op-3-0", "running")]


def post(to: console.Console, record: sending.Record) -> tuple[int, int]:
    """Send one record once; returns the status, and after how many seconds to come back."""
    line = http.client.HTTPConnection("localhost", to.parts.port, timeout=30)
    headers = {"Authorization": f"Bearer {to.ingest_key}", "Content-Type": "application/json"}
    line.request("POST", "/v1/operations", json.dumps(record).encode(), headers)
    answer = line.getresponse()
    answer.read()
    line.close()
    return answer.status, int(answer.headers.get("Retry-After", 0))


def get(of: console.Console, path: str) -> int:
    """Ask for an address with the read key; returns the status."""
    asked = urllib.request.Request(
        f"{of.parts.address}{path}", headers={"Authorization": f"Bearer {of.read_key}"}
    )
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return int(answer.status)


def test_without_redis_records_and_pages_go_on_and_what_is_due_is_done_when_it_returns(
    killing: console.Console,
) -> None:
    killing.kill("valkey")
    batches = sending.two_phases(300, seed=4)
    with sending.clients(killing, batches, number=4):
        pass
    answers = [get(killing, path) for path in ("/v1/operations", "/v1/tally", "/accounts/login/", "/livez")]
    # Nobody tells the workers to fold while Redis is away.
    before = unfolded(killing)
    killing.begin("valkey")

    assert answers == [200] * 4
    assert before
    console.wait_for(lambda: unfolded(killing) == 0, what="the tally was not folded after Redis came back")
    assert_exactly_once(killing, 300, seed=4)
    killing.parts.wait_until_ready()


def test_when_redis_forgets_everything_nothing_is_lost_and_every_job_runs_again(
    killing: console.Console,
) -> None:
    batches = sending.two_phases(1_000, seed=5)
    with sending.clients(killing, batches, number=4) as sent:
        for share in (1, 2, 3):
            console.wait_for(past(sent, share * 500))
            with killing.valkey() as valkey:
                valkey.flushall()

    assert_exactly_once(killing, 1_000, seed=5)
    console.wait_for(lambda: unfolded(killing) == 0, what="the tally was not folded after Redis forgot")
    assert killing.differences() == []


def test_a_worker_killed_in_the_middle_of_a_job_leaves_the_tally_exact_and_the_next_one_ends_it(
    killing: console.Console,
) -> None:
    with sending.clients(killing, sending.two_phases(200, seed=6), number=2):
        pass
    more = sending.two_phases(300, seed=8)
    with sending.clients(killing, more, number=2) as sent, killing.connect() as blocker:
        console.wait_for(past(sent, 100))
        with blocker.transaction():
            # The job stops in the middle of its statement, for as long as these rows are held.
            blocker.execute("SELECT FROM tally WHERE grain = 0 FOR UPDATE")
            console.wait_for(lambda: is_folding(killing), what="no job ran")
            killing.kill("workers")
        killing.begin("workers")

    console.wait_for(lambda: unfolded(killing) == 0, what="nobody ended the job")
    assert len(rows(killing, seed=6)) == 200
    assert_exactly_once(killing, 300, seed=8)


def is_folding(of: console.Console) -> bool:
    """Tell whether the folding job is in the middle of a statement, held up."""
    with of.connect("DATABASE_URL") as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE cardinality(pg_blocking_pids(pid)) > 0 AND query LIKE '%WITH taken AS%'"
        ).fetchone()
        return bool(row and row[0])


def test_a_second_clock_counts_nothing_twice(killing: console.Console) -> None:
    killing.parts.processes["first-beat"] = killing.parts.processes.pop("beat")
    killing.begin("beat")
    try:
        with sending.clients(killing, sending.two_phases(300, seed=7), number=4):
            pass
        console.wait_for(lambda: unfolded(killing) == 0)
    finally:
        killing.parts.kill("first-beat")

    assert_exactly_once(killing, 300, seed=7)


def test_a_message_of_another_version_is_put_aside_and_the_work_goes_on(killing: console.Console) -> None:
    with killing.valkey() as valkey:
        for task, arguments in OTHER_VERSIONS:
            valkey.lpush("bulk", message(task, arguments))
            console.wait_for(lambda: not valkey.exists("bulk"), what="nobody took it")
    with sending.clients(killing, sending.two_phases(20, seed=9), number=1):
        pass

    console.wait_for(lambda: unfolded(killing) == 0, what="the workers went away")
    assert killing.parts.processes["workers"].poll() is None
