"""Whether this process lives, and whether the product as a whole is ready.

Ready means: the database answers, is new enough and migrated, partitions are there for today and the next
two days, and each queue's worker left a heartbeat lately. Redis is not asked: ingest and pages go on without
it, so its absence alone must not take the console out of service at once. It shows as heartbeats that grow old,
and after `STALE_AFTER_S` as not ready, because by then folding and everything else due are late for certain.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable

from django import http
from django.db import DatabaseError, connection
from django.db.migrations import executor, recorder
from django.utils import timezone

from operations import heartbeat, partitions
from opsconsole import checks

QUEUES = ("urgent", "bulk")
# Heartbeats come every 15 s; Redis may restart, and a worker may be deployed, within this.
STALE_AFTER_S = 300
PARTITION_DAYS_AHEAD = 2

# Migrations that this version of the code knows; read once, files do not change under a running process.
_wanted: set[tuple[str, str]] = set()


def livez(request: http.HttpRequest) -> http.JsonResponse:
    """Answer that this process can answer."""
    return _answer({"status": "ok"}, status=200)


def readyz(request: http.HttpRequest) -> http.JsonResponse:
    """Answer 200 with every check, or 503 with the reasons by name."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('server_version_num')::int")
            row = cursor.fetchone()
    except Exception:
        # Whatever keeps the database away (refused, full, no free connection in time) is one reason here.
        return _answer({"status": "not ready", "reasons": ["database_unreachable"]}, status=503)
    reasons = [] if row and row[0] >= checks.POSTGRESQL_LEAST * 10_000 else ["postgresql_too_old"]
    told: dict[str, object] = {}
    for check in (_migrations, _partitions, _heartbeats):
        reasons += _run(check, told)
    told["status"] = "not ready" if reasons else "ready"
    told["reasons"] = reasons
    return _answer(told, status=503 if reasons else 200)


def _run(check: Callable[[dict[str, object]], list[str]], told: dict[str, object]) -> list[str]:
    try:
        return check(told)
    except DatabaseError:
        return [f"{check.__name__.strip('_')}_unknown"]


def _migrations(told: dict[str, object]) -> list[str]:
    """A newer schema than the code is fine: version N runs on N+1's."""
    if not _wanted:
        _wanted.update(executor.MigrationExecutor(connection).loader.graph.nodes)
    missing = _wanted - set(recorder.MigrationRecorder(connection).applied_migrations())
    return ["migrations_missing"] if missing else []


def _partitions(told: dict[str, object]) -> list[str]:
    today = timezone.now().date()
    wanted = {today + datetime.timedelta(days=ahead) for ahead in range(PARTITION_DAYS_AHEAD + 1)}
    return ["partitions_missing"] if wanted - partitions.existing("operation") else []


def _heartbeats(told: dict[str, object]) -> list[str]:
    ages = {queue: round(age, 1) for queue, age in heartbeat.ages_s().items()}
    told["heartbeat_age_s"] = {queue: ages.get(queue) for queue in QUEUES}
    return [f"{queue}_queue_silent" for queue in QUEUES if ages.get(queue, STALE_AFTER_S + 1) > STALE_AFTER_S]


def _answer(told: dict[str, object], *, status: int) -> http.JsonResponse:
    response = http.JsonResponse(told, status=status)
    response["Cache-Control"] = "no-store"
    return response
