"""The pipeline on one screen: what was decoded is checked and redacted, stored and counted, and then answered.

Nothing is answered before it is committed, and a refused record never takes its batch down.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

import psycopg
import structlog
from django.db import DatabaseError

from operations import access, decoding, ingest_counts, moments, records, rejections, storing

logger = structlog.get_logger(__name__)

Outcome = Literal["accepted", "duplicate", "merged", "rejected"]


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


def ingest(
    *,
    credential: access.Credential,
    entries: Sequence[decoding.Entry],
    now: datetime.datetime,
    is_dry_run: bool = False,
) -> Receipt:
    """Store what `entries` tell and return what became of each.

    The key is looked at once more before the answer. Raises `StoreUnavailable` or the refusal of a key that died:
    part of the records may be stored then, whole and counted, and sending all again is exact.
    """
    told, results = _tell(credential, entries, now)
    places = [place for place, result in enumerate(results) if result is None]
    outcomes: Sequence[storing.Outcome] = ["accepted"] * len(told)
    try:
        if told and not is_dry_run:
            outcomes = storing.store_all(credential=credential, told=told, now=now)
        else:
            access.recheck(credential)
        for place, record, outcome in zip(places, told, outcomes, strict=True):
            results[place] = _result(entries[place].index, record, outcome)
        receipt = Receipt([result for result in results if result is not None], _unknown(entries))
        if not is_dry_run:
            _count_rejected(credential, receipt, now)
    except (DatabaseError, psycopg.Error) as error:
        logger.error("ingest_store_failed", error=type(error).__name__, project_id=credential.project_id)
        raise rejections.StoreUnavailable from error
    return receipt


def _tell(
    credential: access.Credential, entries: Sequence[decoding.Entry], now: datetime.datetime
) -> tuple[list[records.Told], list[Result | None]]:
    """Check and redact every decoded record; returns what they tell, and a result for each that was refused."""
    sender = records.Sender(
        credential.digest_key,
        credential.retention_days,
        credential.environment,
        credential.runtime,
        credential.tool_prefix,
    )
    now_us = moments.from_datetime(now)
    told: list[records.Told] = []
    results: list[Result | None] = []
    clean = iter(records.are_clean([entry.record for entry in entries if entry.record is not None]))
    for entry in entries:
        rejection = entry.rejection
        if entry.record is not None:
            try:
                told.append(
                    records.tell(
                        entry.record,
                        sender=sender,
                        now_us=now_us,
                        inferred=entry.inferred,
                        is_clean=next(clean),
                    )
                )
            except rejections.Rejection as refused:
                rejection = refused
        attempt = entry.record.attempt if entry.record is not None else 1
        results.append(
            None if rejection is None else _refused(entry.index, entry.operation_id, attempt, rejection)
        )
    return told, results


def _result(index: int, record: records.Told, outcome: storing.Outcome) -> Result:
    identity = (record.facts.operation_id, record.facts.attempt)
    if outcome == "unstorable":
        return _refused(index, *identity, rejections.Unstorable())
    return Result(index, *identity, outcome)


def _refused(index: int, operation_id: str | None, attempt: int, rejection: rejections.Rejection) -> Result:
    return Result(
        index, operation_id, attempt, "rejected", rejection.reason, rejection.pointer, rejection.detail
    )


def _count_rejected(credential: access.Credential, receipt: Receipt, now: datetime.datetime) -> None:
    reasons = Counter(result.reason or "" for result in receipt.results if result.result == "rejected")
    if reasons:
        ingest_counts.count_rejected(credential=credential, now=now, reasons=reasons)


def _unknown(entries: Sequence[decoding.Entry]) -> dict[str, int]:
    return dict(Counter(name for entry in entries for name in entry.unknown))
