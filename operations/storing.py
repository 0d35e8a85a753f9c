"""Store what records tell, in one transaction for each of three steps, and say what became of each.

First the records that name their start, then those that do not but whose operation is known, then those that have
to wait for it. A deadlock, or a partition that had gone, is tried again; a record that only the database refuses is
found by halving, so that it never takes its batch down.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeVar, cast

import psycopg
from django.db import DatabaseError, connection, transaction
from psycopg import errors as pg

from operations import (
    access,
    direct,
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
    store,
    words,
)

Outcome = Literal["accepted", "duplicate", "merged", "unstorable"]

RETRIES_MAX = 3
_RETRIED = (
    pg.DeadlockDetected,
    pg.SerializationFailure,
    pg.CheckViolation,  # a partition is missing
    pg.NotNullViolation,  # a row that retention dropped after it was found
    pg.UniqueViolation,  # an excerpt that was thought new
)
# What can be the fault of one record.
_REFUSED = (psycopg.DataError, psycopg.IntegrityError, pg.ProgramLimitExceeded, ValueError)

Result = TypeVar("Result")

_Step = Callable[
    [access.Credential, Sequence[records.Told], datetime.datetime],
    list[Outcome | None],
]


def store_all(
    *, credential: access.Credential, told: Sequence[records.Told], now: datetime.datetime
) -> list[Outcome]:
    """Store `told` and return what became of each, in their order. Raises the database's error when it is away."""
    outcomes = _store_new(credential, told, now)
    named = {_identity(record) for record in told if record.facts.started_at is not None}
    store_part = functools.partial(_store_part, credential, told, outcomes, now)
    left = [place for place, outcome in enumerate(outcomes) if outcome is None]
    started = [place for place in left if _identity(told[place]) in named]
    for part in placing.apart([told[place].facts for place in started]) if started else ():
        store_part([started[place] for place in part], _store_started)
    store_part([place for place, outcome in enumerate(outcomes) if outcome is None], _store_startless)
    store_part([place for place, outcome in enumerate(outcomes) if outcome is None], _store_waiting)
    return [cast("Outcome", outcome) for outcome in outcomes]


def _store_new(
    credential: access.Credential, told: Sequence[records.Told], now: datetime.datetime
) -> list[Outcome | None]:
    """Store what can be stored by one statement; returns the outcomes so far."""
    done = direct.store_new(credential=credential, told=told, now=now)
    outcomes: list[Outcome | None] = [
        "accepted" if _identity(record) in done.identities else None for record in told
    ]
    if done.may_wait:
        stored = [record for record, outcome in zip(told, outcomes, strict=True) if outcome is not None]

        def merge_waiting(is_again: bool) -> None:
            with transaction.atomic():
                _store_started(credential, stored, now)

        _try(merge_waiting)
    return outcomes


def _identity(record: records.Told) -> tuple[str, int]:
    return record.facts.operation_id, record.facts.attempt


def _store_part(
    credential: access.Credential,
    told: Sequence[records.Told],
    outcomes: list[Outcome | None],
    now: datetime.datetime,
    places: Sequence[int],
    step: _Step,
) -> None:
    """Store the records at `places` in one transaction and note what became of them."""
    if not places:
        return
    try:
        found = _attempt(credential, [told[place] for place in places], now, step)
    except (DatabaseError, psycopg.Error, ValueError) as error:
        if not isinstance(_cause(error), _REFUSED) or isinstance(_cause(error), _RETRIED):
            raise
        if len(places) == 1:
            outcomes[places[0]] = "unstorable"
            return
        middle = len(places) // 2
        for half in (places[:middle], places[middle:]):
            _store_part(credential, told, outcomes, now, half, step)
        return
    for place, outcome in zip(places, found, strict=True):
        outcomes[place] = outcome


def _cause(error: Exception) -> BaseException:
    """Return the driver's error behind Django's."""
    return error.__cause__ or error if isinstance(error, DatabaseError) else error


