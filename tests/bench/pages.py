"""Time the pages and the read API as a signed-in person and a program see them."""

from __future__ import annotations

import http.client
import http.cookies
import json
import time
import urllib.parse
from typing import NamedTuple

from tests.bench import console

ROUNDS = 40

PAGES = (
    ("Overview, 24 h", "/p/bench/?range=24h"),
    ("Overview, 7 d", "/p/bench/?range=7d"),
    ("Operations, first page", "/p/bench/operations?range=24h"),
    ("Operations, filtered by code", "/p/bench/operations?range=24h&q=code:quota_exceeded"),
    ("Operation", "/p/bench/operation?id={operation}"),
    ("Session", "/p/bench/session?id={session}"),
)
READS = (
    ("GET /v1/operations", "/v1/operations?limit=50"),
    ("GET /v1/tally by tool and status", "/v1/tally?group_by=tool,status"),
)


class Timed(NamedTuple):
    """How long one address took, in milliseconds, and how large the answer was."""

    name: str
    p50_ms: float
    p95_ms: float
    kib: float


class Visitor:
    """A browser without pictures: keeps its cookies."""

    def __init__(self, running: console.Console) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
        self._cookies: dict[str, str] = {}

    def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        """Get one page."""
        return self._ask("GET", path, None, headers or {})

    def sign_in(self, email: str, password: str) -> None:
        """Sign in by the form."""
        _, page = self.get("/accounts/login/")
        token = page.decode().split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
        form = urllib.parse.urlencode({"login": email, "password": password, "csrfmiddlewaretoken": token})
        status, _ = self._ask(
            "POST", "/accounts/login/", form, {"Content-Type": "application/x-www-form-urlencoded"}
        )
        if status != 302:
            raise RuntimeError(f"signing in answered {status}")

    def hang_up(self) -> None:
        """End the connection, which the server may have ended long ago; the next question opens another."""
        self._connection.close()

    def _ask(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> tuple[int, bytes]:
        cookie = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        self._connection.request(method, path, body, {"Cookie": cookie, **headers})
        answer = self._connection.getresponse()
        for line in answer.headers.get_all("Set-Cookie") or []:
            for name, morsel in http.cookies.SimpleCookie(line).items():
                self._cookies[name] = morsel.value
        return answer.status, answer.read()


def visitor(running: console.Console) -> Visitor:
    """Make somebody who may look at the project, signed in."""
    password = json.loads(running.manage("create_user", "bench@example.com", "--project", "bench", "--json"))[
        "password"
    ]
    found = Visitor(running)
    found.sign_in("bench@example.com", password)
    return found


def measure(running: console.Console, signed_in: Visitor, operation_id: str) -> list[Timed]:
    """Ask for every page in turn, ROUNDS times over; returns what each took."""
    names = {
        "operation": urllib.parse.quote(operation_id, safe=""),
        "session": urllib.parse.quote(operation_id.rsplit("/", 1)[0], safe=""),
    }
    asked = [(name, path.format(**names), {}) for name, path in PAGES]
    asked += [(name, path, {"Authorization": f"Bearer {running.read_key}"}) for name, path in READS]
    signed_in.hang_up()
    took: dict[str, list[float]] = {name: [] for name, _, _ in asked}
    size: dict[str, int] = {}
    for turn in range(ROUNDS + 3):
        for name, path, headers in asked:
            before = time.perf_counter()
            status, content = signed_in.get(path, headers)
            seconds = time.perf_counter() - before
            if status != 200:
                raise RuntimeError(f"{path} answered {status}: {content[:200]!r}")
            if turn >= 3:  # the first ones warm up
                took[name].append(seconds * 1000)
            size[name] = len(content)
    return [
        Timed(name, sorted(ms)[len(ms) // 2], sorted(ms)[int(len(ms) * 0.95)], size[name] / 1024)
        for name, ms in took.items()
    ]
