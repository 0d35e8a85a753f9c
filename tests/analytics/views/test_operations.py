"""The list of tool calls: what it shows, what it leads to, and what it refuses to guess."""

from __future__ import annotations

import csv
import io
import json
import re
from html import parser

import pytest
import time_machine
from django.test import Client

from operations import exports, find
from tests import make, traffic

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def noon():
    with time_machine.travel(traffic.NOON, tick=False):
        yield


@pytest.fixture
def bob() -> Client:
    return make.browser(make.bob())


class Page(parser.HTMLParser):
    """The words and links of a page."""

    def __init__(self, markup: bytes) -> None:
        super().__init__()
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(markup.decode())
        self.text = re.sub(r"\s+", " ", " ".join(self.words))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if tag == "a" and href:
            self.links.append(href)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def look(browser: Client, path: str, status: int = 200) -> Page:
    response = browser.get(f"/p/acme/{path}")
    assert response.status_code == status
    return Page(response.content)


def rows(page: Page) -> list[str]:
    return [
        link.split("id=")[1].split("&")[0] for link in page.links if link.startswith("/p/acme/operation?")
    ]


def test_the_list_begins_at_the_projects_default_environment(bob):
    traffic.send(traffic.call("live", -5), traffic.call("trial", -4, environment="staging"))

    page = look(bob, "operations")

    assert rows(page) == ["live"]
    assert "environment production" in page.text
    assert rows(look(bob, "operations?q=")) == ["trial", "live"]


def test_without_anything_from_the_default_environment_nothing_is_held_back(bob):
    traffic.send(traffic.call("trial", -4, environment="staging"))

    assert rows(look(bob, "operations")) == ["trial"]


def test_a_filter_that_cannot_be_read_shows_no_calls_and_says_what_was_meant(bob):
    traffic.send(traffic.call("live", -5))

    page = look(bob, "operations?q=tol:refund&range=1h", status=422)

    assert rows(page) == []
    assert "There is no field “tol”. Did you mean “tool:refund”?" in page.text
    assert "?q=tool%3Arefund&range=1h" in page.links
    assert rows(look(bob, "operations?q=tool%3Arefund&range=1h")) == ["live"]


@pytest.mark.parametrize(
    "query",
    [
        "range=1y",
        "from=yesterday",
        "from=2026-03-10T12:00Z&to=2026-03-09T12:00Z",
        "from=9999-12-31T00:00Z&to=9999-12-31T23:59Z",
        "from=0001-01-01T00:00Z&to=0001-01-02T00:00Z",
    ],
)
def test_a_range_that_cannot_be_read_is_said_and_the_last_day_shown(bob, query):
    traffic.send(traffic.call("live", -5))

    page = look(bob, f"operations?q=&{query}", status=422)

    assert "Showing the last 24 hours instead." in page.text
    assert rows(page) == ["live"]


def test_pages_follow_each_other_without_gap_or_repeat(bob):
    traffic.send(*(traffic.call(f"op-{n:03}", -n) for n in range(120)))

    seen, path = [], "operations?q=&range=24h"
    while path:
        page = look(bob, path)
        seen += rows(page)
        path = next((link[len("/p/acme/") :] for link in page.links if "cursor=" in link), "")

    assert seen == [f"op-{n:03}" for n in range(120)]


def test_a_place_in_the_list_of_another_project_is_worth_nothing_here(bob):
    traffic.send(*(traffic.call(f"op-{n:03}", -n) for n in range(60)))
    make.join(make.bob(), make.globex(), ["viewer"])
    cursor = next(link for link in look(bob, "operations?q=").links if "cursor=" in link).split("cursor=")[1]

    response = bob.get(f"/p/globex/operations?q=&cursor={cursor}")

    assert response.status_code == 422
    assert "no longer known" in response.content.decode()


def test_new_calls_are_counted_above_the_list_which_stays_as_it_is(bob):
    traffic.send(traffic.call("first", -30))
    markup = bob.get("/p/acme/operations?q=tool:refund").content.decode()
    newer = re.search(r'hx-get="(/p/acme/operations/newer[^"]+)"', markup)
    assert newer is not None
    address = newer[1].replace("&amp;", "&")
    assert bob.get(address).content.decode().strip() == ""
    traffic.send(
        traffic.call("second", -2), traffic.call("third", -1), traffic.call("other", -1, tool="search")
    )

    answer = bob.get(address).content.decode()

    assert "2 new: show" in answer


