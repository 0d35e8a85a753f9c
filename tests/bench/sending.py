"""Post bodies over a number of connections and measure until the last answer, which means: durable and visible."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from tests.bench import console, processes

RETRIED = {429, 502, 503, 504}


class Measured(NamedTuple):
    """One run: how many records, how fast, and what it cost the server."""

    records: int
    seconds: float
    cpu_s: float
    p50_ms: float
    p95_ms: float
    retries: int

    @property
    def per_second(self) -> float:
        """Records a second."""
        return self.records / self.seconds

    @property
    def cpu_s_per_1000(self) -> float:
        """CPU seconds of all server processes, database included, for 1,000 records."""
        return self.cpu_s / self.records * 1000


class Pipe:
    """Hands out bodies to the connections and gathers what they saw."""

    def __init__(self, bodies: Sequence[tuple[int, bytes]]) -> None:
        self._bodies, self._next, self._lock = bodies, 0, threading.Lock()
        self.took_s: list[float] = []
        self.retries = 0
        self.failure: str | None = None

    def take(self) -> bytes | None:
        """Return the next body, or None at the end or after a failure."""
        with self._lock:
            if self._next >= len(self._bodies) or self.failure:
                return None
            self._next += 1
            return self._bodies[self._next - 1][1]


def post(
    running: console.Console,
    path: str,
    content_type: str,
    bodies: Sequence[tuple[int, bytes]],
    connections: int,
) -> Measured:
    """Post `bodies`; raises when an answer is neither success nor "try again"."""
    pipe = Pipe(bodies)
    threads = [
        threading.Thread(target=_connect, args=(running, path, content_type, pipe))
        for _ in range(connections)
    ]
    cpu_before, before = processes.cpu_s(running.pids), time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - before
    cpu = processes.cpu_s(running.pids) - cpu_before
    if pipe.failure:
        raise RuntimeError(pipe.failure)
    took = sorted(pipe.took_s)
    return Measured(
        sum(count for count, _ in bodies),
        seconds,
        cpu,
        took[len(took) // 2] * 1000,
        took[int(len(took) * 0.95)] * 1000,
        pipe.retries,
    )


def _connect(running: console.Console, path: str, content_type: str, pipe: Pipe) -> None:
    headers = {"Authorization": f"Bearer {running.ingest_key}", "Content-Type": content_type}
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=120)
    while (body := pipe.take()) is not None:
        before = time.perf_counter()
        while True:
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status not in RETRIED:
                break
            pipe.retries += 1
            time.sleep(min(1.0, float(answer.headers.get("Retry-After") or 0.05)))
        if answer.status != 200:
            pipe.failure = f"{answer.status}: {content[:300]!r}"
            break
        pipe.took_s.append(time.perf_counter() - before)
    connection.close()
