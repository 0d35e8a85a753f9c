"""Numbers and times as words for people. Pure: values in, values out, never markup."""

from __future__ import annotations

import dataclasses
import datetime

#: Below this many, a rate says more about chance than about the tool.
SAMPLE_MIN = 20

ABSENT = "–"
NARROW_SPACE = "\u202f"

MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


# --- Numbers ------------------------------------------------------------------------------------------------


def duration(microseconds: int | None) -> str:
    """Say a span in the two units that matter: `850 µs`, `12.4 ms`, `1.24 s`, `2 m 03 s`, `3 d 4 h`."""
    if microseconds is None:
        return ABSENT
    if microseconds < 0:
        return f"−{duration(-microseconds)}"
    # 999.6 ms must read 1.00 s: each unit ends where its rounding would show the next one.
    if microseconds < MILLISECOND:
        return f"{microseconds} µs"
    if microseconds < 999.5 * MILLISECOND:
        return f"{_three_digits(microseconds / MILLISECOND)} ms"
    if microseconds < 59.95 * SECOND:
        return f"{_three_digits(microseconds / SECOND)} s"
    seconds = (microseconds + SECOND // 2) // SECOND
    if seconds < 3600:
        return f"{seconds // 60} m {seconds % 60:02d} s"
    minutes = seconds // 60
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} m"
    hours = minutes // 60
    return f"{hours // 24} d {hours % 24} h"


def step(microseconds: int) -> str:
    """Say a round step: `15 min`, `hour`, `2 hours`, `day`; reads after "per"."""
    for unit, one, many in ((DAY, "day", "days"), (HOUR, "hour", "hours"), (MINUTE, "min", "min")):
        if microseconds >= unit and microseconds % unit == 0:
            amount = microseconds // unit
            return one if amount == 1 else f"{amount} {many}"
    return duration(microseconds)


def tick(microseconds: int) -> str:
    """Say a round span on an axis: `0`, `200 ms`, `10 s`, `5 min`, `2 h`, `1 d`."""
    if not microseconds:
        return "0"
    for unit, name in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s")):
        if microseconds >= unit and microseconds % unit == 0:
            return f"{microseconds // unit} {name}"
    return duration(microseconds)


def lateness(microseconds: int | None) -> str:
    """Say how an answer stood to the verdict: `1.20 s late`, or answered in time and delivered too late."""
    if microseconds is None:
        return ABSENT
    if microseconds < 0:
        return f"{duration(-microseconds)} in time, delivered late"
    return f"{duration(microseconds)} late"


def size(octets: int | None) -> str:
    """Say a size in decimal units: `512 B`, `1.44 kB`, `23.1 MB`."""
    if octets is None:
        return ABSENT
    if octets < 1000:
        return f"{octets} B"
    amount = float(octets)
    for unit in ("kB", "MB", "GB", "TB"):
        amount /= 1000
        if amount < 999.5:
            return f"{_three_digits(amount)} {unit}"
    return f"{_three_digits(amount / 1000)} PB"


def count(number: int | None) -> str:
    """Write a whole number with separators: `1,204,331`."""
    return ABSENT if number is None else f"{number:,}"


def short_count(number: int | None) -> str:
    """Write a number in at most five characters: `842`, `12.3k`, `1.20M`."""
    if number is None:
        return ABSENT
    if abs(number) < 10_000:
        return f"{number:,}"
    amount = float(number)
    for unit in ("k", "M", "B"):
        amount /= 1000
        if abs(amount) < 999.5:
            return f"{_three_digits(amount)}{unit}"
    return f"{_three_digits(amount / 1000)}T"


@dataclasses.dataclass(frozen=True)
class Share:
    """A part of a whole, with the sample it rests on."""

    part: int
    whole: int

    @property
    def is_known(self) -> bool:
        """A share of nothing is not zero: it is unknown."""
        return self.whole > 0

    @property
    def is_thin(self) -> bool:
        """The sample is too small for the rate to be trusted."""
        return self.whole < SAMPLE_MIN

    @property
    def fraction(self) -> float:
        """The share from 0 to 1; zero when unknown."""
        return self.part / self.whole if self.whole else 0.0

    @property
    def percent(self) -> str:
        """The rate in words: never a rounded 0 % or 100 % that is not one."""
        return percent(self.part, self.whole)

    @property
    def sample(self) -> str:
        """The counts behind the rate: `31 of 1,204`."""
        return f"{count(self.part)} of {count(self.whole)}"


