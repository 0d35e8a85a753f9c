"""Write facts and their tally by one statement.

The statement upserts the batch into `operation` by the joins that `facts.py` declares, and from each row's
old and new state appends the difference to the tally and its histograms. The principle: what is counted is
what is stored, because one statement does both. The danger: a change here that counts without storing, or
stores without counting, goes unnoticed until `verify_tally`; `tests/operations/test_counting.py` recounts
after every kind of delivery.

A row that the batch does not change is neither written nor returned: that is what `duplicate` means.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection
from msgspec import structs

from operations import copying, facts, raw

FRESH = 0  # the grain of tally rows as writers append them; analytics.compaction folds them

#: Batches up to this size skip the staging table: one INSERT from parameters costs less than COPY, measured
#: by `make bench`.
DIRECT_MAX = 4

_KEYS = (
    "environment, tool, tool_version, effect, mode, source, provider, model, runtime, status, outcome, code, "
    "contract_kind, marks"
)
_STATE = (
    "started_at, environment, tool, tool_version, effect, mode, source, provider, model, runtime, status, outcome, "
    "code, contract_kind, marks, duration_us, late_by_us, output_bytes, input_bytes"
)

# What a changed row takes from the tally under its old keys and adds under its new ones. Follows a CTE
# `stored` with (project_id, is_new, was_…, now_…). Every statement that changes `operation` ends in this one.
COUNT_THE_DIFFERENCE = f"""
moved AS (
    SELECT project_id, -1 AS step, {", ".join(f"was_{n.strip()} AS {n.strip()}" for n in _STATE.split(","))}
    FROM stored WHERE NOT is_new
    UNION ALL
    SELECT project_id, 1, {", ".join(f"now_{n.strip()}" for n in _STATE.split(","))} FROM stored
),
tallied AS (
    INSERT INTO tally (project_id, grain, bucket, {_KEYS}, operations, duration_us)
    SELECT project_id, {FRESH}, date_bin('1 minute', started_at, 'epoch'), {_KEYS},
        sum(step), coalesce(sum(step * duration_us), 0)
    FROM moved
    GROUP BY project_id, date_bin('1 minute', started_at, 'epoch'), {_KEYS}
    HAVING sum(step) <> 0 OR coalesce(sum(step * duration_us), 0) <> 0
),
measured AS (
    INSERT INTO tally_histogram
        (project_id, grain, bucket, measure, environment, tool, tool_version, edge, operations)
    SELECT project_id, {FRESH}, date_bin('1 minute', started_at, 'epoch'), measure, environment, tool,
        tool_version, opsconsole_bucket(amount), sum(step)
    FROM moved CROSS JOIN LATERAL (VALUES
        ('duration', duration_us), ('lateness', late_by_us),
        ('output_bytes', output_bytes), ('input_bytes', input_bytes)
    ) AS measures (measure, amount)
    WHERE amount IS NOT NULL
    GROUP BY project_id, date_bin('1 minute', started_at, 'epoch'), measure, environment, tool, tool_version,
        opsconsole_bucket(amount)
    HAVING sum(step) <> 0
)
"""

RETURN_BOTH_STATES = f"""
RETURNING WITH (OLD AS was, NEW AS now) now.project_id, now.operation_id, now.attempt, now.day,
    was.operation_id IS NULL AS is_new,
    {", ".join(f"was.{n.strip()} AS was_{n.strip()}" for n in _STATE.split(","))},
    {", ".join(f"now.{n.strip()} AS now_{n.strip()}" for n in _STATE.split(","))}
"""


_NAMES = ", ".join(name for name, _ in copying.COLUMNS)
_GIVEN = (
    f"SELECT {_NAMES} FROM jsonb_to_recordset($1::jsonb) "
    f"AS given ({', '.join(f'{name} {kind}' for name, kind in copying.COLUMNS)})"
)


class Placed(NamedTuple):
    """One operation's facts with the day whose partition holds it."""

    day: datetime.date
    facts: facts.Facts


class Stored(NamedTuple):
    """A row that was inserted or changed."""

    operation_id: str
    attempt: int
    is_new: bool


