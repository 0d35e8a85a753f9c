"""Keep excerpts beside the operations they belong to, filed by the day by which they must be gone.

What one record told is one row, addressed by its content: the same words told twice are one row, and two records that
told different words both keep theirs; the operation's facts say which of them count.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
from django.db import connection

from operations import copying, raw, redaction, words

_NAMES = "project_id, hash, gone_on, attempt, rules_version, operation_id, words"
_TYPES = ("int8", "int8", "date", "int2", "int2", "text", "text")
_CREATE_STAGING = """
CREATE TEMP TABLE IF NOT EXISTS staging_excerpt (
    project_id bigint, hash bigint, gone_on date, attempt smallint, rules_version smallint, operation_id text,
    words text
) ON COMMIT DELETE ROWS
"""
COPY = f"COPY excerpt ({_NAMES}) FROM STDIN (FORMAT BINARY)"
_COPY_TO_STAGING = f"COPY staging_excerpt ({_NAMES}) FROM STDIN (FORMAT BINARY)"
_INSERT_STAGED = f"""
INSERT INTO excerpt ({_NAMES}) SELECT {_NAMES} FROM staging_excerpt ORDER BY operation_id, attempt, hash
ON CONFLICT DO NOTHING
"""
_INSERT_ONE = f"INSERT INTO excerpt ({_NAMES}) VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
# Primary key of excerpt, over the days that excerpts live.
_OF_OPERATION = """
SELECT words, rules_version FROM excerpt
WHERE project_id = %s AND operation_id = %s AND attempt = %s ORDER BY gone_on DESC, hash
"""

#: Up to this many rows, single INSERTs cost less than a COPY.
DIRECT_MAX = 4

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[words.Excerpt]).decode


class Row(NamedTuple):
    """The excerpts of one record to keep."""

    operation_id: str
    attempt: int
    excerpts: list[words.Excerpt]


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
    values = [row_values(project_id, gone_on, row) for row in sorted(rows, key=operator.itemgetter(0, 1))]
    if not values:
        return
    cursor = raw.cursor()
    if len(values) <= DIRECT_MAX:
        for value in values:
            cursor.execute(_INSERT_ONE, value, prepare=True)
    elif are_new:
        copy(cursor, values)
    else:
        cursor.execute(_CREATE_STAGING)
        copying.copy(cursor, _COPY_TO_STAGING, _TYPES, values)
        cursor.execute(_INSERT_STAGED)


def copy(cursor: Any, values: Sequence[tuple[Any, ...]]) -> None:
    """Copy rows of `row_values` that are known to be new."""
    copying.copy(cursor, COPY, _TYPES, values)


def row_values(project_id: int, gone_on: datetime.date, row: Row) -> tuple[Any, ...]:
    """Return a row of the table."""
    operation_id, attempt, told = row
    text = _encode(told).decode()
    return (project_id, hash_of(told), gone_on, attempt, redaction.RULES_VERSION, operation_id, text)


def hash_of(told: Iterable[words.Excerpt]) -> int:
    """Return the address of what a record told, one for any order; it tells no words twice, so none cancel out."""
    found = 0
    for excerpt in told:
        found ^= excerpt.hash
    return found


def of_operation(*, project_id: int, operation_id: str, attempt: int) -> list[Kept]:
    """Return every excerpt of one attempt."""
    with connection.cursor() as cursor:
        cursor.execute(_OF_OPERATION, [project_id, operation_id, attempt])
        return [
            Kept(
                one.kind,
                one.hash,
                bytes(one.content).decode(),
                bytes(one.remarks).decode() or None,
                one.is_truncated,
                rules_version,
            )
            for text, rules_version in cursor.fetchall()
            for one in _decode(text)
        ]
