"""The first time each value was told, and the code book's rows, which appear by themselves.

Both are taken from single records and not from merged rows, so that no order of delivery can change them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from operations import moments, raw, records

REMEMBERED_MAX = 50_000

# The row is locked only when it has to change: writers of known values never wait for each other.
_NOTE = """
INSERT INTO first_seen (project_id, dimension, value, seen_at)
SELECT %s, told.dimension, told.value, told.seen_at
FROM unnest(%s::text[], %s::text[], %s::timestamptz[]) AS told (dimension, value, seen_at)
WHERE NOT EXISTS (
    SELECT FROM first_seen AS known WHERE known.project_id = %s AND known.dimension = told.dimension
        AND known.value = told.value AND known.seen_at <= told.seen_at
)
ORDER BY told.dimension, told.value
ON CONFLICT (project_id, dimension, value) DO UPDATE SET seen_at = excluded.seen_at
WHERE excluded.seen_at < first_seen.seen_at
"""
_NOTE_CODES = """
INSERT INTO code_entry (project_id, code)
SELECT %s, told.code FROM unnest(%s::text[]) AS told (code)
WHERE NOT EXISTS (
    SELECT FROM code_entry AS known WHERE known.project_id = %s AND known.code = told.code
)
ORDER BY told.code
ON CONFLICT DO NOTHING
"""

#: (dimension, value) -> the least time at which it was told.
Firsts = dict[tuple[str, str], int]

# (project, dimension, value) -> the least time this process has committed. Only saves asking; may be lost.
_remembered: dict[tuple[int, str, str], int] = {}


def note(project_id: int, told: Sequence[records.Told]) -> Firsts:
    """Write what is told for the first time, or earlier than known, in the caller's transaction.

    Returns what was written, for `remember`.
    """
    least = {value: at for value, at in _least(told).items() if not _is_known(project_id, value, at)}
    if not least:
        return least
    dimensions, values = [name for name, _ in least], [value for _, value in least]
    times = [moments.to_datetime(at) for at in least.values()]
    codes = [value for dimension, value in least if dimension == "code"]
    raw.cursor().execute(_NOTE, [project_id, dimensions, values, times, project_id])
    if codes:
        raw.cursor().execute(_NOTE_CODES, [project_id, codes, project_id])
    return least


def are_known(project_id: int, told: Sequence[records.Told]) -> bool:
    """Tell whether `note` would have nothing to write, as far as this process remembers."""
    return all(_is_known(project_id, value, at) for value, at in _least(told).items())


def _is_known(project_id: int, value: tuple[str, str], at: int) -> bool:
    return _remembered.get((project_id, *value), at + 1) <= at


def remember(project_id: int, noted: Firsts) -> None:
    """Remember, after the commit, what need not be asked again."""
    if len(_remembered) > REMEMBERED_MAX:
        _remembered.clear()
    for value, at in noted.items():
        key = (project_id, *value)
        _remembered[key] = min(at, _remembered.get(key, at))


def _least(told: Iterable[records.Told]) -> Firsts:
    """Return the least time of each (dimension, value); records that name the same are looked at together."""
    together: dict[records.Firsts, int] = {}
    for record in told:
        known = together.get(record.firsts)
        if known is None or record.told_at < known:
            together[record.firsts] = record.told_at
    least: Firsts = {}
    for firsts, at in together.items():
        for value in _named(firsts):
            if at < least.get(value, at + 1):
                least[value] = at
    return least


@functools.lru_cache(maxsize=4096)
def _named(firsts: records.Firsts) -> tuple[tuple[str, str], ...]:
    named = [
        (dimension, value)
        for dimension in ("tool", "model", "runtime", "environment", "provider")
        if (value := getattr(firsts, dimension))
    ]
    if firsts.tool and firsts.tool_version:
        named.append(("tool_version", f"{firsts.tool}@{firsts.tool_version}"))
    named += [("code", code) for code in (firsts.code, firsts.verdict_code) if code]
    return tuple(named)
