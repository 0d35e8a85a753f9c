"""`make up`: every part of the console in one foreground process, which ends them all.

Nothing is restarted silently. When a part ends by itself, the others are ended too, and this says which part
it was, what it said last, and exits with 1. The parts are forked from this process after it loaded the code, so
that they share its memory.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import http.client
import json
import os
import pathlib
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from opsconsole import forks, running, start
from opsconsole.local import account, locks, processes, servers

READY_WITHIN_S = 90.0
STOP_WITHIN_S = 20.0


def main() -> int:
    """Run `up`, `down` or `demo`; returns the exit code."""
    data = servers.data_folder()
    try:
        if sys.argv[1:] == ["down"]:
            return running.down(data)
        if sys.argv[1:] == ["demo"]:
            return running.demo(data)
        return up(data, wanted_port())
    except (account.CannotStart, running.Failed) as error:
        print(f"opsconsole: {error}", file=sys.stderr)
        return 1
    except (forks.Told, KeyboardInterrupt):
        return 130


def up(data: pathlib.Path, port: int) -> int:
    """Start everything, say where it is, and stay until a signal or a failure."""
    place = servers.open_place(data)
    supervisor = locks.take(data / "supervisor.lock")
    if supervisor is None:
        return running.tell(data)
    with supervisor:
        running.end_leftovers(place)
        running.refuse_taken(port)
        family = forks.Family(private=[supervisor.fileno()])
        processes.remember(data / "up.json", "up", os.getpid())
        try:
            run(place, port, family)
        except forks.Told:
            print("\nStopping.", flush=True)
            return 0
        finally:
            (data / "ready.json").unlink(missing_ok=True)
            family.end(within_s=STOP_WITHIN_S)
            servers.stop(place)
            for name in ("parts.json", "up.json"):
                (data / name).unlink(missing_ok=True)


def run(place: servers.Place, port: int, family: forks.Family) -> NoReturn:
    """Start the parts in order and watch them."""
    say(f"PostgreSQL and Valkey (in {place.data})")
    children = servers.start(place)
    os.environ.update(variables(place, port))
    start.set_up()
    say("Tables, static files, accounts and the demo")
    told = prepare(place, family)
    try:
        say("Web server and workers")
        load()
        pids = {"up": os.getpid(), **{name: child.pid for name, child in children.items()}}
        for name, work in works(port).items():
            pids[name] = family.fork(name, work, place.data / f"{name}.log").pid
            processes.remember(place.data / "parts.json", name, pids[name])
        refuse = functools.partial(refuse_ended, place, family)
        wait_until_ready(port, refuse)
    except BaseException:
        if told["password"]:
            # It is told once, and this was the time.
            print(f"The first admin was made: {told['email']}, password {told['password']}", flush=True)
        raise
    ready = {"address": f"http://localhost:{port}", "pids": pids}
    ready |= {name: told[name] for name in ("project", "ingest_key", "read_key")}
    processes.write_private(place.data / "ready.json", json.dumps(ready, indent=1))
    greet(f"http://localhost:{port}", told)
    while True:
        refuse()
        time.sleep(0.25)


def variables(place: servers.Place, port: int) -> dict[str, str]:
    """Return the environment of every part."""
    return {
        **place.environment(),
        "OPSCONSOLE_DATA": str(place.data),
        "PUBLIC_URL": os.environ.get("PUBLIC_URL") or f"http://localhost:{port}",
    }


def load() -> None:
    """Load the code of all parts once, before they part."""
    from opsconsole import web, workers

    web.load()
    workers.load()
    gc.collect()
    # Without this the first collection in each part would copy every page.
    gc.freeze()


def works(port: int) -> dict[str, forks.Work]:
    """Return what each part does, by its name."""
    from opsconsole import web, workers

    return {"web": functools.partial(web.serve, host=running.host(), port=port), **workers.every()}


def prepare(place: servers.Place, family: forks.Family) -> dict[str, str]:
    """Bring tables, files and accounts up to date, in a process of its own; returns what that tells."""
    reading, writing = os.pipe()

    def work() -> None:
        from django.core import management

        with os.fdopen(writing, "w") as answer:
            management.call_command(
                "prepare", keys=place.data / "demo-keys.json", no_demo=not wants_demo(), stdout=answer
            )

    family.fork("prepare", work, place.data / "prepare.log")
    os.close(writing)
    with os.fdopen(reading) as answer:
        told = answer.read()
    ended = family.wait()
    if ended.how != "exit code 0":
        raise running.Failed(f"preparing failed ({ended.how}): {last_words(ended.log)}")
    words: dict[str, str] = json.loads(told)
    return words


def refuse_ended(place: servers.Place, family: forks.Family) -> None:
    """Raise when a part ended by itself."""
    ended = family.check()
    if ended is not None:
        raise running.Failed(
            f"the part '{ended.name}' ended ({ended.how}), so all were stopped; `make up` starts them again. "
            f"Its last words: {last_words(ended.log)}"
        )
    for entry in processes.recall(place.started):
        if entry.find() is None:
            log = place.data / f"{entry.name}.log"
            raise running.Failed(
                f"the part '{entry.name}' ended, so all were stopped; `make up` starts them again. "
                f"Its last words: {last_words(log)}"
            )


def wait_until_ready(port: int, refuse: Callable[[], None]) -> None:
    """Wait until /readyz agrees, or say what it still misses."""
    until = time.monotonic() + READY_WITHIN_S
    reasons = "no answer"
    while time.monotonic() < until:
        refuse()
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            line = http.client.HTTPConnection(running.host(), port, timeout=5)
            line.request("GET", "/readyz", headers={"Host": "localhost"})
            answer = line.getresponse()
            body = answer.read()
            line.close()
            if answer.status == 200:
                return
            reasons = ", ".join(json.loads(body).get("reasons", []))
        time.sleep(0.1)
    raise running.Failed(f"the console was not ready after {READY_WITHIN_S:.0f} s: {reasons}")


def last_words(log: pathlib.Path | None) -> str:
    """Return the last line of a log that says something, and where the rest is."""
    text = log.read_text(errors="replace") if log is not None and log.exists() else ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"{lines[-1] if lines else 'it said nothing'} ({log})"


def wanted_port() -> int:
    """Return the port of the console: PORT, or 8000."""
    word = os.environ.get("PORT") or "8000"
    if not word.isdigit() or not 0 < int(word) < 65536:
        raise running.Failed(f"PORT must be a number from 1 to 65535, not {word!r}.")
    return int(word)


def wants_demo() -> bool:
    """Tell whether the demo is filled: always, but for DEMO=no."""
    return os.environ.get("DEMO", "").lower() not in {"no", "0", "off", "false"}


def greet(address: str, told: dict[str, str]) -> None:
    """Print where the console is and how to sign in; a new password is shown this once."""
    print(f"\n  {address}\n")
    print(f"  Sign in as  {told['email']}")
    if told["password"]:
        print(f"  Password    {told['password']}   (shown this once; only its hash is kept)")
    else:
        print(
            f"  Password    as shown at the first start, or: .venv/bin/python manage.py changepassword {told['email']}"
        )
    print("\n  Ctrl-C stops everything.", flush=True)


def say(step: str) -> None:
    """Print a step that begins."""
    print(f"- {step}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
