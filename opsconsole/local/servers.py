"""Both servers on one data folder: started, shared by whoever comes, and stopped.

One process supervises a folder; it holds `supervisor.lock`, which the system lets go even after `kill -9`.
Whoever gets the lock next first ends what a killed supervisor left running. Others use the running servers
and hold `users.lock` shared, so that a command does not stop servers under another command.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator

from opsconsole.local import account, locks, postgres, processes, valkey

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
# The system's limit is 107 bytes, on some 103.
SOCKET_PATH_BYTES_MOST = 100
WAIT_FOR_OTHERS_S = 120.0
PORTS_TRIED = 5


@dataclasses.dataclass(frozen=True)
class Place:
    """A data folder with what was decided about it the first time."""

    data: pathlib.Path
    servers: pathlib.Path
    sockets: pathlib.Path
    runner: account.Account
    words: dict[str, str]
    is_throwaway: bool

    @property
    def postgres(self) -> postgres.Postgres:
        """Return the cluster of this place."""
        return postgres.Postgres(
            folder=self.servers / "postgres",
            socket_folder=self.sockets,
            log=self.data / "postgres.log",
            runner=self.runner,
            port=int(self.words["postgres_port"]),
            listens_on_tcp=not self.is_throwaway,
            is_throwaway=self.is_throwaway,
            shared_buffers=os.environ.get("POSTGRES_SHARED_BUFFERS") or "64MB",
            max_connections=100 if self.is_throwaway else 60,
        )

    @property
    def valkey(self) -> valkey.Valkey:
        """Return the Valkey of this place."""
        return valkey.Valkey(
            folder=self.servers / "valkey",
            socket=self.sockets / "valkey.sock",
            log=self.data / "valkey.log",
            runner=self.runner,
            is_throwaway=self.is_throwaway,
        )

    @property
    def started(self) -> pathlib.Path:
        """Return the file that remembers the servers' processes."""
        return self.data / "servers.json"

    def environment(self) -> dict[str, str]:
        """Return the variables by which the product reaches these servers; what is set already wins."""
        base = {
            "SECRET_KEY": self.words["secret_key"],
            "DATABASE_URL": self.postgres.url(user=postgres.APP, password=self.words["app_password"]),
            "DATABASE_OWNER_URL": self.postgres.url(
                user=postgres.OWNER, password=self.words["owner_password"]
            ),
            "REDIS_URL": self.valkey.url(),
            "ALLOWED_HOSTS": "localhost,127.0.0.1,[::1]",
            "PLAIN_HTTP": "yes",
            "EMAIL_URL": (self.data / "mail").as_uri(),
            "STATIC_ROOT": str(self.data / "static"),
        }
        return {name: os.environ.get(name) or value for name, value in base.items()}


def data_folder() -> pathlib.Path:
    """Return the data folder: OPSCONSOLE_DATA, or `.data` beside the project."""
    return pathlib.Path(os.environ.get("OPSCONSOLE_DATA") or PROJECT / ".data").absolute()


def open_place(data: pathlib.Path, *, is_throwaway: bool = False) -> Place:
    """Return the place for `data`, made if need be. What was decided the first time stays."""
    with contextlib.suppress(FileExistsError):
        data.parent.mkdir(parents=True, exist_ok=True)
        data.mkdir(mode=0o711)
        # Against a narrow umask: the account of the servers passes through, and sees nothing.
        data.chmod(0o711)
    with locks.hold(data / "words.lock"):
        runner = account.choose()
        words = _read_words(data / "words.json")
        if not words:
            outside = not runner.can_enter(data)
            words = _new_words()
            words["servers"] = str(_outside(data)) if outside else ""
            processes.write_private(data / "words.json", json.dumps(words, indent=1))
    servers = pathlib.Path(words["servers"] or data)
    if not runner.can_enter(servers):
        raise account.CannotStart(
            f"The account {runner.name}, which runs the servers, cannot enter {servers}: "
            "open the folders above it (chmod o+x) or choose another OPSCONSOLE_DATA."
        )
    return Place(data, servers, _socket_folder(servers, runner), runner, words, is_throwaway)


def start(place: Place) -> dict[str, subprocess.Popen[bytes]]:
    """Start both servers, ready to use; whoever calls this holds the supervisor's lock."""
    stop(place)
    place.postgres.initialise(place.words["superuser_password"])
    children = {"postgres": _start_on_a_free_port(place)}
    try:
        processes.remember(place.started, "postgres", children["postgres"].pid)
        place.postgres.prepare(
            superuser=place.words["superuser_password"],
            owner=place.words["owner_password"],
            app=place.words["app_password"],
        )
        children["valkey"] = place.valkey.start()
        processes.remember(place.started, "valkey", children["valkey"].pid)
    except BaseException:
        stop(place)
        reap(children)
        raise
    return children


