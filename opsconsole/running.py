"""What runs on a data folder already: told of, sent traffic, stopped; and what else holds the port."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys

import psutil

from opsconsole.local import locks, processes, servers


class Failed(Exception):
    """A part failed; the message says which and why."""


def tell(data: pathlib.Path) -> int:
    """Say what uses this data folder already."""
    try:
        ready = json.loads((data / "ready.json").read_text())
    except FileNotFoundError:
        raise Failed(f"another process uses {data}: a command, or a console that is starting.") from None
    print(f"The console runs already: {ready['address']} (process {ready['pids']['up']}, data in {data}).")
    return 0


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
    supervisor = locks.take(data / "supervisor.lock")
    if supervisor is None:
        raise Failed(f"a command still uses the servers of {data}; they stop when it ends.")
    with supervisor:
        end_leftovers(place)
        print("Stopped." if servers.stop(place) else f"Nothing runs on {data}.")
    return 0


def demo(data: pathlib.Path) -> int:
    """Send a minute of lively made-up traffic to the running console's demo, as a client would."""
    try:
        ready = json.loads((data / "ready.json").read_text())
    except FileNotFoundError:
        raise Failed(f"no console runs on {data}; start one with `make up`.") from None
    command = [sys.executable, "manage.py", "simulate", "--url", ready["address"]]
    command += ["--rate", "20000", "--duration", "60s"]
    environment = {**os.environ, "OPSCONSOLE_DATA": str(data), "OPSCONSOLE_KEY": ready["ingest_key"]}
    return subprocess.run(command, cwd=servers.PROJECT, env=environment).returncode


def end_leftovers(place: servers.Place) -> None:
    """End what a killed `make up` left running on this data folder."""
    for entry in processes.recall(place.data / "parts.json"):
        if entry.end():
            print(f"Ended '{entry.name}', which a killed run had left.", flush=True)
        processes.kill_session(entry)
    for name in ("parts.json", "up.json", "ready.json"):
        (place.data / name).unlink(missing_ok=True)


def refuse_taken(port: int) -> None:
    """Raise when something else listens on the port, and say what."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host(), port))
            return
        except PermissionError:
            raise Failed(f"port {port} needs rights that this account has not; give another PORT.") from None
        except OSError:
            pass
    raise Failed(f"port {port} is held by {holder(port)}; stop it or give another PORT.")


def holder(port: int) -> str:
    """Name the process that listens on `port`, as far as this account may see."""
    with contextlib.suppress(psutil.Error):
        for line in psutil.net_connections("tcp"):
            if line.status == psutil.CONN_LISTEN and line.pid and line.laddr and line.laddr.port == port:
                return f"{psutil.Process(line.pid).name()} (process {line.pid})"
    return "another process"


def host() -> str:
    """Return the address to listen on: HOST, or this machine only."""
    return os.environ.get("HOST") or "127.0.0.1"
