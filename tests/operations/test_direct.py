"""What is stored by one statement is what is stored the long way, and nothing else takes the short one."""

from __future__ import annotations

import datetime
import json
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection, connections
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operations import decoding, direct, firsts, ingest, pending, raw, records, rejections, storing
from operations.models import projects
from tests import traffic
from tests.operations import test_counting as counting

pytestmark = pytest.mark.django_db(transaction=True)

NOON = counting.NOON
Record = dict[str, Any]


def call(name: str = "op", **told: object) -> Record:
    """A record of a call that took a second, with words."""
    return {
        "operation_id": name,
        "tool": "refund",
        "runtime": "coder@1",
        "started_at": "2026-11-30T11:59:00Z",
        "ended_at": "2026-11-30T11:59:01Z",
        "status": "done",
        "outcome": "failure",
        "code": "quota",
        "input": {"value": {"amount": 3}},
        "output": {"compact": {"left": 0}},
        **told,
    }


def told_by(*told: Record) -> list[records.Told]:
    sender = records.Sender(counting.DIGEST_KEY)
    entries = decoding.decode(json.dumps(told).encode(), is_ndjson=False)
    return [
        records.tell(entry.record, sender=sender, now_us=traffic.moments.from_datetime(NOON))
        for entry in entries
        if entry.record is not None
    ]


def send(to: projects.Project, *told: Record) -> list[str]:
    entries = decoding.decode(json.dumps(told).encode(), is_ndjson=False)
    receipt = ingest.ingest(credential=traffic.credential(to), entries=entries, now=NOON)
    return [result.reason or result.result for result in receipt.results]


def known_project() -> projects.Project:
    """A project in which the names that `call` tells were seen, so that the short way is open."""
    made = counting.project()
    send(made, call("first", started_at="2026-11-30T11:00:00Z"))
    return made


def beside(of: projects.Project) -> list[list[tuple[Any, ...]]]:
    """Words, counts and clocks of a project, whole but for what differs by chance."""
    asked = (
        "SELECT operation_id, attempt, hash, gone_on, rules_version, words FROM excerpt",
        "SELECT bucket, result, reason, sum(records) FROM ingest_count",
        "SELECT bucket, runtime, instance, sum(records), sum(sum_us), min(least_us), max(greatest_us) FROM ingest_skew",
    )
    groups = ("", " GROUP BY bucket, result, reason", " GROUP BY bucket, runtime, instance")
    found = []
    with connection.cursor() as cursor:
        for query, group in zip(asked, groups, strict=True):
            cursor.execute(f"{query} WHERE project_id = %s{group} ORDER BY 1, 2, 3", [of.pk])
            found.append(cursor.fetchall())
    return found


def test_a_new_call_is_stored_with_its_words_tally_and_counts() -> None:
    of = known_project()
    done = direct.store_new(credential=traffic.credential(of), told=told_by(call("a"), call("b")), now=NOON)

    assert done == direct.Done(frozenset({("a", 1), ("b", 1)}), may_wait=False)
    assert [row.operation_id for row, _ in counting.stored(of)] == ["a", "b", "first"]
    assert counting.recount.verify(now=NOON, project_id=of.pk).differences == []
    words, counts, skews = beside(of)
    assert [row[0] for row in words] == ["a", "b", "first"]
    assert counts == [(NOON, "accepted", None, 3)]
    assert [(row[1], row[3], row[5], row[6]) for row in skews] == [("coder@1", 3, -59_000_000, -59_000_000)]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(told=st.lists(counting.record(), min_size=1, max_size=6), size=st.integers(1, 3))
