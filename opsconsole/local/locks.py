"""Locks between processes, which the system lets go when their holder ends in any way."""

from __future__ import annotations

import contextlib
import fcntl
import pathlib
from collections.abc import Iterator
from typing import IO


@contextlib.contextmanager
def hold(path: pathlib.Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock `path`, alone or shared with others that share it, waiting for it."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield


def take(path: pathlib.Path) -> IO[str] | None:
    """Return the lock `path` held until it is closed, or nothing when another process holds it."""
    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file
