"""What ingest answered, per minute and reason, and how far the senders' clocks are from ours. Sums only."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from operations import access, moments, raw, records

_COUNT = """
INSERT INTO ingest_count (project_id, bucket, key_id, result, reason, records)
SELECT %s, date_bin('1 minute', %s, 'epoch'), %s, told.result, told.reason, told.records
FROM unnest(%s::text[], %s::text[], %s::bigint[]) AS told (result, reason, records)
"""
# Both in one trip, since every request makes it.
_COUNT_WITH_SKEW = f"""
WITH counted AS ({_COUNT})
INSERT INTO ingest_skew (project_id, bucket, runtime, instance, records, sum_us, least_us, greatest_us)
SELECT %s, date_bin('1 minute', %s, 'epoch'), told.runtime, told.instance, told.records, told.sum_us,
    told.least_us,
    told.greatest_us
FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
    AS told (runtime, instance, records, sum_us, least_us, greatest_us)
"""


class Skew(NamedTuple):
    """Told time minus received time of some records of one runtime and instance, in microseconds."""

    runtime: str | None
    instance: str | None
    records: int
    sum_us: int
    least_us: int
    greatest_us: int


def skews(batch: Iterable[records.Told], now: datetime.datetime) -> list[Skew]:
    """Return the skew of each runtime and instance in `batch`, by the latest time that each record told."""
    now_us = moments.from_datetime(now)
    found: dict[tuple[str | None, str | None], list[int]] = {}
    for told in batch:
        if told.latest:
            found.setdefault((told.facts.runtime, told.facts.instance), []).append(told.latest - now_us)
    return [Skew(*key, len(ahead), sum(ahead), min(ahead), max(ahead)) for key, ahead in found.items()]


def count(
    *,
    credential: access.Credential,
    now: datetime.datetime,
    results: Mapping[str, int],
    skews: Iterable[Skew] = (),
) -> None:
    """Count results and skews, in the caller's transaction."""
    counted = _counted(credential, now, [(result, None, records) for result, records in results.items()])
    skewed = [list(column) for column in zip(*skews, strict=True)]
    if not results:
        return
    if skewed:
        values = [*counted, credential.project_id, now, *skewed]
        raw.cursor().execute(_COUNT_WITH_SKEW, values, prepare=True)
    else:
        raw.cursor().execute(_COUNT, counted, prepare=True)


def count_rejected(*, credential: access.Credential, now: datetime.datetime, reasons: Counter[str]) -> None:
    """Count refused records by reason."""
    rows = [("rejected", reason, records) for reason, records in reasons.items()]
    raw.cursor().execute(_COUNT, _counted(credential, now, rows), prepare=True)


def _counted(
    credential: access.Credential, now: datetime.datetime, rows: Sequence[tuple[str, str | None, int]]
) -> list[Any]:
    columns = [list(column) for column in zip(*rows, strict=True)]
    return [credential.project_id, now, credential.keyid, *columns]
