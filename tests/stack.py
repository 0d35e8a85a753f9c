"""The real web server, workers and clock on a test database, as separate processes."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import psycopg
import psycopg.conninfo
import redis

from opsconsole.local import servers

READY_WITHIN_S = 180.0
# Short, so that a test can wait for it.
BODY_DEADLINE_SECONDS = 2


@dataclasses.dataclass
class Stack:
    """What runs: its address, and the processes to kill in a test of killing."""

    address: str
    port: int
    environment: dict[str, str]
    folder: pathlib.Path
    processes: dict[str, subprocess.Popen[bytes]] = dataclasses.field(default_factory=dict)

    def begin(self, name: str) -> None:
        """Begin a part; a part that was killed can be begun again."""
        module, *arguments = PARTS[name]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=servers.PROJECT,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log(self, name: str) -> str:
        """Return what a part said."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def kill(self, name: str) -> None:
        """Kill a part with all it began, as `kill -9` does."""
        process = self.processes.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def wait_until_ready(self) -> None:
        """Wait until the console says that it is ready."""
        self._wait_until_200("/readyz")

    def wait_until_alive(self) -> None:
        """Wait until the console answers, whatever its workers do."""
        self._wait_until_200("/livez")

    def _wait_until_200(self, path: str) -> None:
        until = time.monotonic() + READY_WITHIN_S
        answer = "no answer"
        while time.monotonic() < until:
            for name, process in self.processes.items():
                assert process.poll() is None, f"{name} ended:\n{self.log(name)[-4000:]}"
            with contextlib.suppress(OSError, http.client.HTTPException):
                line = http.client.HTTPConnection("localhost", self.port, timeout=5)
                line.request("GET", path)
                found = line.getresponse()
                answer = found.read().decode()
                line.close()
                if found.status == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(f"{path} was not 200: {answer}")

    def rest(self) -> None:
        """Stop clock and workers between two tasks, so that jobs leave other tests alone."""
        self._signal("beat", signal.SIGSTOP)
        until = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < until:
            if not self._is_busy():
                self._signal("workers", signal.SIGSTOP)
                if not self._is_busy():
                    return
                self._signal("workers", signal.SIGCONT)
            time.sleep(0.05)
        raise AssertionError("the workers do not come to rest")

    def wake(self) -> None:
        """Let clock and workers go on, and bring back what a test killed."""
        for name in PARTS:
            if name not in self.processes or self.processes[name].poll() is not None:
                self.begin(name)
        for name in ("workers", "beat"):
            self._signal(name, signal.SIGCONT)

    def _signal(self, name: str, number: signal.Signals) -> None:
        if name in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.processes[name].pid, number)

    def _is_busy(self) -> bool:
        """Tell whether a task waits or a transaction is open: a worker stopped in one would hold its locks."""
        broker = redis.from_url(self.environment["REDIS_URL"])
        waiting = sum(int(broker.llen(queue)) for queue in ("urgent", "bulk"))
        broker.close()
        with psycopg.connect(self.environment["DATABASE_OWNER_URL"]) as connection:
            found = connection.execute(BUSY).fetchone()
        return waiting > 0 or found != (0,)


BUSY = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle'
"""

PARTS = {
    "web": ("opsconsole.web",),
    "workers": ("opsconsole.workers", "urgent", "bulk"),
    "beat": ("opsconsole.workers", "beat"),
}


@contextlib.contextmanager
def running(database: str, folder: pathlib.Path, **settings: str) -> Iterator[Stack]:
    """Run all parts on the database of that name until the end."""
    port = free_port()
    environment = {**os.environ, "DATABASE_POOL": "4", "PORT": str(port), "LOG_LEVEL": "INFO"}
    environment |= {"STATIC_ROOT": str(folder / "static"), "PUBLIC_URL": f"http://localhost:{port}"}
    for name in ("DATABASE_URL", "DATABASE_OWNER_URL"):
        environment[name] = with_database(os.environ[name], database)
    environment |= {"BODY_DEADLINE_SECONDS": str(BODY_DEADLINE_SECONDS), **settings}
    subprocess.run(
        [sys.executable, "manage.py", "collectstatic", "--no-input", "--verbosity", "0"],
        cwd=servers.PROJECT,
        env=environment,
        check=True,
    )
    stack = Stack(f"http://localhost:{port}", port, environment, folder)
    try:
        for name in PARTS:
            stack.begin(name)
        stack.wait_until_ready()
        yield stack
    finally:
        for name, process in stack.processes.items():
            stack._signal(name, signal.SIGCONT)
            process.terminate()
        for process in stack.processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=15)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def with_database(url: str, name: str) -> str:
    """Return `url` with another database's name."""
    known = psycopg.conninfo.conninfo_to_dict(url)
    base, _, query = url.partition("?")
    start, _, _ = base.rpartition("/")
    assert known["dbname"], url
    return f"{start}/{name}{'?' if query else ''}{query}"
