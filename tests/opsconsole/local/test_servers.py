"""The embedded servers: fresh, shared, killed, closed in, and gone at the end."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import psutil
import psycopg
import pytest
import redis

from opsconsole.local import account, processes, servers


@pytest.fixture
def folder() -> Iterator[pathlib.Path]:
    """A folder that every account can pass through, which pytest's own are not."""
    made = pathlib.Path(tempfile.mkdtemp(prefix="ops-"))
    made.chmod(0o711)
    yield made
    for data in (found.parent for found in made.rglob("words.json")):
        place = servers.open_place(data)
        servers.stop(place)
        shutil.rmtree(place.sockets, ignore_errors=True)
    shutil.rmtree(made)


def ask(place: servers.Place, question: str, *, name: str = "DATABASE_URL") -> object:
    """Ask the cluster of `place` one question."""
    with psycopg.connect(place.environment()[name], autocommit=True) as connection:
        row = connection.execute(question.encode()).fetchone()
        return row[0] if row else None


def processes_on(folder: pathlib.Path) -> set[int]:
    """Return the processes that were started with a path in `folder`."""
    found = set()
    for process in psutil.process_iter():
        try:
            if any(str(folder) in word for word in process.cmdline()) and process.pid != os.getpid():
                found.add(process.pid)
        except psutil.Error:
            continue
    return found


