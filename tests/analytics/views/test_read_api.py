"""Counts for programs."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from analytics import compaction
from operations import keys, ratelimits
from tests import make, sending

pytestmark = pytest.mark.django_db

START = timezone.now().replace(minute=0, second=0, microsecond=0) - datetime.timedelta(hours=3)


@pytest.fixture(autouse=True)
def full_buckets():
    """No test pays for what another one asked."""
    ratelimits.forget()


@pytest.fixture
def reader() -> keys.Issued:
    """A key of Acme that may read."""
    return make.key(scopes=["read"])


def at(minutes: float) -> str:
    return (START + datetime.timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")


def send(operation_id: str, minutes: float, *, tool: str = "refund", to: Any = None, **facts: Any) -> None:
    told = {
        "operation_id": operation_id,
        "tool": tool,
        "started_at": at(minutes),
        "ended_at": at(minutes + 0.1),
        "status": "done",
        "outcome": "success",
        **facts,
    }
    record = {name: value for name, value in told.items() if value is not None}
    assert sending.send(record, now=timezone.now(), to=to) == ["accepted"]


def tally(by: keys.Issued, **query: Any) -> Any:
    query = {name.rstrip("_"): value for name, value in query.items()}
    return Client().get("/v1/tally", query, headers=make.bearer(by))


def groups(response: Any) -> list[dict[str, Any]]:
    assert response.status_code == 200, response.content
    return response.json()["groups"]


@pytest.fixture
def traffic() -> None:
    send("a", 0)
    send("b", 1)
    send("c", 61, tool="search")
    send("d", 62, tool="search", status="runtime_error", outcome=None, code="down")
    send("e", 63, status="timed_out", outcome=None)
    send("theirs", 0, to=make.globex())


def test_everything_is_counted_by_default(traffic, reader):
    told = tally(reader).json()

    assert (told["count"], told["duration_ms"], told["left_out"]) == (5, 30_000.0, 0)
    assert told["groups"] == [{"count": 5, "duration_ms": 30_000.0}]


def test_a_project_without_operations_counts_nothing(reader):
    told = tally(reader, group_by="tool").json()

    assert (told["count"], told["groups"]) == (0, [])


def test_groups_have_the_keys_they_were_asked_by_and_the_largest_comes_first(traffic, reader):
    assert groups(tally(reader, group_by="tool,status")) == [
        {"tool": "refund", "status": "done", "count": 2, "duration_ms": 12_000.0},
        {"tool": "refund", "status": "timed_out", "count": 1, "duration_ms": 6_000.0},
        {"tool": "search", "status": "done", "count": 1, "duration_ms": 6_000.0},
        {"tool": "search", "status": "runtime_error", "count": 1, "duration_ms": 6_000.0},
    ]


def test_an_operation_counts_under_each_of_its_signals(traffic, reader):
    send("f", 64, status="runtime_error", outcome=None, code="stale_revision")

    told = tally(reader, group_by="signal", q="tool:refund")

    assert [(group["signal"], group["count"]) for group in groups(told)] == [
        (None, 2),
        ("runtime_error", 1),
        ("stale_revision", 1),
        ("timed_out", 1),
    ]
    assert told.json()["count"] == 4


def test_counts_fall_into_stretches_of_time(traffic, reader):
    told = groups(tally(reader, group_by="hour,outcome"))

    assert sorted((group["hour"], str(group["outcome"]), group["count"]) for group in told) == [
        (at(0), "success", 2),
        (at(60), "None", 2),
        (at(60), "success", 1),
    ]


def test_a_range_is_widened_to_whole_buckets_and_says_so(traffic, reader):
    inside = (START + datetime.timedelta(minutes=1, seconds=30)).isoformat()

    told = tally(reader, from_=inside, to=at(62.5)).json()

    assert (told["from"], told["to"], told["count"]) == (at(1), at(63), 3)


def test_compaction_changes_no_answer(traffic, reader):
    query = {"group_by": "hour,tool,signal", "from_": at(-60), "to": at(120)}
    before = tally(reader, **query).content
    compaction.fold(now=timezone.now())

    assert tally(reader, **query).content == before


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ({"group_by": "colour"}, "bad_parameter"),
        ({"group_by": "tool,tool"}, "bad_parameter"),
        ({"group_by": "hour,day"}, "bad_parameter"),
        ({"group_by": "tool,"}, "bad_parameter"),
        ({"group_by": "marks"}, "bad_parameter"),
        ({"q": "session:s-1"}, "bad_parameter"),
        ({"q": "duration:>2s"}, "bad_parameter"),
        ({"q": "tol:x"}, "bad_filter"),
        ({"group_by": "minute", "from_": "2020-01-01T00:00:00Z"}, "bad_parameter"),
        ({"limit": "5"}, "unknown_parameter"),
    ],
    ids=str,
)
def test_what_the_tally_cannot_answer_is_refused_by_name(query, name, reader):
    response = tally(reader, **query)

    assert (response.status_code, response.json()["reason"]) == (422, name)


@pytest.mark.parametrize("step", ["minute", "hour", "day"])
def test_each_step_reaches_back_as_far_as_it_is_kept(step, traffic, reader):
    assert sum(group["count"] for group in groups(tally(reader, group_by=step))) == 5
