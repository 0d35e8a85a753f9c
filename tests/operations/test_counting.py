"""Whatever the order, the number and the grouping of deliveries, rows and tally come out the same, and agree."""

from __future__ import annotations

import datetime
import itertools
import json
import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import connection, connections
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics import compaction, recount
from operations import decoding, facts, ingest, merging, moments, records, sweeps
from operations.models import projects
from tests import make, traffic

pytestmark = pytest.mark.django_db(transaction=True)

NOON = datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.UTC)
MIDNIGHT = datetime.datetime(2026, 11, 30, 0, 0, tzinfo=datetime.UTC)

Record = dict[str, Any]

# One key of digests for all projects, so that rows of two of them can be compared whole.
DIGEST_KEY = bytes(range(32))
_numbers = itertools.count()

_maybe = st.sampled_from


def _moment(of: datetime.datetime) -> st.SearchStrategy[str]:
    return st.integers(-3, 3).map(lambda s: (of + datetime.timedelta(seconds=s)).isoformat())


@st.composite
def record(draw: st.DrawFn) -> Record:
    """What one record tells of one of a few operations, from few values, so that records meet and contradict."""
    name = draw(st.sampled_from(["a", "b", "near-midnight"]))
    around = MIDNIGHT if name == "near-midnight" else NOON
    told: Record = {"operation_id": name, "attempt": draw(st.integers(1, 2))}
    told["started_at"] = draw(st.none() | _moment(around))
    told["tool"] = draw(_maybe([None, "search", "refund"]))
    told["tool_version"] = draw(_maybe([None, "1", "2"]))
    told["effect"] = draw(_maybe([None, "read", "write"]))
    told["environment"] = draw(_maybe([None, "production"]))
    told["timeout_ms"] = draw(_maybe([None, 900]))
    told["legs"] = draw(_maybe([None, [{"name": "a", "ms": 700.5}, {"name": "b", "ms": 200}]]))
    told["input"] = draw(_maybe([None, {"digest": "ab" * 32, "bytes": 40, "sent_digest": "cd" * 32}]))
    told |= draw(st.just({}) | _ending(around))
    return {key: value for key, value in told.items() if value is not None}


@st.composite
def _ending(draw: st.DrawFn, around: datetime.datetime) -> Record:
    status = draw(_maybe(["running", "awaiting_approval", "done", "runtime_error", "timed_out", "cancelled"]))
    told: Record = {"status": status, "ended_at": draw(st.none() | _moment(around))}
    told["code"] = draw(_maybe([None, "quota", "stale_revision", "Not a code"]))
    told["verified"] = draw(_maybe([None, True, False]))
    told["error"] = draw(_maybe([None, {"safe_for_model": False, "told_model": True, "text": "words"}]))
    told["output"] = draw(_maybe([None, {"value": {"hits": 3}}, {"digest": "ef" * 32, "bytes": 3}]))
    if status in {"done"}:
        told["outcome"] = draw(_maybe([None, "success", "failure"]))
    if status in {"done", "timed_out", "cancelled"} and draw(st.booleans()):
        told |= {"answered_at": draw(_moment(around)), "answer": {"outcome": "success", "bytes": 9}}
    return told


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[list[list[Record]], list[list[Record]]]:
    """One set of records, delivered in two ways: shuffled, some of it twice, in other batches."""
    told = draw(st.lists(record(), min_size=1, max_size=10))
    again = draw(st.lists(st.sampled_from(told), max_size=4))
    return draw(_batches(told)), draw(_batches([*told, *again]))


@st.composite
def _batches(draw: st.DrawFn, told: list[Record]) -> list[list[Record]]:
    shuffled = draw(st.permutations(told))
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(shuffled) - 1)), max_size=4)))
    return [list(shuffled[a:b]) for a, b in itertools.pairwise([0, *cuts, len(shuffled)]) if a < b]


def project() -> projects.Project:
    """A project of its own, with the shared key of digests."""
    made = make.project(f"counting-{next(_numbers)}")
    made.digest_key = DIGEST_KEY
    made.save()
    return made


