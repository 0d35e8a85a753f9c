"""Celery as one family: a worker for each queue and the clock, forked from one parent.

The parent loads the code once, for all, and then only watches. When any child ends, or when it is told to, it ends the others: nothing goes on half.
"""

from __future__ import annotations

import functools
import gc
import os
import signal
import sys
import types
from collections.abc import Callable

from opsconsole import start

THREADS = {"urgent": 2, "bulk": 2}


class Told(BaseException):
    """The parent was told to end."""


def main() -> None:
    """Run all children until one ends or a signal comes."""
    start.set_up()
    from opsconsole import checks

    with start.plainly():
        checks.refuse_old_postgresql()
    from opsconsole.celery import app

    app.loader.import_default_modules()
    app.finalize(auto=True)
    gc.collect()
    # Children share these pages; without this the first collection in each would copy them.
    gc.freeze()
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, _tell)
    children: dict[int, str] = {}
    try:
        for queue, threads in THREADS.items():
            children[_fork(functools.partial(_work, queue, threads))] = queue
        children[_fork(_tick)] = "beat"
        ended, _ = os.wait()
    except Told:
        ended = 0
    name = children.pop(ended, "")
    _end(children)
    if name:
        raise SystemExit(f"The part {name!r} of the workers ended by itself.")


def _tell(sign: int, frame: types.FrameType | None) -> None:
    raise Told


def _fork(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        for sign in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sign, signal.SIG_DFL)
        work()
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1 if error.code else 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _work(queue: str, threads: int) -> None:
    from opsconsole.celery import app

    arguments = ["worker", "--queues", queue, "--hostname", f"{queue}@%h", "--concurrency", str(threads)]
    # One worker a queue: there is nobody to gossip with.
    app.worker_main([*arguments, "--without-gossip", "--without-mingle", "--without-heartbeat"])


def _tick() -> None:
    from opsconsole.celery import app

    app.Beat(quiet=True, pidfile=None).run()


def _end(children: dict[int, str]) -> None:
    for pid in children:
        os.kill(pid, signal.SIGTERM)
    for pid in children:
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
