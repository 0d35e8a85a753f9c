"""Fold the tally: fresh rows into minutes, hours, days and pace, without changing any answer.

The principle: a row of the tally is a summand. One statement deletes summands and inserts their sum, so
every row is counted by exactly one of them at every moment, whoever else reads, writes or folds meanwhile;
a lock only saves double work. The danger is deleting what no coarser grain holds: minutes and hours may go
by age only because the fold wrote all grains at once. `tests/analytics/test_compaction.py` compares answers
before and after.
"""

from __future__ import annotations

import datetime
import functools
import random
from collections.abc import Sequence

from django.db import connection

from analytics import grains
from analytics.grains import Grain
from operations import jobs

TABLES = ("tally", "tally_histogram")

_MEASURES = {"tally": ("operations", "duration_us"), "tally_histogram": ("operations",)}
KEYS = {"tally": grains.KEYS, "tally_histogram": grains.HISTOGRAM_KEYS}

# Each project's oldest row of a grain, by the primary key; projects in turn, so that a busy one starves
# nobody.
_NEXT = """
SELECT project.id, oldest.bucket
FROM project CROSS JOIN LATERAL (
    SELECT bucket FROM {table} WHERE project_id = project.id AND grain = %(grain)s AND bucket < %(before)s
    ORDER BY bucket LIMIT 1
) AS oldest
ORDER BY project.id <= %(after)s, project.id LIMIT 1
"""

# Primary key of the table, and what is folded by its place: what another deleted meanwhile is passed over, and its
# place goes to no other row while this statement can see it. Each step sums what the step before it left over: minutes,
# then the hour, which is also what its day gains. Minutes are added as rows of their own, since nobody reads many of
# them; hours and days take up the row that is there. What is folded is few beside what is held: the nested loop that
# the planner likes for it would read a whole bucket for every row (see `_fold_one`).
_FOLD = """
WITH taken AS (
    DELETE FROM {table} WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM {table} WHERE project_id = %(project_id)s AND grain = {fresh}
            AND bucket >= %(hour)s AND bucket < %(hour_end)s
        ORDER BY bucket LIMIT %(rows)s))
    RETURNING bucket, {keys}, {measures}
),
minutely AS (SELECT bucket, {keys}, {sums} FROM taken GROUP BY bucket, {keys}),
hourly AS (SELECT {keys}, {sums} FROM minutely GROUP BY {keys}),
minutes AS (
    INSERT INTO {table} (project_id, grain, bucket, {keys}, {measures})
    SELECT %(project_id)s, {minute}, bucket, {keys}, {measures} FROM minutely
    WHERE %(is_recent)s AND ({any_is_not_zero})
    {pace}
),
spread AS (
    SELECT wider.grain, wider.bucket, {keys}, {measures}
    FROM hourly CROSS JOIN (VALUES
        ({hour}, %(hour)s::timestamptz), ({day}, %(day)s::timestamptz)
    ) AS wider (grain, bucket)
    UNION ALL
    SELECT {hour_pace}, %(hour)s::timestamptz, {hour_pace_keys}, {sums} FROM hourly GROUP BY {hour_pace_kept}
),
held AS (
    DELETE FROM {table} AS known WHERE project_id = %(project_id)s
        AND (grain IN ({hour}, {hour_pace}) AND bucket = %(hour)s OR grain = {day} AND bucket = %(day)s)
        AND (grain::int, ARRAY[{keys_as_text}]) IN (SELECT grain, ARRAY[{keys_as_text}] FROM spread)
    RETURNING grain, bucket, {keys}, {measures}
),
summed AS (
    INSERT INTO {table} (project_id, grain, bucket, {keys}, {measures})
    SELECT %(project_id)s, grain, bucket, {keys}, {sums}
    FROM (SELECT * FROM spread UNION ALL SELECT * FROM held) AS summands
    GROUP BY grain, bucket, {keys}
    HAVING {any_sum_is_not_zero}
)
SELECT count(*) FROM taken
"""

_PACE = """
    UNION ALL
    SELECT %(project_id)s, {grain}, bucket, {keys}, {sums} FROM minutely WHERE %(is_recent)s
    GROUP BY bucket, {kept} HAVING {any_sum_is_not_zero}
"""

# Primary key of the table.
_EXPIRE = """
DELETE FROM {table} WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM {table} WHERE project_id = %(project_id)s AND grain = %(grain)s AND bucket < %(before)s
    ORDER BY bucket LIMIT %(rows)s))
"""


