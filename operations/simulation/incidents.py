"""What goes wrong in the made-up world, every day at its hour, so that any last 24 hours hold each of them once."""

from __future__ import annotations

from typing import NamedTuple

from operations import moments

_MINUTE_US = 60 * moments.SECOND_US


class Incident(NamedTuple):
    """One thing that goes wrong: from when in the UTC day, and for how long."""

    name: str
    begins_us: int
    lasts_us: int

    def is_on(self, at_us: int) -> bool:
        """Tell whether it goes wrong at this moment."""
        return 0 <= at_us % moments.DAY_US - self.begins_us < self.lasts_us

    def latest(self, before_us: int) -> tuple[int, int]:
        """Return the last time it began before this moment, and when that ends."""
        began = before_us - (before_us - self.begins_us) % moments.DAY_US
        return began, began + self.lasts_us


def _at(hour: int, minute: int) -> int:
    return (hour * 60 + minute) * _MINUTE_US


#: A new version of `refund_create` goes out and fails for most; it is taken back.
BAD_RELEASE = Incident("bad_release", _at(9, 40), 90 * _MINUTE_US)
#: The support agent's tool list outgrows its cap; `shipment_track` is cut, and is called all the same.
CAPPED_MANIFEST = Incident("capped_manifest", _at(13, 20), 70 * _MINUTE_US)
#: The carrier is slow: `shipment_create` is told as timed out, and answers later.
SLOW_CARRIER = Incident("slow_carrier", _at(16, 0), 50 * _MINUTE_US)
#: A bulk import moves the revisions of orders under the agents' hands.
STALE_REVISIONS = Incident("stale_revisions", _at(18, 30), 20 * _MINUTE_US)
#: One session asks the same of `docs_search` again and again.
LOOP = Incident("loop", _at(20, 10), 12 * _MINUTE_US)
#: The billing service is away for a short while in the night.
OUTAGE = Incident("outage", _at(2, 15), 25 * _MINUTE_US)

ALL = (BAD_RELEASE, CAPPED_MANIFEST, SLOW_CARRIER, STALE_REVISIONS, LOOP, OUTAGE)


def version_of(tool: str, version: str, at_us: int) -> str:
    """Return the version of a tool that is out at this moment: each day brings its own bad release."""
    if tool == "refund_create" and BAD_RELEASE.is_on(at_us):
        day = moments.day_of(at_us)
        return f"4.2.0-{day:%m%d}"
    return version
