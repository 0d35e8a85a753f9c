"""Add up what ingest answered: one row a minute for each key, and after two days one row an hour.

As in the tally each row is a summand, and one statement replaces summands by their sum. Readers that look
further back than minutes are kept begin and end at whole hours.
"""

from __future__ import annotations

import datetime
import functools
from typing import NamedTuple

from django.db import connection

from analytics import grains
from operations import jobs


class Sums(NamedTuple):
    """A table of summands after (project_id, bucket): its keys, and how each measure adds up."""

    table: str
    keys: tuple[str, ...]
    measures: tuple[tuple[str, str], ...]


INGEST = (
    Sums("ingest_count", ("key_id", "result", "reason"), (("records", "sum"),)),
    Sums(
        "ingest_skew",
        ("runtime", "instance"),
        (("records", "sum"), ("sum_us", "sum"), ("least_us", "min"), ("greatest_us", "max")),
    ),
)

_SETTLED = datetime.timedelta(
    minutes=2
)  # by then a minute's rows are committed; later ones wait for their hour
_MINUTES_LOOK = datetime.timedelta(minutes=20)
_HOURS_LOOK = datetime.timedelta(
    days=7
)  # what a longer stop of the worker leaves stays as minutes, and as true

# Both read a bounded range of the primary key for each project.
_NEXT_MINUTE = """
SELECT project.id, found.bucket FROM project CROSS JOIN LATERAL (
    SELECT bucket FROM {table} WHERE project_id = project.id AND bucket >= %(since)s AND bucket < %(until)s
    GROUP BY bucket, {keys} HAVING count(*) > 1 LIMIT 1
) AS found LIMIT 1
"""
_NEXT_HOUR = """
SELECT project.id, date_trunc('hour', found.bucket, 'UTC') FROM project CROSS JOIN LATERAL (
    SELECT bucket FROM {table} WHERE project_id = project.id AND bucket >= %(since)s AND bucket < %(until)s
        AND bucket <> date_trunc('hour', bucket, 'UTC') LIMIT 1
) AS found LIMIT 1
"""
# At most so many rows at once, so that no step is long; what is left is squashed by the next.
_SQUASH = """
WITH taken AS (
    DELETE FROM {table} WHERE project_id = %(project_id)s AND ctid = ANY(ARRAY(
        SELECT ctid FROM {table}
        WHERE project_id = %(project_id)s AND bucket >= %(bucket)s AND bucket < %(end)s
        ORDER BY bucket LIMIT %(rows)s))
    RETURNING {keys}, {names}
),
summed AS (
    INSERT INTO {table} (project_id, bucket, {keys}, {names})
    SELECT %(project_id)s, %(bucket)s, {keys}, {sums} FROM taken GROUP BY {keys}
    RETURNING 1
)
SELECT (SELECT count(*) FROM taken), (SELECT count(*) FROM summed)
"""


def squash(*, now: datetime.datetime, rows: int = jobs.ROWS, for_s: float = jobs.RUN_S) -> jobs.Outcome:
    """Add up the rows of past minutes, and of hours past the time that minutes are kept."""
    hours_until = (now - grains.MINUTES_KEPT - grains.SPARE).replace(minute=0, second=0, microsecond=0)
    steps: list[jobs.Step] = []
    for sums in INGEST:
        minutes = (now - _MINUTES_LOOK, now - _SETTLED)
        steps.append(functools.partial(_squash_one, sums, datetime.timedelta(minutes=1), minutes))
        hours = (hours_until - _HOURS_LOOK, hours_until)
        steps.append(functools.partial(_squash_one, sums, datetime.timedelta(hours=1), hours))
    return jobs.run("squash_ingest", *steps, rows=max(rows, 2), for_s=for_s)


def _squash_one(
    sums: Sums, width: datetime.timedelta, span: tuple[datetime.datetime, datetime.datetime], rows: int
) -> int | None:
    """Squash one bucket of one project that has more rows than it needs."""
    find = _NEXT_MINUTE if width < datetime.timedelta(hours=1) else _NEXT_HOUR
    keys = ", ".join(sums.keys)
    with connection.cursor() as cursor:
        cursor.execute(find.format(table=sums.table, keys=keys), {"since": span[0], "until": span[1]})
        found = cursor.fetchone()
        if found is None:
            return None
        statement = _SQUASH.format(
            table=sums.table,
            keys=keys,
            names=", ".join(name for name, _ in sums.measures),
            sums=", ".join(f"{how}({name})" for name, how in sums.measures),
        )
        cursor.execute(
            statement,
            {"project_id": found[0], "bucket": found[1], "end": found[1] + width, "rows": rows},
        )
        taken, left = cursor.fetchone()
    # As many keys as a step may take: no sum to be had within one.
    return None if taken == left == rows else int(taken)
