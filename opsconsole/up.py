"""`make up`: every part of the console in one foreground process, which ends them all.

Nothing is restarted silently. When a part ends by itself, the others are ended too, and this says which part
it was, what it said last, and exits with 1.
"""

from __future__ import annotations

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import types
from typing import NoReturn

import psutil

from opsconsole import parts
from opsconsole.local import account, processes, servers

READY_WITHIN_S = 90.0
# The threads that serve, for each web process; a page or a batch takes milliseconds of them.
WEB_THREADS = 8


class Told(BaseException):
    """A signal came."""


def main() -> int:
    """Run `up` or `down`; returns the exit code."""
    data = servers.data_folder()
    try:
        if sys.argv[1:] == ["down"]:
            return down(data)
        return up(data, port())
    except (account.CannotStart, parts.Failed) as error:
        print(f"opsconsole: {error}", file=sys.stderr)
        return 1
    except Told:
        return 130


def up(data: pathlib.Path, port: int) -> int:
    """Start everything, say where it is, and stay until a signal or a failure."""
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(sign, _tell)
    place = servers.open_place(data)
    supervisor = servers.try_lock(data / "supervisor.lock")
    if supervisor is None:
        return tell_of_the_running(data)
    with supervisor:
        parts.end_leftovers(place)
        refuse_taken(port)
        watched: list[parts.Part] = []
        processes.remember(data / "up.json", "up", os.getpid())
        try:
            run(place, port, watched)
        except Told:
            print("\nStopping.", flush=True)
            return 0
        finally:
            (data / "ready.json").unlink(missing_ok=True)
            (data / "up.json").unlink(missing_ok=True)
            # A second Ctrl-C must not leave half of it running.
            for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(sign, signal.SIG_IGN)
            parts.end(place, watched)
    return 0


def run(place: servers.Place, port: int, watched: list[parts.Part]) -> NoReturn:
    """Start the parts in order and watch them."""
    say(f"PostgreSQL and Valkey ({place.data})")
    children = servers.start(place)
    for name, child in children.items():
        watched.append(parts.Part(name, [], child, place.data / f"{name}.log"))
    environment = variables(place, port)
    say("Tables, static files, accounts and demo")
    told = prepare(place, environment)
    say("Web server and workers")
    for name, command in commands(port).items():
        watched.append(parts.begin(place, name, command, environment))
    wait_until_ready(port, watched)
    address = f"http://localhost:{port}"
    ready = {
        "address": address,
        "pids": {"up": os.getpid(), **{part.name: part.process.pid for part in watched}},
        **{name: told[name] for name in ("project", "ingest_key", "read_key")},
    }
    processes.write_private(place.data / "ready.json", json.dumps(ready, indent=1))
    greet(address, told)
    parts.watch(watched)


def commands(port: int) -> dict[str, list[str]]:
    """Return how each part is started, given the environment."""
    web = [sys.executable, "-m", "granian", "--interface", "wsgi", "--http", "1", "--no-ws"]
    web += ["--host", host(), "--port", str(port)]
    web += ["--workers", os.environ.get("WEB_WORKERS") or str(min(2, os.cpu_count() or 1))]
    web += ["--blocking-threads", os.environ.get("WEB_THREADS") or str(WEB_THREADS)]
    web += ["--workers-kill-timeout", "10", "--log-level", "warning", "opsconsole.wsgi:application"]
    return {"web": web, "workers": [sys.executable, "-m", "opsconsole.workers"]}


def variables(place: servers.Place, port: int) -> dict[str, str]:
    """Return the environment of every part."""
    return {
        **os.environ,
        **place.environment(),
        "OPSCONSOLE_DATA": str(place.data),
        "PUBLIC_URL": os.environ.get("PUBLIC_URL") or f"http://localhost:{port}",
        # Freed memory goes back to the system, and threads share what is kept.
        "MALLOC_ARENA_MAX": os.environ.get("MALLOC_ARENA_MAX") or "2",
    }


