"""The floor: the same rows as tuples, copied in binary into the same tables and indexes. No merge, no tally."""

from __future__ import annotations

import datetime
import json
import multiprocessing
import time
from typing import Any

import msgspec
import psycopg
from msgspec import structs

from operations import copying, excerpts, moments, records, wire, words
from tests.bench import console, traffic

BATCH = 500
_OPERATION = f"COPY operation ({', '.join(name for name, _ in copying.COLUMNS)}) FROM STDIN (FORMAT BINARY)"

Rows = tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]


def rows_of(told: list[traffic.Record], *, project_id: int, now: datetime.datetime) -> list[Rows]:
    """Return the rows of `operation` and `excerpt` that ingest would write, in batches."""
    sender, now_us = records.Sender(b"k" * 32), moments.from_datetime(now)
    gone_on = words.gone_on(now, 14)
    decoder = msgspec.json.Decoder(list[wire.Operation])
    batches = []
    for first in range(0, len(told), BATCH):
        operations, told_words = [], []
        for record in decoder.decode(json.dumps(told[first : first + BATCH])):
            one = records.tell(record, sender=sender, now_us=now_us)
            known = one.facts
            assert known.started_at is not None
            operations.append((project_id, moments.day_of(known.started_at), now_us, *structs.astuple(known)))
            row = excerpts.Row(known.operation_id, known.attempt, one.excerpts)
            told_words.append(excerpts.row_values(project_id, gone_on, row))
        batches.append((operations, told_words))
    return batches


def measure(running: console.Console, parts: list[list[Rows]]) -> float:
    """Copy each of `parts` over a connection of its own, all at once; returns rows of `operation` a second."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(len(parts) + 1)
    url = running.environment["DATABASE_URL"]
    workers = [context.Process(target=_copy, args=(url, part, barrier)) for part in parts]
    for worker in workers:
        worker.start()
    barrier.wait()
    before = time.perf_counter()
    barrier.wait()
    seconds = time.perf_counter() - before
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    return sum(len(operations) for part in parts for operations, _ in part) / seconds


def _copy(url: str, batches: list[Rows], barrier: Any) -> None:
    types = [kind.split()[0] for _, kind in copying.COLUMNS]
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        barrier.wait()
        for operations, told_words in batches:
            copying.copy(cursor, _OPERATION, types, operations)
            excerpts.copy(cursor, told_words)
            connection.commit()
        barrier.wait()
