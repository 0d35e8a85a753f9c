"""The demo project: a day of made-up traffic, told through the pipeline that every record takes, and a trickle after.

Records of the past are ingested as if they had come at their time, so that what the console says about arrival (skew,
counts by minute, how long words are kept) is as it would be.
"""

from __future__ import annotations

import datetime
import json
import threading
from collections import Counter
from typing import Any, NamedTuple

from django.db import connection

from operations import access, decoding, ingest, moments
from operations.models import projects
from operations.simulation import scenario

SEED = 1
HOURLY = 360.0
PAST = datetime.timedelta(hours=26)  # a whole day, whichever incident the day is at
_STEP_US = 5 * 60 * moments.SECOND_US
_OVERLAP_US = 180 * moments.SECOND_US  # more than any made-up clock is ahead

# Index operation_recent.
_NEWEST = "SELECT opsconsole_us(max(started_at)) FROM operation WHERE project_id = %s AND started_at <= %s"

# How far each demo was told in this process. Losing it costs three minutes of duplicates.
_worlds: dict[int, scenario.World] = {}
_one_at_a_time = threading.Lock()


class Filled(NamedTuple):
    """What filling did: the results of the records."""

    project: projects.Project
    counts: dict[str, int]


def demos() -> list[projects.Project]:
    """Return the demo projects."""
    return list(projects.Project.objects.filter(is_demo=True, deleted_at__isnull=True).order_by("pk"))


def fill(project: projects.Project, *, now: datetime.datetime) -> Filled:
    """Tell the demo what happened since it was told last, at most a day; twice does no harm."""
    now_us = moments.from_datetime(now)
    told_us = max(
        now_us - PAST // datetime.timedelta(microseconds=1), (_newest(project, now) or 0) - _OVERLAP_US
    )
    world = scenario.World(told_us, seed=SEED, hourly=HOURLY)
    counts: Counter[str] = Counter()
    while told_us < now_us:
        told_us = min(told_us + _STEP_US, now_us)
        counts += _tell(project, world, told_us)
    return Filled(project, dict(counts))


def trickle(*, now: datetime.datetime) -> int:
    """Tell every demo that was filled what happened since; returns how many records that were."""
    now_us = moments.from_datetime(now)
    told = 0
    with _one_at_a_time:
        for project in demos():
            if project.pk not in _worlds:
                newest_us = _newest(project, now)
                if newest_us is None:
                    continue
                since_us = max(newest_us - _OVERLAP_US, now_us - scenario.LONGEST_US)
                _worlds[project.pk] = scenario.World(since_us, seed=SEED, hourly=HOURLY)
            told += _tell(project, _worlds[project.pk], now_us).total()
    return told


def _tell(project: projects.Project, world: scenario.World, until_us: int) -> Counter[str]:
    records: list[dict[str, Any]] = [said.record for said in world.until(until_us)]
    if not records:
        return Counter()
    receipt = ingest.ingest(
        credential=access.credential_of(project),
        entries=decoding.decode(json.dumps(records).encode(), is_ndjson=False),
        now=moments.to_datetime(until_us),
    )
    return Counter(result.result for result in receipt.results)


def _newest(project: projects.Project, now: datetime.datetime) -> int | None:
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST, [project.pk, now])
        row = cursor.fetchone()
    return int(row[0]) if row and row[0] is not None else None