def stop(place: Place) -> bool:
    """Stop both servers, whoever started them; returns whether any ran."""
    any_ran = False
    for entry in reversed(processes.recall(place.started)):
        by = postgres.STOP_SIGNAL if entry.name == "postgres" else valkey.STOP_SIGNAL
        any_ran = entry.end(by=by, within_s=30) or any_ran
    # One that was started but not yet remembered when its supervisor was killed.
    stray = place.postgres.find_running()
    if stray is not None:
        any_ran = stray.end(by=postgres.STOP_SIGNAL, within_s=30) or any_ran
    place.started.unlink(missing_ok=True)
    return any_ran


def reap(children: dict[str, subprocess.Popen[bytes]]) -> None:
    """Take note of the ends of servers that this process started."""
    for child in children.values():
        child.wait()


def are_running(place: Place) -> bool:
    """Tell whether both servers were started and still run."""
    entries = {entry.name: entry for entry in processes.recall(place.started)}
    return {"postgres", "valkey"} <= entries.keys() and all(entry.find() for entry in entries.values())


@contextlib.contextmanager
def use(data: pathlib.Path) -> Iterator[Place]:
    """Use the servers of `data`: those that run, or our own for as long as this lasts."""
    until = time.monotonic() + WAIT_FOR_OTHERS_S
    while True:
        place = open_place(data)
        supervisor = locks.take(data / "supervisor.lock")
        if supervisor is not None:
            break
        with locks.hold(data / "users.lock", shared=True):
            if are_running(place):
                yield place
                return
        if time.monotonic() > until:
            raise account.CannotStart(f"Another process starts the servers of {data} and does not finish.")
        time.sleep(0.05)
    with supervisor:
        children = start(place)
        try:
            yield place
        finally:
            with locks.hold(data / "users.lock"):
                stop(place)
            reap(children)


@contextlib.contextmanager
def throwaway() -> Iterator[Place]:
    """Reserve a place for servers to throw away; nothing runs until `start`, nothing is left at the end."""
    base = pathlib.Path(tempfile.gettempdir())
    for left in base.glob("opsconsole-throwaway-*"):
        _sweep(left)
    data = pathlib.Path(tempfile.mkdtemp(prefix="opsconsole-throwaway-", dir=base))
    supervisor = locks.take(data / "supervisor.lock")
    assert supervisor is not None, "the folder is new"
    with supervisor:
        data.chmod(0o711)
        place = open_place(data, is_throwaway=True)
        try:
            yield place
        finally:
            _remove(place)


def _sweep(left: pathlib.Path) -> None:
    """Remove what a killed test run left; a living one holds its lock."""
    if not (left / "supervisor.lock").exists() or left.stat().st_uid != os.geteuid():
        return
    held = locks.take(left / "supervisor.lock")
    if held is not None:
        with held:
            _remove(open_place(left, is_throwaway=True))


def _remove(place: Place) -> None:
    stop(place)
    for folder in {place.data, place.servers, place.sockets}:
        shutil.rmtree(folder, ignore_errors=True)


def _read_words(path: pathlib.Path) -> dict[str, str]:
    try:
        words = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    return {str(name): str(value) for name, value in words.items()}


def _new_words() -> dict[str, str]:
    words = {name: secrets.token_hex(24) for name in ("superuser_password", "owner_password", "app_password")}
    return {**words, "secret_key": secrets.token_urlsafe(64), "postgres_port": "5432"}


def _outside(data: pathlib.Path) -> pathlib.Path:
    """Return a folder for the servers of a `data` that their account cannot reach."""
    base = account.shared_folder("data")
    folder = base / hashlib.sha256(str(data).encode()).hexdigest()[:16]
    folder.mkdir(mode=0o711, exist_ok=True)
    folder.chmod(0o711)
    return folder


def _socket_folder(servers: pathlib.Path, runner: account.Account) -> pathlib.Path:
    """Return a folder for the sockets whose path is short and needs no quoting in an address."""
    near = servers / "run"
    if len(f"{near}/.s.PGSQL.65535") <= SOCKET_PATH_BYTES_MOST and re.fullmatch(
        r"[\w/.-]+", str(near), re.ASCII
    ):
        return runner.make_folder(near)
    far = pathlib.Path("/tmp") / f"opsconsole-{hashlib.sha256(str(servers).encode()).hexdigest()[:16]}"
    if not far.exists():
        runner.make_folder(far)
    kind = far.lstat()
    if far.is_symlink() or kind.st_uid != runner.uid or kind.st_mode & 0o077:
        raise account.CannotStart(
            f"{far} is in the way: it must be a folder that only {runner.name} can open."
        )
    return far


def _start_on_a_free_port(place: Place) -> subprocess.Popen[bytes]:
    for _ in range(PORTS_TRIED):
        _take_a_port(place)
        with contextlib.suppress(account.PortTaken):
            return place.postgres.start()
    raise account.CannotStart("PostgreSQL did not start: each port that was free was taken a moment later.")


def _take_a_port(place: Place) -> None:
    """Keep the last port while it is free, so that addresses people noted stay good."""
    if place.is_throwaway:
        return
    for port in (int(place.words["postgres_port"]), 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            place.words["postgres_port"] = str(probe.getsockname()[1])
            break
    processes.write_private(place.data / "words.json", json.dumps(place.words, indent=1))
