"""What the probes tell, and when they take the console out of service."""

from __future__ import annotations

import datetime
from typing import Any

import psycopg
import pytest
from django.db import connection, utils
from django.test import Client
from django.utils import timezone

from operations import heartbeat, partitions
from opsconsole import health


@pytest.fixture
def sound(db: None) -> None:
    """A database as it is when everything runs."""
    partitions.make_ahead(today=timezone.now().date(), excerpt_days_max=1)
    for queue in health.QUEUES:
        heartbeat.beat(queue)


def probe(client: Client) -> tuple[int, dict[str, Any]]:
    """Ask /readyz."""
    answer = client.get("/readyz")
    return answer.status_code, answer.json()


def test_a_process_that_lives_says_so_without_a_database(client: Client) -> None:
    answer = client.get("/livez")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_a_sound_console_is_ready(client: Client, sound: None) -> None:
    status, told = probe(client)

    assert (status, told["status"], told["reasons"]) == (200, "ready", [])
    assert all(0 <= age < 60 for age in told["heartbeat_age_s"].values())


def test_a_queue_that_nobody_works_on_is_named(client: Client, sound: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE heartbeat SET beaten_at = now() - interval '301 s' WHERE queue = 'urgent'")
        cursor.execute("DELETE FROM heartbeat WHERE queue = 'bulk'")

    status, told = probe(client)

    assert (status, told["reasons"]) == (503, ["urgent_queue_silent", "bulk_queue_silent"])
    assert told["heartbeat_age_s"]["bulk"] is None


def test_partitions_that_are_not_made_ahead_are_missed(
    client: Client, sound: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = partitions.existing("operation")
    in_two_days = timezone.now().date() + datetime.timedelta(days=2)
    monkeypatch.setattr(partitions, "existing", lambda parent: made - {in_two_days})

    assert probe(client)[1]["reasons"] == ["partitions_missing"]


def test_a_migration_that_was_not_run_is_missed(
    client: Client, sound: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_wanted", {("operations", "9999_from_the_future")})

    assert probe(client)[1]["reasons"] == ["migrations_missing"]


def test_an_old_postgresql_is_named(client: Client, sound: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opsconsole.checks.POSTGRESQL_LEAST", 99)

    assert probe(client)[1]["reasons"] == ["postgresql_too_old"]


@pytest.mark.parametrize(
    "error", [utils.OperationalError("away"), psycopg.OperationalError("no connection in time")]
)
def test_a_database_that_is_away_is_named(client: Client, db: None, error: Exception) -> None:
    def away() -> None:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "cursor", away)
        found = probe(client)

    assert found == (503, {"status": "not ready", "reasons": ["database_unreachable"]})
