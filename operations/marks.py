"""The bits of `operation.marks`: the signals that one operation can tell by itself.

The bits are computed by the generated column of `operation` (migration 0002) and by `merging.derive`, and are
part of the tally's key, so a bit never changes its meaning. Bits from 24 up say that a signal could be judged
at all: they are the denominators.
"""

from __future__ import annotations

import enum


class Mark(enum.IntFlag):
    """One bit each."""

    CONTRACT_ERROR = 1 << 0
    UNKNOWN_TOOL = 1 << 1
    STRUCTURED_FAILURE = 1 << 2
    RUNTIME_ERROR = 1 << 3
    UNFINISHED = 1 << 4
    STALE_REVISION = 1 << 5
    TIMED_OUT = 1 << 6
    LATE_ANSWER = 1 << 7
    PHANTOM_FAILURE = 1 << 8
    ALTERED_IN_TRANSIT = 1 << 9
    UNVERIFIED_SUCCESS = 1 << 10
    UNBOUNDED_OUTPUT = 1 << 11
    UNSAFE_ERROR_TOLD = 1 << 12
    OVER_BUDGET = 1 << 13
    CONTRADICTED = 1 << 14
    ID_REUSED = 1 << 15
    CLOCK_AHEAD = 1 << 16
    HAS_VERIFIED = 1 << 24
    HAS_SENT_DIGEST = 1 << 25
    HAS_LEGS = 1 << 26
    HAS_ERROR_TOLD = 1 << 27


#: Marks that jobs set in `operation.job_marks`, because no single record can tell them.
JOB_MARKS = Mark.UNFINISHED | Mark.UNBOUNDED_OUTPUT | Mark.ID_REUSED

#: Of the outer limit, how much the legs must leave free before `over_budget` is said.
HEADROOM_PERCENT = 10

BY_NAME: dict[str, Mark] = {mark.name.lower(): mark for mark in Mark if mark.name and mark < 1 << 24}
