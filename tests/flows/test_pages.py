"""Whole journeys in a real Chromium: find, narrow, look, go back, by mouse, by keyboard and without the script."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python import sync_playwright as axe
from django.utils import timezone
from playwright import sync_api
from playwright.sync_api import expect

from tests import make, stack, traffic

pytestmark = pytest.mark.usefixtures("live_stack")

HOSTILE = "<script>alert(1)</script>\u202e" + "x" * 90


@pytest.fixture
def live_stack(clean_database: None, session_stack: stack.Stack) -> Iterator[stack.Stack]:
    """The real stack as soon as it answers: pages need not wait until the workers have a heartbeat again."""
    session_stack.wake()
    session_stack.wait_until_alive()
    yield session_stack
    session_stack.rest()


def send(*records: dict[str, object]) -> None:
    traffic.send(*records, now=timezone.now())


def call(operation_id: str, minutes: float, **told: object) -> dict[str, object]:
    """A record of a call that began so many minutes ago, by the real clock."""
    start = timezone.now() - datetime.timedelta(minutes=minutes)
    times = {"started_at": start.isoformat(), "ended_at": (start + datetime.timedelta(seconds=1)).isoformat()}
    return traffic.call(operation_id, **{**times, "session_id": "s-1", "turn_id": "t-1", **told})


@pytest.fixture
def calls() -> None:
    """Seventy calls of the last hour and a half: some fail, some broke, one is hostile."""
    of_kind = (
        {},
        {"outcome": "failure", "code": "quota", "input": {"compact": {"order": 1, "note": "x" * 200}}},
        {"status": "runtime_error", "code": "io", "tool": "search"},
        {"status": "timed_out", "effect": "write", "answered_at": timezone.now().isoformat()},
    )
    send(*(call(f"op-{n:02}", 3 + n, **of_kind[n % 4 if n % 3 else 0]) for n in range(69)))
    send(call("evil", 2, tool=HOSTILE, model=HOSTILE, session_id=HOSTILE, turn_id=HOSTILE))


@pytest.fixture
def bob(page: sync_api.Page, sign_in: Callable[[Any], None]) -> sync_api.Page:
    """Bob's browser."""
    sign_in(make.bob())
    return page


def listed(page: sync_api.Page) -> sync_api.Locator:
    return page.locator(".listing tbody tr")


def endings(page: sync_api.Page, kind: str) -> set[str]:
    """The distinct endings of one kind in the list; at least one row is there."""
    expect(listed(page).first).to_be_visible()
    return {" ".join(words.split()) for words in listed(page).locator(f".badge.{kind}").all_text_contents()}


def test_bob_signs_in_and_finds_what_broke(page: sync_api.Page, calls: None) -> None:
    make.bob()
    page.goto("/")
    page.get_by_label("Email").fill("bob@acme.example")
    page.get_by_label("Password", exact=True).fill(make.PASSWORD)
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.get_by_role("link", name="Exception", exact=True).click()

    expect(page.get_by_role("heading", name="Tool calls")).to_be_visible()
    expect(page.locator("[data-filter]")).to_have_value("env:production signal:runtime_error")
    assert endings(page, "exception") == {"Exception: io"}


def test_a_filter_is_typed_mended_and_taken_off_by_its_chip(bob: sync_api.Page, calls: None) -> None:
    bob.goto("/p/acme/operations")
    bob.keyboard.press("/")
    expect(bob.locator("[data-filter]")).to_be_focused()
    bob.keyboard.type("tol:search")
    bob.keyboard.press("Enter")

    expect(bob.get_by_role("alert")).to_contain_text("Did you mean “tool:search”?")
    expect(listed(bob)).to_have_count(0)
    bob.get_by_role("link", name="Use that").click()
    expect(listed(bob).first).to_contain_text("search")
    bob.get_by_role("link", name="Remove tool:search").click()

    expect(bob.locator("[data-filter]")).to_have_value("")
    expect(listed(bob)).to_have_count(50)


def test_a_facet_narrows_the_list_and_the_back_button_widens_it(bob: sync_api.Page, calls: None) -> None:
    bob.goto("/p/acme/operations")
    bob.locator(".facets").get_by_role("link", name="Failed").first.click()

    expect(bob.locator("[data-filter]")).to_have_value("env:production outcome:failure")
    assert endings(bob, "failed") == {"Failed: quota"}
    bob.go_back()

    expect(bob.locator("[data-filter]")).to_have_value("env:production")
    expect(listed(bob)).to_have_count(50)