def test_both_ways_write_the_same(told: list[Record], size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = counting.project(), counting.project()
    batches = [told[first : first + size] for first in range(0, len(told), size)]
    with monkeypatch.context() as patch:
        patch.setattr(firsts, "are_known", lambda *_: True)
        counting.deliver(batches, short)
    with monkeypatch.context() as patch:
        patch.setattr(direct, "_is_fit", lambda *_: False)
        counting.deliver(batches, long)

    assert counting.stored(short) == counting.stored(long)
    assert counting.tally(short) == counting.tally(long)
    assert beside(short) == beside(long)


def test_what_is_known_is_left_for_the_long_way_and_counted_once() -> None:
    of = known_project()

    assert send(of, call("a", status="running", outcome=None, code=None, ended_at=None, output=None)) == [
        "accepted"
    ]
    assert send(of, call("a"), call("b")) == ["merged", "accepted"]
    assert send(of, call("a"), call("b")) == ["duplicate", "duplicate"]
    assert beside(of)[1] == [
        (NOON, "accepted", None, 3),
        (NOON, "duplicate", None, 2),
        (NOON, "merged", None, 1),
    ]
    assert counting.recount.verify(now=NOON, project_id=of.pk).differences == []


def test_an_ending_that_came_first_is_merged_when_its_start_comes_alone() -> None:
    of = known_project()
    ending = {"operation_id": "late", "status": "done", "outcome": "failure", "code": "quota"}

    assert send(of, {**ending, "ended_at": "2026-11-30T11:59:05Z"}) == ["accepted"]
    assert pending.waiting(project_id=of.pk, now=NOON).waiting == 1
    assert send(of, {"operation_id": "late", "tool": "refund", "started_at": "2026-11-30T11:59:00Z"}) == [
        "accepted"
    ]
    assert pending.waiting(project_id=of.pk, now=NOON).waiting == 0
    assert {derived.code for row, derived in counting.stored(of) if row.operation_id == "late"} == {"quota"}
    assert counting.recount.verify(now=NOON, project_id=of.pk).differences == []


@pytest.mark.parametrize(
    "told",
    [
        [call(started_at="2026-11-30T00:20:00Z", ended_at="2026-11-30T00:20:01Z")],
        [call(started_at=None)],
        [call(tool="never seen")],
        [call(started_at="2026-11-30T10:59:00Z")],  # earlier than the names were seen
        [call("a"), call("a", code="other")],
        [call(str(number)) for number in range(direct.MAX + 1)],
    ],
)
def test_what_needs_more_than_the_statement_is_not_tried(told: Sequence[Record]) -> None:
    of = known_project()
    whole = [{name: value for name, value in one.items() if value is not None} for one in told]

    assert (
        direct.store_new(credential=traffic.credential(of), told=told_by(*whole), now=NOON) == direct.NOTHING
    )


@pytest.mark.parametrize("death", ["revoked", "expired", "project"])
def test_nothing_is_stored_for_a_key_that_died_meanwhile(death: str) -> None:
    of = known_project()
    credential = traffic.credential(of)
    earlier = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=1)
    if death == "project":
        projects.Project.objects.filter(pk=of.pk).update(deleted_at=earlier)
    else:
        column = "revoked_at" if death == "revoked" else "expires_at"
        projects.IngestKey.objects.filter(pk=credential.key_id).update(**{column: earlier})

    assert direct.store_new(credential=credential, told=told_by(call("a")), now=NOON) == direct.NOTHING
    with pytest.raises(rejections.KeyExpired if death == "expired" else rejections.KeyRevoked):
        storing.store_all(credential=credential, told=told_by(call("a")), now=NOON)
    assert [row.operation_id for row, _ in counting.stored(of)] == ["first"]


def test_a_key_that_is_revoked_while_its_record_waits_stores_nothing() -> None:
    of = known_project()
    credential = traffic.credential(of)
    outcome: list[object] = []

    def send_one() -> None:
        try:
            outcome.append(storing.store_all(credential=credential, told=told_by(call("a")), now=NOON))
        except rejections.Rejection as refusal:
            outcome.append(refusal.reason)
        finally:
            connections.close_all()

    sender = threading.Thread(target=send_one)
    with storing.transaction.atomic():
        pending.lock_exclusive(of.pk)
        sender.start()
        wait_until_somebody_waits()
        projects.IngestKey.objects.filter(pk=credential.key_id).update(revoked_at=NOON)
    sender.join()

    assert outcome == ["key_revoked"]
    assert [row.operation_id for row, _ in counting.stored(of)] == ["first"]


def wait_until_somebody_waits() -> None:
    """Wait until somebody waits for an advisory lock of this database; unlike activity, locks are told afresh."""
    until = time.monotonic() + 30
    asked = (
        "SELECT count(*) FROM pg_locks JOIN pg_database AS here ON here.oid = pg_locks.database "
        "WHERE locktype = 'advisory' AND NOT granted AND here.datname = current_database()"
    )
    while raw.cursor().execute(asked).fetchone() == (0,):
        assert time.monotonic() < until, "nobody waits"
        time.sleep(0.01)


def test_inside_a_transaction_a_refused_statement_does_not_end_it() -> None:
    of = known_project()
    (told,) = told_by(call("a"))
    told.facts.iteration = 2**40
    with counting.connection.cursor() as cursor, storing.transaction.atomic():
        assert direct.store_new(credential=traffic.credential(of), told=[told], now=NOON) == direct.NOTHING
        cursor.execute("SELECT 1")
