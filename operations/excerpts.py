"""Keep excerpts beside the operations they belong to, filed by the day by which they must be gone.

A row is addressed by its content, so the same words told twice are one row, and two records that told
different words both keep theirs; the operation's facts say which one counts.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any, NamedTuple

from django.db import connection

from operations import copying, raw, records, redaction

_NAMES = (
    "project_id, operation_id, attempt, kind, hash, gone_on, rules_version, is_truncated, content, remarks"
)
_TYPES = ("int8", "text", "int2", "text", "int8", "date", "int2", "bool", "text", "text")
_CREATE_STAGING = """
CREATE TEMP TABLE IF NOT EXISTS staging_excerpt (
    project_id bigint, operation_id text, attempt smallint, kind text, hash bigint, gone_on date,
    rules_version smallint, is_truncated boolean, content text, remarks text
) ON COMMIT DELETE ROWS
"""
_COPY = f"COPY excerpt ({_NAMES}) FROM STDIN (FORMAT BINARY)"
_COPY_TO_STAGING = f"COPY staging_excerpt ({_NAMES}) FROM STDIN (FORMAT BINARY)"
_INSERT_STAGED = f"""
INSERT INTO excerpt ({_NAMES}) SELECT {_NAMES} FROM staging_excerpt ORDER BY operation_id, attempt, hash
ON CONFLICT DO NOTHING
"""
_INSERT_ONE = f"""
INSERT INTO excerpt ({_NAMES}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING
"""
# Primary key of excerpt, over the days that excerpts live.
_OF_OPERATION = """
SELECT kind, hash, content, remarks, is_truncated, rules_version FROM excerpt
WHERE project_id = %s AND operation_id = %s AND attempt = %s ORDER BY kind, gone_on DESC, hash
"""

#: Up to this many rows, single INSERTs cost less than a COPY.
DIRECT_MAX = 6


class Row(NamedTuple):
    """One excerpt to keep."""

    operation_id: str
    attempt: int
    excerpt: records.Excerpt


class Kept(NamedTuple):
    """One excerpt as it is kept; `content` and `remarks` are JSON."""

    kind: str
    hash: int
    content: str
    remarks: str | None
    is_truncated: bool
    rules_version: int


def keep(*, project_id: int, gone_on: datetime.date, rows: Iterable[Row], are_new: bool) -> None:
    """Insert the rows that are not kept yet, in the caller's transaction.

    With `are_new` none is expected to be kept, which is cheaper; one that is raises `UniqueViolation`.
    """
    values = sorted((_values(project_id, gone_on, row) for row in rows), key=lambda value: value[1:5])
    if not values:
        return
    cursor = raw.cursor()
    if len(values) <= DIRECT_MAX:
        for value in values:
            cursor.execute(_INSERT_ONE, value, prepare=True)
    elif are_new:
        copying.copy(cursor, _COPY, _TYPES, values)
    else:
        cursor.execute(_CREATE_STAGING)
        copying.copy(cursor, _COPY_TO_STAGING, _TYPES, values)
        cursor.execute(_INSERT_STAGED)


def _values(project_id: int, gone_on: datetime.date, row: Row) -> tuple[Any, ...]:
    excerpt = row.excerpt
    return (
        project_id,
        row.operation_id,
        row.attempt,
        excerpt.kind,
        excerpt.hash,
        gone_on,
        redaction.RULES_VERSION,
        excerpt.is_truncated,
        excerpt.content.decode(),
        None if excerpt.remarks is None else excerpt.remarks.decode(),
    )


def of_operation(*, project_id: int, operation_id: str, attempt: int) -> list[Kept]:
    """Return every excerpt of one attempt."""
    with connection.cursor() as cursor:
        cursor.execute(_OF_OPERATION, [project_id, operation_id, attempt])
        return [Kept(*row) for row in cursor.fetchall()]