def test_brushing_the_timeline_narrows_the_range(bob: sync_api.Page, calls: None) -> None:
    bob.goto("/p/acme/operations?q=&range=6h")
    box = bob.locator(".chart-plot").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    bob.mouse.move(box["x"] + box["width"] * 0.9, middle)
    bob.mouse.down()
    bob.mouse.move(box["x"] + box["width"] * 0.95, middle, steps=5)
    bob.mouse.up()

    bob.wait_for_url("**from=**")
    assert "range=" not in bob.url
    number = listed(bob).count()
    assert 0 < number < 40
    bob.go_back()
    expect(listed(bob)).to_have_count(50)


def test_older_calls_are_a_page_away_and_the_newest_a_page_back(bob: sync_api.Page, calls: None) -> None:
    bob.goto("/p/acme/operations?q=&range=6h")
    bob.get_by_role("link", name="Older").click()

    expect(listed(bob)).to_have_count(20)
    bob.get_by_role("link", name="Newest", exact=True).click()
    expect(listed(bob)).to_have_count(50)


def test_a_row_opens_beside_the_list_at_its_own_address(bob: sync_api.Page, calls: None) -> None:
    bob.goto("/p/acme/operations?q=code:quota")
    listed(bob).first.get_by_role("link").first.click()

    peek = bob.locator("#peek")
    expect(peek).to_contain_text("answered with a failure: quota")
    assert "peek=op-" in bob.url
    bob.reload()
    expect(peek).to_contain_text("answered with a failure: quota")
    bob.go_back()
    expect(peek).to_be_empty()
    bob.go_forward()
    peek.get_by_role("link", name="Open").click()

    expect(bob.get_by_role("heading", name="What happened")).to_be_visible()
    expect(bob.locator(".verdict")).to_contain_text("answered with a failure: quota")
    bob.get_by_role("link", name="whole session").click()
    expect(bob.get_by_role("heading", name="Session s-1")).to_be_visible()


def test_the_list_is_walked_and_opened_by_keyboard(bob: sync_api.Page, calls: None) -> None:
    bob.goto("/p/acme/operations?q=code:quota")
    bob.keyboard.press("j")
    bob.keyboard.press("j")
    bob.keyboard.press("k")
    bob.keyboard.press("Enter")

    expect(bob.locator("#peek")).to_contain_text("answered with a failure: quota")
    expect(listed(bob).first).to_have_class("current")
    bob.keyboard.press("Escape")
    expect(bob.locator("#peek")).to_be_empty()
    expect(bob).not_to_have_url(re.compile("peek="))
    bob.keyboard.press("?")
    expect(bob.get_by_role("dialog")).to_be_visible()
    bob.keyboard.press("Escape")
    bob.keyboard.press("g")
    bob.keyboard.press("h")
    expect(bob.get_by_role("heading", name="Overview")).to_be_visible()


def test_new_calls_are_offered_and_never_move_the_list(bob: sync_api.Page, calls: None) -> None:
    bob.goto("/p/acme/operations?q=tool:refund&range=1h")
    first = listed(bob).first.inner_text()
    send(call("newest", 0.1), call("other", 0.1, tool="search"))
    bob.evaluate("htmx.trigger(document.body, 'refresh')")

    offer = bob.get_by_role("link", name="1 new: show")
    expect(offer).to_be_visible()
    assert listed(bob).first.inner_text() == first
    offer.click()
    expect(listed(bob).first.get_by_role("link").first).to_have_attribute(
        "href", "/p/acme/operation?id=newest&attempt=1"
    )


def test_a_refresh_is_off_until_chosen_and_then_in_the_address(bob: sync_api.Page, calls: None) -> None:
    bob.goto("/p/acme/?q=&range=1h")
    assert "refresh" not in bob.url
    before = bob.locator(".tile", has_text="Tool calls").locator(".tile-value").inner_text()
    bob.get_by_label("Refresh").last.select_option("10")

    bob.wait_for_url("**refresh=10**")
    send(*(call(f"more-{n}", 1) for n in range(7)))
    bob.evaluate("htmx.trigger(document.body, 'refresh')")
    tile = bob.locator(".tile", has_text="Tool calls").locator(".tile-value")
    expect(tile).to_have_text(str(int(before) + 7))


