from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from analytics import buckets, ranges

NOW_US = 1_796_040_000_000_000
NINETY_DAYS_US = 90 * buckets.DAY
_ages = st.integers(0, 100 * buckets.DAY)


@given(
    now_us=st.integers(NOW_US, NOW_US + buckets.DAY),
    age_us=_ages,
    length_us=st.integers(1, 100 * buckets.DAY),
)
@example(now_us=NOW_US, age_us=NINETY_DAYS_US, length_us=NINETY_DAYS_US)
@example(
    now_us=NOW_US + 7 * buckets.MINUTE, age_us=NINETY_DAYS_US + 30 * buckets.MINUTE, length_us=buckets.DAY
)
def test_pieces_cover_a_span_once_and_begin_on_buckets_of_their_grain(
    now_us: int, age_us: int, length_us: int
) -> None:
    span = ranges.span(now_us - age_us, now_us - age_us + length_us, now_us=now_us)
    widths = {buckets.MINUTE, buckets.HOUR, buckets.DAY}

    for step_us in (0, *widths):
        at_us = span.from_us
        for piece in span.pieces(step_us=step_us):
            width = ranges._WIDTHS.get(piece.grain, buckets.MINUTE)
            assert piece.from_us == at_us
            assert piece.from_us % width == 0
            at_us = piece.to_us
        if step_us == 0:
            assert at_us == span.to_us
