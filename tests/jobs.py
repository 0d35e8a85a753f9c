"""Stand in for another worker."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import psycopg
from django.conf import settings

from operations import jobs


@contextlib.contextmanager
def taken(name: str) -> Iterator[None]:
    """Hold the job `name` on a connection of its own."""
    with another_connection() as other:
        other.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [jobs.LOCK_JOB, name])
        yield


@contextlib.contextmanager
def another_connection() -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Open a second connection to this test's database; what it did is rolled back at the end."""
    database = str(settings.DATABASES["default"]["NAME"])
    with psycopg.connect(os.environ["DATABASE_URL"], dbname=database) as other:
        yield other
        other.rollback()
