from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics import buckets

NOW = 1_772_357_832_000_000  # 2026-03-01T09:37:12Z


def test_a_preset_ends_now_and_stays_a_preset_in_links() -> None:
    found = buckets.read_range({"range": "1h"}, now_us=NOW)

    assert (found.from_us, found.to_us, found.query) == (NOW - buckets.HOUR, NOW, {"range": "1h"})
    assert found.absolute_query == {"from": "2026-03-01T08:37:12Z", "to": "2026-03-01T09:37:12Z"}


def test_without_parameters_the_default_stands() -> None:
    assert buckets.read_range({}, now_us=NOW).preset == "24h"
    assert buckets.read_range({}, now_us=NOW, preset_default="7d").preset == "7d"


@pytest.mark.parametrize(
    "text",
    ["2026-03-01T08:00:00Z", "2026-03-01T09:00:00+01:00", "2026-03-01T09:00:00 01:00", "2026-03-01T08:00"],
)
def test_a_time_is_read_with_its_zone_or_as_utc(text: str) -> None:
    found = buckets.read_range({"from": text, "range": "1h"}, now_us=NOW)

    assert found == buckets.Range(from_us=1_772_352_000_000_000, to_us=NOW)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"range": "2y"}, "range must be one of"),
        ({"from": "yesterday"}, "from must be a time"),
        ({"to": "2026-03-01T08:00:00Z"}, "to needs a from"),
        ({"from": "2026-03-01T08:00:00Z", "to": "2026-03-01T08:00:00Z"}, "from must be before to"),
        ({"from": "2020-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "at most 400 days"),
        ({"from": "9999-12-31T23:59:59-23:00"}, "from must be before to"),
    ],
)
def test_a_range_that_cannot_be_read_says_why(query: dict[str, str], sentence: str) -> None:
    with pytest.raises(buckets.UnreadableRange, match=sentence):
        buckets.read_range(query, now_us=NOW)


def test_the_span_before_ends_where_this_one_begins() -> None:
    assert buckets.Range(from_us=100, to_us=130, preset="").before() == buckets.Range(from_us=70, to_us=100)


@pytest.mark.parametrize(
    ("preset", "step_minutes", "number"),
    [("15m", 1, 16), ("1h", 1, 61), ("6h", 5, 73), ("24h", 15, 97), ("7d", 120, 85), ("30d", 360, 121)],
)
def test_each_preset_has_bins_a_reader_can_name(preset: str, step_minutes: int, number: int) -> None:
    stretch = buckets.read_range({"range": preset}, now_us=NOW)

    found = buckets.bins(stretch, most=121)

    assert (found.step_us, found.number) == (step_minutes * buckets.MINUTE, number)


@given(
    st.integers(0, NOW),
    st.integers(1, buckets.RANGE_MAX),
    st.sampled_from([buckets.MINUTE, buckets.HOUR, buckets.DAY]),
)
def test_bins_cover_their_range_and_no_more_than_a_step_around(
    from_us: int, span: int, finest_us: int
) -> None:
    stretch = buckets.Range(from_us=from_us, to_us=from_us + span)

    found = buckets.bins(stretch, finest_us=finest_us)

    assert 1 <= found.number <= max(120, span // finest_us + 2 if finest_us == buckets.DAY else 120)
    assert found.step_us >= finest_us
    assert found.first_us <= stretch.from_us < found.first_us + found.step_us
    assert found.end_us - found.step_us < stretch.to_us <= found.end_us
    assert found.first_us % found.step_us == 0


def test_a_time_finds_its_bin() -> None:
    found = buckets.Bins(first_us=600, step_us=60, number=3)

    assert [found.index(at) for at in (599, 600, 659, 660, 779, 780)] == [None, 0, 0, 1, 2, None]
    assert found.range(1) == buckets.Range(from_us=660, to_us=720)


def test_old_ranges_are_counted_in_the_steps_the_tally_still_has() -> None:
    def finest(days: int) -> int:
        return buckets.finest_step(buckets.Range(from_us=NOW - days * buckets.DAY, to_us=NOW), now_us=NOW)

    assert [finest(days) for days in (1, 2, 3, 90, 91)] == [
        buckets.MINUTE,
        buckets.MINUTE,
        buckets.HOUR,
        buckets.HOUR,
        buckets.DAY,
    ]


@given(st.integers(0, NOW), st.integers(buckets.MINUTE, buckets.RANGE_MAX))
def test_ticks_lie_inside_and_leave_room(from_us: int, span: int) -> None:
    found = buckets.time_ticks(buckets.Range(from_us=from_us, to_us=from_us + span))

    assert len(found) <= 10
    assert all(0 <= tick.fraction <= 1 for tick in found)
    assert all(one.label != next_one.label for one, next_one in itertools.pairwise(found))


def test_a_tick_at_midnight_says_the_day() -> None:
    stretch = buckets.Range(from_us=1_772_312_400_000_000, to_us=1_772_334_000_000_000)  # 21:00 to 03:00

    assert [tick.label for tick in buckets.time_ticks(stretch)] == [
        "21:00",
        "22:00",
        "23:00",
        "1 Mar",
        "01:00",
        "02:00",
        "03:00",
    ]


@pytest.mark.parametrize(
    ("largest", "ticks"),
    [
        (0, (0, 1)),
        (1, (0, 1)),
        (3, (0, 1, 2, 3)),
        (7, (0, 2, 4, 6, 8)),
        (99, (0, 50, 100)),
        (1234, (0, 500, 1000, 1500)),
    ],
)
def test_values_get_round_ticks_that_reach_over_the_largest(largest: int, ticks: tuple[int, ...]) -> None:
    assert buckets.value_ticks(largest) == ticks


@pytest.mark.parametrize(
    ("span_us", "ticks"),
    [
        (900_000, [0, 200_000, 400_000, 600_000, 800_000]),
        (60_000_000, [0, 15_000_000, 30_000_000, 45_000_000, 60_000_000]),
        (19 * buckets.HOUR, [0, 6 * buckets.HOUR, 12 * buckets.HOUR, 18 * buckets.HOUR]),
        (40 * buckets.DAY, [place * 8 * buckets.DAY for place in range(6)]),
        (1, [0, 1]),
    ],
)
def test_a_span_is_divided_as_a_clock_counts(span_us: int, ticks: list[int]) -> None:
    assert list(buckets.span_ticks(span_us)) == ticks


def test_places_are_spread_evenly() -> None:
    assert buckets.spread(5) == (0, 1, 2, 3, 4)
    assert buckets.spread(61) == (0, 10, 20, 30, 40, 50, 60)
