"""Look operations up: lists newest first, one with all its facts, a session.

Every statement names its project and reads a bounded piece of an index. A filter that no index answers is
tried on the newest `SCAN_MAX` operations of the range only; `Page.searched` says so, `next` where to go on.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.db import connection

from operations import facts, filters, grammar, moments, vocabulary

#: How many operations one look tries a filter on; about a quarter of a second on one core.
SCAN_MAX = 50_000
SESSION_MAX = 500
NEWER_MAX = 100
#: How many operations are counted from the facts where the tally cannot answer.
KEYS_MAX = 5_000

parse = grammar.parse

Bound = list[Any]

DERIVED = ("status", "outcome", "code", "contract_kind", "ended_at", "duration_us", "late_by_us", "marks")
PLACED = ("day", "received_at", "job_marks")
_NAMES = (*facts.NAMES, *DERIVED, *PLACED)
_MOMENTS = tuple(
    place
    for place, name in enumerate(_NAMES)
    if name in {"started_at", "verdict_at", "answered_at", "answer_ended_at", "ended_at", "received_at"}
)
_COLUMNS = ", ".join(_NAMES)

# Index operation_recent (project_id, started_at), or operation_session, or the primary key, as {lead} allows.
# The day bounds leave out partitions; a start may have moved across midnight after its row was placed.
_CANDIDATES = """
SELECT {columns} FROM operation
WHERE project_id = %s AND day BETWEEN %s AND %s AND started_at >= %s AND started_at < %s AND {lead}
ORDER BY started_at DESC, operation_id DESC, attempt DESC LIMIT %s
"""
_PAGE = f"SELECT * FROM ({_CANDIDATES}) AS candidate WHERE {{rest}} LIMIT %s"
_BEFORE = "(started_at, operation_id, attempt) < (%s, %s, %s)"
_AFTER = "(started_at, operation_id, attempt) > (%s, %s, %s)"
_COUNT = f"SELECT count(*) FROM (SELECT 1 FROM ({_CANDIDATES}) AS candidate WHERE {{rest}} LIMIT %s) AS found"
# Primary key. Without a day every partition's index is probed once.
_ONE = f"""
SELECT {_COLUMNS} FROM operation
WHERE project_id = %s AND operation_id = %s ORDER BY attempt DESC, started_at DESC LIMIT 1000
"""
# Index operation_session.
_SESSION = f"""
SELECT {_COLUMNS} FROM operation
WHERE project_id = %s AND session_id = %s ORDER BY started_at, operation_id, attempt LIMIT %s
"""


class Operation(facts.Facts, kw_only=True):
    """One operation as it is stored: its facts, what follows from them, and where it lies."""

    status: str
    outcome: str | None = None
    code: str | None = None
    contract_kind: str | None = None
    ended_at: int | None = None
    duration_us: int | None = None
    late_by_us: int | None = None
    marks: int = 0
    day: datetime.date
    received_at: int
    job_marks: int = 0

    @property
    def start(self) -> int:
        """When it started, in Unix microseconds: no row is stored without."""
        assert self.started_at is not None
        return self.started_at

    @property
    def cursor(self) -> Cursor:
        """Its place in a list."""
        return Cursor(self.start, self.operation_id, self.attempt)


class Cursor(NamedTuple):
    """A place in the order of lists."""

    started_at: int
    operation_id: str
    attempt: int


class Page(NamedTuple):
    """A stretch of a list; `next` says where it goes on, None at the end."""

    rows: list[Operation]
    next: Cursor | None
    #: How many operations were looked at, when that ended the search before the page was full.
    searched: int | None = None


class Keys(NamedTuple):
    """Some columns of the operations that a filter finds; `is_whole` when there are no more of them."""

    rows: list[tuple[Any, ...]]
    is_whole: bool


class Found(NamedTuple):
    """One operation, its other attempts, and other rows of the same identity (an id that was used again)."""

    operation: Operation
    attempts: list[Operation]
    twins: list[Operation]


def page(
    *,
    project_id: int,
    query: filters.Query,
    since: int,
    until: int,
    limit: int,
    before: Cursor | tuple[int, str, int] | None = None,
) -> Page:
    """Return operations that started in [since, until), newest first, `limit` at most.

    `since` and `until` are Unix microseconds, as are all moments in what comes back.
    """
    lead, lead_bound, rest, rest_bound = _split(query)
    if before is not None:
        lead, lead_bound = f"{lead} AND {_BEFORE}", [*lead_bound, _moment(before[0]), before[1], before[2]]
        until = min(until, before[0] + 1)
    scan_max = limit + 1 if rest == "TRUE" else SCAN_MAX
    bound = [*_range(project_id, since, until), *lead_bound, scan_max]
    rows = _select(_PAGE.format(columns=_COLUMNS, lead=lead, rest=rest), [*bound, *rest_bound, limit + 1])
    if len(rows) > limit:
        return Page(rows[:limit], rows[limit - 1].cursor)
    if rest == "TRUE":
        return Page(rows, None)
    last = _last_tried(lead, [*_range(project_id, since, until), *lead_bound])
    return Page(rows, last, SCAN_MAX if last else None)


def page_within(
    *,
    project_id: int,
    query: filters.Query,
    windows: Iterable[tuple[int, int]],
    limit: int,
    before: Cursor | None = None,
) -> Page:
    """Return the page that `page` would, looking only into `windows` of time, which come newest first.

    The tally knows in which stretches a filter finds anything, so rare calls are found without trying all.
    """
    rows: list[Operation] = []
    for since, until in windows:
        if before is not None and since > before.started_at:
            continue
        found = page(
            project_id=project_id,
            query=query,
            since=since,
            until=until,
            limit=limit - len(rows),
            before=before,
        )
        rows += found.rows
        if found.next is not None:
            return Page(rows, found.next, found.searched)
        if len(rows) == limit:
            return Page(rows, rows[-1].cursor)
    return Page(rows, None)


def keys(*, project_id: int, query: filters.Query, since: int, until: int, columns: Sequence[str]) -> Keys:
    """Return `columns` of the newest operations in [since, until) that pass, `KEYS_MAX` at most, to count them.

    The first of each row is its start, in Unix microseconds.
    """
    assert set(columns) <= set(_NAMES)
    lead, lead_bound, rest, rest_bound = _split(query)
    listed = ", ".join(("started_at", *columns))
    bound = [*_range(project_id, since, until), *lead_bound, SCAN_MAX, *rest_bound, KEYS_MAX + 1]
    sql = _PAGE.replace("SELECT *", f"SELECT {listed}", 1).format(columns=_COLUMNS, lead=lead, rest=rest)
    with connection.cursor() as cursor:
        cursor.execute(sql, bound)
        rows = [(moments.from_datetime(row[0]), *row[1:]) for row in cursor.fetchall()]
    is_whole = len(rows) <= KEYS_MAX
    if is_whole and rest != "TRUE":
        is_whole = _last_tried(lead, [*_range(project_id, since, until), *lead_bound]) is None
    return Keys(rows[:KEYS_MAX], is_whole)


def newer_than(*, project_id: int, query: filters.Query, after: Cursor, until: int) -> int:
    """Count operations above `after` in a list, `NEWER_MAX` at most."""
    lead, lead_bound, rest, rest_bound = _split(query)
    lead, lead_bound = f"{lead} AND {_AFTER}", [*lead_bound, _moment(after.started_at), *after[1:]]
    bound = [*_range(project_id, after.started_at, until), *lead_bound, SCAN_MAX]
    with connection.cursor() as cursor:
        cursor.execute(
            _COUNT.format(columns=_COLUMNS, lead=lead, rest=rest), [*bound, *rest_bound, NEWER_MAX]
        )
        return int(cursor.fetchone()[0])


def one(
    *, project_id: int, operation_id: str, attempt: int | None = None, day: datetime.date | None = None
) -> Found | None:
    """Return one operation, by default its highest attempt and its newest row; None when there is none.

    An id that was used again names several rows of one attempt; `day` tells them apart.
    """
    if "\0" in operation_id:
        return None
    rows = _select(_ONE, [project_id, operation_id])
    chosen = [row for row in rows if attempt is None or row.attempt == attempt]
    if not chosen:
        return None
    operation = next((row for row in chosen if row.day == day), chosen[0])
    twins = [row for row in chosen if row.attempt == operation.attempt and row is not operation]
    firsts = {row.attempt: row for row in reversed(rows)}
    return Found(operation, [firsts[number] for number in sorted(firsts)], twins)


def session(*, project_id: int, session_id: str) -> list[Operation]:
    """Return the operations of a session, oldest first, `SESSION_MAX` at most."""
    return [] if "\0" in session_id else _select(_SESSION, [project_id, session_id, SESSION_MAX])


def _split(query: filters.Query) -> tuple[str, Bound, str, Bound]:
    """Split a filter into what an index answers and what is tried on its rows."""
    leads = tuple(
        term
        for term in query.terms
        if term.field in vocabulary.INDEXED
        and not term.is_negated
        and all(value.text and not value.is_open for value in term.values)
    )
    lead, lead_bound = filters.condition(filters.Query(leads))
    rest, rest_bound = filters.condition(
        filters.Query(tuple(term for term in query.terms if term not in leads))
    )
    return lead, lead_bound, rest, rest_bound


def _last_tried(lead: str, bound: Bound) -> Cursor | None:
    """Return the last operation that a full look tried; None when the range was looked through."""
    columns = "started_at, operation_id, attempt"
    with connection.cursor() as cursor:
        cursor.execute(
            f"{_CANDIDATES.format(columns=columns, lead=lead)} OFFSET %s", [*bound, 1, SCAN_MAX - 1]
        )
        row = cursor.fetchone()
    return Cursor(moments.from_datetime(row[0]), row[1], row[2]) if row else None


def _range(project_id: int, since: int, until: int) -> Bound:
    return [
        project_id,
        moments.day_of(since - moments.DAY_US),
        moments.day_of(until + moments.DAY_US),
        _moment(since),
        _moment(until),
    ]


def _moment(at_us: int) -> datetime.datetime:
    return moments.to_datetime(at_us)


def _select(sql: str, bound: Bound) -> list[Operation]:
    with connection.cursor() as cursor:
        cursor.execute(sql, bound)
        return [_operation(row) for row in cursor.fetchall()]


def _operation(row: tuple[Any, ...]) -> Operation:
    values = list(row)
    for place in _MOMENTS:
        if values[place] is not None:
            values[place] = moments.from_datetime(values[place])
    return Operation(**dict(zip(_NAMES, values, strict=True)))
