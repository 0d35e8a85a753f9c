"""Find what no single record can tell: calls that never ended, ids used twice, facts that missed their call.

Each statement changes rows and counts the difference at once, as `store` does, so the tally stays exact.
The danger is a row that is changed by something else than the store's own statement and not counted;
`job_marks` is therefore only written here. Rows are locked with SKIP LOCKED: whoever is storing them goes
first, and the next run finds them again.
"""

from __future__ import annotations

import datetime
import functools
import itertools
from collections.abc import Iterator

from django.db import connection
from msgspec import structs

from operations import facts, jobs, marks, merging, moments, partitions, pending, placing, store

UNTOLD_TIMEOUT = datetime.timedelta(minutes=15)

# Index operation_running: what runs and is not marked yet, of every project at once, for one statement for
# each project would plan over all partitions a thousand times.
_MARK_UNFINISHED = f"""
WITH due AS (
    SELECT project_id, operation_id, attempt, day FROM operation
    WHERE status = 'running' AND job_marks & {int(marks.Mark.UNFINISHED)} = 0 AND started_at < %(now)s
        AND started_at + coalesce(timeout_ms, %(untold_ms)s) * interval '1 millisecond' < %(now)s
    LIMIT %(rows)s
    FOR UPDATE SKIP LOCKED
),
stored AS (
    UPDATE operation AS known SET job_marks = known.job_marks | {int(marks.Mark.UNFINISHED)}
    FROM due
    WHERE known.project_id = due.project_id AND known.operation_id = due.operation_id
        AND known.attempt = due.attempt AND known.day = due.day
    {store.RETURN_BOTH_STATES}
),
{store.COUNT_THE_DIFFERENCE}
SELECT count(*) FROM stored
"""

# Merge join of two partitions on their primary keys.
_MARK_REUSED = f"""
WITH twice AS (
    SELECT one.project_id, one.operation_id, one.attempt,
        one.job_marks & {int(marks.Mark.ID_REUSED)} = 0 AS one_is_new,
        other.job_marks & {int(marks.Mark.ID_REUSED)} = 0 AS other_is_new
    FROM operation AS one
    JOIN operation AS other USING (project_id, operation_id, attempt)
    WHERE one.day = %(one)s AND other.day = %(other)s
        AND (one.job_marks & other.job_marks) & {int(marks.Mark.ID_REUSED)} = 0
    LIMIT %(rows)s
),
due AS (
    SELECT held.project_id, held.operation_id, held.attempt, held.day
    FROM operation AS held
    JOIN (
        SELECT project_id, operation_id, attempt, %(one)s::date AS day FROM twice WHERE one_is_new
        UNION ALL
        SELECT project_id, operation_id, attempt, %(other)s::date FROM twice WHERE other_is_new
    ) AS new USING (project_id, operation_id, attempt, day)
    WHERE held.day IN (%(one)s, %(other)s)
    FOR UPDATE OF held SKIP LOCKED
),
stored AS (
    UPDATE operation AS known SET job_marks = known.job_marks | {int(marks.Mark.ID_REUSED)}
    FROM due
    WHERE known.project_id = due.project_id AND known.operation_id = due.operation_id
        AND known.attempt = due.attempt AND known.day = due.day AND known.day IN (%(one)s, %(other)s)
    {store.RETURN_BOTH_STATES}
),
{store.COUNT_THE_DIFFERENCE}
SELECT count(*) FROM stored
"""

# Pairs of days that are looked at in every run reach back so far; every other pair has its turn once a week.
_EVERY_RUN_DAYS = 8
_TURNS = 7 * 24

# Primary key of operation, once for each partition: so only what came lately, and the older ones in turn,
# an hour round.
_MATCHED = """
SELECT DISTINCT ON (waiting.project_id, waiting.operation_id, waiting.attempt)
    waiting.project_id, waiting.operation_id, waiting.attempt, found.day, opsconsole_us(found.started_at)
FROM pending AS waiting
JOIN operation AS found USING (project_id, operation_id, attempt)
WHERE waiting.received_at > %(lately)s OR abs(hashtext(waiting.operation_id)::bigint) %% 60 = %(turn)s
ORDER BY waiting.project_id, waiting.operation_id, waiting.attempt, found.day DESC
LIMIT %(rows)s
"""


def mark_unfinished(*, now: datetime.datetime, rows: int = 2000) -> jobs.Outcome:
    """Mark what still runs past the time it was allowed; an ending takes the mark back by itself."""
    return jobs.run("mark_unfinished", functools.partial(_mark_unfinished, now), rows=rows)


def mark_reused(*, now: datetime.datetime, rows: int = 2000) -> jobs.Outcome:
    """Mark rows of different days that have the same identity."""
    days = partitions.existing("operation")
    steps = [functools.partial(_mark_reused, one, other) for one, other in _pairs(days, now)]
    return jobs.run("mark_reused", *steps, rows=rows, for_s=300)


def match_pending(*, now: datetime.datetime, rows: int = 500) -> jobs.Outcome:
    """Join facts that wait with their operation where it is stored by now."""
    return jobs.run("match_pending", functools.partial(_match_pending, now), rows=rows)


def _mark_unfinished(now: datetime.datetime, rows: int) -> int | None:
    untold_ms = UNTOLD_TIMEOUT // datetime.timedelta(milliseconds=1)
    return _change(_MARK_UNFINISHED, {"now": now, "untold_ms": untold_ms, "rows": rows})


def _mark_reused(one: datetime.date, other: datetime.date, rows: int) -> int | None:
    return _change(_MARK_REUSED, {"one": one, "other": other, "rows": rows})


def _change(statement: str, parameters: dict[str, datetime.date | int]) -> int | None:
    """Return how many rows were changed, None for none: what is locked waits for the next run."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.fetchone()[0]) or None


def _pairs(days: set[datetime.date], now: datetime.datetime) -> Iterator[tuple[datetime.date, datetime.date]]:
    """Return the pairs of days that this run compares: the recent ones, and others in their turn."""
    recent = now.date() - datetime.timedelta(days=1)
    turn = int(now.timestamp()) // 3600 % _TURNS
    for place, (one, other) in enumerate(itertools.combinations(sorted(days, reverse=True), 2)):
        is_recent = one >= recent and one - other <= datetime.timedelta(days=_EVERY_RUN_DAYS)
        if is_recent or place % _TURNS == turn:
            yield one, other


def _match_pending(now: datetime.datetime, rows: int) -> int | None:
    """Join up to `rows` waiting facts, project by project."""
    lately = now - 2 * pending.ORPHAN_AFTER
    with connection.cursor() as cursor:
        cursor.execute(_MATCHED, {"lately": lately, "turn": now.minute, "rows": rows})
        found = cursor.fetchall()
    for project_id, group in itertools.groupby(found, key=lambda row: int(row[0])):
        places = {(name, attempt): placing.Found(day, start) for _, name, attempt, day, start in group}
        _join_waiting(project_id, places, now)
    return len(found) or None


def _join_waiting(
    project_id: int, places: dict[placing.Identity, placing.Found], now: datetime.datetime
) -> None:
    pending.lock_shared(project_id)
    named = [facts.Facts(operation_id=name, attempt=attempt) for name, attempt in places]
    waiting = merging.fold(pending.take(project_id=project_id, batch=named))
    batch = []
    for known in waiting:
        place = places[known.operation_id, known.attempt]
        # The start is the stored one, not told by these facts: a row must have one.
        batch.append(store.Placed(place.day, structs.replace(known, started_at=place.started_at)))
    if batch:
        store.upsert(project_id=project_id, received_at_us=moments.from_datetime(now), batch=batch)
