"""Find the day whose partition holds an operation, so that one operation has one row.

A row lives in the UTC day of the first stored `started_at` and never moves. So a record whose start lies
within an hour of midnight takes a lock on (a bucket of) its identity and looks in the neighbouring day first,
and a record that names no start looks for the operation it belongs to. Records further apart make two rows,
and an hourly job marks both `id_reused`.
"""

from __future__ import annotations

import datetime
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import structs

from operations import facts, moments, raw

NEAR_MIDNIGHT_US = 3600 * moments.SECOND_US
LOCK_BUCKETS = 64
LOOK_BACK_DAYS = 8  # where an ending without a start looks for its operation when its own day has none

# The two-key form of advisory locks: (class, project and bucket).
LOCK_NEAR_MIDNIGHT = 0x6F70

_LOCK = """
SELECT pg_advisory_xact_lock(%s, bucket) FROM (SELECT unnest(%s::int[]) AS bucket ORDER BY 1) AS ordered
"""

# Primary key of operation, in the partitions of the named days only.
_FIND = """
SELECT wanted.operation_id, wanted.attempt, found.day, opsconsole_us(found.started_at)
FROM unnest(%s::text[], %s::smallint[]) AS wanted (operation_id, attempt)
JOIN operation AS found ON found.project_id = %s AND found.operation_id = wanted.operation_id
    AND found.attempt = wanted.attempt AND found.day = ANY(%s)
"""

Identity = tuple[str, int]


class Found(NamedTuple):
    """Where an operation lives, and its start."""

    day: datetime.date
    started_at: int


def place_started(*, project_id: int, batch: Sequence[facts.Facts]) -> dict[Identity, datetime.date]:
    """Return the day of each of `batch`, all of which name their start; takes the locks that keep it true."""
    days: dict[Identity, datetime.date] = {}
    near: dict[Identity, datetime.date] = {}
    for known in batch:
        assert known.started_at is not None
        identity = (known.operation_id, known.attempt)
        days[identity] = moments.day_of(known.started_at)
        neighbour = _neighbour(known.started_at)
        if neighbour is not None:
            near[identity] = neighbour
    if near:
        _lock(project_id, near)
        for identity, found in _find(project_id, list(near), sorted(set(near.values()))).items():
            for place in found:
                # Near the same midnight; a start further away is another call. From either side of it: a row that
                # was placed beyond midnight may have been told an earlier start since.
                if place.day == near[identity] and _midnight(place.started_at) == max(
                    place.day, days[identity]
                ):
                    days[identity] = place.day
    return days


def place_startless(
    *, project_id: int, batch: Sequence[facts.Facts], today: datetime.date
) -> tuple[list[facts.Facts], dict[Identity, datetime.date]]:
    """Find the stored operations of `batch`, whose records name no start; returns the batch and the days found.

    What was found carries its operation's start from then on, as inferred: it changes nothing, and the row is
    whole.
    """
    found: dict[Identity, Found] = {}
    likely = {today + datetime.timedelta(days=step) for step in (-1, 0, 1)}
    for known in batch:
        moment = known.answered_at if known.answered_at is not None else known.verdict_at
        if moment is not None:
            told = moments.day_of(moment)
            likely |= {told - datetime.timedelta(days=1), told}
    earlier = {min(likely) - datetime.timedelta(days=step) for step in range(1, LOOK_BACK_DAYS)}
    for where in (likely, earlier):
        missing = [(k.operation_id, k.attempt) for k in batch if (k.operation_id, k.attempt) not in found]
        if missing:
            places = _find(project_id, missing, sorted(where))
            found.update((identity, max(several)) for identity, several in places.items())
    whole = [
        structs.replace(known, started_at=found[known.operation_id, known.attempt].started_at)
        if (known.operation_id, known.attempt) in found
        else known
        for known in batch
    ]
    return whole, {identity: place.day for identity, place in found.items()}


def apart(batch: Sequence[facts.Facts]) -> list[list[int]]:
    """Divide `batch` into parts, as places in it, in none of which an identity starts on two days.

    Those are two calls with one id, so they must not be folded; or one around midnight, which is found when the second
    is stored. Facts without a start go with the latest day, as they do when they come alone.
    """
    days: dict[Identity, set[datetime.date]] = {}
    for known in batch:
        if known.started_at is not None:
            days.setdefault((known.operation_id, known.attempt), set()).add(moments.day_of(known.started_at))
    if all(len(told) == 1 for told in days.values()):
        return [list(range(len(batch)))]
    parts: list[list[int]] = [[] for _ in range(max(map(len, days.values())))]
    for place, known in enumerate(batch):
        told = sorted(days.get((known.operation_id, known.attempt), ()))
        place_told = -1 if known.started_at is None else told.index(moments.day_of(known.started_at))
        parts[place_told % max(1, len(told))].append(place)
    return parts


def is_near_midnight(started_at: int) -> bool:
    """Tell whether an operation with this start may live in the day on the other side of midnight."""
    return _neighbour(started_at) is not None


def _neighbour(started_at: int) -> datetime.date | None:
    """Return the other day of the midnight that is within an hour, if one is."""
    since_midnight = started_at % moments.DAY_US
    if since_midnight < NEAR_MIDNIGHT_US:
        return moments.day_of(started_at - moments.DAY_US)
    if since_midnight >= moments.DAY_US - NEAR_MIDNIGHT_US:
        return moments.day_of(started_at + moments.DAY_US)
    return None


def _midnight(started_at: int) -> datetime.date | None:
    """Return the day that begins at the midnight that is within an hour, if one is."""
    neighbour = _neighbour(started_at)
    return None if neighbour is None else max(neighbour, moments.day_of(started_at))


def _lock(project_id: int, identities: dict[Identity, datetime.date]) -> None:
    """Lock the buckets of `identities` until the transaction ends, in order, so that two batches cannot deadlock.

    Buckets rather than identities: a batch of 10,000 near midnight would exhaust the server's lock table.
    """
    buckets = {zlib.crc32(f"{name}/{attempt}".encode()) % LOCK_BUCKETS for name, attempt in identities}
    keys = [(project_id * LOCK_BUCKETS + bucket) % 2**31 for bucket in sorted(buckets)]
    raw.cursor().execute(_LOCK, [LOCK_NEAR_MIDNIGHT, keys])


def _find(
    project_id: int, identities: Sequence[Identity], days: Sequence[datetime.date]
) -> dict[Identity, list[Found]]:
    found: dict[Identity, list[Found]] = {}
    names, attempts = [name for name, _ in identities], [attempt for _, attempt in identities]
    cursor = raw.cursor()
    cursor.execute(_FIND, [names, attempts, project_id, list(days)])
    for name, attempt, day, started_at in cursor.fetchall():
        found.setdefault((name, attempt), []).append(Found(day, started_at))
    return found
