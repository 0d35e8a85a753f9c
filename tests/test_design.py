"""The pieces of every page: contrast by arithmetic, and all of them at once in a real browser."""

from __future__ import annotations

import itertools
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python import sync_playwright as axe
from django.template import loader

from operations import endings
from tests import kitchen

CSS = pathlib.Path(__file__).parents[1].joinpath("static/css/console.css").read_text()
PAIR = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")
TOKENS = {name: (light, dark) for name, light, dark in PAIR.findall(CSS)}

#: Ink on ground, at least 4.5 to 1.
TEXT = [
    *itertools.product(
        ("ink", "ink-soft", "ink-faint", "accent"),
        ("page", "surface", "raised", "sunken", "hover", "accent-wash"),
    ),
    *((f"{key}-ink", f"{key}-wash") for key in endings.ENDINGS),
    *((f"{key}-ink", "surface") for key in ("exception", "success", "timed_out")),
]
#: Shapes that carry meaning, at least 3 to 1.
SHAPES = [*((key, "surface") for key in endings.ENDINGS), ("line-strong", "surface"), ("focus", "page")]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("ink", "ground"), TEXT)
def test_words_can_be_read_on_their_ground(ink: str, ground: str, theme: int) -> None:
    assert contrast(TOKENS[ink][theme], TOKENS[ground][theme]) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("shape", "ground"), SHAPES)
def test_shapes_stand_out_from_their_ground(shape: str, ground: str, theme: int) -> None:
    assert contrast(TOKENS[shape][theme], TOKENS[ground][theme]) >= 3


def test_words_on_filled_buttons_can_be_read_in_both_themes() -> None:
    fills = [*TOKENS["accent-fill"], *TOKENS["danger-fill"]]

    assert min(contrast(fill, "#ffffff") for fill in fills) >= 4.5


@pytest.mark.parametrize("code", ["400", "403", "404", "500"])
def test_an_error_page_needs_no_request_and_is_the_same_for_everybody(code: str) -> None:
    html = loader.render_to_string(f"{code}.html")

    assert f"HTTP {code}" in html
    assert "csrf" not in html
    assert html == loader.render_to_string(
        f"{code}.html", {"user": "somebody", "current_project": {"name": "Acme"}}
    )


@pytest.fixture(scope="module")
def html() -> str:
    return kitchen.render()


@pytest.fixture
def visit(browser: Any, html: str) -> Iterator[Any]:
    """Open the kitchen with these settings of a context; anything the browser complains of fails the test."""
    contexts, complaints = [], []

    def open_page(**settings: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **settings})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        kitchen.serve(page, html)
        page.goto(f"{kitchen.ORIGIN}/p/acme/?range=24h")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing(visit: Any, theme: str, width: int) -> None:
    page = visit(viewport={"width": width, "height": 900}, color_scheme=theme)
    page.evaluate("document.querySelectorAll('details').forEach((found) => { found.open = true; })")

    found = axe.Axe().run(page).response["violations"]

    assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == []


@pytest.mark.parametrize("width", [390, 720, 960, 1280, 2560])
def test_no_page_scrolls_sideways(visit: Any, width: int) -> None:
    page = visit(viewport={"width": width, "height": 900})

    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_what_a_finger_presses_is_large_enough(visit: Any) -> None:
    page = visit(viewport={"width": 390, "height": 900}, has_touch=True, is_mobile=True)

    heights = page.evaluate(
        "[...document.querySelectorAll('.button, .segmented a, .nav a, .facet li > a, select, .field input')]"
        ".map((found) => found.getBoundingClientRect().height).filter((height) => height > 0)"
    )

    assert len(heights) > 20
    assert min(heights) >= 44


def test_times_stand_in_the_readers_zone_with_utc_on_hover(visit: Any) -> None:
    page = visit(timezone_id="Asia/Kolkata")

    first = page.locator(".listing time").first
    assert first.inner_text() == "1 Mar 15:07:12"
    assert first.get_attribute("title") == "2026-03-01 09:37:12.000 UTC"
    ticks = page.locator(".chart-plot text").all_text_contents()
    assert ticks[:5] == ["17:30", "20:30", "23:30", "1 Mar 02:30", "05:30"]
    assert page.locator("[data-zone]").inner_text() == "Asia/Calcutta"


