"""What the API answers, as structs; the description at /v1/openapi.json is generated from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from operations import find, ingest, published


class Result(msgspec.Struct, omit_defaults=True, frozen=True, gc=False):
    """What became of one record; `reason`, `pointer` and `detail` say why it was rejected."""

    index: int
    operation_id: str | None
    attempt: int
    result: Literal["accepted", "duplicate", "merged", "rejected"]
    reason: str | None = None
    pointer: str | None = None
    detail: str | None = None


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a request: counts, the fields that were left out as unknown, and each record's result.

    `results` is there when it was asked for (`?results=1`) or a record was rejected.
    """

    accepted: int
    merged: int
    duplicate: int
    rejected: int
    unknown_fields: dict[str, int]
    dry_run: bool | msgspec.UnsetType = msgspec.UNSET
    results: list[Result] | msgspec.UnsetType = msgspec.UNSET


#: What the tally can be grouped by.
TALLY_KEYS = (
    "environment",
    "tool",
    "tool_version",
    "effect",
    "mode",
    "source",
    "provider",
    "model",
    "runtime",
    "status",
    "outcome",
    "code",
    "contract_kind",
    "signal",
)
#: Stretches of time that it can be grouped by, with their length in microseconds.
TALLY_STEPS = {"minute": 60_000_000, "hour": 3_600_000_000, "day": 86_400_000_000}


class Tally(msgspec.Struct, frozen=True, kw_only=True, rename={"since": "from", "until": "to"}):
    """Counts of the operations that started in [from, to).

    Each of `groups` has the keys it was grouped by, its `count`, and `duration_ms`, the sum of what they
    took; the largest come first. `count` is of all groups; `left_out` counts what lies in the smallest
    groups, past the first 10,000.
    """

    since: str
    until: str
    count: int
    duration_ms: float
    groups: list[dict[str, str | int | float | None]]
    left_out: int = 0


class Page(msgspec.Struct, frozen=True):
    """A stretch of a list, newest first.

    `next` is the cursor of the following one, null at the end. `searched` is told when a filter that no index
    answers was tried on so many operations before the page was full; `next` goes on from there.
    """

    operations: list[published.Operation]
    next: str | None
    searched: int | msgspec.UnsetType = msgspec.UNSET


def receipt(found: ingest.Receipt, *, with_results: bool, is_dry_run: bool = False) -> Receipt:
    """Return the answer that tells `found`."""
    results = found.results
    counts = {"accepted": 0, "merged": 0, "duplicate": 0, "rejected": 0}
    for result in results:
        counts[result.result] += 1
    return Receipt(
        **counts,
        unknown_fields=found.unknown,
        dry_run=True if is_dry_run else msgspec.UNSET,
        results=_results(results) if with_results or counts["rejected"] else msgspec.UNSET,
    )


def page(rows: Iterable[find.Operation], following: str | None, searched: int | None) -> Page:
    """Return the answer that tells a stretch of a list."""
    told = [published.operation(row) for row in rows]
    return Page(told, following, msgspec.UNSET if searched is None else searched)


def _results(results: Iterable[ingest.Result]) -> list[Result]:
    return [Result(*result) for result in results]
