"""What repeats and what recovers inside one session. Pure; the operations come oldest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from analytics import signals
from operations import find
from operations.marks import Mark

_FAILING = signals.FAILING | int(Mark.PHANTOM_FAILURE)


def notes(calls: Sequence[find.Operation]) -> dict[tuple[str, int], list[str]]:
    """Return what is worth saying beside each call: a repeat, a retry, a recovery, by its identity."""
    found: dict[tuple[str, int], list[str]] = defaultdict(list)
    seen: dict[tuple[str | None, bytes], find.Operation] = {}
    failed: dict[tuple[str | None, str | None], int] = defaultdict(int)
    for call in calls:
        identity = (call.operation_id, call.attempt)
        if call.attempt > 1:
            found[identity].append(f"attempt {call.attempt}")
        if call.input_digest is not None:
            before = seen.get((call.tool, call.input_digest))
            if before is not None and before.output_digest == call.output_digest:
                found[identity].append("repeats an earlier call")
            seen[call.tool, call.input_digest] = call
        if call.effect in signals.WRITES and call.status == "done" and call.outcome == "success":
            # What was read before a write may read otherwise after it: that is no repeat.
            seen = {key: kept for key, kept in seen.items() if kept is call}
        place = (call.turn_id, call.tool)
        if call.marks & _FAILING:
            failed[place] += 1
        elif call.status == "done" and call.outcome == "success" and failed.pop(place, 0):
            found[identity].append("recovered")
    return dict(found)


def recoveries(calls: Sequence[find.Operation]) -> int:
    """Count the calls that succeeded after the same tool had failed in the same turn."""
    return sum("recovered" in said for said in notes(calls).values())


def repeats(calls: Sequence[find.Operation]) -> int:
    """Count the calls that asked again what was answered already."""
    return sum("repeats an earlier call" in said for said in notes(calls).values())