def test_connect_turns_green_by_itself_when_the_first_call_comes(
    page: sync_api.Page, sign_in: Callable[[Any], None]
) -> None:
    sign_in(make.alice())
    page.goto("/p/acme/")
    expect(page.get_by_role("status").filter(has_text="Waiting for the first call.")).to_be_visible()
    send(call("first", 0.1))

    connected = page.get_by_role("status").filter(has_text="Connected.")
    expect(connected).to_be_visible()
    connected.get_by_role("link", name="refund").click()
    expect(page.locator(".verdict")).to_contain_text("It succeeded")


# --- For everybody ------------------------------------------------------------------------------------------

PAGES = {
    "overview": "/p/acme/?q=",
    "tool calls": "/p/acme/operations?q=&facets=1&peek=op-01~1",
    "bad filter": "/p/acme/operations?q=tol:x",
    "nothing found": "/p/acme/operations?q=tool:nothing",
    "tool call": "/p/acme/operation?id=op-01",
    "hostile tool call": "/p/acme/operation?id=evil",
    "session": "/p/acme/session?id=s-1",
    "ingest health": "/p/acme/settings/ingest",
    "connect": "/p/acme/connect",
}


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_axe_finds_nothing_on_any_page(bob: sync_api.Page, calls: None, theme: Any, width: int) -> None:
    bob.emulate_media(color_scheme=theme)
    bob.set_viewport_size({"width": width, "height": 900})
    for name, path in PAGES.items():
        bob.goto(path)
        found = axe.Axe().run(bob).response["violations"]
        assert [(name, one["id"], one["nodes"][0]["html"][:200]) for one in found] == []


def test_no_page_scrolls_sideways_however_long_the_names(bob: sync_api.Page, calls: None) -> None:
    for name, path in PAGES.items():
        bob.goto(path)
        for width in (390, 768, 1440, 2560):
            bob.set_viewport_size({"width": width, "height": 900})
            overflow = bob.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert (name, width, overflow) == (name, width, min(overflow, 0))


def test_hostile_names_run_nothing_and_hide_nothing(bob: sync_api.Page, calls: None) -> None:
    asked: list[str] = []
    bob.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    for path in ("/p/acme/?q=", "/p/acme/operations?q=&facets=1&peek=evil~1", "/p/acme/operation?id=evil"):
        bob.goto(path)
        expect(bob.get_by_text("<script>alert(1)</script>").first).to_be_attached()
        assert "\u202e" not in bob.content()

    assert asked == []


@pytest.fixture
def reader(browser: sync_api.Browser, live_stack: Any) -> Iterator[Callable[[Any], sync_api.Page]]:
    """A browser that runs no script, signed in as whoever is given."""
    from django.conf import settings
    from django.test import Client

    fresh = browser.new_context(base_url=live_stack.address, java_script_enabled=False)

    def signed_in(person: Any) -> sync_api.Page:
        client = Client()
        client.force_login(person, backend=settings.AUTHENTICATION_BACKENDS[0])
        cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
        fresh.add_cookies(
            [{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live_stack.address}]
        )
        return fresh.new_page()

    yield signed_in
    fresh.close()


def test_everything_is_read_without_the_script(reader: Callable[[Any], sync_api.Page], calls: None) -> None:
    page = reader(make.bob())
    page.goto("/p/acme/")
    expect(page.locator(".tile-sample").first).to_be_visible()
    page.get_by_role("link", name="Tool calls", exact=True).first.click()
    expect(listed(page)).to_have_count(50)
    page.get_by_role("link", name="Show facets").click()
    page.locator(".facets").get_by_role("link", name="Exception").first.click()
    assert endings(page, "exception") == {"Exception: io"}
    page.locator("[data-filter]").fill("code:quota")
    page.get_by_role("button", name="Filter").click()
    listed(page).first.get_by_role("link").first.click()

    expect(page.get_by_role("heading", name="What happened")).to_be_visible()
    expect(page.locator(".verdict")).to_contain_text("answered with a failure: quota")
    expect(page.locator("pre").first).to_contain_text('"order": 1')