def upsert(*, project_id: int, received_at_us: int, batch: Sequence[Placed]) -> list[Stored]:
    """Merge `batch`, one entry for each identity, into `operation` and count it; returns what changed.

    Runs inside the caller's transaction. Rows are locked in the order of their identity, so that no two batches wait
    for each other.
    """
    assert connection.in_atomic_block
    rows = [
        (project_id, placed.day, received_at_us, *structs.astuple(placed.facts))
        for placed in sorted(batch, key=lambda placed: (placed.facts.operation_id, placed.facts.attempt))
    ]
    if len(rows) > DIRECT_MAX:
        copying.stage(raw.cursor(), rows)
        return _run(staged_statement())
    return _run(direct_statement(), copying.as_json(rows))


def _run(statement: str, *parameters: str) -> list[Stored]:
    cursor = raw.by_number()
    cursor.execute(statement.encode(), parameters, prepare=True)
    return [Stored(*row) for row in cursor.fetchall()]


@functools.cache
def staged_statement() -> str:
    """Return the statement that merges the rows in the staging table."""
    return _statement("SELECT * FROM staging ORDER BY operation_id, attempt")


@functools.cache
def direct_statement() -> str:
    """Return the statement that merges the rows given as one JSON parameter, sorted already."""
    return _statement(_GIVEN)


def _statement(source: str) -> str:
    sets = ",\n        ".join(
        f"{fact.name} = {_joined(fact)}" for fact in facts.FACTS if fact.join != "identity"
    )
    return f"""
WITH stored AS (
    INSERT INTO operation AS known ({_NAMES})
    {source}
    ON CONFLICT (project_id, operation_id, attempt, day) DO UPDATE SET
        {sets}
    WHERE {_changes()}
    {RETURN_BOTH_STATES}
),
{COUNT_THE_DIFFERENCE}
SELECT operation_id, attempt, is_new FROM stored
"""


def _joined(fact: facts.Fact) -> str:
    """Return the SQL that joins the known and the new value of `fact`; `merging.join` says the same in Python."""
    name = fact.name
    known, new = f"known.{name}", f"excluded.{name}"
    if fact.join == "told":
        return f"{known} | {new}"
    if fact.join == "any":
        return f"{known} OR {new}"
    if fact.join in {"verdict", "answer"}:
        return f"CASE WHEN {_wins(fact.join)} THEN {new} ELSE {known} END"
    if fact.join == "greatest":
        return f"greatest({known}, {new})"
    if fact.join == "least":
        return f"least({known}, {new})"
    bit = facts.TOLD_BIT[name]
    return (
        f"CASE WHEN (known.told # excluded.told) & {bit} = 0 OR {known} IS NULL OR {new} IS NULL "
        f"THEN least({known}, {new}) WHEN known.told & {bit} <> 0 THEN {known} ELSE {new} END"
    )


def _wins(block: str) -> str:
    """Return the condition under which the new block ranks before the known one."""
    known, new = f"known.{block}_rank", f"excluded.{block}_rank"
    return f"({new} IS NOT NULL AND ({known} IS NULL OR {new} < {known}))"


def _changes() -> str:
    """Return the condition under which the batch tells something that was not known."""
    conditions = [_wins("verdict"), _wins("answer")]
    for fact in facts.FACTS:
        if fact.join in {"identity", "verdict", "answer"}:
            continue
        conditions.append(
            f"(excluded.{fact.name} IS NOT NULL AND ({_joined(fact)}) IS DISTINCT FROM known.{fact.name})"
        )
    return "\n        OR ".join(conditions)


# Primary key of operation.
_KNOWN = f"""
SELECT {", ".join(f"opsconsole_us(o.{f.name})" if f.sql == "timestamptz" else f"o.{f.name}" for f in facts.FACTS)}
FROM unnest(%s::text[], %s::smallint[], %s::date[]) AS wanted (operation_id, attempt, day)
JOIN operation AS o ON o.project_id = %s AND o.operation_id = wanted.operation_id
    AND o.attempt = wanted.attempt AND o.day = wanted.day
"""


def known(*, project_id: int, batch: Sequence[Placed]) -> dict[tuple[str, int], facts.Facts]:
    """Return the stored facts of the operations in `batch`."""
    columns = list(
        zip(*((placed.facts.operation_id, placed.facts.attempt, placed.day) for placed in batch), strict=True)
    )
    cursor = raw.cursor()
    cursor.execute(_KNOWN, [*map(list, columns), project_id])
    found = [facts.Facts(**dict(zip(facts.NAMES, row, strict=True))) for row in cursor.fetchall()]
    return {(row.operation_id, row.attempt): row for row in found}