def test_without_javascript_times_are_utc_and_nothing_dead_is_shown(visit: Any) -> None:
    page = visit(java_script_enabled=False)

    assert page.locator(".listing time").first.inner_text() == "1 Mar 09:37:12 UTC"
    for selector in ("[data-theme-switch]", "[data-copy]", "[data-refresh]", "[data-help]"):
        assert not page.locator(selector).first.is_visible()
    page.locator(".header details summary").first.click()
    assert page.get_by_role("link", name="Globex").is_visible()


def test_a_theme_is_remembered(visit: Any) -> None:
    page = visit(color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)

    page.locator("[data-theme-switch]").click()
    page.locator("[data-theme-switch]").click()
    page.reload()

    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate(ground) != light
    page.locator("[data-theme-switch]").click()
    assert page.evaluate(ground) == light


def test_dragging_over_the_timeline_narrows_the_range_to_whole_bins(visit: Any) -> None:
    page = visit()
    box = page.locator(".chart[data-brush] .chart-plot").bounding_box()

    page.mouse.move(box["x"] + box["width"] * 0.501, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 80, steps=4)
    assert page.locator(".chart-brush").is_visible()
    page.mouse.up()

    page.wait_for_url("**/p/acme/?from=**")
    assert page.url.endswith("?from=2026-02-28T21%3A30%3A00Z&to=2026-03-01T00%3A15%3A00Z")


def test_a_bar_says_what_it_holds_and_opens_its_rows(visit: Any) -> None:
    page = visit(timezone_id="Europe/Berlin")
    bar = page.locator(".chart[data-brush] a.bin").nth(62)

    bar.hover()
    assert page.locator(".chart-tip").first.inner_text().startswith("1 Mar 02:00 to 02:15\n")
    bar.click()

    page.wait_for_url("**/p/acme/operations?from=2026-03-01T01:00:00Z&q=a")


def test_the_keyboard_moves_through_rows_filters_and_jumps(visit: Any) -> None:
    page = visit()
    focused = "document.activeElement.closest('tr')?.rowIndex ?? document.activeElement.name"

    page.keyboard.press("j")
    # One past the current row, which the peek shows.
    assert page.evaluate(focused) == 7
    page.keyboard.press("k")
    page.keyboard.press("k")
    assert page.evaluate(focused) == 5
    page.keyboard.press("/")
    assert page.evaluate(focused) == "q"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.get_by_role("dialog", name="Keyboard shortcuts").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert not page.locator("#peek").is_visible()
    page.keyboard.press("g")
    page.keyboard.press("o")
    page.wait_for_url("**/p/acme/operations")


def test_letters_typed_into_a_field_are_only_letters(visit: Any) -> None:
    page = visit()

    page.locator("[data-filter]").fill("")
    page.locator("[data-filter]").press_sequentially("go j?/")

    assert page.locator("[data-filter]").input_value() == "go j?/"
    assert page.url.endswith("?range=24h")


def test_a_chosen_refresh_stands_in_the_address(visit: Any) -> None:
    page = visit()

    page.locator("[data-refresh]").select_option("30")
    assert page.url.endswith("?range=24h&refresh=30")
    page.locator("[data-refresh]").select_option("")

    assert page.url.endswith("?range=24h")


def test_copying_says_that_it_was_done(visit: Any) -> None:
    page = visit(permissions=["clipboard-read", "clipboard-write"])

    button = page.locator(".peek [data-copy]")
    button.click()

    page.wait_for_function("document.querySelector('.peek [data-copy-label]').textContent === 'Copied'")


def test_a_menu_closes_on_escape_and_on_a_click_elsewhere(visit: Any) -> None:
    page = visit()
    menu = page.locator(".header details").first

    menu.locator("summary").click()
    page.keyboard.press("Escape")
    assert menu.get_attribute("open") is None
    menu.locator("summary").click()
    page.get_by_role("heading", name="Tool calls by ending").click()

    assert menu.get_attribute("open") is None


def test_freshness_is_asked_for_by_the_page_itself(visit: Any) -> None:
    page = visit()

    page.wait_for_selector(".freshness")
    assert "newest record" in page.locator(".freshness").inner_text()


def test_hostile_names_run_nothing_and_show_what_they_hide(visit: Any) -> None:
    page = visit()

    facet = page.locator(".facets bdi").filter(has_text="refund").last
    assert "\\u202E" in facet.inner_text()
    assert page.locator("script").count() == page.locator("head script").count()
