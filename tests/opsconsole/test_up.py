"""`make up` as a person uses it: started, looked at, started again, killed in parts, stopped."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from opsconsole.local import servers
from tests import stack

OURS = {"DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL", "SECRET_KEY", "STATIC_ROOT", "DATABASE_POOL"}


class Console:
    """One `make up` on a folder and a port of its own."""

    def __init__(self, data: pathlib.Path, port: int) -> None:
        self.data, self.port = data, port
        self.said = data.with_suffix(".out")
        self.process: subprocess.Popen[bytes] | None = None

    def run(self, *arguments: str, into: pathlib.Path) -> subprocess.Popen[bytes]:
        """Begin `opsconsole.up` with these arguments."""
        environment = {name: value for name, value in os.environ.items() if name not in OURS}
        environment |= {"OPSCONSOLE_DATA": str(self.data), "PORT": str(self.port), "DEMO": "no"}
        with into.open("wb") as said:
            command = [sys.executable, "-m", "opsconsole.up", *arguments]
            return subprocess.Popen(command, cwd=servers.PROJECT, env=environment, stdout=said, stderr=said)

    def ask(self, *arguments: str) -> tuple[int, str]:
        """Run it to its end; returns the exit code and what it said."""
        answer = self.data.with_suffix(".answer")
        return self.run(*arguments, into=answer).wait(timeout=120), answer.read_text()

    def start(self) -> dict[str, Any]:
        """Start it and wait until it is ready; returns what `ready.json` tells."""
        self.process = self.run(into=self.said)
        ready = self.data / "ready.json"
        until = time.monotonic() + 180
        while time.monotonic() < until:
            assert self.process.poll() is None, self.said.read_text()
            with contextlib.suppress(FileNotFoundError):
                told: dict[str, Any] = json.loads(ready.read_text())
                # A killed run leaves its own, which the next takes away.
                if told["pids"]["up"] == self.process.pid:
                    return told
            time.sleep(0.05)
        raise AssertionError(self.said.read_text())

    def left(self) -> list[list[str]]:
        """Return what still runs of it."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                environment = process.environ()
                if environment.get("OPSCONSOLE_DATA") == str(self.data) and process.pid != os.getpid():
                    found.append(process.cmdline())
        return found


@pytest.fixture
def console() -> Iterator[Console]:
    """A console that was never started; stopped and removed at the end."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ops-"))
    folder.chmod(0o711)
    made = Console(folder / "data", stack.free_port())
    yield made
    if made.process is not None and made.process.poll() is None:
        made.process.terminate()
        made.process.wait(timeout=60)
    made.ask("down")
    shutil.rmtree(folder)


def test_a_console_from_nothing_until_it_is_stopped(console: Console) -> None:
    told = console.start()

    said = console.said.read_text()
    assert told["address"] == f"http://localhost:{console.port}"
    assert told["address"] in said
    assert "Sign in as  admin@localhost" in said
    assert "Password    " in said
    assert stat.S_IMODE((console.data / "ready.json").stat().st_mode) == 0o600
    assert {"up", "postgres", "valkey", "web", "urgent", "bulk", "beat"} == set(told["pids"])
    assert all(psutil.pid_exists(pid) for pid in told["pids"].values())
    assert told["ingest_key"].startswith("ops_")
    with urllib.request.urlopen(f"{told['address']}/accounts/login/") as page:
        assert b"/static/" in page.read()

    first = said
    code, said = console.ask()
    assert (code, said) == (
        0,
        f"The console runs already: {told['address']} (process {told['pids']['up']}, data in {console.data}).\n",
    )
    other = Console(console.data.with_name("other"), console.port)
    code, said = other.ask()
    assert code == 1
    assert re.fullmatch(rf"opsconsole: port {console.port} is held by \S+ \(process \d+\); .*\n", said)

    assert console.process is not None
    console.process.send_signal(signal.SIGINT)
    assert console.process.wait(timeout=60) == 0
    assert console.left() == []
    assert not (console.data / "ready.json").exists()

    again = console.start()
    assert (again["ingest_key"], again["read_key"]) == (told["ingest_key"], told["read_key"])
    password = first.split("Password    ")[1].split()[0]
    assert password not in console.said.read_text()


def test_a_part_that_dies_ends_the_others_and_is_named(console: Console) -> None:
    told = console.start()

    os.kill(told["pids"]["bulk"], signal.SIGKILL)

    assert console.process is not None
    assert console.process.wait(timeout=60) == 1
    assert "the part 'bulk' ended (signal SIGKILL), so all were stopped" in console.said.read_text()
    assert console.left() == []


def test_after_a_kill_of_everything_the_next_start_works(console: Console) -> None:
    told = console.start()
    for name in ("web", "postgres", "valkey", "up"):
        os.kill(told["pids"][name], signal.SIGKILL)
    assert console.process is not None
    assert console.process.wait(timeout=60) == -signal.SIGKILL

    again = console.start()

    assert again["address"] == told["address"]
    assert set(again["pids"].values()).isdisjoint(told["pids"].values())
    code, said = console.ask("down")
    assert (code, said) == (0, "Stopped.\n")
    assert console.process.wait(timeout=60) == 0
    assert console.left() == []
