"""Processes that outlive whoever started them, known by id and start: a reused id is never hit."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import time

import psutil

KILL_WITHIN_S = 10.0


@dataclasses.dataclass(frozen=True)
class Remembered:
    """One process, told apart from a later one with the same id by its start."""

    name: str
    pid: int
    started_at: float

    def find(self) -> psutil.Process | None:
        """Return the process if it still runs."""
        try:
            found = psutil.Process(self.pid)
            # Clock steps move the start by less than this.
            if abs(found.create_time() - self.started_at) > 2 or found.status() == psutil.STATUS_ZOMBIE:
                return None
        except psutil.NoSuchProcess:
            return None
        return found

    def end(self, *, by: signal.Signals = signal.SIGTERM, within_s: float = 10) -> bool:
        """End the process, kindly and then by force; returns whether there was one."""
        found = self.find()
        if found is None:
            return False
        for sign, patience_s in ((by, within_s), (signal.SIGKILL, KILL_WITHIN_S)):
            with contextlib.suppress(psutil.NoSuchProcess):
                found.send_signal(sign)
            until = time.monotonic() + patience_s
            # An ended child that nobody has waited for counts as gone.
            while self.find() is not None and time.monotonic() < until:
                time.sleep(0.02)
            if self.find() is None:
                break
        return True


def kill_session(leader: Remembered) -> None:
    """Kill what is left of the session that `leader` led, and nothing that got its number later."""
    killed = []
    for found in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            began = found.create_time()
            if os.getsid(found.pid) == leader.pid and began >= leader.started_at - 2:
                found.kill()
                killed.append(Remembered(leader.name, found.pid, began))
    # A port is free only when its last holder is gone.
    until = time.monotonic() + KILL_WITHIN_S
    while any(entry.find() for entry in killed) and time.monotonic() < until:
        time.sleep(0.02)


def remember(path: pathlib.Path, name: str, pid: int) -> None:
    """Write down that process `pid` was started as `name`."""
    entries = [entry for entry in recall(path) if entry.name != name]
    with contextlib.suppress(psutil.NoSuchProcess):
        entries.append(Remembered(name=name, pid=pid, started_at=psutil.Process(pid).create_time()))
    write_private(path, json.dumps([dataclasses.asdict(entry) for entry in entries]))


def recall(path: pathlib.Path) -> list[Remembered]:
    """Return the processes written down in `path`, in the order in which they were started."""
    try:
        return [Remembered(**entry) for entry in json.loads(path.read_text())]
    except (FileNotFoundError, ValueError, TypeError):
        return []


def write_private(path: pathlib.Path, content: str) -> None:
    """Put `content` into `path`, for its owner alone; readers see the old or the new, never a half."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(content)
    draft.replace(path)
