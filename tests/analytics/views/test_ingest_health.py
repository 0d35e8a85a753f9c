"""What came in, what was refused and why, and how current the project is."""

from __future__ import annotations

import datetime

import pytest
import time_machine
from django.test import Client

from operations import decoding, ingest
from tests import make, traffic
from tests.analytics.views.test_operations import look

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def noon():
    with time_machine.travel(traffic.NOON, tick=False):
        yield


@pytest.fixture
def bob() -> Client:
    return make.browser(make.bob())


def refuse(number: int) -> None:
    body = b"[" + b",".join(b'{"operation_id": "x y"}' for _ in range(number)) + b"]"
    ingest.ingest(
        credential=traffic.credential(make.acme()),
        entries=decoding.decode(body, is_ndjson=False),
        now=traffic.NOON,
    )


def test_records_are_counted_by_what_became_of_them_and_refusals_by_reason(bob):
    traffic.send(traffic.call("a", -1), traffic.call("b", -1))
    traffic.send(traffic.call("a", -1))
    refuse(3)

    page = look(bob, "settings/ingest")

    assert "New calls 2" in page.text
    assert "Told before 1" in page.text
    assert "wrong_value" in page.text
    assert "A field has a value that is not allowed." in page.text


def test_an_answer_whose_call_never_came_counts_after_an_hour(bob):
    early = traffic.NOON - datetime.timedelta(hours=2)
    traffic.send({"operation_id": "lost", "status": "done", "ended_at": traffic.at(-120)}, now=early)
    traffic.send({"operation_id": "soon", "status": "done", "ended_at": traffic.at(-1)})

    page = look(bob, "settings/ingest")

    assert "Answers without a call 1 2 waiting" in page.text


def test_a_runtime_whose_clock_is_ahead_is_named(bob):
    traffic.send(traffic.call("a", 3, runtime="edge@1", instance="device-7"))

    clocks = look(bob, "settings/ingest").text.partition("Clocks")[2]

    assert "edge@1 device-7 1" in clocks
    assert "ahead" in clocks


def test_the_header_says_when_the_newest_record_came(bob):
    traffic.send(traffic.call("a", -1), now=traffic.NOON - datetime.timedelta(seconds=40))

    assert "40 s ago" in look(bob, "freshness").text


def test_the_header_speaks_up_when_records_are_refused_or_come_late(bob):
    traffic.send(*(traffic.call(f"old-{n}", -60) for n in range(5)))
    refuse(3)

    page = look(bob, "freshness")

    assert "1 h 00 m behind" in page.text
    assert "3 refused" in page.text


def test_an_empty_project_says_so(bob):
    make.bob()

    assert "no records yet" in look(bob, "freshness").text
