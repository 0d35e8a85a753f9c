"""Which rows of the tally a stretch of time is read from: whole minutes, hours or days, by age.

The tally keeps minutes for two days, hours for ninety and days for ever. A range whose ends lie in an older
part is widened to whole hours or days, and the page says so. Pure; Unix microseconds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import NamedTuple

from analytics import buckets, grains
from analytics.grains import Grain

# The compaction spares minutes and hours this long and longer; half of it is left for clocks that differ.
_SPARE = 30 * buckets.MINUTE


class Piece(NamedTuple):
    """A stretch that one grain answers, together with FRESH."""

    grain: Grain
    from_us: int
    to_us: int


@dataclasses.dataclass(frozen=True)
class Span:
    """A stretch on whole buckets of the grains that still hold it."""

    from_us: int
    to_us: int
    now_us: int

    @property
    def length_us(self) -> int:
        """How long it is."""
        return self.to_us - self.from_us

    @property
    def has_minutes(self) -> bool:
        """Whether every minute of it can still be read apart."""
        return self.from_us >= _minutes_from(self.now_us)

    @property
    def finest_us(self) -> int:
        """The finest step in which all of it can be read."""
        if self.has_minutes:
            return buckets.MINUTE
        return buckets.HOUR if self.from_us >= _hours_from(self.now_us) else buckets.DAY

    def before(self) -> Span:
        """Return the same stretch just before, widened as its own age demands."""
        return span(self.from_us - self.length_us, self.from_us, now_us=self.now_us)

    def pieces(
        self, *, step_us: int = 0, keys: Collection[str] = grains.KEYS, table: str = "tally"
    ) -> tuple[Piece, ...]:
        """Return what to read for counts by `keys` in steps of `step_us`; for 0 the sum is enough."""
        start, found = self.from_us, []
        widths = [grain for grain in _WIDTHS if step_us % _WIDTHS[grain] == 0]
        if start < _hours_from(self.now_us) and Grain.DAY not in widths:
            # So far back there are days only, and the steps are hours: they begin with their day.
            cut = min(_up(_hours_from(self.now_us), buckets.DAY), self.to_us)
            found.append(Piece(Grain.DAY, start, cut))
            start = cut
        found += _filled(start, self.to_us, widths)
        return tuple(piece._replace(grain=_narrowest(piece.grain, keys, table)) for piece in found)


# The widest first.
_WIDTHS = {Grain.DAY: buckets.DAY, Grain.HOUR: buckets.HOUR, Grain.MINUTE: buckets.MINUTE}


# The grains with few keys, by the grain they stand in for.
_PACES = {Grain.HOUR: Grain.HOUR_PACE, Grain.MINUTE: Grain.PACE}


def _narrowest(grain: Grain, keys: Collection[str], table: str) -> Grain:
    """Return the grain of the same width with the fewest rows that keeps `keys`."""
    pace = _PACES.get(grain, grain)
    return pace if set(keys) <= set(grains.KEPT[table].get(pace, ())) else grain


def _filled(from_us: int, to_us: int, widths: list[Grain]) -> list[Piece]:
    """Fill a stretch with as few and wide buckets as it holds whole, and its edges with narrower ones."""
    if from_us >= to_us:
        return []
    width, narrower = _WIDTHS[widths[0]], widths[1:]
    first, last = _up(from_us, width), _down(to_us, width)
    if first >= last:
        return _filled(from_us, to_us, narrower)
    return [
        *_filled(from_us, first, narrower),
        Piece(widths[0], first, last),
        *_filled(last, to_us, narrower),
    ]


def span(from_us: int, to_us: int, *, now_us: int) -> Span:
    """Widen a stretch to whole buckets: minutes, or hours and days where only those are left."""
    return Span(
        from_us=_down(from_us, _finest_at(from_us, now_us)),
        to_us=_up(to_us, _finest_at(to_us - 1, now_us)),
        now_us=now_us,
    )


def of(stretch: buckets.Range, *, now_us: int) -> Span:
    """Return the span that counts for a page's range."""
    return span(stretch.from_us, stretch.to_us, now_us=now_us)


def _finest_at(at_us: int, now_us: int) -> int:
    if at_us >= _minutes_from(now_us):
        return buckets.MINUTE
    return buckets.HOUR if at_us >= _hours_from(now_us) else buckets.DAY


def _minutes_from(now_us: int) -> int:
    return now_us - buckets.MINUTES_KEPT - _SPARE


def _hours_from(now_us: int) -> int:
    # From the beginning of a day on, so that days read before it are whole and no hour is read twice or not at all.
    return _down(now_us - buckets.HOURS_KEPT - _SPARE, buckets.DAY)


def _down(at_us: int, step_us: int) -> int:
    return at_us // step_us * step_us


def _up(at_us: int, step_us: int) -> int:
    return -(-at_us // step_us) * step_us


assert grains.SPARE.total_seconds() * 1_000_000 >= 2 * _SPARE