def test_facets_count_and_lead_to_the_filter_with_their_value(bob):
    traffic.send(
        traffic.call("one", -3),
        traffic.call("two", -2, tool="search"),
        traffic.call("three", -1, outcome="failure", code="quota"),
    )

    page = look(bob, "operations/facets?q=env:production&range=1h")

    assert "Success 2" in page.text
    assert "quota 1" in page.text
    assert "/p/acme/operations?q=env%3Aproduction+tool%3Asearch&range=1h" in page.links
    assert "/p/acme/operations?q=env%3Aproduction+-tool%3Asearch&range=1h" in page.links
    assert "/p/acme/operations?q=env%3Aproduction+outcome%3Afailure&range=1h" in page.links


def test_what_the_tally_cannot_count_is_counted_from_the_facts(bob, monkeypatch):
    traffic.send(*(traffic.call(f"op-{n}", -n, session_id=f"s{n % 2}") for n in range(8)))

    whole = look(bob, "operations?q=session:s1")
    monkeypatch.setattr(find, "KEYS_MAX", 3)
    cut = look(bob, "operations?q=session:s1")

    assert "4 in the last 24 hours" in whole.text
    assert "3 and more in the last 24 hours" in cut.text
    assert "Counted among the newest 3" in cut.text


def test_hostile_names_are_shown_and_never_run(bob):
    traffic.send(traffic.call("evil", -1, tool="<img src=x onerror=alert(1)>\u202e", model="a\u200bb"))

    markup = bob.get("/p/acme/operations?q=").content.decode()

    assert "<img src=x" not in markup
    assert "&lt;img src=x onerror=alert(1)&gt;" in markup
    assert "\u202e" not in markup
    assert "\u200b" not in markup
    assert "u202E" in markup


def test_a_call_named_in_the_address_stands_in_the_panel(bob):
    traffic.send(traffic.call("live", -5, outcome="failure", code="quota"))

    page = look(bob, "operations?q=&peek=live~1")

    assert "answered with a failure: quota" in page.text
    assert "answered with a failure" not in look(bob, "operations?q=&peek=gone~1").text


# --- Export ---------------------------------------------------------------------------------------------------


def exported(browser: Client, kind: str, query: str = "q=") -> bytes:
    response = browser.get(f"/p/acme/operations/export?{query}&format={kind}")
    assert response.status_code == 200
    assert response["Content-Disposition"] == f'attachment; filename="acme-tool-calls.{kind}"'
    return b"".join(response.streaming_content)


def test_the_export_holds_the_list_of_the_page(bob, monkeypatch):
    monkeypatch.setattr(exports, "PAGE_ROWS", 7)
    traffic.send(*(traffic.call(f"op-{n:02}", -n, tool="search" if n % 2 else "refund") for n in range(30)))

    lines = exported(bob, "ndjson", "q=tool:refund").splitlines()

    assert [json.loads(line)["operation_id"] for line in lines] == [f"op-{n:02}" for n in range(0, 30, 2)]


def test_no_cell_of_the_export_begins_like_a_formula(bob):
    names = ["=cmd|' /C calc'!A0", "+1", "-1", "@sum", "\t=1", "  =1", "＝1", 'plain, "quoted"']
    traffic.send(*(traffic.call(f"op-{n}", -n, tool=name, session_id=name) for n, name in enumerate(names)))

    table = list(csv.DictReader(io.StringIO(exported(bob, "csv").decode())))

    assert [row["operation_id"] for row in table] == [f"op-{n}" for n in range(len(names))]
    for row in table:
        assert all(not cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "＝")) for cell in row.values())
    assert table[0]["tool"] == "'=cmd|' /C calc'!A0"
    assert table[-1]["tool"] == 'plain, "quoted"'
    assert table[0]["started_at"] == "2026-03-10T12:00:00Z"


def test_a_third_export_at_once_is_told_to_wait(bob):
    traffic.send(traffic.call("live", -5))
    running = [bob.get("/p/acme/operations/export?q=&format=csv") for _ in range(exports.STREAMS_MAX)]

    third = bob.get("/p/acme/operations/export?q=&format=csv")
    for response in running:
        response.close()

    assert third.status_code == 429
    assert third["Retry-After"] == "30"
    assert exported(bob, "csv")


@pytest.mark.parametrize("query", ["q=&format=exe", "q=tol:x&format=csv", "q="])
def test_an_export_of_nonsense_is_refused(bob, query):
    assert bob.get(f"/p/acme/operations/export?{query}").status_code == 400


def test_commas_that_find_nothing_are_answered_with_what_was_probably_meant(bob):
    traffic.send(traffic.call("one", -3, tool="search"), traffic.call("two", -2, tool="refund"))

    page = look(bob, "operations?q=tool:search,refund")

    assert "Did you mean this? tool:(search OR refund)" in page.text
    (link,) = [link for link in page.links if "search+OR+refund" in link and "operations?" in link]
    assert rows(look(bob, link.removeprefix("/p/acme/"))) == ["two", "one"]
