from __future__ import annotations

import dataclasses
import pathlib
import re
from xml.etree import ElementTree

import pytest
from django.template import Context, Template

from analytics import buckets, charts
from operations import display, endings

HOSTILE = "<script>alert(1)</script>\u202e\"'& \x1b"
NOW = 1_772_357_832_000_000
BINS = buckets.Bins(first_us=1_772_352_000_000_000, step_us=buckets.HOUR, number=3)
LINKS = ["/p/acme/operations?a=1&b=2", "/p/acme/operations?b", "/p/acme/operations?c"]


def parsed(chart: charts.Chart) -> ElementTree.Element:
    # A chart is well-formed, so that a slip in escaping cannot pass; HTML's bare attributes are given a value.
    text = chart.html.replace("<figure", '<figure data-x=""', 1)
    text = re.sub(r" (data-brush|data-row|data-zone)(?=[ >])", r' \1=""', text)
    text = re.sub(r"(class|aria-current)=(current|true)(?=[ >])", r'\1="\2"', text)
    return ElementTree.fromstring(text)


def texts(root: ElementTree.Element, path: str) -> list[str]:
    return ["".join(found.itertext()) for found in root.iterfind(path)]


def timeline(**more: object) -> charts.Chart:
    counts = {"success": [10, 0, 2000], "exception": [0, 0, 1]}
    return charts.stacked_timeline(label="Calls", bins=BINS, counts=counts, links=LINKS, **more)  # type: ignore[arg-type]


def test_a_bar_opens_its_rows_and_says_what_it_holds() -> None:
    root = parsed(timeline(now_us=BINS.end_us - 1))

    links = [found.get("href") for found in root.iterfind(".//svg/a")]
    assert links == ["/p/acme/operations?a=1&b=2", "/p/acme/operations?c"]
    assert texts(root, ".//svg//title") == [
        "1 Mar 08:00 to 09:00 UTC\n10 tool calls\nSuccess 10",
        "1 Mar 09:00 to 10:00 UTC\n0 tool calls",
        "1 Mar 10:00 to 11:00 UTC\n2,001 tool calls\nSuccess 2,000\nException 1\nstill filling",
    ]


def test_one_failure_among_thousands_is_still_drawn_tall_enough_to_see() -> None:
    root = parsed(timeline())

    (rect,) = root.iterfind(".//g[@class='fill-exception']/rect")
    assert float(str(rect.get("height"))) >= 2


def test_endings_that_never_occur_are_not_in_the_legend() -> None:
    root = parsed(timeline(legend_links={"exception": "?q=x"}))

    assert texts(root, ".//ul/li") == ["Success 2,010", "Exception 1"]
    assert [found.get("href") for found in root.iterfind(".//ul/li/a")] == ["?q=x"]


def test_the_table_twin_tells_the_same_and_leaves_out_empty_bins() -> None:
    root = parsed(timeline())

    assert texts(root, ".//thead/tr/th") == ["From", "All", "Success", "Exception"]
    assert [texts(row, "td") for row in root.iterfind(".//tbody/tr")] == [
        ["1 Mar 08:00:00 UTC", "10", "10", "0"],
        ["1 Mar 10:00:00 UTC", "2,001", "2,000", "1"],
    ]


def test_the_keyboard_goes_through_the_table_not_through_every_bar() -> None:
    root = parsed(timeline())

    assert {found.get("tabindex") for found in root.iterfind(".//svg/a")} == {"-1"}
    assert all(found.get("aria-hidden") == "true" for found in root.iterfind(".//svg"))


def test_an_empty_timeline_says_so() -> None:
    chart = charts.stacked_timeline(label="Calls", bins=BINS, counts={}, links=LINKS)

    assert "No tool calls in this range" in texts(parsed(chart), ".//text")


def test_days_are_days_of_utc_for_every_reader() -> None:
    bins = buckets.Bins(first_us=1_772_323_200_000_000, step_us=buckets.DAY, number=2)

    chart = charts.stacked_timeline(label="Calls", bins=bins, counts={"success": [1, 2]})

    assert "data-zone" not in chart.html
    assert "<text" in chart.html
    assert not re.search(r"<text[^>]+data-at", chart.html)


@pytest.mark.parametrize(
    "href", ["javascript:alert(1)", "//evil.test/", "https://evil.test/", "/\\evil.test", ""]
)
def test_a_chart_never_links_away(href: str) -> None:
    with pytest.raises(ValueError, match="only to this site"):
        charts.stacked_timeline(label="x", bins=BINS, counts={"success": [1, 1, 1]}, links=[href] * 3)


def test_a_histogram_marks_percentiles_where_they_fall() -> None:
    chart = charts.histogram(
        label="Took",
        edges=[1_000, 2_000, 4_000, 8_000],
        counts=[5, 0, 1],
        markers=[charts.Marker("p50", 1_500)],
    )

    root = parsed(chart)
    (line,) = root.iterfind(".//line[@class='marker']")
    assert line.get("x1") == "16.667%"
    assert "p50 1.50 ms" in texts(root, ".//text")
    assert texts(root, ".//svg//title")[0] == "1.00 ms to 2.00 ms\n5 tool calls"
    assert [texts(row, "td") for row in root.iterfind(".//tbody/tr")] == [
        ["1.00 ms", "2.00 ms", "5"],
        ["4.00 ms", "8.00 ms", "1"],
    ]