def _attempt(
    credential: access.Credential, part: Sequence[records.Told], now: datetime.datetime, step: _Step
) -> list[Outcome | None]:
    """Run the storing transaction, again where PostgreSQL asks for it or something was thought wrongly."""
    days = {moments.day_of(r.facts.started_at) for r in part if r.facts.started_at is not None}

    def run(is_again: bool) -> list[Outcome | None]:
        partitions.ensure("operation", days)
        partitions.ensure("excerpt", [words.gone_on(now, credential.excerpt_days)])
        with transaction.atomic():
            outcomes = step(credential, part, now)
            with _one_trip(part):
                noted = _store_beside(credential, part, now, outcomes, are_new=not is_again)
                access.recheck(credential)
        firsts.remember(credential.project_id, noted)
        return outcomes

    return _try(run)


def _try(run: Callable[[bool], Result]) -> Result:
    """Run a transaction, again where PostgreSQL asks for it; `run` is told whether it is again."""
    for attempt in range(RETRIES_MAX + 1):
        try:
            return run(attempt > 0)
        except (DatabaseError, psycopg.Error) as error:
            if attempt == RETRIES_MAX or not isinstance(_cause(error), _RETRIED):
                raise
            partitions.forget()
    raise AssertionError("the loop returns or raises")


def _one_trip(part: Sequence[records.Told]) -> contextlib.AbstractContextManager[object]:
    """Send the statements of a small batch together; a large one copies, which a pipeline cannot."""
    if sum(1 for record in part if record.excerpts) > excerpts.DIRECT_MAX:
        return contextlib.nullcontext()
    return cast("psycopg.Connection[object]", connection.connection).pipeline()


def _store_started(
    credential: access.Credential, part: Sequence[records.Told], now: datetime.datetime
) -> list[Outcome | None]:
    """Merge records that name their start, with what was waiting for them."""
    project_id = credential.project_id
    pending.lock_shared(project_id)
    folded = merging.fold(record.facts for record in part)
    waiting = pending.take(project_id=project_id, batch=folded)
    if waiting:
        folded = merging.fold([*folded, *waiting])
    days = placing.place_started(project_id=project_id, batch=folded)
    return _merge(project_id, part, folded, days, now)


def _store_startless(
    credential: access.Credential, part: Sequence[records.Told], now: datetime.datetime
) -> list[Outcome | None]:
    """Merge records that name no start into their operations; those without one get no outcome yet."""
    project_id = credential.project_id
    pending.lock_shared(project_id)
    folded = merging.fold(record.facts for record in part)
    folded, days = placing.place_startless(project_id=project_id, batch=folded, today=now.date())
    return _merge(project_id, part, folded, days, now)


def _store_waiting(
    credential: access.Credential, part: Sequence[records.Told], now: datetime.datetime
) -> list[Outcome | None]:
    """Look once more while nobody else stores for the project, and let the rest wait for its operation."""
    project_id = credential.project_id
    pending.lock_exclusive(project_id)
    folded = merging.fold(record.facts for record in part)
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
    part: Sequence[records.Told],
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
        told = [part[place].facts for place in places]
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
    part: Sequence[records.Told],
    now: datetime.datetime,
    outcomes: Sequence[Outcome | None],
    *,
    are_new: bool,
) -> firsts.Firsts:
    """Store the words, first appearances and counts that belong to the records that found their place.

    Returns what was told for the first time.
    """
    placed = [
        (record, outcome) for record, outcome in zip(part, outcomes, strict=True) if outcome is not None
    ]
    rows: dict[bool, list[excerpts.Row]] = {True: [], False: []}
    for record, outcome in placed:
        if outcome != "duplicate" and record.excerpts:
            row = excerpts.Row(record.facts.operation_id, record.facts.attempt, record.excerpts)
            rows[outcome == "accepted" and are_new].append(row)
    gone_on = words.gone_on(now, credential.excerpt_days)
    for is_new, kept in rows.items():
        excerpts.keep(project_id=credential.project_id, gone_on=gone_on, rows=kept, are_new=is_new)
    noted = firsts.note(credential.project_id, [record for record, _ in placed])
    ingest_counts.count(
        credential=credential,
        now=now,
        results=Counter(outcome for _, outcome in placed),
        skews=ingest_counts.skews([record for record, _ in placed], now),
    )
    return noted
