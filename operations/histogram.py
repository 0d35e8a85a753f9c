"""Fixed logarithmic buckets: every edge at most 10 % above the one before, whole numbers, the same in SQL.

A value lies in the bucket numbered by how many edges are at or below it; zero lies in bucket 0, and negative
values (an answer that came in time but was delivered late) in negative buckets by their size.
"""

from __future__ import annotations

import bisect

MEASURES = ("duration", "lateness", "output_bytes", "input_bytes")


def _make_edges() -> tuple[int, ...]:
    edges, edge = [], 1
    while edge < 4 * 10**12:  # 46 days in microseconds, 4 TB
        edges.append(edge)
        edge = max(edge + 1, edge * 11 // 10)
    return tuple(edges)


EDGES = _make_edges()


def bucket(measured: int) -> int:
    """Return the bucket of `measured`."""
    found = bisect.bisect_right(EDGES, abs(measured))
    return -found if measured < 0 else found


def bounds(number: int) -> tuple[int, int]:
    """Return the least value of bucket `number` and the least value beyond it (mirrored below zero)."""
    if number < 0:
        low, high = bounds(-number)
        return -high + 1, -low + 1
    low = EDGES[number - 1] if number else 0
    return low, EDGES[number] if number < len(EDGES) else low * 2


def percentile(counts: dict[int, int], share: float) -> float | None:
    """Return the value below which `share` of the counted values lie, within its bucket by proportion.

    `counts` maps bucket to count. At most 10 % from the true value; None when nothing was counted.
    """
    total = sum(counts.values())
    if total <= 0:
        return None
    wanted = share * total
    passed = 0
    for number in sorted(counts):
        if counts[number] <= 0:
            continue
        if passed + counts[number] >= wanted:
            low, high = bounds(number)
            return low + (high - low) * max(0.0, wanted - passed) / counts[number]
        passed += counts[number]
    return float(bounds(max(counts))[1])
