"""The pipeline on one screen: what was decoded is checked and redacted, folded, stored and counted, and then answered.

Nothing is answered before it is committed. A refused record never takes its batch down; a record that only
the database refuses is found by halving and refused by name.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, cast

import psycopg
import structlog
from django.db import DatabaseError, connection, transaction
from psycopg import errors as pg

from operations import (
    access,
    decoding,
    excerpts,
    facts,
    firsts,
    ingest_counts,
    merging,
    moments,
    partitions,
    pending,
    placing,
    records,
    rejections,
    store,
)

logger = structlog.get_logger(__name__)

Outcome = Literal["accepted", "duplicate", "merged", "rejected"]

RETRIES_MAX = 3
# A missing partition is a CheckViolation; a row that retention dropped while it was looked up, a
# NotNullViolation.
_RETRIED = (pg.DeadlockDetected, pg.SerializationFailure, pg.CheckViolation, pg.NotNullViolation)
# What can be the fault of one record.
_REFUSED = (psycopg.DataError, psycopg.IntegrityError, pg.ProgramLimitExceeded, ValueError)


class Result(NamedTuple):
    """What became of one record."""

    index: int  # type: ignore[assignment]  # a tuple's own `index` is of no use here
    operation_id: str | None
    attempt: int
    result: Outcome
    reason: str | None = None
    pointer: str | None = None
    detail: str | None = None


class Receipt(NamedTuple):
    """What became of a request's records, in their order; `unknown` counts the fields that were left out."""

    results: list[Result]
    unknown: dict[str, int]

    def count(self, outcome: Outcome) -> int:
        """Return how many records had this outcome."""
        return sum(1 for result in self.results if result.result == outcome)


class _Submitted(NamedTuple):
    index: int  # type: ignore[assignment]  # a tuple's own `index` is of no use here
    told: records.Told


_Step = Callable[
    [access.Credential, Sequence[_Submitted], datetime.datetime],
    list[Outcome | None],
]


def ingest(
    *,
    credential: access.Credential,
    entries: Sequence[decoding.Entry],
    now: datetime.datetime,
    is_dry_run: bool = False,
) -> Receipt:
    """Store what `entries` tell and return what became of each.

    Raises `StoreUnavailable` (nothing of this call is lost or half counted; a retry is safe) or the refusal
    of a key that died meanwhile.
    """
    results: dict[int, Result] = {}
    submitted = _tell(credential, entries, now, results)
    if not is_dry_run:
        try:
            _store_all(credential, submitted, now, results)
            rejected = [result for result in results.values() if result.result == "rejected"]
            if rejected:
                ingest_counts.count_rejected(
                    credential=credential, now=now, reasons=Counter(r.reason or "" for r in rejected)
                )
        except (DatabaseError, psycopg.Error) as error:
            logger.error("ingest_store_failed", error=type(error).__name__, project_id=credential.project_id)
            raise rejections.StoreUnavailable from error
    else:
        for record in submitted:
            results[record.index] = _result(record, "accepted")
    unknown = Counter(name for entry in entries for name in entry.unknown)
    return Receipt([results[entry.index] for entry in entries], dict(unknown))


def _tell(
    credential: access.Credential,
    entries: Sequence[decoding.Entry],
    now: datetime.datetime,
    results: dict[int, Result],
) -> list[_Submitted]:
    """Check and redact every decoded record; refusals go to `results`."""
    sender = records.Sender(
        credential.digest_key,
        credential.retention_days,
        credential.environment,
        credential.runtime,
        credential.tool_prefix,
    )
    now_us = moments.from_datetime(now)
    submitted = []
    for entry in entries:
        rejection = entry.rejection
        if entry.record is not None:
            try:
                told = records.tell(entry.record, sender=sender, now_us=now_us, inferred=entry.inferred)
            except rejections.Rejection as refused:
                rejection = refused
            else:
                submitted.append(_Submitted(entry.index, told))
        if rejection is not None:
            attempt = entry.record.attempt if entry.record is not None else 1
            results[entry.index] = _refused(entry.index, entry.operation_id, attempt, rejection)
    return submitted


