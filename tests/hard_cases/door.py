"""Knock at the real door: records posted through the HTTP view, and what the database then holds."""

from __future__ import annotations

import datetime
import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection, connections
from django.test import Client
from django.utils import timezone

from analytics import recount
from operations import keys
from tests import make

JSON, NDJSON = "application/json", "application/x-ndjson"
#: What grows with records themselves; how often and when somebody asked is counted elsewhere.
TOLD = ("operation", "excerpt", "pending", "tally", "tally_histogram", "first_seen", "code_entry")

Record = dict[str, Any]


def start(operation_id: str = "op-1", **facts: Any) -> Record:
    """A call that began a minute ago and runs."""
    return {"operation_id": operation_id, "tool": "refund", "started_at": ago(minutes=1), **facts}


def ending(operation_id: str = "op-1", **facts: Any) -> Record:
    """The good end of a call, told without its start."""
    return {"operation_id": operation_id, "status": "done", "ended_at": ago(seconds=59), **facts}


def call(operation_id: str = "op-1", **facts: Any) -> Record:
    """A whole call."""
    return {**start(operation_id), **ending(operation_id), **facts}


def ago(**span: float) -> str:
    """A told time, so long before now."""
    return (timezone.now() - datetime.timedelta(**span)).isoformat()


def post(
    body: object,
    *,
    by: keys.Issued | None = None,
    query: str = "?results=1",
    kind: str = JSON,
    **headers: str,
) -> Any:
    """Post to the door, as JSON unless `body` is bytes."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return Client().post(
        f"/v1/operations{query}",
        sent,
        content_type=kind,
        headers={**make.bearer(by or make.key()), **told},
    )


def results(response: Any) -> list[str]:
    """Return what became of each record: its result, or the reason of its refusal."""
    assert response.status_code in {200, 207, 400}, (response.status_code, response.content)
    return [one.get("reason") or one["result"] for one in response.json()["results"]]


def tell(*records: Record, by: keys.Issued | None = None) -> list[str]:
    """Post records in one batch; returns what became of each."""
    return results(post(list(records), by=by))


def rows(columns: str) -> list[tuple[Any, ...]]:
    """Return these columns of every stored operation, by identity and day."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns} FROM operation ORDER BY project_id, operation_id, attempt, day")
        return list(cursor.fetchall())


def all_told() -> dict[str, list[str]]:
    """Return every table that records fill, whole."""
    found = {}
    with connection.cursor() as cursor:
        for table in TOLD:
            cursor.execute(f"SELECT held::text FROM {table} AS held ORDER BY 1")
            found[table] = [row[0] for row in cursor.fetchall()]
    return found


def assert_counted() -> None:
    """Recount every project: the tally must agree to the last one."""
    assert recount.verify(now=timezone.now()).differences == []


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """Let every work begin at one moment on a connection of its own; returns what each returned."""
    gate = threading.Barrier(len(works))
    found: list[Any] = [None] * len(works)
    failures: list[BaseException] = []

    def run(place: int) -> None:
        try:
            gate.wait(timeout=30)
            found[place] = works[place]()
        except BaseException as error:
            failures.append(error)
        finally:
            connections.close_all()

    together([threading.Thread(target=run, args=(place,)) for place in range(len(works))])
    if failures:
        raise failures[0]
    return found


def together(threads: Sequence[threading.Thread]) -> None:
    """Run threads to their end."""
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive()
