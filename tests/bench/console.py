"""The console as `make up` runs it, on servers and data of its own, for the time of a measurement."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import psycopg

from opsconsole.local import servers

READY_WITHIN_S = 120.0
SETTLED_WITHIN_S = 300.0
# The limits are measured elsewhere; here they would measure themselves.
RATES = dict.fromkeys(
    ("INGEST_RATE_KEY", "INGEST_RATE_PROJECT", "READ_RATE_KEY", "READ_RATE_PROJECT"), "10000000"
)


@dataclasses.dataclass(frozen=True)
class Console:
    """A running console with an empty project, and two keys for it."""

    port: int
    data: pathlib.Path
    pids: list[int]
    environment: dict[str, str]
    ingest_key: str
    read_key: str

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        """Connect to its database as the app does."""
        return psycopg.connect(self.environment["DATABASE_URL"], autocommit=True)

    def analyse(self) -> None:
        """Let PostgreSQL know its tables, as autovacuum would within a minute, and wait while it cleans up."""
        with psycopg.connect(self.environment["DATABASE_OWNER_URL"], autocommit=True) as connection:
            connection.execute("ANALYZE")
            until = time.monotonic() + SETTLED_WITHIN_S
            while connection.execute("SELECT count(*) FROM pg_stat_progress_vacuum").fetchone() != (0,):
                if time.monotonic() > until:
                    raise RuntimeError("autovacuum does not come to an end")
                time.sleep(1)

    def manage(self, *words: str) -> str:
        """Run a command of manage.py and return what it printed."""
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=servers.PROJECT,
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout


@contextlib.contextmanager
def running() -> Iterator[Console]:
    """Start the console without its demo, and end it."""
    with tempfile.TemporaryDirectory(prefix="opsconsole-bench-") as folder:
        data = pathlib.Path(folder) / "data"
        os.chmod(folder, 0o711)  # the servers' account passes through
        port = _free_port()
        environment = {
            **os.environ,
            "OPSCONSOLE_DATA": str(data),
            "PORT": str(port),
            "DEMO": "no",
            **RATES,
        }
        log = pathlib.Path(folder) / "up.log"
        with log.open("wb") as output:
            up = subprocess.Popen(
                [sys.executable, "-m", "opsconsole.up"],
                cwd=servers.PROJECT,
                env=environment,
                stdout=output,
                stderr=output,
            )
        try:
            ready = _wait(data / "ready.json", up, log)
            place = servers.open_place(data)
            yield _with_project(
                Console(
                    port, data, list(ready["pids"].values()), {**environment, **place.environment()}, "", ""
                )
            )
        finally:
            up.send_signal(signal.SIGINT)
            up.wait(60)


def _with_project(console: Console) -> Console:
    console.manage("create_project", "bench")
    return dataclasses.replace(
        console,
        ingest_key=console.manage("create_key", "bench", "--scopes", "ingest").strip().splitlines()[-1],
        read_key=console.manage("create_key", "bench", "--scopes", "read").strip().splitlines()[-1],
    )


def _wait(ready: pathlib.Path, up: subprocess.Popen[bytes], log: pathlib.Path) -> dict[str, dict[str, int]]:
    until = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < until:
        if ready.exists():
            found: dict[str, dict[str, int]] = json.loads(ready.read_text())
            return found
        if up.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(log.read_text())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