def _store_all(
    credential: access.Credential,
    submitted: Sequence[_Submitted],
    now: datetime.datetime,
    results: dict[int, Result],
) -> None:
    """Store what names its start, then what does not, then what has to wait: each step in one transaction."""
    named = {_identity(record) for record in submitted if record.told.facts.started_at is not None}
    started = [record for record in submitted if _identity(record) in named]
    startless = [record for record in submitted if _identity(record) not in named]
    store_part = functools.partial(_store_part, credential, now=now, results=results)
    store_part(started, step=_store_started)
    alone = store_part(startless, step=_store_startless)
    store_part(alone, step=_store_waiting)


def _cause(error: Exception) -> BaseException:
    """Return the driver's error behind Django's."""
    return error.__cause__ or error if isinstance(error, DatabaseError) else error


def _identity(record: _Submitted) -> tuple[str, int]:
    return record.told.facts.operation_id, record.told.facts.attempt


def _store_part(
    credential: access.Credential,
    part: Sequence[_Submitted],
    *,
    step: _Step,
    now: datetime.datetime,
    results: dict[int, Result],
) -> list[_Submitted]:
    """Store `part` in one transaction and note the outcomes; returns those that this step has no place for."""
    if not part:
        return []
    try:
        outcomes = _attempt(credential, part, now, step)
    except (DatabaseError, psycopg.Error, ValueError) as error:
        if not isinstance(_cause(error), _REFUSED) or isinstance(_cause(error), _RETRIED):
            raise
        if len(part) == 1:
            known = part[0].told.facts
            results[part[0].index] = _refused(
                part[0].index, known.operation_id, known.attempt, rejections.Unstorable()
            )
            return []
        # One record is poisoned: halve until it stands alone, and store the rest.
        middle = len(part) // 2
        halves = (part[:middle], part[middle:])
        return [
            alone
            for half in halves
            for alone in _store_part(credential, half, step=step, now=now, results=results)
        ]
    for record, outcome in zip(part, outcomes, strict=True):
        if outcome is not None:
            results[record.index] = _result(record, outcome)
    return [record for record, outcome in zip(part, outcomes, strict=True) if outcome is None]


def _attempt(
    credential: access.Credential, part: Sequence[_Submitted], now: datetime.datetime, step: _Step
) -> list[Outcome | None]:
    """Run the storing transaction, again where PostgreSQL asks for it or a partition had gone."""
    days = [moments.day_of(r.told.facts.started_at) for r in part if r.told.facts.started_at is not None]
    told = [record.told for record in part]
    for attempt in range(RETRIES_MAX + 1):
        partitions.ensure("operation", days)
        partitions.ensure("excerpt", [records.excerpt_gone_on(now, credential.excerpt_days)])
        try:
            with transaction.atomic():
                outcomes = step(credential, part, now)
                with _one_trip(part):
                    _store_beside(credential, part, now, outcomes)
                    with connection.cursor() as cursor:
                        access.recheck(cursor, credential)
        except (DatabaseError, psycopg.Error) as error:
            if attempt == RETRIES_MAX or not isinstance(_cause(error), _RETRIED):
                raise
            partitions.forget()
            continue
        firsts.remember(credential.project_id, told)
        return outcomes
    raise AssertionError("the loop returns or raises")


def _one_trip(part: Sequence[_Submitted]) -> contextlib.AbstractContextManager[object]:
    """Send the statements of a small batch together; a large one copies, which a pipeline cannot."""
    if sum(len(record.told.excerpts) for record in part) > excerpts.DIRECT_MAX:
        return contextlib.nullcontext()
    return cast("psycopg.Connection[object]", connection.connection).pipeline()


def _store_started(
    credential: access.Credential, part: Sequence[_Submitted], now: datetime.datetime
) -> list[Outcome | None]:
    """Merge records that name their start, with what was waiting for them."""
    project_id = credential.project_id
    pending.lock_shared(project_id)
    folded = merging.fold(record.told.facts for record in part)
    waiting = pending.take(project_id=project_id, batch=folded)
    if waiting:
        folded = merging.fold([*folded, *waiting])
    days = placing.place_started(project_id=project_id, batch=folded)
    return _merge(project_id, part, folded, days, now)


def _store_startless(
    credential: access.Credential, part: Sequence[_Submitted], now: datetime.datetime
) -> list[Outcome | None]:
    """Merge records that name no start into their operations; those without one get no outcome yet."""
    project_id = credential.project_id
    pending.lock_shared(project_id)
    folded = merging.fold(record.told.facts for record in part)
    folded, days = placing.place_startless(project_id=project_id, batch=folded, today=now.date())
    return _merge(project_id, part, folded, days, now)


