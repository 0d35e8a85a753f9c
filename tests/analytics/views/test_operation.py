"""One call, told whole: the verdict, the order of things, the words and what was taken out of them."""

from __future__ import annotations

import pytest
import time_machine
from django.test import Client

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


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ({}, "It succeeded after 1.00 s."),
        (
            {"outcome": "failure", "code": "quota"},
            "It ran, and after 1.00 s answered with a failure: quota.",
        ),
        ({"status": "runtime_error", "code": "io"}, "It broke after 1.00 s with an exception: io."),
        (
            {"status": "timed_out", "effect": "write", "answered_at": traffic.at(-4)},
            "The caller was told that it timed out after 1.00 s, but it happened: "
            "the tool answered success, 59.0 s late.",
        ),
        (
            {
                "status": "timed_out",
                "effect": "read",
                "answer": {"outcome": "failure", "code": "gone"},
                "answered_at": traffic.at(-4),
            },
            "The caller was told that it timed out after 1.00 s; the answer came 59.0 s late: Failed: gone.",
        ),
        (
            {"status": "timed_out"},
            "The caller was told that it timed out after 1.00 s. No answer was ever told.",
        ),
        (
            {"status": "contract_error", "contract": {"kind": "unknown_tool"}},
            "It never ran: there is no tool named refund.",
        ),
        (
            {
                "status": "contract_error",
                "contract": {
                    "kind": "invalid_arguments",
                    "issues": [{"path": "/amount", "keyword": "type"}, {"path": "", "keyword": "required"}],
                },
            },
            "It never ran: its arguments broke “type” at /amount and 1 more.",
        ),
        ({"status": "denied", "code": "policy"}, "It never ran: it was denied: policy."),
        ({"status": "running", "ended_at": None}, "It is running since 5 m 00 s."),
        (
            {
                "outcome": "failure",
                "code": "stale_revision",
                "conflict": {"resource": "order/7", "expected_revision": "r1", "actual_revision": "r3"},
            },
            "The write was based on revision r1 of order/7, which stood at r3.",
        ),
    ],
)
def test_the_verdict_is_one_sentence_that_is_true(bob, told, verdict):
    traffic.send(traffic.call("op", -5, **told))

    assert verdict in look(bob, "operation?id=op").text


def test_secrets_are_gone_and_the_rule_that_took_them_is_named(bob):
    secret = "sk-" + "live-" + "a1b2c3d4e5f6" * 3
    traffic.send(traffic.call("op", -5, input={"compact": {"order": 81331, "api_key": secret}}))

    page = look(bob, "operation?id=op")

    assert secret not in page.text
    assert '"order": 81331' in page.text
    assert "[REDACTED:" in page.text
    assert "1 redacted before storing" in page.text
    assert "/api_key by the rule" in page.text


def test_contradicting_records_are_both_told_of(bob):
    traffic.send(traffic.call("op", -5))
    traffic.send(traffic.call("op", -5, status="runtime_error", code="boom"))

    assert "Records contradict each other" in look(bob, "operation?id=op").text


def test_attempts_lead_to_each_other(bob):
    traffic.send(traffic.call("op", -5, status="runtime_error"), traffic.call("op", -4, attempt=2))

    page = look(bob, "operation?id=op")

    assert "It succeeded" in page.text
    assert "?id=op&attempt=1" in page.links
    assert "It broke" in look(bob, "operation?id=op&attempt=1").text


def test_an_id_that_was_used_again_leads_to_both_rows(bob):
    traffic.send(traffic.call("op", -3 * 24 * 60, tool="search"))
    traffic.send(traffic.call("op", -5))

    newest = look(bob, "operation?id=op")
    other = next(link for link in newest.links if "day=" in link)

    assert "The same id names another call: search" in newest.text
    assert other == "?id=op&attempt=1&day=2026-03-07"
    assert "The same id names another call: refund" in look(bob, f"operation{other}").text


def test_the_turn_is_shown_with_neighbours_and_what_recovered(bob):
    of_turn = {"session_id": "s1", "turn_id": "t1"}
    traffic.send(
        traffic.call("first", -5, outcome="failure", code="quota", **of_turn),
        traffic.call("second", -4, **of_turn),
        traffic.call("elsewhere", -4, tool="search", session_id="s1", turn_id="t2"),
    )

    turn = look(bob, "operation?id=first").text.partition("Its turn")[2]

    assert "2 calls" in turn
    assert "recovered" in turn
    assert "search" not in turn


def test_the_same_failure_elsewhere_is_counted_and_listed(bob):
    traffic.send(*(traffic.call(f"op-{n}", -n, outcome="failure", code="quota") for n in range(4)))
    traffic.send(traffic.call("fine", -1))

    page = look(bob, "operation?id=op-2")

    assert "4 in the last 7 days" in page.text
    assert sorted(link for link in page.links if link.startswith("/p/acme/operation?id=op-")) == [
        f"/p/acme/operation?id=op-{n}&attempt=1" for n in (0, 1, 3)
    ]


def test_a_session_shows_its_turns_repeats_and_recoveries(bob):
    same = {"input": {"compact": {"q": 1}, "digest": "ab" * 32}, "output": {"digest": "cd" * 32}}
    of_turn = {"session_id": "s1", "turn_id": "t1", "effect": "read"}
    traffic.send(
        traffic.call("one", -5, **of_turn, **same),
        traffic.call("two", -4, **of_turn, **same),
        traffic.call("three", -3, tool="search", status="timed_out", **of_turn),
        traffic.call("four", -2, tool="search", **of_turn),
    )

    page = look(bob, "session?id=s1")

    assert "Repeats 1" in page.text
    assert "Recovered 1" in page.text
    assert "Turn t1" in page.text
    assert "repeats an earlier call" in page.text


@pytest.mark.parametrize(
    "path",
    [
        "operation?id=gone",
        "operation?id=",
        "operation?id=op&attempt=9",
        "operation/peek?id=gone",
        "session?id=x",
        "session",
    ],
)
def test_what_is_not_there_is_not_found(bob, path):
    traffic.send(traffic.call("op", -5, session_id="s1"))

    look(bob, path, status=404)


def test_the_panel_is_a_page_of_its_own_without_the_script(bob):
    traffic.send(traffic.call("op", -5))

    alone = bob.get("/p/acme/operation/peek?id=op&attempt=1")
    part = bob.get("/p/acme/operation/peek?id=op&attempt=1", headers={"HX-Request": "true"})

    assert b"<!doctype html>" in alone.content
    assert b"<!doctype html>" not in part.content
    assert b"It succeeded" in alone.content
    assert b"It succeeded" in part.content