def deliver(batches: Sequence[Sequence[Record]], to: projects.Project) -> None:
    for batch in batches:
        entries = decoding.decode(json.dumps(batch).encode(), is_ndjson=False)
        receipt = ingest.ingest(credential=traffic.credential(to), entries=entries, now=NOON)
        assert [result for result in receipt.results if result.result == "rejected"] == []


Row = tuple[facts.Facts, merging.Derived]


def stored(of: projects.Project) -> list[Row]:
    """The rows of a project, whole but for their placement."""
    derived = merging.Derived._fields
    moment = {fact.name for fact in facts.FACTS if fact.sql == "timestamptz"} | {"ended_at"}
    columns = [f"opsconsole_us({name})" if name in moment else name for name in (*facts.NAMES, *derived)]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {', '.join(columns)} FROM operation WHERE project_id = %s ORDER BY operation_id, attempt",
            [of.pk],
        )
        return [
            (
                facts.Facts(**{name: _plain(value) for name, value in zip(facts.NAMES, row, strict=False)}),
                merging.Derived(*row[len(facts.NAMES) :]),
            )
            for row in cursor.fetchall()
        ]


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value


def expected(told: Sequence[Record]) -> list[Row]:
    """The same rows, by the rules as Python states them."""
    sender = records.Sender(DIGEST_KEY)
    entries = decoding.decode(json.dumps(list(told)).encode(), is_ndjson=False)
    heard = [
        records.tell(entry.record, sender=sender, now_us=moments.from_datetime(NOON)).facts
        for entry in entries
        if entry.record is not None
    ]
    # An operation of which nobody tells a start has no row: its facts wait.
    folded = [known for known in merging.fold(heard) if known.started_at is not None]
    return [(known, merging.derive(known, legs_ms=_legs_ms(known))) for known in folded]


def _legs_ms(known: facts.Facts) -> float | None:
    return sum(leg["ms"] for leg in json.loads(known.legs)) if known.legs else None


def tally(of: projects.Project) -> list[tuple[Any, ...]]:
    """Every sum of a project that is not zero, in both tables."""
    found: list[tuple[Any, ...]] = []
    for table in compaction.TABLES:
        keys = ", ".join(["bucket", *compaction.KEYS[table]])
        duration = "sum(duration_us)" if table == "tally" else "0"
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT {keys}, sum(operations), {duration} FROM {table} WHERE project_id = %s AND grain = 0 "
                f"GROUP BY {keys} HAVING sum(operations) <> 0 OR {duration} <> 0 ORDER BY {keys}",
                [of.pk],
            )
            found += cursor.fetchall()
    return found


@settings(max_examples=60, deadline=None)
@given(deliveries())
def test_every_delivery_gives_the_rows_that_python_says_and_the_same_tally(
    both: tuple[list[list[Record]], list[list[Record]]],
) -> None:
    one, other = project(), project()
    deliver(both[0], one)
    deliver(both[1], other)

    assert stored(one) == stored(other) == expected([told for batch in both[0] for told in batch])
    assert tally(one) == tally(other)
    for each in (one, other):
        assert recount.verify(now=NOON, project_id=each.pk).differences == []


def test_a_start_that_is_told_from_both_sides_of_midnight_and_again_is_one_row() -> None:
    of = project()
    second = datetime.timedelta(seconds=1)
    starts = [{"operation_id": "a", "started_at": at.isoformat()} for at in (MIDNIGHT, MIDNIGHT - second)]
    deliver([[starts[0]], [starts[1]], [starts[1]], [starts[0]]], of)

    assert stored(of) == expected(starts)