def prepare(place: servers.Place, environment: dict[str, str]) -> dict[str, str]:
    """Bring tables, files and accounts up to date; returns what `manage.py prepare` tells."""
    command = [sys.executable, "manage.py", "prepare", "--keys", str(place.data / "demo-keys.json")]
    if os.environ.get("DEMO", "").lower() in {"no", "0", "off", "false"}:
        command.append("--no-demo")
    log = place.data / "prepare.log"
    with log.open("wb") as said:
        done = subprocess.run(
            command, cwd=servers.PROJECT, env=environment, stdout=subprocess.PIPE, stderr=said, text=True
        )
    if done.returncode:
        raise parts.Failed(f"preparing failed: {parts.last_words(log)}")
    told: dict[str, str] = json.loads(done.stdout)
    return told


def wait_until_ready(port: int, watched: list[parts.Part]) -> None:
    """Wait until /readyz agrees, or say what it still misses."""
    until = time.monotonic() + READY_WITHIN_S
    reasons = "no answer"
    while time.monotonic() < until:
        parts.refuse_ended(watched)
        try:
            line = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            line.request("GET", "/readyz", headers={"Host": "localhost"})
            answer = line.getresponse()
            body = answer.read()
            line.close()
            if answer.status == 200:
                return
            reasons = ", ".join(json.loads(body).get("reasons", []))
        except (OSError, http.client.HTTPException, ValueError):
            pass
        time.sleep(0.1)
    raise parts.Failed(f"the console was not ready after {READY_WITHIN_S:.0f} s: {reasons}")


def down(data: pathlib.Path) -> int:
    """Stop the console that runs on `data`, or what a killed one left."""
    if not data.exists():
        print(f"Nothing runs on {data}.")
        return 0
    place = servers.open_place(data)
    for entry in processes.recall(data / "up.json"):
        if entry.end(within_s=60):
            print("Stopped.")
            return 0
    supervisor = servers.try_lock(data / "supervisor.lock")
    if supervisor is None:
        raise parts.Failed(f"a command still uses the servers of {data}; they stop when it ends.")
    with supervisor:
        parts.end_leftovers(place)
        print("Stopped." if servers.stop(place) else f"Nothing runs on {data}.")
    return 0


def port() -> int:
    """Return the port of the console: PORT, or 8000."""
    word = os.environ.get("PORT") or "8000"
    if not word.isdigit() or not 0 < int(word) < 65536:
        raise parts.Failed(f"PORT must be a number from 1 to 65535, not {word!r}.")
    return int(word)


def refuse_taken(port: int) -> None:
    """Raise when something else listens on the port, and say what."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host(), port))
            return
        except PermissionError:
            raise parts.Failed(
                f"port {port} needs rights that this account has not; give another PORT."
            ) from None
        except OSError:
            pass
    raise parts.Failed(f"port {port} is held by {holder(port)}; stop it or give another PORT.")


def holder(port: int) -> str:
    """Name the process that listens on `port`, as far as this account may see."""
    try:
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port and connection.pid:
                return f"{psutil.Process(connection.pid).name()} (process {connection.pid})"
    except psutil.Error:
        pass
    return "another process"


def tell_of_the_running(data: pathlib.Path) -> int:
    """Say what uses this data folder already."""
    try:
        ready = json.loads((data / "ready.json").read_text())
    except FileNotFoundError:
        raise parts.Failed(
            f"another process uses {data}: a command, or a console that is starting."
        ) from None
    print(f"The console runs already: {ready['address']} (process {ready['pids']['up']}, data in {data}).")
    return 0


def greet(address: str, told: dict[str, str]) -> None:
    """Print where the console is and how to sign in; a new password is shown this once."""
    print(f"\n  {address}\n")
    print(f"  Sign in as  {told['email']}")
    if told["password"]:
        print(f"  Password    {told['password']}   (shown this once; only its hash is kept)")
    else:
        print(f"  Password    as shown at the first start, or: manage.py changepassword {told['email']}")
    print("\n  Ctrl-C stops everything.", flush=True)


def say(step: str) -> None:
    """Print a step that begins."""
    print(f"- {step}", flush=True)


def host() -> str:
    """Return the address to listen on: HOST, or this machine only."""
    return os.environ.get("HOST") or "127.0.0.1"


def _tell(sign: int, frame: types.FrameType | None) -> None:
    raise Told


if __name__ == "__main__":
    raise SystemExit(main())
