"""Count the retained operations again and compare with the tally: they must agree to the last one.

An hour of one project at a time. Each comparison is one statement, which sees one moment of the database,
so that ingest and folding may go on meanwhile. Facts count up, the tally counts down, and what does not
cancel out is wrong.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from django.db import connection, transaction

from analytics import compaction, grains
from analytics.grains import Grain
from operations import jobs, partitions
from operations.models import projects

HOUR = datetime.timedelta(hours=1)
DAY = datetime.timedelta(days=1)
DAY_MS = 600_000
DIFFERENCES_MAX = 1000  # told; further ones are only counted

# Index operation_recent; a row lives in the day of its start or, near midnight, in the one beside it. The
# tally by its primary key.
_COUNT = """
SELECT date_bin(%(width)s, started_at, 'epoch') AS bucket, {keys}, count(*) AS operations,
    coalesce(sum(duration_us), 0) AS duration_us
FROM operation WHERE project_id = %(project_id)s AND started_at >= %(since)s AND started_at < %(until)s
    AND day BETWEEN %(since)s::timestamptz::date - 1 AND %(until)s::timestamptz::date + 1
GROUP BY 1, {grouped}
UNION ALL
SELECT date_bin(%(width)s, bucket, 'epoch'), {kept}, -operations, -duration_us
FROM tally WHERE project_id = %(project_id)s AND grain IN ({fresh}, %(grain)s)
    AND bucket >= %(since)s AND bucket < %(until)s
"""
_COUNT_MEASURES = """
SELECT date_bin(%(width)s, started_at, 'epoch') AS bucket, {keys}, count(*) AS operations, 0 AS duration_us
FROM operation CROSS JOIN LATERAL (VALUES
    ('duration', duration_us), ('lateness', late_by_us),
    ('output_bytes', output_bytes), ('input_bytes', input_bytes)
) AS measures (measure, amount)
CROSS JOIN LATERAL (SELECT opsconsole_bucket(amount) AS edge) AS edges
WHERE amount IS NOT NULL
    AND project_id = %(project_id)s AND started_at >= %(since)s AND started_at < %(until)s
    AND day BETWEEN %(since)s::timestamptz::date - 1 AND %(until)s::timestamptz::date + 1
GROUP BY 1, {grouped}
UNION ALL
SELECT date_bin(%(width)s, bucket, 'epoch'), {kept}, -operations, 0
FROM tally_histogram WHERE project_id = %(project_id)s AND grain IN ({fresh}, %(grain)s)
    AND bucket >= %(since)s AND bucket < %(until)s