def test_a_histogram_refuses_edges_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="one edge more"):
        charts.histogram(label="x", edges=[1, 2], counts=[1, 2])


def test_bars_grey_a_thin_sample() -> None:
    rows = [
        charts.Bar("refund", 0.3, "30 %", "/p/acme/x", "30 of 100", "failed"),
        charts.Bar("rare", 0.5, "50 %", is_thin=True),
    ]

    root = parsed(charts.bars(label="Worst", heading="Tool", value_heading="Failing", rows=rows, largest=1))

    assert [found.get("class") for found in root.iterfind(".//tbody//rect")] == [
        "fill-track",
        "fill-failed",
        "fill-track",
        "fill-quiet",
    ]
    assert texts(root, ".//tbody//span[@class='value thin']") == ["50 %"]


def lane(label: str, first: int, last: int | None, **more: object) -> charts.Lane:
    start = NOW - 60 * display.SECOND
    return charts.Lane(
        label=label,
        ending=endings.of("running" if last is None else "done"),
        started_us=start + first * display.SECOND,
        ended_us=None if last is None else start + last * display.SECOND,
        **more,  # type: ignore[arg-type]
    )


def test_a_waterfall_keeps_turns_apart_and_running_calls_open() -> None:
    rows = [
        lane("read", 0, 30, turn="1"),
        lane(
            "refund",
            30,
            45,
            turn="2",
            answered_us=NOW - 6 * display.SECOND,
            is_current=True,
            href="/p/acme/x",
        ),
        lane("mail", 45, None, turn="2"),
    ]

    root = parsed(charts.waterfall(label="Session", rows=rows, now_us=NOW))

    assert texts(root, ".//tr[@class='turn']") == ["Turn 1", "Turn 2"]
    assert [found.get("x") for found in root.iterfind(".//tbody//rect")] == ["0%", "50%", "75%"]
    assert [texts(row, "td")[-1] for row in root.iterfind(".//tbody/tr") if row.find("td") is not None] == [
        "30.0 s",
        "15.0 s",
        "still running",
    ]
    assert [found.get("cx") for found in root.iterfind(".//circle")] == ["90%"]
    assert len(list(root.iterfind(".//tr[@class='current']"))) == 1


def test_a_call_that_took_no_time_is_still_seen() -> None:
    root = parsed(charts.waterfall(label="Session", rows=[lane("a", 0, 60), lane("b", 60, 60)], now_us=NOW))

    last = list(root.iterfind(".//tbody//rect"))[-1]
    assert (last.get("x"), last.get("width")) == ("99.6%", "0.4%")


def test_a_call_of_which_nobody_told_the_end_has_no_duration() -> None:
    untold = dataclasses.replace(lane("a", 0, 0), is_timed=False)
    text = charts.waterfall(label="Session", rows=[untold], now_us=NOW).html

    assert '<td class="num">–</td>' in text
    assert "took a time nobody told" in text


def test_a_waterfall_of_nothing_is_an_empty_table() -> None:
    root = parsed(charts.waterfall(label="Session", rows=[], now_us=NOW))

    assert list(root.iterfind(".//tbody/tr")) == []


def test_a_sparkline_leaves_a_gap_where_nothing_is_known() -> None:
    root = parsed(charts.sparkline([1, 2, None, 4], label="Failing, hour by hour"))

    assert (root.get("role"), root.get("aria-label")) == ("img", "Failing, hour by hour")
    line = root.find("path[@class='spark-line']")
    assert line is not None
    assert str(line.get("d")).count("M") == 2


def test_hostile_names_are_words_everywhere() -> None:
    drawn = [
        charts.stacked_timeline(label=HOSTILE, bins=BINS, counts={"failed": [1, 2, 3]}, unit=HOSTILE),
        charts.histogram(
            label=HOSTILE, edges=[1, 2], counts=[1], markers=[charts.Marker(HOSTILE, 1)], unit=HOSTILE
        ),
        charts.bars(
            label=HOSTILE,
            heading=HOSTILE,
            value_heading=HOSTILE,
            rows=[charts.Bar(HOSTILE, 1, HOSTILE, "/p/acme/x", HOSTILE)],
        ),
        charts.waterfall(
            label=HOSTILE, rows=[lane(HOSTILE, 0, 1, turn=HOSTILE, notes=(HOSTILE,), href="/p/a")], now_us=NOW
        ),
        charts.sparkline([1], label=HOSTILE),
    ]

    for chart in drawn:
        assert "script" not in {found.tag for found in parsed(chart).iter()}
        assert "alert(1)" in chart.html
        assert " style=" not in chart.html


def test_only_a_chart_is_printed_without_escaping() -> None:
    template = Template("{% load charts %}{% chart figure %}")

    assert template.render(Context({"figure": charts.Chart("<svg></svg>")})) == "<svg></svg>"
    with pytest.raises(TypeError, match="prints charts only"):
        template.render(Context({"figure": "<svg></svg>"}))


def test_every_class_a_chart_uses_is_in_the_stylesheet() -> None:
    css = pathlib.Path(__file__).parents[2].joinpath("static/css/console.css").read_text()

    for key in (*endings.ENDINGS, "plain", "quiet", "track"):
        assert f".fill-{key} " in css
