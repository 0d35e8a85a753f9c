from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operations import display

MS = display.MILLISECOND
S = display.SECOND


@pytest.mark.parametrize(
    ("microseconds", "words"),
    [
        (None, "–"),
        (0, "0 µs"),
        (999, "999 µs"),
        (1_000, "1.00 ms"),
        (12_400, "12.4 ms"),
        (999_499, "999 ms"),
        (999_600, "1.00 s"),
        (1_240 * MS, "1.24 s"),
        (59_949 * MS, "59.9 s"),
        (59_960 * MS, "1 m 00 s"),
        (123 * S, "2 m 03 s"),
        (3_599 * S + 600 * MS, "1 h 00 m"),
        (7_380 * S, "2 h 03 m"),
        (76 * 3600 * S, "3 d 4 h"),
        (-1_500 * MS, "−1.50 s"),
    ],
)
def test_a_duration_reads_in_the_units_that_matter(microseconds: int | None, words: str) -> None:
    assert display.duration(microseconds) == words


@given(st.integers(0, 10**15))
def test_a_duration_never_shows_a_thousand_or_sixty_of_a_unit(microseconds: int) -> None:
    words = display.duration(microseconds)

    first, unit = words.split(" ")[:2]
    limit = {"µs": 1000, "ms": 1000, "s": 60, "m": 60, "h": 24}.get(unit, 10**9)
    assert float(first) < limit


@pytest.mark.parametrize(
    ("microseconds", "words"),
    [(60 * S, "min"), (900 * S, "15 min"), (3600 * S, "hour"), (7200 * S, "2 hours"), (86400 * S, "day")],
)
def test_a_step_reads_after_per(microseconds: int, words: str) -> None:
    assert display.step(microseconds).removeprefix("1 ") == words


@pytest.mark.parametrize(
    ("microseconds", "words"),
    [
        (0, "0"),
        (200 * MS, "200 ms"),
        (10 * S, "10 s"),
        (90 * S, "90 s"),
        (300 * S, "5 min"),
        (7200 * S, "2 h"),
    ],
)
def test_a_tick_on_an_axis_is_short(microseconds: int, words: str) -> None:
    assert display.tick(microseconds) == words


def test_lateness_says_on_which_side_of_the_verdict_the_answer_came() -> None:
    assert display.lateness(1_200 * MS) == "1.20 s late"
    assert display.lateness(-300 * MS) == "300 ms in time, delivered late"
    assert display.lateness(None) == "–"


@pytest.mark.parametrize(
    ("octets", "words"),
    [
        (None, "–"),
        (0, "0 B"),
        (999, "999 B"),
        (1_440, "1.44 kB"),
        (999_600, "1.00 MB"),
        (23_100_000, "23.1 MB"),
    ],
)
def test_a_size_reads_in_decimal_units(octets: int | None, words: str) -> None:
    assert display.size(octets) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (None, "–"),
        (842, "842"),
        (9_999, "9,999"),
        (12_345, "12.3k"),
        (1_200_000, "1.20M"),
        (999_600, "1.00M"),
    ],
)
def test_a_short_count_takes_five_characters(number: int | None, words: str) -> None:
    assert display.short_count(number) == words


@pytest.mark.parametrize(
    ("part", "whole", "words"),
    [
        (0, 0, "–"),
        (0, 50, "0\u202f%"),
        (50, 50, "100\u202f%"),
        (31, 1204, "2.6\u202f%"),
        (1, 20_000, "<0.1\u202f%"),
        (19_999, 20_000, ">99.9\u202f%"),
    ],
)
def test_a_rate_never_rounds_to_a_false_none_or_all(part: int, whole: int, words: str) -> None:
    assert display.percent(part, whole) == words


def test_a_share_of_few_is_thin_and_of_none_is_unknown() -> None:
    assert display.share(3, 19).is_thin
    assert not display.share(3, 20).is_thin
    assert not display.share(0, 0).is_known
    assert display.share(31, 1204).sample == "31 of 1,204"


@pytest.mark.parametrize(
    ("now", "before", "direction", "words"),
    [
        (5, 5, "same", "same"),
        (5, 0, "up", "new"),
        (0, 5, "down", "−100\u202f%"),
        (112, 100, "up", "+12\u202f%"),
        (34, 10, "up", "×3.4"),
        (10_001, 10_000, "up", "+<1\u202f%"),
    ],
)
def test_a_change_says_how_far_and_which_way(now: int, before: int, direction: str, words: str) -> None:
    assert display.change(now, before) == display.Change(direction=direction, words=words)


def test_a_change_of_rate_is_in_points_and_unknown_without_earlier_calls() -> None:
    assert display.change_of_rate(display.share(30, 100), display.share(10, 100)).words == "+20.0 pp"
    assert display.change_of_rate(display.share(30, 100), display.share(0, 0)).words == "no earlier calls"


@given(st.integers(-(10**15), 4 * 10**15))
def test_a_moment_goes_to_a_time_and_back_exactly(at_us: int) -> None:
    assert display.microseconds(display.moment(at_us)) == at_us
    assert display.microseconds(datetime.datetime.fromisoformat(display.iso(at_us))) == at_us


@pytest.mark.parametrize(
    ("passed", "words"),
    [
        (0, "just now"),
        (12 * S, "12 s ago"),
        (90 * S, "1 m ago"),
        (49 * 3600 * S, "2 d ago"),
        (-5 * S, "in 5 s"),
    ],
)
def test_ago_names_the_largest_unit(passed: int, words: str) -> None:
    now_us = 1_772_357_832_000_000

    assert display.ago(now_us - passed, now_us) == words
