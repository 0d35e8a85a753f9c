"""Send made-up records over HTTP as a careful client does: in batches, packed, and again when it was not answered."""

from __future__ import annotations

import gzip
import http.client
import json
import time
import urllib.parse
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from operations.simulation.calls import Said

BATCH_MAX = 500
_PATIENCE_S = 60.0
_AGAIN = frozenset({429, 502, 503, 504})


class Refused(Exception):
    """The console refused a request as a whole, or could not be reached."""


class Client:
    """One connection to one console, with one key."""

    def __init__(self, url: str, key: str) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise Refused(f"{url!r} is not the address of a console, as in http://localhost:8000.")
        is_safe = parts.scheme == "https"
        make = http.client.HTTPSConnection if is_safe else http.client.HTTPConnection
        self._line = make(parts.hostname, parts.port, timeout=30)
        self._path = parts.path.rstrip("/") + "/v1/operations"
        self._key = key
        self.counts: Counter[str] = Counter()

    def send(self, said: Iterable[Said]) -> None:
        """Send every record, in order, each runtime's in its own manner; raises `Refused`."""
        for batch in _batches(said):
            body, headers = _pack(batch)
            answer = self._post(body, headers)
            self.counts["records"] += len(batch)
            self.counts["requests"] += 1
            for name in ("accepted", "merged", "duplicate", "rejected"):
                self.counts[name] += int(answer.get(name, 0))

    def close(self) -> None:
        """Hang up."""
        self._line.close()

    def _post(self, body: bytes, headers: dict[str, str]) -> dict[str, Any]:
        """Post until it is answered; a record that was stored already is answered `duplicate`."""
        until = time.monotonic() + _PATIENCE_S
        wait_s = 0.25
        while True:
            status, why = 0, ""
            try:
                self._line.request(
                    "POST", self._path, body, {**headers, "Authorization": f"Bearer {self._key}"}
                )
                answer = self._line.getresponse()
                content, status = answer.read(), answer.status
            except (OSError, http.client.HTTPException) as error:
                self._line.close()
                why = f"{type(error).__name__}: {error}"
            else:
                if status in {200, 207} or (status == 400 and b'"results"' in content):
                    told: dict[str, Any] = json.loads(content)
                    return told
                why = f"{status} {content[:300].decode(errors='replace')}"
                wait_s = max(wait_s, float(answer.getheader("Retry-After") or 0))
            if (status and status not in _AGAIN) or time.monotonic() + wait_s > until:
                raise Refused(why)
            self.counts["retries"] += 1
            time.sleep(wait_s)
            wait_s = min(wait_s * 2, 8.0)


def _batches(said: Iterable[Said]) -> Iterator[list[Said]]:
    """Cut what is sent into batches of one runtime; what it said later never comes before what it said earlier."""
    waiting: dict[str, list[Said]] = {}
    for one in said:
        batch = waiting.setdefault(one.runtime.name, [])
        batch.append(one)
        if len(batch) == BATCH_MAX:
            yield waiting.pop(one.runtime.name)
    yield from waiting.values()


def _pack(batch: list[Said]) -> tuple[bytes, dict[str, str]]:
    """Return the body and headers in the manner of the runtime that sends it."""
    runtime, records = batch[0].runtime, [one.record for one in batch]
    if runtime.is_ndjson:
        body = "".join(json.dumps(record) + "\n" for record in records).encode()
        headers = {"Content-Type": "application/x-ndjson"}
    else:
        body = json.dumps(records).encode()
        headers = {"Content-Type": "application/json"}
    headers["User-Agent"] = runtime.name.replace("@", "/")
    if runtime.is_gzipped:
        return gzip.compress(body, 5), {**headers, "Content-Encoding": "gzip"}
    return body, headers
