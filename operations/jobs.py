"""Run background work in short steps, one runner of each job at a time.

Threads of the worker enforce no time limit, so PostgreSQL does: a step is one transaction under
`statement_timeout`, and a job keeps its place in what it has already changed. It can be killed between any
two steps, run late, run twice, or run by two workers at once, of which the second finds the job taken and
leaves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import structlog
from django.db import OperationalError, connection, transaction
from psycopg import errors as pg

log = structlog.get_logger(__name__)

STEP_MS = 5000
LOCK_WAIT_MS = 2000
ROWS = 10_000
RUN_S = 25.0  # a run that has more to do leaves it to the next one, so that no job holds its thread for long

# The two-key form of advisory locks: (class, job). Held until the step's transaction ends, whatever becomes
# of us.
LOCK_JOB = 0x6F72
_BEGIN = """
SELECT pg_try_advisory_xact_lock(%s, hashtext(%s)),
    set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true)
"""

#: Does at most so many rows of work in the transaction it finds; returns how many, or None when nothing is
#: left.
Step = Callable[[int], int | None]


class Outcome(NamedTuple):
    """What a run did; `is_done` when nothing was left, `was_taken` when another runner was at it."""

    rows: int
    steps: int
    is_done: bool
    was_taken: bool


def run(name: str, *steps: Step, rows: int = ROWS, for_s: float = RUN_S) -> Outcome:
    """Run each of `steps` until it finds nothing left, or until the time of this run is over."""
    until = time.monotonic() + for_s
    done = taken = 0
    for step in steps:
        limit = rows
        while True:
            if taken and time.monotonic() > until:
                return Outcome(done, taken, is_done=False, was_taken=False)
            try:
                with transaction.atomic():
                    if not _begin(name):
                        return Outcome(done, taken, is_done=False, was_taken=True)
                    moved = step(limit)
            except OperationalError as error:
                limit = _smaller(name, limit, error)
                continue
            taken += 1
            if moved is None:
                break
            done += moved
    return Outcome(done, taken, is_done=True, was_taken=False)


def _begin(name: str) -> bool:
    """Take the job for this transaction, if nobody has it, and bound what its statements may take."""
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN, [LOCK_JOB, name, str(STEP_MS), str(LOCK_WAIT_MS)])
        row = cursor.fetchone()
    return bool(row and row[0])


def _smaller(name: str, limit: int, error: OperationalError) -> int:
    """Return a smaller bound for a step that took too long; anything else is raised on."""
    if not isinstance(error.__cause__, pg.QueryCanceled) or limit <= 1:
        raise error
    log.warning("job_step_too_long", job=name, rows=limit)
    return max(1, limit // 4)