def _store_waiting(
    credential: access.Credential, part: Sequence[_Submitted], now: datetime.datetime
) -> list[Outcome | None]:
    """Look once more while nobody else stores for the project, and let the rest wait for its operation."""
    project_id = credential.project_id
    pending.lock_exclusive(project_id)
    folded = merging.fold(record.told.facts for record in part)
    folded, days = placing.place_startless(project_id=project_id, batch=folded, today=now.date())
    outcomes = _merge(project_id, part, folded, days, now)
    alone = [known for known in folded if (known.operation_id, known.attempt) not in days]
    put = pending.put(project_id=project_id, batch=alone, received_at=now)
    told_once: set[tuple[str, int]] = set()
    for place, record in enumerate(part):
        if outcomes[place] is None:
            identity = _identity(record)
            is_first = identity not in told_once
            told_once.add(identity)
            outcomes[place] = put[identity] if is_first or put[identity] == "duplicate" else "merged"
    return outcomes


def _merge(
    project_id: int,
    part: Sequence[_Submitted],
    folded: Sequence[facts.Facts],
    days: dict[tuple[str, int], datetime.date],
    now: datetime.datetime,
) -> list[Outcome | None]:
    """Upsert what has a day; returns the outcome of each record of `part`, None for those without one."""
    batch = [
        store.Placed(days[known.operation_id, known.attempt], known)
        for known in folded
        if (known.operation_id, known.attempt) in days
    ]
    by_identity: dict[tuple[str, int], list[int]] = {}
    for place, record in enumerate(part):
        by_identity.setdefault(_identity(record), []).append(place)
    several = [placed for placed in batch if len(by_identity.get(_key(placed), ())) > 1]
    before = store.known(project_id=project_id, batch=several) if several else {}
    stored: dict[tuple[str, int], bool] = {}
    if batch:
        upserted = store.upsert(project_id=project_id, received_at_us=moments.from_datetime(now), batch=batch)
        stored = {(row.operation_id, row.attempt): row.is_new for row in upserted}
    outcomes: list[Outcome | None] = [None] * len(part)
    for identity, places in by_identity.items():
        if identity not in days:
            continue
        told = [part[place].told.facts for place in places]
        for place, outcome in zip(
            places, _outcomes(told, stored.get(identity), before.get(identity)), strict=True
        ):
            outcomes[place] = outcome
    return outcomes


def _key(placed: store.Placed) -> tuple[str, int]:
    return placed.facts.operation_id, placed.facts.attempt


def _outcomes(
    told: Sequence[facts.Facts], is_new: bool | None, before: facts.Facts | None
) -> Iterator[Outcome]:
    """Tell the outcome of each record of one identity, in their order; `is_new` is None for an unchanged row."""
    known = before
    for record in told:
        if is_new is None:
            yield "duplicate"
        elif known is None:
            yield "accepted" if is_new else "merged"
            known = record
        else:
            joined = merging.join(known, record)
            yield "duplicate" if joined == known else "merged"
            known = joined


def _store_beside(
    credential: access.Credential,
    part: Sequence[_Submitted],
    now: datetime.datetime,
    outcomes: Sequence[Outcome | None],
) -> None:
    """Store the words, first appearances and counts that belong to the records that found their place."""
    placed = [
        (record, outcome) for record, outcome in zip(part, outcomes, strict=True) if outcome is not None
    ]
    rows = (
        excerpts.Row(*_identity(record), excerpt)
        for record, outcome in placed
        if outcome != "duplicate"
        for excerpt in record.told.excerpts
    )
    excerpts.keep(
        project_id=credential.project_id,
        gone_on=records.excerpt_gone_on(now, credential.excerpt_days),
        rows=rows,
    )
    firsts.note(credential.project_id, [record.told for record, _ in placed])
    ingest_counts.count(
        credential=credential,
        now=now,
        results=Counter(outcome for _, outcome in placed),
        skews=ingest_counts.skews([record.told.facts for record, _ in placed], now),
    )


def _result(record: _Submitted, outcome: Outcome) -> Result:
    return Result(record.index, *_identity(record), outcome)


def _refused(index: int, operation_id: str | None, attempt: int, rejection: rejections.Rejection) -> Result:
    return Result(
        index, operation_id, attempt, "rejected", rejection.reason, rejection.pointer, rejection.detail
    )