"""
# Where hours are kept, a day is their sum.
_COUNT_HOURS = """
SELECT %(since)s::timestamptz AS bucket, {keys}, {measures} FROM {table}
WHERE project_id = %(project_id)s AND grain = {hour} AND bucket >= %(since)s AND bucket < %(until)s
UNION ALL
SELECT bucket, {keys}, {negated} FROM {table}
WHERE project_id = %(project_id)s AND grain = {day} AND bucket = %(since)s
"""
_COMPARE = """
SELECT bucket, {keys}, sum(operations), sum(duration_us) FROM ({counted}) AS summands
GROUP BY bucket, {keys} HAVING sum(operations) <> 0 OR sum(duration_us) <> 0
ORDER BY bucket, {keys}
"""


# The hours of a day in which there is anything to compare, and how many operations they have.
_HOURS = """
SELECT hour, sum(operations) FROM (
    SELECT date_trunc('hour', started_at, 'UTC') AS hour, 1 AS operations FROM operation
    WHERE project_id = %(project_id)s AND started_at >= %(since)s AND started_at < %(until)s
        AND day BETWEEN %(since)s::timestamptz::date - 1 AND %(until)s::timestamptz::date + 1
    UNION ALL
    SELECT date_trunc('hour', bucket, 'UTC'), 0 FROM tally
    WHERE project_id = %(project_id)s AND grain BETWEEN {fresh} AND {last}
        AND bucket >= %(since)s AND bucket < %(until)s
    UNION ALL
    SELECT date_trunc('hour', bucket, 'UTC'), 0 FROM tally_histogram
    WHERE project_id = %(project_id)s AND grain BETWEEN {fresh} AND {last}
        AND bucket >= %(since)s AND bucket < %(until)s
) AS rows GROUP BY hour ORDER BY hour
"""


class Difference(NamedTuple):
    """What the facts count more (or, below zero, less) than the tally under one key."""

    project_id: int
    table: str
    grain: str
    bucket: datetime.datetime
    keys: dict[str, Any]
    operations: int
    duration_us: int


class Report(NamedTuple):
    """What a recount found; of the differences, the first thousand."""

    projects: int
    hours: int
    operations: int
    differences: list[Difference]
    differences_count: int


class _Span(NamedTuple):
    since: datetime.datetime
    until: datetime.datetime
    grain: Grain
    is_from_hours: bool = False


def verify(*, now: datetime.datetime, project_id: int | None = None, days: int | None = None) -> Report:
    """Recount every retained hour, or the last `days` days, of one project or of all."""
    chosen = projects.Project.objects.filter(deleted_at__isnull=True)
    if project_id is not None:
        chosen = chosen.filter(pk=project_id)
    told: list[Difference] = []
    hours = operations = differences = 0
    for project in chosen.order_by("pk"):
        for day in _days(project, now, days):
            counts = _hours(project.pk, day)
            hours += len(counts)
            operations += sum(counts.values())
            for span in _spans(day, counts, now):
                for table in compaction.TABLES:
                    wrong = _compare(project.pk, table, span)
                    differences += len(wrong)
                    told.extend(wrong[: DIFFERENCES_MAX - len(told)])
    return Report(chosen.count(), hours, operations, told, differences)


def _days(project: projects.Project, now: datetime.datetime, days: int | None) -> Iterator[datetime.datetime]:
    """Return the days that are retained whole, or the last `days` of them, and those ahead of the clock."""
    kept = partitions.existing("operation")
    if not kept:
        return
    today = now.date()
    first = max(min(kept), today - datetime.timedelta(days=project.retention_days - 1))
    if days is not None:
        first = max(first, today - datetime.timedelta(days=days - 1))
    for n in range((max(kept) - first).days + 1):
        yield datetime.datetime.combine(first, datetime.time(), tzinfo=datetime.UTC) + n * DAY


def _spans(
    day: datetime.datetime, hours: Collection[datetime.datetime], now: datetime.datetime
) -> Iterator[_Span]:
    """Return what to compare of one day: its hours while hours are kept, and their minutes while those are."""
    if day <= now - grains.HOURS_KEPT:
        yield _Span(day, day + DAY, Grain.DAY)
        return
    for hour in hours:
        yield _Span(hour, hour + HOUR, Grain.HOUR)
        yield _Span(hour, hour + HOUR, Grain.HOUR_PACE)
        if hour > now - grains.MINUTES_KEPT:
            yield _Span(hour, hour + HOUR, Grain.MINUTE)
            yield _Span(hour, hour + HOUR, Grain.PACE)
    if hours:
        yield _Span(day, day + DAY, Grain.DAY, is_from_hours=True)


def _hours(project_id: int, day: datetime.datetime) -> dict[datetime.datetime, int]:
    """Return the hours of `day` that have facts or sums, each with how many operations began in it."""
    span = _Span(day, day + DAY, Grain.DAY)
    with _snapshot(span) as cursor:
        cursor.execute(
            _HOURS.format(fresh=int(Grain.FRESH), last=int(max(Grain))), _parameters(project_id, span)
        )
        return {hour: int(count) for hour, count in cursor.fetchall()}


def _compare(project_id: int, table: str, span: _Span) -> list[Difference]:
    """Return where the facts and the tally of one span differ."""
    if span.grain in grains.FEW_KEYS and span.grain not in grains.KEPT[table]:
        return []
    keys = compaction.KEYS[table]
    with _snapshot(span) as cursor:
        cursor.execute(_statement(table, span.grain, span.is_from_hours), _parameters(project_id, span))
        return [
            Difference(
                project_id,
                table,
                span.grain.name.lower(),
                bucket,
                dict(zip(keys, rest[:-2], strict=True)),
                int(rest[-2]),
                int(rest[-1]),
            )
            for bucket, *rest in cursor.fetchall()
        ]


@contextlib.contextmanager
def _snapshot(span: _Span) -> Iterator[Any]:
    """Give a cursor whose statements are bounded; only a whole day needs more than a step."""
    bound_ms = DAY_MS if span.grain == Grain.DAY else jobs.STEP_MS
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(bound_ms)])
        yield cursor


def _parameters(project_id: int, span: _Span) -> dict[str, Any]:
    widths = {Grain.HOUR: HOUR, Grain.HOUR_PACE: HOUR, Grain.DAY: DAY}
    return {
        "project_id": project_id,
        "since": span.since,
        "until": span.until,
        "grain": span.grain,
        "width": widths.get(span.grain, HOUR / 60),
    }


@functools.cache
def _statement(table: str, grain: Grain, is_from_hours: bool) -> str:
    keys = compaction.KEYS[table]
    if is_from_hours:
        measures = ("operations", "duration_us" if table == "tally" else "0 AS duration_us")
        counted = _COUNT_HOURS.format(
            table=table,
            keys=", ".join(keys),
            measures=", ".join(measures),
            negated=", ".join(f"-{name}" for name in measures),
            hour=int(Grain.HOUR),
            day=int(Grain.DAY),
        )
    else:
        kept = [compaction.kept_key(key, table, grain) for key in keys]
        counted = (_COUNT if table == "tally" else _COUNT_MEASURES).format(
            keys=", ".join(f"{value} AS {key}" for value, key in zip(kept, keys, strict=True)),
            kept=", ".join(kept),
            grouped=", ".join(str(place) for place in range(2, len(keys) + 2)),
            fresh=int(Grain.FRESH),
        )
    return _COMPARE.format(keys=", ".join(keys), counted=counted)
