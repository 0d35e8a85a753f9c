"""Celery as one family: a worker for each queue and the clock.

They are forked from one parent that loaded the code, so that they share its memory; the parent only watches.
When any of them ends, or the parent is told to, the others are ended too: nothing goes on half.
"""

from __future__ import annotations

import functools
import gc
import importlib
import logging
import os
import signal
import socket
import sys
import warnings

from celery import signals

from opsconsole import forks, start

THREADS = {"urgent": 2, "bulk": 2}
# Loaded before the processes part; Celery would load them in each.
SHARED = (
    "kombu.transport.redis",
    "celery.app.trace",
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.concurrency.thread",
    "celery.worker.consumer",
    "celery.worker.strategy",
)


def main(names: list[str]) -> None:
    """Run those named, or all, until one ends or a signal comes: `python -m opsconsole.workers [NAME…]`."""
    works = every()
    if unknown := set(names) - works.keys():
        raise SystemExit(f"There is no {', '.join(sorted(unknown))}; name some of {', '.join(works)}.")
    start.set_up()
    load()
    if len(names) == 1:
        works[names[0]]()
        return
    gc.freeze()
    family = forks.Family()
    try:
        for name in names or works:
            family.fork(name, works[name])
        ended = family.wait()
    except forks.Told:
        ended = None
    family.end(within_s=15)
    if ended is not None:
        raise SystemExit(f"The part '{ended.name}' of the workers ended by itself.")


def load() -> None:
    """Load everything that a worker needs, before the processes part."""
    from opsconsole import checks

    with start.plainly():
        checks.refuse_old_postgresql()
    from opsconsole.celery import app

    # As root, Celery says at each start that it should not be; `make up` is for a machine of one's own.
    warnings.filterwarnings("ignore", message="You're running the worker with superuser privileges")
    # Django's own checks, which load every page, are made by `manage.py`.
    os.environ["CELERY_SKIP_CHECKS"] = "1"
    # Left to itself Celery raises the level of every logger; and each task says one line of its own.
    signals.setup_logging.connect(leave_logs_alone, weak=False)
    logging.getLogger("celery").setLevel(logging.WARNING)
    app.loader.import_default_modules()
    app.finalize(auto=True)
    for module in SHARED:
        importlib.import_module(module)
    gc.collect()


def leave_logs_alone(**_: object) -> None:
    """Take the place of Celery's own setting up of logs, which `start.set_up` has done."""


def every() -> dict[str, forks.Work]:
    """Return what each process of the family does, by its name."""
    queues = {queue: functools.partial(work, queue, threads) for queue, threads in THREADS.items()}
    return {**queues, "beat": tick}


def work(queue: str, threads: int) -> None:
    """Work on one queue until a signal comes."""
    from opsconsole.celery import app

    worker = app.Worker(
        queues=[queue],
        hostname=f"{queue}@{socket.gethostname()}",
        pool="threads",
        concurrency=threads,
        # One worker a queue: there is nobody to gossip with.
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        quiet=True,
    )
    worker.start()
    raise SystemExit(worker.exitcode or 0)


def tick() -> None:
    """Send what the schedule says is due until a signal comes."""
    from opsconsole.celery import app

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    app.Beat(quiet=True, pidfile=None).run()


if __name__ == "__main__":
    main(sys.argv[1:])
