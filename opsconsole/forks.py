"""Processes forked from one that loaded the code, which they share: begun, watched and ended together."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import signal
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable, Iterable
from typing import NoReturn

# What a forked process does.
Work = Callable[[], None]

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Told(BaseException):
    """A signal told this process to end."""


@dataclasses.dataclass(frozen=True)
class Child:
    """One forked process."""

    name: str
    pid: int
    log: pathlib.Path | None


@dataclasses.dataclass(frozen=True)
class Ended:
    """A child that ended by itself, and how."""

    name: str
    how: str
    log: pathlib.Path | None


class Family:
    """The children of this process. Each ends when this process does, even if it was killed."""

    def __init__(self, *, private: Iterable[int] = ()) -> None:
        """Begin without children; they do not get the file descriptors in `private`, such as a lock's."""
        self.private = tuple(private)
        self.children: dict[int, Child] = {}
        self.sessions: list[int] = []
        # Children wait at the reading end, which ends only when nobody holds the other end any more.
        self.reading, self.writing = os.pipe()
        for sign in SIGNALS:
            signal.signal(sign, _tell)

    def fork(self, name: str, work: Work, log: pathlib.Path | None = None) -> Child:
        """Begin `work` in a process of its own session, with its words going to `log`."""
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if not pid:
            self._live(work, log)
        child = Child(name, pid, log)
        self.children[pid] = child
        self.sessions.append(pid)
        return child

    def wait(self) -> Ended:
        """Wait until a child ends."""
        while True:
            pid, status = os.wait()
            child = self.children.pop(pid, None)
            if child is not None:
                return Ended(child.name, _how(status), child.log)

    def check(self) -> Ended | None:
        """Return a child that ended, if any did."""
        for pid, child in list(self.children.items()):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                del self.children[pid]
                return Ended(child.name, _how(status), child.log)
        return None

    def end(self, *, within_s: float) -> None:
        """End all children, kindly and then by force. A second signal does not leave half of them running."""
        for sign in SIGNALS:
            signal.signal(sign, signal.SIG_IGN)
        for pid in self.children:
            os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + within_s
        while self.children and time.monotonic() < until:
            if self.check() is None:
                time.sleep(0.05)
        for pid in self.sessions:
            # What is left of the child and of those it began, which outlive it when it was killed.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        for pid in self.children:
            os.waitpid(pid, 0)
        self.children.clear()

    def _live(self, work: Work, log: pathlib.Path | None) -> NoReturn:
        status = 1
        try:
            os.setsid()
            for descriptor in (self.writing, *self.private):
                os.close(descriptor)
            for sign in SIGNALS:
                signal.signal(sign, signal.SIG_DFL)
            if log is not None:
                _speak_into(log)
            threading.Thread(target=self._end_with_the_parent, daemon=True, name="parent-watch").start()
            work()
            status = 0
        except SystemExit as error:
            if error.code is None or isinstance(error.code, int):
                status = error.code or 0
            else:
                print(error.code, file=sys.stderr)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _end_with_the_parent(self) -> None:
        os.read(self.reading, 1)
        os.kill(os.getpid(), signal.SIGTERM)


def _tell(sign: int, frame: types.FrameType | None) -> None:
    raise Told


def _speak_into(log: pathlib.Path) -> None:
    into = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (into, 1), (into, 2)):
        os.dup2(source, target)
    os.close(into)
    os.close(nothing)


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
