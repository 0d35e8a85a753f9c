"""Read sums from the tally: any keys, any filter on its keys, over one span.

A reader adds FRESH and one other grain for every piece of time, so what it answers is exact at every moment,
however far the compaction has come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db import connection

from analytics import grains, ranges
from analytics.grains import Grain
from operations import filters, moments

# Primary key (project_id, grain, bucket, id): one range of it for each piece.
_PIECE = """
SELECT * FROM {table} WHERE project_id = %s AND grain = {grain} AND bucket >= %s AND bucket < %s
"""
_SUMS = """
SELECT {keys}, sum(operations)::bigint, sum(duration_us)::bigint
FROM ({pieces}) AS piece WHERE {condition}
GROUP BY {grouping} HAVING sum(operations) <> 0 OR sum(duration_us) <> 0
"""


class Sum(NamedTuple):
    """Operations under equal keys; a time key is Unix microseconds."""

    keys: tuple[Any, ...]
    operations: int
    duration_us: int


def sums(
    *,
    project_id: int,
    query: filters.Query,
    span: ranges.Span,
    by: Sequence[str],
    step_us: int = 0,
) -> list[Sum]:
    """Return the operations of `span` that pass `query`, summed under the keys `by`.

    With `step_us`, the first key of each sum is the start of its step. `query` must be tallied.
    """
    assert query.is_tallied
    assert set(by) <= set(grains.KEYS)
    keys = [*([_step(step_us)] if step_us else []), *by]
    found = _select(
        project_id,
        query,
        span.pieces(step_us=step_us, keys=needed(query, by)),
        keys=", ".join(keys) or "NULL",
        grouping=", ".join(str(place + 1) for place in range(len(keys))) or "()",
    )
    sums = [Sum(row[:-2], row[-2], row[-1]) for row in found]
    if not step_us:
        return sums
    return [
        Sum((moments.from_datetime(found.keys[0]), *found.keys[1:]), found.operations, found.duration_us)
        for found in sums
    ]


def sums_along(
    *,
    project_id: int,
    query: filters.Query,
    span: ranges.Span,
    step_us: int,
    along: Sequence[str],
    by: Sequence[str],
) -> tuple[list[Sum], list[Sum]]:
    """Return the sums under each step and `along`, and those under `by` over the whole span, from one reading."""
    assert query.is_tallied
    names, step = list(dict.fromkeys((*along, *by))), _step(step_us)
    found = _select(
        project_id,
        query,
        span.pieces(step_us=step_us, keys=needed(query, names)),
        keys=f"grouping({step}), {step}, {', '.join(names)}",
        grouping=f"GROUPING SETS (({step}, {', '.join(along)}), ({', '.join(by)}))",
    )
    places_along, places_by = (
        [names.index(name) + 2 for name in along],
        [names.index(name) + 2 for name in by],
    )
    stepped, whole = [], []
    for row in found:
        if row[0] == 0:
            keys = (moments.from_datetime(row[1]), *(row[place] for place in places_along))
            stepped.append(Sum(keys, row[-2], row[-1]))
        else:
            whole.append(Sum(tuple(row[place] for place in places_by), row[-2], row[-1]))
    return stepped, whole


def sums_apart(
    *, project_id: int, query: filters.Query, span: ranges.Span, by: Sequence[str]
) -> dict[str, list[Sum]]:
    """Return the sums under each key of `by` alone, from one reading."""
    if not by:
        return {}
    assert query.is_tallied
    assert set(by) <= set(grains.KEYS)
    names = ", ".join(by)
    found = _select(
        project_id,
        query,
        span.pieces(keys=needed(query, by)),
        keys=f"grouping({names}), {names}",
        grouping=f"GROUPING SETS ({', '.join(f'({name})' for name in by)})",
    )
    apart: dict[str, list[Sum]] = {name: [] for name in by}
    for row in found:
        # The mask has a bit for each key that was left out, the first key's highest.
        place = next(n for n in range(len(by)) if not row[0] & (1 << (len(by) - 1 - n)))
        apart[by[place]].append(Sum((row[1 + place],), row[-2], row[-1]))
    return apart


def needed(query: filters.Query, by: Sequence[str]) -> frozenset[str]:
    """Return the keys that a question looks at."""
    return frozenset((*by, *(term.described.column for term in query.terms)))


def histogram(*, project_id: int, query: filters.Query, span: ranges.Span, measure: str) -> dict[int, int]:
    """Return the operations in each log bucket of a measure; of `query`, only env, tool and version count."""
    held = filters.Query(tuple(term for term in query.terms if term.field in {"env", "tool", "version"}))
    condition, bound = filters.condition(held)
    asked = span.pieces(keys=needed(held, ("measure", "edge")), table="tally_histogram")
    pieces, places = _pieces("tally_histogram", asked, project_id)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT edge, sum(operations)::bigint FROM ({pieces}) AS piece "
            f"WHERE measure = %s AND {condition} GROUP BY edge HAVING sum(operations) <> 0",
            [*places, measure, *bound],
        )
        return dict(cursor.fetchall())


def _select(
    project_id: int, query: filters.Query, pieces: Sequence[ranges.Piece], *, keys: str, grouping: str
) -> list[tuple[Any, ...]]:
    condition, bound = filters.condition(query)
    union, places = _pieces("tally", pieces, project_id)
    sql = _SUMS.format(keys=keys, pieces=union, condition=condition, grouping=grouping)
    with connection.cursor() as cursor:
        cursor.execute(sql, [*places, *bound])
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _pieces(table: str, pieces: Sequence[ranges.Piece], project_id: int) -> tuple[str, list[Any]]:
    """Return the union of the pieces, each with the fresh rows of its time, and its parameters."""
    parts, bound = [], []
    fresh_from, fresh_to = min(piece.from_us for piece in pieces), max(piece.to_us for piece in pieces)
    for piece in (ranges.Piece(Grain.FRESH, fresh_from, fresh_to), *pieces):
        parts.append(_PIECE.format(table=table, grain=int(piece.grain)))
        bound += [project_id, moments.to_datetime(piece.from_us), moments.to_datetime(piece.to_us)]
    return " UNION ALL ".join(parts), bound


def _step(step_us: int) -> str:
    seconds = step_us // moments.SECOND_US
    return f"date_bin('{seconds} seconds', bucket, 'epoch')"
