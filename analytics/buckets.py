"""Time ranges, the bins that charts count in, and where ticks stand. Pure; Unix microseconds throughout."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping

from operations import display

MINUTE = display.MINUTE
HOUR = display.HOUR
DAY = display.DAY

PRESETS: dict[str, int] = {
    "15m": 15 * MINUTE,
    "1h": HOUR,
    "6h": 6 * HOUR,
    "24h": DAY,
    "7d": 7 * DAY,
    "30d": 30 * DAY,
}
PRESET_DEFAULT = "24h"
PRESET_WORDS = {
    "15m": "last 15 minutes",
    "1h": "last hour",
    "6h": "last 6 hours",
    "24h": "last 24 hours",
    "7d": "last 7 days",
    "30d": "last 30 days",
}
RANGE_MAX = 400 * DAY

#: The tally is kept by minute for this long, then by hour, then by day.
MINUTES_KEPT = 48 * HOUR
HOURS_KEPT = 90 * DAY

_BIN_STEPS = tuple(MINUTE * m for m in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080))
_TICK_STEPS = tuple(
    display.SECOND * s
    for s in (
        1,
        5,
        15,
        30,
        60,
        120,
        300,
        600,
        900,
        1800,
        3600,
        7200,
        10800,
        21600,
        43200,
        86400,
        172800,
        604800,
        1209600,
    )
)
_SPAN_STEPS = tuple(
    display.SECOND * s
    for s in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
)


class UnreadableRange(ValueError):
    """The time range cannot be read."""


@dataclasses.dataclass(frozen=True)
class Range:
    """A stretch of time, `from_us` included and `to_us` not; `preset` when it moves with the clock."""

    from_us: int
    to_us: int
    preset: str = ""

    @property
    def span_us(self) -> int:
        """How long it is."""
        return self.to_us - self.from_us

    @property
    def words(self) -> str:
        """The range for people: `last 24 hours`, or both ends."""
        if self.preset:
            return PRESET_WORDS[self.preset]
        return f"{display.full(self.from_us)} to {display.full(self.to_us)}"

    @property
    def query(self) -> dict[str, str]:
        """The parameters that name this range in a link; a preset stays a preset."""
        return {"range": self.preset} if self.preset else self.absolute_query

    @property
    def said(self) -> str:
        """The same as they stand in a link, where only the colons of a time need quoting."""
        return "&".join(f"{name}={value.replace(':', '%3A')}" for name, value in self.query.items())

    @property
    def absolute_query(self) -> dict[str, str]:
        """The parameters that name exactly this stretch for ever."""
        return {"from": display.iso(self.from_us), "to": display.iso(self.to_us)}

    def before(self) -> Range:
        """Return the same span just before."""
        return Range(from_us=self.from_us - self.span_us, to_us=self.from_us)


def read_range(query: Mapping[str, str], *, now_us: int, preset_default: str = PRESET_DEFAULT) -> Range:
    """Read `range=24h`, or `from=…&to=…` in RFC 3339; raises `UnreadableRange` with a sentence."""
    from_text, to_text = query.get("from", "").strip(), query.get("to", "").strip()
    if not from_text and not to_text:
        preset = query.get("range", "").strip() or preset_default
        if preset not in PRESETS:
            raise UnreadableRange(f"range must be one of {', '.join(PRESETS)}.")
        return Range(from_us=now_us - PRESETS[preset], to_us=now_us, preset=preset)
    if not from_text:
        raise UnreadableRange("to needs a from.")
    found = Range(
        from_us=_read_time("from", from_text), to_us=_read_time("to", to_text) if to_text else now_us
    )
    if found.span_us <= 0:
        raise UnreadableRange("from must be before to.")
    if found.span_us > RANGE_MAX:
        raise UnreadableRange(f"a range may be at most {RANGE_MAX // DAY} days long.")
    return found


def _read_time(name: str, text: str) -> int:
    # A browser's form sends no zone: then it is UTC, as shown beside the field. A raw "+" arrives as a space.
    try:
        at = datetime.datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
    except ValueError:
        raise UnreadableRange(f"{name} must be a time such as 2026-03-01T09:30:00Z.") from None
    if at.tzinfo is None:
        at = at.replace(tzinfo=datetime.UTC)
    return display.microseconds(at)


# --- Bins ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Bins:
    """Equal bins on round UTC times that cover a range."""

    first_us: int
    step_us: int
    number: int

    @property
    def end_us(self) -> int:
        """Where the last bin ends."""
        return self.first_us + self.step_us * self.number

    @property
    def starts(self) -> tuple[int, ...]:
        """The start of every bin."""
        return tuple(range(self.first_us, self.end_us, self.step_us))

    def index(self, at_us: int) -> int | None:
        """Return which bin holds a time, or None when it is outside."""
        place = (at_us - self.first_us) // self.step_us
        return place if 0 <= place < self.number else None

    def range(self, place: int) -> Range:
        """Return the stretch of one bin."""
        start = self.first_us + place * self.step_us
        return Range(from_us=start, to_us=start + self.step_us)


def finest_step(stretch: Range, *, now_us: int) -> int:
    """Return the finest step the tally still has for the oldest part of a range."""
    age = now_us - stretch.from_us
    if age <= MINUTES_KEPT:
        return MINUTE
    return HOUR if age <= HOURS_KEPT else DAY


def bins(stretch: Range, *, most: int = 120, finest_us: int = MINUTE) -> Bins:
    """Cover a range with at most `most` equal bins, none finer than `finest_us`, on round UTC times."""
    for step in _BIN_STEPS:
        if step < finest_us:
            continue
        first = stretch.from_us // step * step
        number = -(-(stretch.to_us - first) // step)
        if number <= most:
            return Bins(first_us=first, step_us=step, number=number)
    step = _BIN_STEPS[-1] * -(-stretch.span_us // (_BIN_STEPS[-1] * (most - 1)))
    first = stretch.from_us // step * step
    return Bins(first_us=first, step_us=step, number=-(-(stretch.to_us - first) // step))


# --- Ticks --------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Tick:
    """A label on an axis; a higher rank is left out first when there is no room."""

    at: int
    fraction: float
    label: str
    rank: int = 0
    is_day: bool = False


def time_ticks(stretch: Range, *, most: int = 9) -> tuple[Tick, ...]:
    """Place ticks on round UTC times within a range, at most `most`, thinnable to a half and a quarter."""
    step = next(
        (step for step in _TICK_STEPS if stretch.span_us / step <= most),
        -(-stretch.span_us // (most * DAY)) * DAY,
    )
    first = -(-stretch.from_us // step) * step
    found = []
    for place, at in enumerate(range(first, stretch.to_us + 1, step)):
        label, is_day = _tick_label(at, step)
        fraction = (at - stretch.from_us) / stretch.span_us
        found.append(Tick(at=at, fraction=fraction, label=label, rank=_rank(place), is_day=is_day))
    return tuple(found)


def _tick_label(at_us: int, step_us: int) -> tuple[str, bool]:
    at = display.moment(at_us)
    if step_us >= DAY or at_us % DAY == 0:
        return f"{at.day} {at:%b}", True
    return (f"{at:%H:%M:%S}" if step_us < MINUTE else f"{at:%H:%M}"), False


def _rank(place: int) -> int:
    if place % 4 == 0:
        return 0
    return 1 if place % 2 == 0 else 2


def value_ticks(largest: float, *, most: int = 4) -> tuple[int, ...]:
    """Return round whole values from 0 to the first that is not below `largest`."""
    if largest <= 0:
        return (0, 1)
    step = 1
    while True:
        for factor in (1, 2, 5):
            if -(-largest // (step * factor)) <= most:
                top = int(-(-largest // (step * factor)))
                return tuple(step * factor * place for place in range(top + 1))
        step *= 10


def span_ticks(span_us: int, *, most: int = 5) -> tuple[int, ...]:
    """Return round spans from 0 up to `span_us`: decimal below a second, as a clock counts above."""
    if span_us < most * display.SECOND:
        return tuple(tick for tick in value_ticks(span_us, most=most) if tick <= span_us)
    days = -(-span_us // (most * DAY)) * DAY
    step = next((step for step in _SPAN_STEPS if span_us / step <= most), days)
    return tuple(range(0, span_us + 1, step))


def spread(places: int, *, most: int = 7) -> tuple[int, ...]:
    """Choose at most `most` places, evenly apart and from the first on, of so many."""
    if places <= most:
        return tuple(range(places))
    return tuple(range(0, places, -(-(places - 1) // (most - 1))))