def share(part: int, whole: int) -> Share:
    """Return `part` of `whole` as a share."""
    return Share(part=part, whole=whole)


def percent(part: int, whole: int) -> str:
    """Write a rate with its unit: `2.6 %`; `<0.1 %` and `>99.9 %` rather than a false 0 or 100."""
    if whole <= 0:
        return ABSENT
    rate = 100 * part / whole
    if 0 < rate < 0.1:
        return f"<0.1{NARROW_SPACE}%"
    if 99.9 < rate < 100:
        return f">99.9{NARROW_SPACE}%"
    shown = f"{rate:.0f}" if rate in {0, 100} else f"{rate:.1f}"
    return f"{shown}{NARROW_SPACE}%"


@dataclasses.dataclass(frozen=True)
class Change:
    """How a number moved against the same span just before."""

    direction: str
    words: str


def change(now: int, before: int) -> Change:
    """Compare two counts: `+12 %`, `×3.4`, `new`, `same`; direction is up, down or same."""
    if now == before:
        return Change(direction="same", words="same")
    direction = "up" if now > before else "down"
    if before == 0:
        return Change(direction=direction, words="new")
    ratio = now / before
    if ratio >= 3:
        return Change(direction=direction, words=f"×{ratio:.1f}" if ratio < 100 else f"×{ratio:,.0f}")
    moved = round(abs(ratio - 1) * 100)
    sign = "+" if direction == "up" else "−"
    return Change(
        direction=direction, words=f"{sign}{moved}{NARROW_SPACE}%" if moved else f"{sign}<1{NARROW_SPACE}%"
    )


def change_of_rate(now: Share, before: Share) -> Change:
    """Compare two rates in percentage points; unknown when either has no sample."""
    if not now.is_known or not before.is_known:
        return Change(direction="same", words="no earlier calls" if now.is_known else "no calls")
    points = 100 * (now.fraction - before.fraction)
    if abs(points) < 0.05:
        return Change(direction="same", words="same")
    sign = "+" if points > 0 else "−"
    return Change(direction="up" if points > 0 else "down", words=f"{sign}{abs(points):.1f} pp")


def _three_digits(amount: float) -> str:
    if amount < 9.995:
        return f"{amount:.2f}"
    return f"{amount:.1f}" if amount < 99.95 else f"{amount:.0f}"


# --- Times --------------------------------------------------------------------------------------------------


def moment(at_us: int) -> datetime.datetime:
    """Return Unix microseconds as an aware time, exactly."""
    return EPOCH + datetime.timedelta(microseconds=at_us)


def microseconds(at: datetime.datetime) -> int:
    """Return an aware time as Unix microseconds, exactly."""
    return (at - EPOCH) // datetime.timedelta(microseconds=1)


def iso(at_us: int) -> str:
    """Write a time for programs and links: `2026-03-01T09:30:00Z`, with a fraction only when there is one."""
    text = moment(at_us).isoformat()[: -len("+00:00")]
    return f"{text.rstrip('0') if '.' in text else text}Z"


def full(at_us: int) -> str:
    """Write a time in full: `2026-03-01 09:30:00.123 UTC`."""
    at = moment(at_us)
    return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d} UTC"


def clock(at_us: int) -> str:
    """Write a time for a dense list: `1 Mar 09:30:00`."""
    at = moment(at_us)
    return f"{at.day} {at:%b %H:%M:%S}"


def ago(at_us: int, now_us: int) -> str:
    """Say how long ago: `just now`, `12 s ago`, `5 m ago`, `2 d ago`; the future reads `in 5 m`."""
    passed = now_us - at_us
    if abs(passed) < SECOND:
        return "just now"
    for unit, name in ((DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (SECOND, "s")):
        if abs(passed) >= unit:
            amount = abs(passed) // unit
            return f"{amount} {name} ago" if passed > 0 else f"in {amount} {name}"
    raise AssertionError("a second or more has a unit")
