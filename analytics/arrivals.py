"""What arrived and when: the newest record, what was refused, what waits, how far senders' clocks are off."""

from __future__ import annotations

import datetime
from collections import defaultdict
from typing import Any, NamedTuple

from django.db import connection

from analytics import ranges
from operations import moments, pending

#: Of how many newest operations the arrival is looked at.
_LATEST = 100

# Index operation_recent, backwards over the last days' partitions.
_NEWEST = """
SELECT max(received_at), percentile_disc(0.5) WITHIN GROUP (ORDER BY received_at - started_at)
FROM (
    SELECT received_at, started_at FROM operation
    WHERE project_id = %s AND day BETWEEN %s AND %s AND started_at < %s
    ORDER BY started_at DESC LIMIT %s
) AS latest
"""
# Primary key of ingest_count.
_LAST_BUCKET = """
SELECT bucket FROM ingest_count WHERE project_id = %s AND result <> 'rejected' ORDER BY bucket DESC LIMIT 1
"""
_RESULTS = """
SELECT result, reason, key_id, sum(records)::bigint FROM ingest_count
WHERE project_id = %s AND bucket >= %s AND bucket < %s GROUP BY result, reason, key_id
"""
_REFUSED = """
SELECT coalesce(sum(records), 0)::bigint FROM ingest_count
WHERE project_id = %s AND bucket >= %s AND result = 'rejected'
"""
# Primary key of ingest_skew.
_SKEWS = """
SELECT runtime, instance, sum(records)::bigint, sum(sum_us) / sum(records), min(least_us), max(greatest_us)
FROM ingest_skew WHERE project_id = %s AND bucket >= %s AND bucket < %s
GROUP BY runtime, instance HAVING sum(records) > 0 ORDER BY sum(records) DESC, runtime, instance LIMIT 200
"""
# Primary key of first_seen; the dimensions are few and the values are names.
_CHANGES = """
SELECT dimension, value, seen_at FROM first_seen
WHERE project_id = %s AND seen_at >= %s AND seen_at < %s ORDER BY seen_at DESC, dimension, value LIMIT %s
"""


class Freshness(NamedTuple):
    """How current the project is."""

    newest_us: int | None
    lag_us: int | None
    refused: int

    @property
    def is_lagging(self) -> bool:
        """Whether records reach us much later than what they tell of."""
        return self.lag_us is not None and self.lag_us > 5 * 60 * moments.SECOND_US


def freshness(*, project_id: int, now_us: int) -> Freshness:
    """Return when the newest record came, how late records come, and what was refused in the last quarter hour."""
    now = moments.to_datetime(now_us)
    with connection.cursor() as cursor:
        cursor.execute(
            _NEWEST,
            [
                project_id,
                now.date() - datetime.timedelta(days=8),
                now.date() + datetime.timedelta(days=2),
                now + datetime.timedelta(days=2),
                _LATEST,
            ],
        )
        newest, lag = cursor.fetchone()
        cursor.execute(_LAST_BUCKET, [project_id])
        bucket = cursor.fetchone()
        cursor.execute(_REFUSED, [project_id, now - datetime.timedelta(minutes=15)])
        refused = cursor.fetchone()[0]
    # The minute in which anything came at all: records of old days count as fresh too.
    moments_known = [moment for moment in (newest, bucket[0] if bucket else None) if moment is not None]
    return Freshness(
        moments.from_datetime(max(moments_known)) if moments_known else None,
        None if lag is None else lag // datetime.timedelta(microseconds=1),
        refused,
    )


class Change(NamedTuple):
    """A value that was first told at a moment: a tool version, a code, a model, a runtime."""

    dimension: str
    value: str
    seen_us: int


def changes(*, project_id: int, span: ranges.Span, limit: int = 30) -> list[Change]:
    """Return what was told for the first time in `span`, newest first."""
    bound: list[Any] = [project_id, moments.to_datetime(span.from_us), moments.to_datetime(span.to_us), limit]
    with connection.cursor() as cursor:
        cursor.execute(_CHANGES, bound)
        return [Change(row[0], row[1], moments.from_datetime(row[2])) for row in cursor.fetchall()]


class Answered(NamedTuple):
    """What ingest answered over a span."""

    results: dict[str, int]
    reasons: list[tuple[str, int]]
    keys: list[tuple[str, dict[str, int]]]

    @property
    def records(self) -> int:
        """How many records came in all."""
        return sum(self.results.values())


def answered(*, project_id: int, span: ranges.Span) -> Answered:
    """Count what ingest answered in `span`, in all, by reason of refusal, and by key."""
    results: dict[str, int] = dict.fromkeys(("accepted", "merged", "duplicate", "rejected"), 0)
    reasons: dict[str, int] = defaultdict(int)
    keys: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    with connection.cursor() as cursor:
        cursor.execute(
            _RESULTS, [project_id, moments.to_datetime(span.from_us), moments.to_datetime(span.to_us)]
        )
        for result, reason, key_id, records in cursor.fetchall():
            results[result] = results.get(result, 0) + records
            if reason:
                reasons[reason] += records
            keys[key_id or ""][result] += records
    return Answered(
        results,
        sorted(reasons.items(), key=lambda item: (-item[1], item[0])),
        sorted(
            ((name, dict(counts)) for name, counts in keys.items()), key=lambda item: -sum(item[1].values())
        ),
    )


class Skew(NamedTuple):
    """How far the clock of one runtime and instance is from ours: told time minus received time."""

    runtime: str | None
    instance: str | None
    records: int
    mean_us: int
    least_us: int
    greatest_us: int


def skews(*, project_id: int, span: ranges.Span) -> list[Skew]:
    """Return the skew of each runtime and instance that sent in `span`, those that sent most first."""
    bound: list[Any] = [project_id, moments.to_datetime(span.from_us), moments.to_datetime(span.to_us)]
    with connection.cursor() as cursor:
        cursor.execute(_SKEWS, bound)
        return [Skew(row[0], row[1], row[2], int(row[3]), row[4], row[5]) for row in cursor.fetchall()]


def waiting(*, project_id: int, now_us: int) -> pending.Waiting:
    """Count answers whose call was not reported yet, and those that waited too long."""
    return pending.waiting(project_id=project_id, now=moments.to_datetime(now_us))
