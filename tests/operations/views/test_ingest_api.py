"""The door through which runtimes tell what their tools did."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from operations import keys
from tests import make

pytestmark = pytest.mark.django_db


def record(operation_id: str = "op-1", **facts: Any) -> dict[str, Any]:
    """A finished call of a minute ago."""
    started_at = timezone.now() - datetime.timedelta(minutes=1)
    return {
        "operation_id": operation_id,
        "tool": "refund",
        "started_at": started_at.isoformat(),
        "ended_at": (started_at + datetime.timedelta(seconds=1)).isoformat(),
        "status": "done",
        "outcome": "success",
        **facts,
    }


def post(body: object, *, by: keys.Issued | None = None, query: str = "", **more: Any) -> Any:
    """Post to the door, as JSON unless `body` is bytes."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {**make.bearer(by or make.key()), **more.pop("headers", {})}
    content_type = more.pop("content_type", "application/json")
    return Client().post(f"/v1/operations{query}", sent, content_type=content_type, headers=headers, **more)


def test_a_batch_is_stored_and_counted() -> None:
    response = post([record("op-1"), record("op-2")])

    assert response.status_code == 200, response.content
    assert response.json() == {
        "accepted": 2,
        "merged": 0,
        "duplicate": 0,
        "rejected": 0,
        "unknown_fields": {},
    }
