"""Say that a queue's worker lives: by the work of a task, not by a process that merely runs."""

from __future__ import annotations

from django.db import connection

_BEAT = """
INSERT INTO heartbeat (queue, beaten_at) VALUES (%s, clock_timestamp())
ON CONFLICT (queue) DO UPDATE SET beaten_at = greatest(heartbeat.beaten_at, excluded.beaten_at)
"""
_AGES = "SELECT queue, extract(epoch FROM clock_timestamp() - beaten_at)::float8 FROM heartbeat"


def beat(queue: str) -> None:
    """Note that `queue` is worked on now, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(_BEAT, [queue])


def ages_s() -> dict[str, float]:
    """Return how long ago each queue was worked on, in seconds."""
    with connection.cursor() as cursor:
        cursor.execute(_AGES)
        return dict(cursor.fetchall())