def fold(*, now: datetime.datetime, rows: int = jobs.ROWS, for_s: float = jobs.RUN_S) -> jobs.Outcome:
    """Fold every fresh row there is, and let go of minutes and hours past their time."""
    steps: list[jobs.Step] = [functools.partial(_fold_one, table, now) for table in TABLES]
    minutes_before = now - grains.MINUTES_KEPT - grains.SPARE
    hours_before = now - grains.HOURS_KEPT - grains.HOURS_SPARE
    for table in TABLES:
        steps.append(functools.partial(_expire, table, Grain.MINUTE, minutes_before))
        steps.append(functools.partial(_expire, table, Grain.HOUR, hours_before))
        steps.append(functools.partial(_expire, table, Grain.HOUR_PACE, hours_before))
    steps.append(functools.partial(_expire, "tally", Grain.PACE, minutes_before))
    return jobs.run("fold_tally", *steps, rows=rows, for_s=for_s)


def _fold_one(table: str, now: datetime.datetime, rows: int) -> int | None:
    """Fold up to `rows` fresh rows of one hour of one project."""
    place = _next(table, Grain.FRESH, before=datetime.datetime.max.replace(tzinfo=datetime.UTC))
    if place is None:
        return None
    project_id, bucket = place
    hour = bucket.astimezone(datetime.UTC).replace(minute=0, second=0, microsecond=0)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_nestloop = off")
        cursor.execute(
            _fold_statement(table),
            {
                "project_id": project_id,
                "hour": hour,
                "hour_end": hour + datetime.timedelta(hours=1),
                "day": hour.replace(hour=0),
                "is_recent": hour >= now - grains.MINUTES_KEPT - grains.SPARE,
                "rows": rows,
            },
        )
        row = cursor.fetchone()
    return int(row[0]) if row else None


def _expire(table: str, grain: Grain, before: datetime.datetime, rows: int) -> int | None:
    """Delete up to `rows` rows of one project that a coarser grain holds too."""
    place = _next(table, grain, before=before)
    if place is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            _EXPIRE.format(table=table),
            {"project_id": place[0], "grain": grain, "before": before, "rows": rows},
        )
        return int(cursor.rowcount)


def _next(table: str, grain: Grain, *, before: datetime.datetime) -> tuple[int, datetime.datetime] | None:
    """Return a project that has rows of `grain` and the oldest bucket of them."""
    with connection.cursor() as cursor:
        cursor.execute(
            _NEXT.format(table=table),
            {"grain": grain, "before": before, "after": random.randrange(2**31)},
        )
        found: tuple[int, datetime.datetime] | None = cursor.fetchone()
    return found


@functools.cache
def _fold_statement(table: str) -> str:
    keys, measures = KEYS[table], _MEASURES[table]
    has_pace = Grain.PACE in grains.KEPT[table]
    return _FOLD.format(
        table=table,
        fresh=int(Grain.FRESH),
        minute=int(Grain.MINUTE),
        hour=int(Grain.HOUR),
        day=int(Grain.DAY),
        hour_pace=int(Grain.HOUR_PACE),
        hour_pace_keys=_kept_keys(table, Grain.HOUR_PACE),
        hour_pace_kept=", ".join(grains.KEPT[table][Grain.HOUR_PACE]),
        keys=", ".join(keys),
        keys_as_text=", ".join(f"{key}::text" for key in keys),
        measures=", ".join(measures),
        sums=_sums(measures),
        any_is_not_zero=" OR ".join(f"{name} <> 0" for name in measures),
        any_sum_is_not_zero=_any_sum(measures),
        pace=_pace(table) if has_pace else "",
    )


def _pace(table: str) -> str:
    measures = _MEASURES[table]
    return _PACE.format(
        grain=int(Grain.PACE),
        keys=_kept_keys(table, Grain.PACE),
        sums=_sums(measures),
        kept=", ".join(grains.KEPT[table][Grain.PACE]),
        any_sum_is_not_zero=_any_sum(measures),
    )


def _kept_keys(table: str, grain: Grain) -> str:
    return ", ".join(kept_key(key, table, grain) for key in KEYS[table])


def _any_sum(measures: Sequence[str]) -> str:
    return " OR ".join(f"sum({name}) <> 0" for name in measures)


def kept_key(key: str, table: str, grain: Grain) -> str:
    """Return the SQL of a key as `grain` keeps it."""
    if key in grains.KEPT[table].get(grain, (key,)):
        return key
    return "0" if key == "marks" else "NULL"


def _sums(measures: Sequence[str]) -> str:
    return ", ".join(f"sum({name}) AS {name}" for name in measures)
