"""Overview answers what broke, how bad and what changed, before a click."""

from __future__ import annotations

import html
import re

import pytest
import time_machine
from django.test import Client

from tests import make, traffic
from tests.analytics.views.test_operations import look, rows

pytestmark = pytest.mark.django_db(transaction=True)

DAY = 24 * 60


@pytest.fixture(autouse=True)
def noon():
    with time_machine.travel(traffic.NOON, tick=False):
        yield


@pytest.fixture
def bob() -> Client:
    return make.browser(make.bob())


def test_an_empty_project_opens_on_connect(bob):
    make.bob()

    response = bob.get("/p/acme/")

    assert response.status_code == 302
    assert response["Location"] == "/p/acme/connect"


def test_every_rate_says_its_sample_and_its_change(bob):
    traffic.send(
        *(traffic.call(f"before-{n}", -DAY - 100 - n) for n in range(30)),
        *(traffic.call(f"fine-{n}", -100 - n) for n in range(27)),
        *(traffic.call(f"broken-{n}", -10 - n, status="runtime_error", code="io") for n in range(13)),
    )

    page = look(bob, "?q=&range=24h")

    assert "Exception Worse 32.5 % +32.5 pp vs before 13 of 40 calls that ran" in page.text
    assert (
        "Worse than the same span before: Exception 32.5 % (was 0 %) , "
        "refund fails 32.5 % (was 0 %) with io ." in page.text
    )


def _searched(name: str, minutes: float, number: int) -> dict[str, object]:
    """A search, of which every twentieth fails."""
    told = {"outcome": "failure", "code": "no_match"} if number % 20 == 0 else {}
    return traffic.call(name, minutes, tool="search", **told)


def test_one_tool_that_became_worse_is_named_where_all_together_hide_it(bob):
    traffic.send(
        *(traffic.call(f"was-{n}", -DAY - 100 - n, tool="refund") for n in range(30)),
        *(_searched(f"busy-{n}", -DAY - 1 - n / 10, n) for n in range(2000)),
        *(_searched(f"now-{n}", -1 - n / 10, n) for n in range(2000)),
        *(traffic.call(f"fine-{n}", -100 - n, tool="refund") for n in range(20)),
        *(
            traffic.call(f"bad-{n}", -200 - n, tool="refund", outcome="failure", code="quota")
            for n in range(9)
        ),
    )

    page = look(bob, "?q=&range=24h")

    assert "Worse than the same span before: refund fails 31.0 % (was 0 %) with quota ." in page.text


def test_without_anything_before_the_tool_that_fails_most_is_named(bob):
    traffic.send(
        *(traffic.call(f"fine-{n}", -100 - n) for n in range(20)),
        *(traffic.call(f"bad-{n}", -200 - n, outcome="failure", code="quota") for n in range(20)),
    )

    page = look(bob, "?q=&range=24h")

    assert "Too few calls to compare with the same span before." in page.text
    assert "refund fails most: 50.0 % of its calls (20 of 40), with quota ." in page.text


def test_a_rate_from_fewer_than_twenty_is_greyed(bob):
    traffic.send(traffic.call("fine", -3), traffic.call("broken", -2, status="runtime_error"))

    markup = bob.get("/p/acme/?q=").content.decode()

    assert re.search(r'class="tile-value thin"[^>]*>50', markup)
    assert "Too few calls to compare" in markup


@pytest.mark.parametrize("width", ["15m", "1h", "6h", "24h", "7d", "30d"])
def test_every_number_leads_to_exactly_the_rows_behind_it(bob, width):
    traffic.send(
        traffic.call("fine", -3),
        traffic.call("broken", -2, status="runtime_error"),
        traffic.call("late", -1, status="timed_out", effect="write", answered_at=traffic.at(2)),
    )

    page = look(bob, f"?q=&range={width}")

    behind = {link for link in page.links if link.startswith("/p/acme/operations?")}
    shown = {str(link): rows(look(bob, link[len("/p/acme/") :])) for link in behind}
    assert shown[f"/p/acme/operations?q=signal%3Aruntime_error&range={width}"] == ["broken"]
    assert shown[f"/p/acme/operations?q=signal%3Aphantom_failure&range={width}"] == ["late"]
    assert shown[f"/p/acme/operations?q=&range={width}"] == ["late", "broken", "fine"]
    bars = [found for link, found in shown.items() if "from=" in link and "env" not in link]
    assert sorted(name for found in bars for name in found if found)


def test_what_a_rate_is_over_leads_to_exactly_those_calls_or_nowhere(bob):
    digest = {"digest": "ab" * 32, "sent_digest": "cd" * 32}
    error = {"safe_for_model": False, "told_model": True}
    traffic.send(
        traffic.call("plain", -5, input={"digest": "ab" * 32}),
        traffic.call("altered", -4, input=digest),
        traffic.call("checked", -3, verified=True),
        traffic.call("unchecked", -2, verified=False),
        traffic.call("told", -1, outcome="failure", code="quota", error=error),
    )

    page = bob.get("/p/acme/?q=&range=1h").content.decode()

    behind = {}
    for said in ("calls with both digests", "successes that say", "errors that say"):
        link = re.search(rf'<a href="([^"]+)">[^<]*{said}</a>', page)
        behind[said] = rows(look(bob, html.unescape(link[1])[len("/p/acme/") :])) if link else None
        assert said in page
    assert behind == {
        "calls with both digests": ["altered"],
        "successes that say": ["unchecked", "checked"],
        "errors that say": None,
    }


def test_a_new_tool_version_is_among_what_changed(bob):
    traffic.send(traffic.call("old", -3 * DAY, tool_version="1.0"))
    traffic.send(traffic.call("new", -30, tool_version="2.0", outcome="failure", code="quota"))

    page = look(bob, "?q=&range=24h")

    assert "New tool version refund@2.0" in page.text
    assert "New code quota" in page.text
    assert "refund@1.0" not in page.text
    link = next(link for link in page.links if "version%3A2.0" in link)
    assert rows(look(bob, link[len("/p/acme/") :])) == ["new"]


def test_the_worst_tool_comes_first_and_thin_samples_last(bob):
    traffic.send(
        *(traffic.call(f"a-{n}", -n, tool="often", outcome="failure", code="x") for n in range(15)),
        *(traffic.call(f"b-{n}", -n, tool="often") for n in range(15)),
        traffic.call("once", -1, tool="once", outcome="failure"),
        traffic.call("guess", -1, tool="no_such", status="contract_error", contract={"kind": "unknown_tool"}),
    )

    worst = look(bob, "?q=").text.partition("Worst now")[2].partition("Growing")[0]

    assert worst.index("often 50.0 % 15 of 30, x") < worst.index("once 100 %")
    assert "no_such" not in worst


def test_what_only_facts_can_tell_is_named_as_left_out(bob):
    traffic.send(traffic.call("fine", -3, session_id="s1"))

    assert "Counts and charts leave out session:s1" in look(bob, "?q=session:s1").text


def test_a_link_to_copy_names_the_range_for_ever(bob):
    traffic.send(traffic.call("fine", -3))

    markup = bob.get("/p/acme/?q=tool:refund&range=1h").content.decode()

    copied = re.search(r'data-copy-text="([^"]+)"', markup)
    assert copied is not None
    assert "from=2026-03-10T11%3A01%3A00Z&amp;to=2026-03-10T12%3A01%3A00Z" in copied[1]
    assert "range=" not in copied[1]
