"""The processes of `make up`: begun with a log each, watched, and ended together."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import time
from typing import NoReturn

import psutil

from opsconsole.local import processes, servers

STOP_WITHIN_S = 15.0


class Failed(Exception):
    """A part failed; the message says which and why."""


@dataclasses.dataclass
class Part:
    """One process of the console."""

    name: str
    command: list[str]
    process: subprocess.Popen[bytes]
    log: pathlib.Path


def begin(place: servers.Place, name: str, command: list[str], environment: dict[str, str]) -> Part:
    """Start a part with a log of its own."""
    log = place.data / f"{name}.log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            command,
            cwd=servers.PROJECT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    processes.remember(place.data / "parts.json", name, process.pid)
    return Part(name, command, process, log)


def watch(watched: list[Part]) -> NoReturn:
    """Wait until a part ends by itself, and raise with its name and last words."""
    while True:
        refuse_ended(watched)
        time.sleep(0.25)


def refuse_ended(watched: list[Part]) -> None:
    """Raise when a part has ended."""
    for part in watched:
        code = part.process.poll()
        if code is not None:
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            raise Failed(f"the part '{part.name}' ended ({how}): {last_words(part.log)}")


def end(place: servers.Place, watched: list[Part]) -> None:
    """End the parts, those that use the servers first."""
    parts = [part for part in watched if part.command]
    for part in parts:
        if part.process.poll() is None:
            part.process.terminate()
    until = time.monotonic() + STOP_WITHIN_S
    for part in parts:
        with contextlib.suppress(subprocess.TimeoutExpired):
            part.process.wait(timeout=max(0.1, until - time.monotonic()))
        kill_family(place, part.process.pid)
        part.process.wait()
    (place.data / "parts.json").unlink(missing_ok=True)
    servers.stop(place)
    for part in watched:
        part.process.wait()


def kill_family(place: servers.Place, pid: int) -> None:
    """Kill what is left of the session that part `pid` led, and nothing that got its number later."""
    for found in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            is_family = os.getsid(found.pid) == pid
            if is_family and found.environ().get("OPSCONSOLE_DATA") == str(place.data):
                found.kill()


def end_leftovers(place: servers.Place) -> None:
    """End what a killed `make up` left running on this data folder."""
    for entry in processes.recall(place.data / "parts.json"):
        if entry.end():
            print(f"Ended '{entry.name}', which a killed run had left.", flush=True)
        kill_family(place, entry.pid)
    (place.data / "parts.json").unlink(missing_ok=True)
    (place.data / "ready.json").unlink(missing_ok=True)


def last_words(log: pathlib.Path) -> str:
    """Return the last line of a log that says something, and where the rest is."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return f"{lines[-1] if lines else 'it said nothing'} ({log})"
