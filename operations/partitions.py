"""Day partitions of `operation` and `excerpt`: made ahead by a job, on demand before a batch; there is no default one.

Making one takes an advisory lock and locks the parent only against other makers, and never happens inside an
ingest transaction. The function in the database runs as the owner, so the app's role cannot alter tables.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from django.db import connection

AHEAD_DAYS = 7

_MAKE = "SELECT opsconsole_make_partition(%s, %s)"
_MADE = """
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = to_regclass(%s)
"""

# Days this process has seen to exist. A partition that retention drops later costs one retry (see `forget`).
_known: dict[str, set[datetime.date]] = {"operation": set(), "excerpt": set()}


def ensure(parent: str, days: Iterable[datetime.date]) -> int:
    """Make the partitions of `parent` for `days` that are missing; returns how many were made."""
    missing = sorted(set(days) - _known[parent])
    made = 0
    for day in missing:
        with connection.cursor() as cursor:
            cursor.execute(_MAKE, [parent, day])
            row = cursor.fetchone()
        made += bool(row and row[0])
        _known[parent].add(day)
    return made


def forget() -> None:
    """Forget which partitions exist, after one was found missing."""
    for days in _known.values():
        days.clear()


def make_ahead(*, today: datetime.date, excerpt_days_max: int) -> int:
    """Make the partitions of yesterday to a week from now, and the excerpts' for every retention in use."""
    operation_days = [today + datetime.timedelta(days=n) for n in range(-1, AHEAD_DAYS + 1)]
    excerpt_days = [today + datetime.timedelta(days=n) for n in range(excerpt_days_max + AHEAD_DAYS + 1)]
    forget()
    return ensure("operation", operation_days) + ensure("excerpt", excerpt_days)


def existing(parent: str) -> set[datetime.date]:
    """Return the days that have a partition of `parent`."""
    with connection.cursor() as cursor:
        cursor.execute(_MADE, [parent])
        names = [row[0] for row in cursor.fetchall()]
    return {
        datetime.datetime.strptime(name[-8:], "%Y%m%d").replace(tzinfo=datetime.UTC).date() for name in names
    }