def test_fresh_servers_answer_and_leave_nothing_behind(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL"):
        monkeypatch.delenv(name)

    with servers.use(folder / "data") as place:
        assert ask(place, "SELECT current_user::text") == "opsconsole_app"
        assert ask(place, "SELECT current_user::text", name="DATABASE_OWNER_URL") == "opsconsole_owner"
        assert ask(place, "SELECT bool_or(rolsuper) FROM pg_roles WHERE rolname ~ '^opsconsole'") is False
        assert ask(place, "SELECT datlocale FROM pg_database WHERE datname = 'opsconsole'") == "C.UTF-8"
        assert ask(place, "SHOW fsync") == "on"
        assert ask(place, "SHOW synchronous_commit") == "on"
        assert ask(place, "SHOW log_min_error_statement") == "panic"
        with redis.Redis.from_url(place.environment()["REDIS_URL"]) as client:
            assert client.ping()
        assert len(processes_on(folder)) >= 2

    assert processes_on(folder) == set()
    assert not (folder / "data" / "servers.json").exists()


def test_secrets_are_for_their_owner_alone(folder: pathlib.Path) -> None:
    place = servers.open_place(folder / "data")

    assert stat.S_IMODE((place.data / "words.json").stat().st_mode) == 0o600
    assert len(set(place.words.values())) == len(place.words)
    assert stat.S_IMODE(place.sockets.stat().st_mode) == 0o700


def test_a_stranger_without_the_password_is_not_let_in(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL")

    with servers.use(folder / "data") as place:
        url = place.environment()["DATABASE_URL"].replace(place.words["app_password"], "guess")

        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(url)


def test_servers_that_were_killed_come_back_with_what_was_committed(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_OWNER_URL")
    place = servers.open_place(folder / "data")
    children = servers.start(place)
    with psycopg.connect(place.environment()["DATABASE_OWNER_URL"], autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS number")

    for child in children.values():
        os.kill(child.pid, signal.SIGKILL)
    servers.reap(children)
    assert (place.sockets / "valkey.sock").exists()
    again = servers.start(place)

    assert ask(place, "SELECT number FROM kept", name="DATABASE_OWNER_URL") == 42
    servers.stop(place)
    servers.reap(again)


def test_a_lock_whose_number_belongs_to_another_process_now_does_not_stop_the_start(
    folder: pathlib.Path,
) -> None:
    place = servers.open_place(folder / "data")
    children = servers.start(place)
    lock = place.postgres.folder / "postmaster.pid"
    lines = lock.read_text().splitlines()
    children["postgres"].kill()
    servers.reap({"postgres": children["postgres"]})
    # As after a restart in a container, where numbers are few.
    with subprocess.Popen(["sleep", "600"], **place.runner.popen()) as other:
        lock.write_text("\n".join([str(other.pid), *lines[1:]]) + "\n")

        again = servers.start(place)

        assert other.poll() is None
        other.kill()
    servers.stop(place)
    servers.reap({**again, "valkey-before": children["valkey"]})


def test_what_a_killed_supervisor_left_running_is_ended_by_the_next(folder: pathlib.Path) -> None:
    code = f"""
import pathlib, sys, time
from opsconsole.local import servers
with servers.use(pathlib.Path({str(folder / "data")!r})):
    print("up", flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == "up\n"
        left = {entry.pid for entry in processes.recall(folder / "data" / "servers.json")}
        supervisor.kill()
    assert all(psutil.pid_exists(pid) for pid in left)

    with servers.use(folder / "data") as place:
        now = {entry.pid for entry in processes.recall(place.started)}

    assert left.isdisjoint(now)
    assert processes_on(folder) == set()


def test_two_commands_share_the_servers_and_the_last_one_stops_them(folder: pathlib.Path) -> None:
    code = f"""
import pathlib, sys
from opsconsole.local import processes, servers
with servers.use(pathlib.Path({str(folder / "data")!r})) as place:
    print([entry.pid for entry in processes.recall(place.started)], flush=True)
    sys.stdin.readline()
    print(servers.are_running(place), flush=True)
"""
    command = [sys.executable, "-c", code]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as first, subprocess.Popen(command, **pipes) as second:
        told = [first.stdout.readline(), second.stdout.readline()]
        assert told[0] == told[1]

        first.stdin.write("\n")
        first.stdin.flush()
        assert first.stdout.readline() == "True\n"
        # The one that started the servers waits for the other; the other ends at once.
        with contextlib.suppress(subprocess.TimeoutExpired):
            first.wait(timeout=1)
        assert second.communicate("\n", timeout=60) == ("True\n", None)
        assert first.wait(timeout=60) == 0

    assert processes_on(folder) == set()


def test_two_data_folders_run_side_by_side(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL")

    with servers.use(folder / "one") as one, servers.use(folder / "two") as two:
        assert one.words["postgres_port"] != two.words["postgres_port"]
        assert ask(one, "SELECT 1") == ask(two, "SELECT 1") == 1


def test_servers_live_where_their_account_can_enter_and_a_closed_folder_stays_closed(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account, "SHARED_BASE", folder / "shared")
    closed = folder / "closed"
    closed.mkdir(mode=0o700)

    with servers.use(closed / "data") as place:
        elsewhere = folder / "shared" / "data"
        assert place.servers.is_relative_to(elsewhere if os.geteuid() == 0 else closed)
        assert servers.are_running(place)

    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.stat().st_mode) == 0o711


def test_programs_that_the_account_cannot_run_are_copied_for_it(folder: pathlib.Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    source = closed / "program"
    source.write_text("#!/bin/sh\necho version\n")
    source.chmod(0o755)
    runner = account.choose()
    assert runner.can_run(source) is (os.geteuid() != 0)

    copy = folder / "copy"
    account.copy_for_everybody([source], copy)
    account.copy_for_everybody([source], copy)

    assert runner.can_run(copy / "program")
    assert copy.stat().st_uid == os.geteuid()
    assert not copy.stat().st_mode & 0o022


def test_a_path_too_long_for_a_socket_gets_a_short_one(folder: pathlib.Path) -> None:
    place = servers.open_place(folder / ("long-" * 20) / "data with spaces")

    assert len(f"{place.sockets}/.s.PGSQL.65535") <= servers.SOCKET_PATH_BYTES_MOST
    children = servers.start(place)
    assert servers.are_running(place)
    servers.stop(place)
    servers.reap(children)


def test_throwaway_servers_leave_no_folder_and_a_killed_run_is_swept_by_the_next() -> None:
    code = """
import time
from opsconsole.local import servers
with servers.throwaway() as place:
    servers.start(place)
    print(place.data, flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        left = pathlib.Path(run.stdout.readline().strip())
        run.kill()
    assert left.exists()

    began = time.monotonic()
    with servers.throwaway() as place:
        assert place.data.exists()

    assert not left.exists()
    assert not place.data.exists()
    assert processes_on(left) == set()
    assert time.monotonic() - began < 60
