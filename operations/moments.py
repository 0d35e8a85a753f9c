"""Told times: RFC 3339 with an offset or Unix nanoseconds, to integer Unix microseconds, once, at the edge."""

from __future__ import annotations

import contextlib
import datetime
import re

from operations import rejections

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
SECOND_US = 1_000_000
DAY_US = 86_400 * SECOND_US
_YEARS_EXACT = range(1970, 2100)

_RFC3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ]([01]\d|2[0-3]):([0-5]\d):(60|[0-5]\d)(\.\d+)?([Zz]|[+-]\d{2}:\d{2})\Z",
    re.ASCII,
)
_NANOSECONDS = re.compile(r"-?\d{1,19}\Z", re.ASCII)


def parse(told: str, *, pointer: str) -> int:
    """Return `told` as Unix microseconds; fractions beyond are cut off, a leap second is the next second.

    Raises `BadTime` for anything else, a time without an offset included.
    """
    if len(told) >= 20 and told[4] == told[7] == "-" and told[10] == "T" and told[13] == told[16] == ":":
        zone = told[-6:]
        if zone[-1] == "Z" or (zone[0] in "+-" and zone[3] == ":" and told[19] in ".+-"):
            with contextlib.suppress(ValueError):  # what this does not read is looked at more closely
                return from_datetime(datetime.datetime.fromisoformat(told))
    return _parse_closely(told, pointer)


def _parse_closely(told: str, pointer: str) -> int:
    found = _RFC3339.match(told)
    if found is None:
        if _NANOSECONDS.match(told):
            return int(told) // 1000
        raise rejections.BadTime(pointer=pointer)
    day, hour, minute, second, fraction, offset = found.groups()
    leap = second == "60"
    micros = int((fraction or ".0")[1:7].ljust(6, "0"))
    zone = "+00:00" if offset in "Zz" else offset
    try:
        moment = datetime.datetime.fromisoformat(f"{day}T{hour}:{minute}:{'59' if leap else second}{zone}")
    except ValueError:
        raise rejections.BadTime(pointer=pointer) from None
    if leap:
        return from_datetime(moment) + SECOND_US
    return from_datetime(moment) + micros


def from_datetime(moment: datetime.datetime) -> int:
    """Return an aware moment as Unix microseconds, exactly."""
    # As a double such a moment is off by less than a quarter of a microsecond, so rounding is exact.
    if moment.year in _YEARS_EXACT:
        return round(moment.timestamp() * SECOND_US)
    since = moment - EPOCH
    return (since.days * 86_400 + since.seconds) * SECOND_US + since.microseconds


def to_datetime(moment_us: int) -> datetime.datetime:
    """Return Unix microseconds as a moment in UTC."""
    return EPOCH + datetime.timedelta(microseconds=moment_us)


def day_of(moment_us: int) -> datetime.date:
    """Return the UTC day of a moment."""
    return datetime.date.fromordinal(719_163 + moment_us // DAY_US)
