"""Clients that never give up: each sends its records until every one of them was acknowledged."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import http.client
import json
import random
import threading
import time
from collections.abc import Iterator, Sequence

from tests.chaos import console

GIVE_UP_AFTER_S = 90.0

Record = dict[str, object]


@dataclasses.dataclass
class Sent:
    """What the clients were told so far."""

    acknowledged: int = 0
    retries: int = 0
    refused: list[object] = dataclasses.field(default_factory=list)
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    def acknowledge(self, records: int) -> None:
        """Note that so many records were answered as stored."""
        with self.lock:
            self.acknowledged += records

    def note(self, *, refused: object = None) -> None:
        """Note that a batch must be sent again, or that it never can be."""
        with self.lock:
            self.retries += 1
            if refused is not None:
                self.refused.append(refused)


def two_phases(operations: int, *, seed: int) -> list[list[Record]]:
    """Return batches of the records of so many calls: start and ending apart, shuffled, some of them twice."""
    dice = random.Random(seed)
    now = datetime.datetime.now(tz=datetime.UTC)
    told: list[Record] = []
    for number in range(operations):
        name = f"op-{seed}-{number}"
        started_at = now - datetime.timedelta(seconds=dice.randrange(1, 7200))
        ended_at = started_at + datetime.timedelta(milliseconds=dice.randrange(1, 5000))
        outcome = dice.choice(["success", "success", "failure"])
        start: Record = {
            "operation_id": name,
            "tool": dice.choice(["search", "refund", "reply"]),
            "effect": "write",
        }
        start |= {"started_at": started_at.isoformat(), "input": {"value": {"number": number}}}
        ending: Record = {
            "operation_id": name,
            "status": "done",
            "outcome": outcome,
            "ended_at": ended_at.isoformat(),
        }
        if outcome == "failure":
            ending |= {
                "code": dice.choice(["quota", "not_found"]),
                "error": {"text": f"call {number} failed"},
            }
        told += [start, ending]
    told += dice.sample(told, len(told) // 10)
    dice.shuffle(told)
    batches = []
    while told:
        size = dice.choice((1, 7, 40, 120))
        batches.append(told[:size])
        del told[:size]
    return batches


@contextlib.contextmanager
def clients(to: console.Console, batches: Sequence[list[Record]], *, number: int) -> Iterator[Sent]:
    """Send `batches` by so many clients beside the block; at its end every record was acknowledged."""
    sent = Sent()
    left = list(batches)
    until = time.monotonic() + GIVE_UP_AFTER_S
    threads = [
        threading.Thread(target=_client, args=(to, left, sent, random.Random(seed), until))
        for seed in range(number)
    ]
    for thread in threads:
        thread.start()
    try:
        yield sent
    finally:
        for thread in threads:
            thread.join()
    assert sent.refused == []
    assert sent.acknowledged == sum(map(len, batches)), (
        f"{sent.acknowledged} of them, after {sent.retries} retries"
    )


def _client(
    to: console.Console, left: list[list[Record]], sent: Sent, dice: random.Random, until: float
) -> None:
    while True:
        with sent.lock:
            if not left:
                return
            batch = left.pop()
        while not _send(to, batch, sent):
            if time.monotonic() > until:
                return
            # As clients do: not at once, and not all together.
            time.sleep(dice.uniform(0.05, 0.3))


def _send(to: console.Console, batch: list[Record], sent: Sent) -> bool:
    """Send one batch once; returns whether the client is done with it."""
    line = http.client.HTTPConnection("localhost", to.parts.port, timeout=20)
    try:
        headers = {"Authorization": f"Bearer {to.ingest_key}", "Content-Type": "application/json"}
        line.request("POST", "/v1/operations", json.dumps(batch).encode(), headers)
        answer = line.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException):
        sent.note()
        return False
    finally:
        line.close()
    if answer.status == 200:
        sent.acknowledge(len(batch))
        return True
    if answer.status in {429, 503}:
        assert answer.headers["Retry-After"]
        sent.note()
        return False
    sent.note(refused=(answer.status, body))
    return True
