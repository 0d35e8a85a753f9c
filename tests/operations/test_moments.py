from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operations import moments, rejections


@pytest.mark.parametrize(
    ("told", "same_as"),
    [
        ("2026-11-30T12:00:00Z", "2026-11-30T12:00:00+00:00"),
        ("2026-11-30t12:00:00z", "2026-11-30T12:00:00+00:00"),
        ("2026-11-30T13:30:00+01:30", "2026-11-30T12:00:00+00:00"),
        ("2026-11-30T12:00:00.123456789Z", "2026-11-30T12:00:00.123456+00:00"),
        ("2026-06-30T23:59:60Z", "2026-07-01T00:00:00+00:00"),
        ("1796040000000000999", "2026-11-30T12:00:00+00:00"),
    ],
)
def test_a_told_time_is_read_to_the_microsecond(told: str, same_as: str) -> None:
    assert moments.to_datetime(moments.parse(told, pointer="")) == datetime.datetime.fromisoformat(same_as)


@pytest.mark.parametrize(
    "told", ["", "now", "2026-11-30", "2026-W48-1T12:00:00Z", "2026-11-30T12:00:00", "1e9", "١٢"]
)
def test_anything_else_is_refused(told: str) -> None:
    with pytest.raises(rejections.BadTime):
        moments.parse(told, pointer="/x")


@given(st.datetimes(timezones=st.just(datetime.UTC)))
def test_moments_round_trip_and_know_their_day(moment: datetime.datetime) -> None:
    moment_us = moments.from_datetime(moment)

    assert moments.to_datetime(moment_us) == moment
    assert moments.parse(moment.isoformat(), pointer="") == moment_us
    assert moments.day_of(moment_us) == moment.date()
