from __future__ import annotations

import datetime

import pytest
from django.template import Context, Template
from django.test import RequestFactory

HOSTILE = "<b>\u202e\"'&"


def show(source: str, **context: object) -> str:
    return Template("{% load console %}" + source).render(Context(context))


def test_a_time_is_utc_until_the_script_moves_it() -> None:
    at = datetime.datetime(2026, 3, 1, 9, 30, 0, 123456, tzinfo=datetime.UTC)

    assert show("{% when at %}", at=at) == (
        '<time datetime="2026-03-01T09:30:00.123456Z" title="2026-03-01 09:30:00.123 UTC"'
        ' data-at="1772357400123456" data-style="full">2026-03-01 09:30:00.123 UTC</time>'
    )


def test_a_time_in_microseconds_reads_short_in_a_list() -> None:
    assert ">1 Mar 09:30:00 UTC</time>" in show('{% when at "clock" %}', at=1_772_357_400_123_456)


def test_no_time_is_a_dash() -> None:
    assert show("{% when at %}", at=None) == "–"


def test_ago_counts_from_now(now: datetime.datetime) -> None:
    assert ">5 m ago</time>" in show(
        '{% when at "ago" %}', at=now - datetime.timedelta(minutes=5, seconds=30)
    )


def test_text_from_outside_keeps_its_direction_and_shows_what_hides() -> None:
    assert show("{% visible text %}", text=HOSTILE) == (
        '<bdi>&lt;b&gt;<span class="escape" title="right-to-left override">\\u202E</span>&quot;&#x27;&amp;</bdi>'
    )


def test_a_block_keeps_its_lines() -> None:
    assert show("{% visible_block text %}", text="{\n  <b>\u200b") == (
        '{\n  &lt;b&gt;<span class="escape" title="zero width space">\\u200B</span>'
    )
    assert show("{% visible_block text %}", text=None) == "–"


def test_a_share_of_few_is_greyed_with_its_counts() -> None:
    assert (
        show("{% share 3 9 %}") == '<span class="thin" title="from fewer than 20">33.3\u202f% (3 of 9)</span>'
    )
    assert show("{% share 31 1204 %}") == '<span title="31 of 1,204">2.6\u202f%</span>'
    assert "no calls to judge" in show("{% share 0 0 %}")


def test_an_ending_has_a_word_and_a_shape_and_escapes_its_code() -> None:
    html = show('{% ending "done" "failure" code %}', code="<i>")

    assert html.startswith('<span class="badge failed"><svg')
    assert html.endswith('</svg>Failed: <span class="detail">&lt;i&gt;</span></span>')


def test_marks_are_badges() -> None:
    assert show("{% marks 256 %}") == '<span class="badge plain bad">Told “failed”, but it happened</span>'
    assert show("{% marks 0 %}") == ""


def test_an_icon_is_decoration_unless_it_is_named() -> None:
    assert 'aria-hidden="true"' in show('{% icon "check" %}')
    assert show('{% icon "check" "Done" %}').endswith('</svg><span class="sr-only">Done</span>')


def test_a_change_is_marked_by_its_direction() -> None:
    assert show("{% change 12 10 %}") == '<span class="up">+20\u202f%</span>'
    assert show("{% change 5 5 %}") == '<span class="">same</span>'


@pytest.mark.parametrize(
    ("source", "query"),
    [
        ('{% query_with sort="tool" %}', "?q=a%3Ab&amp;range=24h&amp;sort=tool"),
        ('{% query_with range="1h" %}', "?q=a%3Ab&amp;range=1h"),
        ("{% query_with q=None %}", "?range=24h"),
        ('{% query_with cursor="z" %}', "?q=a%3Ab&amp;range=24h&amp;cursor=z"),
        ('{% query_with from_="2026" range="" %}', "?q=a%3Ab&amp;from=2026"),
    ],
)
def test_the_query_string_is_edited_without_the_old_cursor(source: str, query: str) -> None:
    request = RequestFactory().get("/", {"q": "a:b", "range": "24h", "cursor": "old"})

    assert show(source, request=request) == query
