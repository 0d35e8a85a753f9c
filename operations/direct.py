"""A few new records, stored by one statement and one trip to the database.

What a batch does in a dozen statements costs a single record more than all else. Most single records tell a call for
the first time, in the middle of a day, with names that were seen before; these are written here whole, with their
words, their tally and their counts. Every other record is left for `storing`, as if nothing had been tried.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import psycopg
from django.db import connection, transaction
from msgspec import structs

from operations import (
    access,
    copying,
    excerpts,
    firsts,
    moments,
    partitions,
    pending,
    placing,
    raw,
    records,
    redaction,
    store,
    words,
)

#: Batches up to this size are tried here: above, COPY costs less than reading JSON, measured by `make bench`.
MAX = 16

_encode = msgspec.json.Encoder().encode


class Done(NamedTuple):
    """The identities of the operations that were new; `may_wait` when other facts wait for an operation."""

    identities: frozenset[tuple[str, int]]
    may_wait: bool


NOTHING = Done(frozenset(), may_wait=False)


def store_new(*, credential: access.Credential, told: Sequence[records.Told], now: datetime.datetime) -> Done:
    """Store, commit and count the records of `told` whose operation is new, if `told` is fit for it."""
    if not _is_fit(credential.project_id, told):
        return NOTHING
    gone_on = words.gone_on(now, credential.excerpt_days)
    partitions.ensure("operation", {moments.day_of(_start(record)) for record in told})
    partitions.ensure("excerpt", [gone_on])
    # Inside a transaction of the caller a statement that fails must not end it.
    whole = transaction.atomic() if connection.in_atomic_block else contextlib.nullcontext()
    try:
        with whole:
            found = _run(credential, told, now, gone_on)
    except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded, ValueError):
        return NOTHING
    except psycopg.OperationalError as error:
        # A lost connection is the caller's matter; a deadlock is tried again the long way, which names a dead key.
        if error.sqlstate is None or not error.sqlstate.startswith(("28", "40")):
            raise
        return NOTHING
    return Done(frozenset((name, attempt) for name, attempt, _ in found), any(waits for *_, waits in found))


def _run(
    credential: access.Credential,
    told: Sequence[records.Told],
    now: datetime.datetime,
    gone_on: datetime.date,
) -> list[tuple[str, int, bool]]:
    parameters = [
        _given(credential.project_id, told, now),
        _words(told),
        credential.project_id,
        credential.key_id,
        credential.keyid,
        now,
        gone_on,
        redaction.RULES_VERSION,
    ]
    cursor = raw.by_number()
    cursor.execute(_statement(), parameters, prepare=True)
    return cursor.fetchall()


def _is_fit(project_id: int, told: Sequence[records.Told]) -> bool:
    """Tell whether no record needs more than the statement does."""
    return (
        len(told) <= MAX
        and len({(record.facts.operation_id, record.facts.attempt) for record in told}) == len(told)
        and all(
            record.facts.started_at is not None and not placing.is_near_midnight(record.facts.started_at)
            for record in told
        )
        and firsts.are_known(project_id, told)
    )


def _start(record: records.Told) -> int:
    assert record.facts.started_at is not None
    return record.facts.started_at


def _given(project_id: int, told: Sequence[records.Told], now: datetime.datetime) -> str:
    """Return rows of `operation` as JSON, with how far the sender's clock is ahead."""
    now_us = moments.from_datetime(now)
    rows = []
    for record in sorted(told, key=lambda one: (one.facts.operation_id, one.facts.attempt)):
        day = moments.day_of(_start(record))
        row = copying.as_object((project_id, day, now_us, *structs.astuple(record.facts)))
        if record.latest:
            row["ahead_us"] = record.latest - now_us
        rows.append(row)
    return _encode(rows).decode()


def _words(told: Sequence[records.Told]) -> str:
    return _encode(
        [
            {
                "operation_id": record.facts.operation_id,
                "attempt": record.facts.attempt,
                "hash": excerpts.hash_of(record.excerpts),
                "words": _encode(record.excerpts).decode(),
            }
            for record in told
            if record.excerpts
        ]
    ).decode()


# Nothing is stored before the lock that `pending` explains. Whether the key still lives and whether anything waits is
# asked last, when every row and lock was waited for, by a function that sees what was committed meanwhile.
_STATEMENT = """
WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared({lock}, ($3 % 2147483648)::int)),
given AS MATERIALIZED (SELECT * FROM jsonb_to_recordset($1::jsonb) AS told ({types}, ahead_us bigint)),
stored AS (
    INSERT INTO operation ({names}) SELECT {names} FROM given, locked
    ON CONFLICT (project_id, operation_id, attempt, day) DO NOTHING
    {both_states}
),
{count_the_difference},
worded AS (
    INSERT INTO excerpt (project_id, hash, gone_on, attempt, rules_version, operation_id, words)
    SELECT $3, told.hash, $7, told.attempt, $8, told.operation_id, told.words
    FROM jsonb_to_recordset($2::jsonb) AS told (operation_id text, attempt smallint, hash bigint, words text)
    JOIN stored USING (operation_id, attempt)
    ON CONFLICT DO NOTHING
),
counted AS (
    INSERT INTO ingest_count (project_id, bucket, key_id, result, records)
    SELECT $3, date_bin('1 minute', $6, 'epoch'), $5, 'accepted', count(*) FROM stored HAVING count(*) > 0
),
skewed AS (
    INSERT INTO ingest_skew (project_id, bucket, runtime, instance, records, sum_us, least_us, greatest_us)
    SELECT $3, date_bin('1 minute', $6, 'epoch'), given.runtime, given.instance,
        count(*), sum(ahead_us), min(ahead_us), max(ahead_us)
    FROM given JOIN stored USING (operation_id, attempt) WHERE ahead_us IS NOT NULL
    GROUP BY given.runtime, given.instance
)
SELECT operation_id, attempt, opsconsole_may_commit($3, $4) FROM stored
"""


@functools.cache
def _statement() -> bytes:
    return _STATEMENT.format(
        lock=pending.LOCK_STORE,
        types=", ".join(f"{name} {kind}" for name, kind in copying.COLUMNS),
        names=", ".join(name for name, _ in copying.COLUMNS),
        both_states=store.RETURN_BOTH_STATES,
        count_the_difference=store.COUNT_THE_DIFFERENCE.strip(),
    ).encode()
