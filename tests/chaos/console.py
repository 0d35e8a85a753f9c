"""A console on servers of its own, any part of which may be killed and begun again at any moment."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

import psutil
import psycopg
import redis

from opsconsole.local import processes, servers
from tests import stack

#: Senders repeat themselves at once here; what limits them in earnest is measured elsewhere.
SETTINGS = {
    **dict.fromkeys(("INGEST_RATE_KEY", "INGEST_RATE_PROJECT"), "10000000"),
    # As in production, and small enough to be refilled within a test.
    "DATABASE_POOL": "6",
    "POOL_WAIT_SECONDS": "2",
}


@dataclasses.dataclass
class Console:
    """What runs, and how to hurt it."""

    place: servers.Place
    parts: stack.Stack
    ingest_key: str = ""
    read_key: str = ""

    def kill(self, name: str) -> None:
        """Kill a part or a server with everything it began, as `kill -9` does."""
        if name in stack.PARTS:
            self.parts.kill(name)
            return
        (entry,) = (entry for entry in processes.recall(self.place.started) if entry.name == name)
        leader = psutil.Process(entry.pid)
        # PostgreSQL's own processes lead sessions of their own.
        for process in [leader, *leader.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(entry.pid, 0)

    def begin(self, name: str) -> None:
        """Begin a part or a server again."""
        if name in stack.PARTS:
            self.parts.begin(name)
            return
        server = {"postgres": self.place.postgres, "valkey": self.place.valkey}[name].start()
        processes.remember(self.place.started, name, server.pid)
        server.returncode = 0  # ended by `servers.stop`, or killed here

    def connect(self, name: str = "DATABASE_OWNER_URL") -> psycopg.Connection[tuple[object, ...]]:
        """Connect to its database."""
        return psycopg.connect(self.parts.environment[name], autocommit=True)

    def valkey(self) -> redis.Redis:
        """Connect to its Valkey."""
        return redis.Redis.from_url(self.parts.environment["REDIS_URL"])

    def manage(self, *words: str) -> str:
        """Run a command of manage.py; returns what it printed."""
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=servers.PROJECT,
            env=self.parts.environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr[-2000:])
        return done.stdout

    def make_project(self, slug: str) -> None:
        """Make a project; its keys are the console's from now on."""
        self.manage("create_project", slug, "--slug", slug)
        made = [
            self.manage("create_key", slug, "--scopes", scope).strip().splitlines()[-1]
            for scope in ("ingest", "read")
        ]
        self.ingest_key, self.read_key = made

    def differences(self) -> list[object]:
        """Recount everything; returns where facts and tally differ."""
        report = json.loads(self.manage("verify_tally", "--json"))
        assert report["operations"] > 0
        found: list[object] = report["differences"]
        return found


@contextlib.contextmanager
def running(project: str, **settings: str) -> Iterator[Console]:
    """Run a console with one empty project until the end."""
    with contextlib.ExitStack() as ended:
        place = ended.enter_context(servers.throwaway())
        folder = pathlib.Path(ended.enter_context(tempfile.TemporaryDirectory(prefix="opsconsole-chaos-")))
        for child in servers.start(place).values():
            child.returncode = 0
        environment = {**os.environ, **own_environment(place)}
        port = stack.free_port()
        environment |= {
            "PORT": str(port),
            "PUBLIC_URL": f"http://localhost:{port}",
            "LOG_LEVEL": "INFO",
            **SETTINGS,
        }
        environment |= {"STATIC_ROOT": str(folder / "static"), **settings}
        console = Console(place, stack.Stack(f"http://localhost:{port}", port, environment, folder))
        console.manage("migrate", "--verbosity", "0", "--no-input")
        console.manage("collectstatic", "--no-input", "--verbosity", "0")
        console.make_project(project)
        ended.callback(end, console)
        for name in stack.PARTS:
            console.begin(name)
        console.parts.wait_until_ready()
        yield console


def own_environment(place: servers.Place) -> dict[str, str]:
    """Return what leads to the servers of `place`, whatever the tests' own servers are."""
    held = {name: os.environ.pop(name, None) for name in ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL")}
    try:
        return place.environment()
    finally:
        os.environ.update({name: value for name, value in held.items() if value is not None})


def end(console: Console) -> None:
    """End the parts; the place ends its servers."""
    for name in list(console.parts.processes):
        console.parts.kill(name)


def wait_for(holds: Callable[[], object], *, within_s: float = 60, what: str = "") -> None:
    """Wait until other processes have made something true."""
    until = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < until, what or "it did not happen in time"
        time.sleep(0.02)
