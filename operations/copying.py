"""Bring rows to PostgreSQL in binary: the staging table, its columns, and how moments travel."""

from __future__ import annotations

import functools
import struct
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import psycopg
from django.db import transaction
from psycopg import adapt as psycopg_adapt
from psycopg import pq

from operations import facts, moments

COLUMNS: tuple[tuple[str, str], ...] = (
    ("project_id", "bigint"),
    ("day", "date"),
    ("received_at", "timestamptz"),
    *((fact.name, fact.sql) for fact in facts.FACTS),
)

# PostgreSQL counts microseconds from 2000-01-01.
_EPOCH_US = 946_684_800_000_000
_pack = struct.Struct(">q").pack
_encode = msgspec.json.Encoder().encode

CREATE_STAGING = f"""
CREATE TEMP TABLE IF NOT EXISTS staging ({", ".join(f"{name} {kind}" for name, kind in COLUMNS)})
ON COMMIT DELETE ROWS
"""
COPY_TO_STAGING = f"COPY staging ({', '.join(name for name, _ in COLUMNS)}) FROM STDIN (FORMAT BINARY)"

_TYPES = [kind.split()[0] for _, kind in COLUMNS]
_staged: weakref.WeakSet[psycopg.Connection[Any]] = weakref.WeakSet()


class _MomentDumper(psycopg_adapt.Dumper):
    """Dump integer Unix microseconds as a timestamptz."""

    format = pq.Format.BINARY
    oid = psycopg.adapters.types["timestamptz"].oid

    def dump(self, obj: int) -> bytes:
        return _pack(obj - _EPOCH_US)


def stage(cursor: psycopg.Cursor[Any], rows: Sequence[tuple[Any, ...]]) -> None:
    """Copy `rows` into this connection's staging table, which empties itself at the end of the transaction."""
    if cursor.connection not in _staged:
        cursor.execute(CREATE_STAGING)
        # Not before the commit: a transaction that is rolled back takes its table with it.
        transaction.on_commit(functools.partial(_staged.add, cursor.connection))
    copy(cursor, COPY_TO_STAGING, _TYPES, rows)


def as_json(rows: Sequence[tuple[Any, ...]]) -> str:
    """Return `rows` as one JSON parameter for `jsonb_to_recordset`."""
    return _encode([as_object(row) for row in rows]).decode()


def as_object(row: tuple[Any, ...]) -> dict[str, Any]:
    """Return a row by column, fit for JSON, without what is not told."""
    return dict(_cells(row))


def _cells(row: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    for (name, kind), value in zip(COLUMNS, row, strict=True):
        if value is None:
            continue
        if kind == "timestamptz":
            value = moments.to_datetime(value)
        elif kind == "bytea":
            value = "\\x" + value.hex()
        yield name, value


def copy(
    cursor: psycopg.Cursor[Any], statement: str, types: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Run a binary COPY of `rows`."""
    cursor.adapters.register_dumper(None, _MomentDumper)
    with cursor.copy(statement) as copying:
        copying.set_types(types)
        write = copying.write_row
        for row in rows:
            write(row)