def test_an_id_that_is_used_again_on_another_day_is_two_calls_however_it_is_sent() -> None:
    day = datetime.timedelta(days=1)
    first: Record = {
        "operation_id": "a",
        "tool": "t",
        "started_at": (NOON - day).isoformat(),
        "effect": "read",
    }
    again: Record = {
        **first,
        "started_at": NOON.isoformat(),
        "status": "done",
        "outcome": "failure",
        "code": "quota",
    }
    ways = ([[first], [again]], [[again], [first]], [[first, again]], [[again, first], [first, again]])
    found = []
    for way in ways:
        of = project()
        deliver(way, of)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT day, status, code, started_at FROM operation WHERE project_id = %s ORDER BY day",
                [of.pk],
            )
            found.append(cursor.fetchall())
        assert recount.verify(now=NOON, project_id=of.pk).differences == []

    assert [row[:3] for row in found[0]] == [
        ((NOON - day).date(), "running", None),
        (NOON.date(), "done", "quota"),
    ]
    assert found[1:] == found[:1] * 3


def two_phases(number: int) -> list[Record]:
    """What a runtime tells of one call: its start, its ending, and now and then a late answer or a second start."""
    dice = random.Random(number)
    started_at = NOON - datetime.timedelta(seconds=dice.randrange(7200))
    ended_at = started_at + datetime.timedelta(milliseconds=dice.randrange(1, 4000))
    named = {"operation_id": f"op-{number}"}
    tool = dice.choice(["search", "refund", "reply"])
    start: Record = {**named, "tool": tool, "effect": "write", "started_at": started_at.isoformat()}
    status = dice.choice(["done", "done", "done", "timed_out", "runtime_error"])
    end: Record = {**named, "status": status, "ended_at": ended_at.isoformat(), "output": {"value": number}}
    told = [{**start, "status": "running"}, end]
    if status == "timed_out":
        end.pop("output")
        answered_at = ended_at + datetime.timedelta(seconds=3)
        told.append({**named, "answered_at": answered_at.isoformat(), "answer": {"outcome": "success"}})
    if number % 9 == 0:
        told.append({**start, "tool": "another", "model": "m"})
    return told if number % 13 else told[:1]


def test_eight_writers_at_once_end_with_the_rows_and_the_tally_of_a_recount() -> None:
    of = project()
    told = [one for number in range(150) for one in two_phases(number)]

    def write(seed: int) -> None:
        dice = random.Random(seed)
        mine = [*told, *dice.choices(told, k=50)]
        dice.shuffle(mine)
        batches = []
        while mine:
            size = dice.choice((1, 2, 7, 60))
            batches.append(mine[:size])
            del mine[:size]
        deliver(batches, of)

    def fold(seed: int) -> None:
        for _ in range(10):
            compaction.fold(now=NOON, rows=40)

    at_once([*([write] * 8), fold])

    assert stored(of) == expected(told)
    assert recount.verify(now=NOON).differences == []
    compaction.fold(now=NOON)
    assert recount.verify(now=NOON).differences == []


def test_writers_and_sweeps_at_once_leave_an_exact_tally() -> None:
    of = project()
    starts = [two_phases(number)[0] for number in range(80)]
    endings = [one for number in range(0, 80, 2) for one in two_phases(number)[1:]]
    deliver([starts], of)

    def write(seed: int) -> None:
        deliver([endings[n : n + 5] for n in range(0, len(endings), 5)], of)

    def mark(seed: int) -> None:
        for _ in range(10):
            sweeps.mark_unfinished(now=NOON + datetime.timedelta(hours=1), rows=7)

    at_once([write, write, mark, mark])
    sweeps.mark_unfinished(now=NOON + datetime.timedelta(hours=1))

    assert recount.verify(now=NOON).differences == []
    with connection.cursor() as cursor:
        cursor.execute("SELECT status, marks & 16 <> 0, count(*) FROM operation GROUP BY 1, 2")
        states = {(status, is_marked) for status, is_marked, _ in cursor.fetchall()}
    assert {is_marked for status, is_marked in states if status == "running"} == {True}
    assert {is_marked for status, is_marked in states if status != "running"} == {False}


def at_once(works: Sequence[Callable[[int], None]]) -> None:
    """Run every work in a thread of its own; raises what any of them raised."""
    failures: list[BaseException] = []

    def run(work: Callable[[int], None], seed: int) -> None:
        try:
            work(seed)
        except BaseException as error:
            failures.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(work, seed)) for seed, work in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
