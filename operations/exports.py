"""Write lists of operations as NDJSON or CSV while they are read, a page at a time.

A process holds a thread and a connection for each stream, so it serves `STREAMS_MAX` at once and refuses more.
Spreadsheets run what begins like a formula: text cells that could are written behind an apostrophe.
"""

from __future__ import annotations

import csv
import io
import threading
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from operations import display, filters, find, published, rejections

FORMATS = {"ndjson": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
ROWS_MAX = 100_000
PAGE_ROWS = 500
STREAMS_MAX = 2
RUN_S = 60.0

_streams = threading.BoundedSemaphore(STREAMS_MAX)
_encode = msgspec.json.Encoder().encode
# Full-width forms count as well: spreadsheets fold them.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")

COLUMNS = (
    "operation_id",
    "attempt",
    "started_at",
    "ended_at",
    "received_at",
    "tool",
    "tool_version",
    "effect",
    "mode",
    "environment",
    "runtime",
    "instance",
    "source",
    "provider",
    "model",
    "session_id",
    "turn_id",
    "iteration",
    "parent_id",
    "tool_call_id",
    "trace_id",
    "span_id",
    "status",
    "outcome",
    "code",
    "contract_kind",
    "marks",
    "duration_ms",
    "late_by_ms",
    "timeout_ms",
    "input_bytes",
    "output_bytes",
    "conflict_resource",
    "expected_revision",
    "actual_revision",
    "idempotency_key",
    "approval_id",
)
_TIMES = frozenset({"started_at", "ended_at", "received_at"})


class Stream(Iterator[bytes]):
    """The bytes of a list; gives its place back when it ends or is closed, read or not."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._is_open = True

    def __next__(self) -> bytes:
        try:
            return next(self._chunks)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let the next one in."""
        if self._is_open:
            self._is_open = False
            _streams.release()


def stream(*, project_id: int, query: filters.Query, since: int, until: int, kind: str) -> Stream:
    """Return a whole list, newest first, `ROWS_MAX` rows at most.

    Raises `TooManyExports` when as many are running as one process serves.
    """
    if not _streams.acquire(blocking=False):
        raise rejections.TooManyExports
    return Stream(_written(_rows(project_id=project_id, query=query, since=since, until=until), kind))


def _written(pages: Iterator[list[find.Operation]], kind: str) -> Iterator[bytes]:
    if kind == "csv":
        yield _csv([list(COLUMNS)])
    for page in pages:
        if kind == "csv":
            yield _csv([cells(row) for row in page])
        else:
            yield b"".join(_encode(published.operation(row)) + b"\n" for row in page)


def _rows(*, project_id: int, query: filters.Query, since: int, until: int) -> Iterator[list[find.Operation]]:
    left, deadline = ROWS_MAX, time.monotonic() + RUN_S
    before: find.Cursor | None = None
    while left > 0 and time.monotonic() < deadline:
        page = find.page(
            project_id=project_id,
            query=query,
            since=since,
            until=until,
            limit=min(PAGE_ROWS, left),
            before=before,
        )
        yield page.rows
        left -= len(page.rows)
        before = page.next
        if before is None:
            return


def cells(row: find.Operation) -> list[str]:
    """Return one operation as cells in the order of `COLUMNS`, none of which a spreadsheet would run."""
    return [_cell(name, _value(row, name)) for name in COLUMNS]


def _value(row: find.Operation, name: str) -> Any:
    if name == "marks":
        return " ".join(published.mark_names(row.marks))
    if name in {"duration_ms", "late_by_ms"}:
        in_us = getattr(row, name.replace("_ms", "_us"))
        return None if in_us is None else in_us / display.MILLISECOND
    return getattr(row, name)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in _TIMES:
        return display.iso(value)
    if not isinstance(value, str):
        return str(value)
    return f"'{value}" if value.lstrip(" ").startswith(_FORMULA) else value


def _csv(rows: list[list[str]]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerows(rows)
    return buffer.getvalue().encode()
