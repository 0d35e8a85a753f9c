"""The grains of the tally, and the keys under which it counts.

Writers append FRESH rows, a minute each. `compaction.py` moves them to all other grains at once, so a reader
sums FRESH and exactly one other grain for each stretch of time and is exact at every moment.
"""

from __future__ import annotations

import datetime
import enum

from analytics import buckets


class Grain(enum.IntEnum):
    """How wide a row's bucket is, and which keys it keeps."""

    FRESH = 0
    MINUTE = 1
    HOUR = 2
    DAY = 3
    PACE = 4  # a minute by few keys: for timelines without a filter
    HOUR_PACE = 5  # an hour by few keys: for timelines and headline numbers without a filter


#: The keys of `tally` after (project_id, grain, bucket).
KEYS: tuple[str, ...] = (
    "environment",
    "tool",
    "tool_version",
    "effect",
    "mode",
    "source",
    "provider",
    "model",
    "runtime",
    "status",
    "outcome",
    "code",
    "contract_kind",
    "marks",
)
#: The keys of `tally_histogram` after (project_id, grain, bucket).
HISTOGRAM_KEYS: tuple[str, ...] = ("measure", "environment", "tool", "tool_version", "edge")

#: The keys that the grains with few keys keep in each table; the others are null there, and `marks` is 0.
KEPT: dict[str, dict[Grain, tuple[str, ...]]] = {
    "tally": {
        Grain.PACE: ("environment", "status", "outcome"),
        Grain.HOUR_PACE: ("environment", "tool", "effect", "status", "outcome", "code", "marks"),
    },
    "tally_histogram": {Grain.HOUR_PACE: ("measure", "environment", "edge")},
}
FEW_KEYS = frozenset({Grain.PACE, Grain.HOUR_PACE})

MINUTES_KEPT = datetime.timedelta(microseconds=buckets.MINUTES_KEPT)
HOURS_KEPT = datetime.timedelta(microseconds=buckets.HOURS_KEPT)
# Rows stay a little longer than readers ask for them, so that a reader whose clock is behind finds them.
SPARE = datetime.timedelta(hours=1)
# Hours are read from the beginning of a day on.
HOURS_SPARE = datetime.timedelta(days=1) + SPARE
