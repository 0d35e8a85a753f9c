"""Headline numbers as people read them: a rate, its change, its sample, and a word for how it compares. Pure."""

from __future__ import annotations

import dataclasses
import math

from analytics import queries
from operations import display

#: How many standard deviations from the span before are called a difference.
DEVIATIONS = 3.0
#: Below this many, a rise is chance.
PART_MIN = 5


@dataclasses.dataclass(frozen=True)
class Tile:
    """One number at the top of a page."""

    label: str
    value: str
    href: str
    change: display.Change
    sample: str
    sample_href: str = ""
    line: tuple[float | None, ...] = ()
    band: str = ""
    meaning: str = ""
    is_thin: bool = False

    @property
    def is_alarm(self) -> bool:
        """Whether it is clearly worse than before."""
        return self.band == "Worse"

    @property
    def is_compared(self) -> bool:
        """Whether there was anything before to compare with."""
        return bool(self.line) and self.change.words not in {"no earlier calls", "no calls"}

    @property
    def tone(self) -> str:
        """The colour of its line."""
        return "bad" if self.is_alarm else "plain"

    @property
    def spark_label(self) -> str:
        """Its line in words, for those who hear the page."""
        known = [value for value in self.line if value is not None]
        if not known:
            return f"{self.label}: nothing to show over time"
        return f"{self.label} over time, highest {_written(max(known))}, last {_written(known[-1])}"


def of_rate(rate: queries.Rate, *, href: str, base_href: str) -> Tile:
    """Return the tile of a signal."""
    return Tile(
        label=rate.signal.words,
        value=rate.now.percent,
        href=href,
        change=display.change_of_rate(rate.now, rate.before),
        sample=f"{rate.now.sample} {rate.signal.base.words}",
        sample_href=base_href,
        line=rate.line,
        band=band(rate.now, rate.before),
        meaning=rate.signal.meaning,
        is_thin=rate.now.is_thin,
    )


def band(now: display.Share, before: display.Share) -> str:
    """Say in a word how a rate of something bad stands to the span before; nothing when the samples are thin."""
    if now.is_thin or before.is_thin:
        return ""
    pooled = (now.part + before.part) / (now.whole + before.whole)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / now.whole + 1 / before.whole))
    if spread == 0:
        return "Steady"
    deviations = (now.fraction - before.fraction) / spread
    if deviations > DEVIATIONS and now.part >= PART_MIN:
        return "Worse"
    return "Better" if deviations < -DEVIATIONS and before.part >= PART_MIN else "Steady"


def least_share(found: display.Share) -> float:
    """Return the rate that a sample proves at least (Wilson's lower bound), so that 1 of 1 does not lead."""
    if not found.whole:
        return 0.0
    z = 1.96
    centre = found.fraction + z * z / (2 * found.whole)
    spread = z * math.sqrt((found.fraction * (1 - found.fraction) + z * z / (4 * found.whole)) / found.whole)
    return (centre - spread) / (1 + z * z / found.whole)


def _written(value: float) -> str:
    return f"{100 * value:.1f} %" if value <= 1 else f"{value:,.0f}"
