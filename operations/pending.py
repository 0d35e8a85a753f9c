"""Facts that name no start and whose operation has not come: they wait, join when it comes, and are never dropped.

After an hour they count as orphans (answers without a call). The danger is a start and an ending that pass
each other in two transactions, so that neither sees the other: every storing transaction holds the project's
lock shared, and one that is about to let facts wait holds it exclusively while it looks again.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec
from django.db import connection

from operations import facts, merging, raw

ORPHAN_AFTER = datetime.timedelta(hours=1)

LOCK_STORE = 0x6F71
_LOCK_SHARED = "SELECT pg_advisory_xact_lock_shared(%s, %s)"
_LOCK_EXCLUSIVE = "SELECT pg_advisory_xact_lock(%s, %s)"

# Primary key of pending.
_TAKE = """
DELETE FROM pending USING unnest(%s::text[], %s::smallint[]) AS wanted (operation_id, attempt)
WHERE pending.project_id = %s AND pending.operation_id = wanted.operation_id
    AND pending.attempt = wanted.attempt
RETURNING pending.facts
"""
_ANY = "SELECT EXISTS (SELECT FROM pending WHERE project_id = %s)"
_PUT = """
INSERT INTO pending (project_id, operation_id, attempt, received_at, facts) VALUES (%s, %s, %s, %s, %s)
"""
_REMEMBERED = """
SELECT pending.facts, pending.received_at
FROM unnest(%s::text[], %s::smallint[]) AS wanted (operation_id, attempt)
JOIN pending ON pending.project_id = %s AND pending.operation_id = wanted.operation_id
    AND pending.attempt = wanted.attempt
"""
_REPLACE = "UPDATE pending SET facts = %s WHERE project_id = %s AND operation_id = %s AND attempt = %s"
_COUNT = "SELECT count(*) FILTER (WHERE received_at < %s), count(*) FROM pending WHERE project_id = %s"

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(facts.Facts).decode


Kept = Literal["accepted", "merged", "duplicate"]


class Waiting(NamedTuple):
    """How many facts wait for their operation, and how many of them count as orphans."""

    orphans: int
    waiting: int


def lock_shared(project_id: int) -> None:
    """Hold off, until this transaction ends, anyone who is about to let facts of this project wait."""
    raw.cursor().execute(_LOCK_SHARED, [LOCK_STORE, project_id % 2**31], prepare=True)


def lock_exclusive(project_id: int) -> None:
    """Wait until no other transaction is storing for this project, and keep new ones out until this one ends."""
    raw.cursor().execute(_LOCK_EXCLUSIVE, [LOCK_STORE, project_id % 2**31])


def take(*, project_id: int, batch: Sequence[facts.Facts]) -> list[facts.Facts]:
    """Remove and return what waits for the operations of `batch`."""
    cursor = raw.cursor()
    row = cursor.execute(_ANY, [project_id], prepare=True).fetchone()
    if not row or not row[0]:
        return []
    names, attempts = [k.operation_id for k in batch], [k.attempt for k in batch]
    cursor.execute(_TAKE, [names, attempts, project_id])
    return [_decode(bytes(content)) for (content,) in cursor.fetchall()]


def put(
    *, project_id: int, batch: Sequence[facts.Facts], received_at: datetime.datetime
) -> dict[tuple[str, int], Kept]:
    """Let `batch` wait, joined with what waits already; returns "accepted", "merged" or "duplicate" for each.

    The caller holds the project's lock exclusively.
    """
    names, attempts = [k.operation_id for k in batch], [k.attempt for k in batch]
    results: dict[tuple[str, int], Kept] = {}
    with connection.cursor() as cursor:
        cursor.execute(_REMEMBERED, [names, attempts, project_id])
        waiting = {(k.operation_id, k.attempt): k for k in (_decode(bytes(r[0])) for r in cursor.fetchall())}
        for known in batch:
            identity = (known.operation_id, known.attempt)
            before = waiting.get(identity)
            if before is None:
                cursor.execute(_PUT, [project_id, *identity, received_at, _encode(known)])
                results[identity] = "accepted"
                continue
            joined = merging.join(before, known)
            results[identity] = "duplicate" if joined == before else "merged"
            if joined != before:
                cursor.execute(_REPLACE, [_encode(joined), project_id, *identity])
    return results


def waiting(*, project_id: int, now: datetime.datetime) -> Waiting:
    """Count what waits in one project."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [now - ORPHAN_AFTER, project_id])
        return Waiting(*cursor.fetchone())
