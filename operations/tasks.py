"""Doors for the worker: each runs one action and writes one line. Safe to run twice, late, or two at once."""

from __future__ import annotations

import celery
import structlog
from django.db.models import Max
from django.utils import timezone

from operations import demo, heartbeat, partitions, sweeps
from operations import projects as projects_actions
from operations.models import projects

log = structlog.get_logger(__name__)


@celery.shared_task
def beat_heart(queue: str) -> None:
    """Say that this queue is worked on."""
    heartbeat.beat(queue)
    log.debug("heart_beaten", queue=queue)


@celery.shared_task
def make_partitions() -> None:
    """Make the partitions of the days to come."""
    longest = projects.Project.objects.aggregate(longest=Max("excerpt_days"))["longest"]
    made = partitions.make_ahead(today=timezone.now().date(), excerpt_days_max=longest or 0)
    log.info("partitions_made", partitions=made)


@celery.shared_task
def match_pending() -> None:
    """Join facts that wait with operations that came by another way."""
    outcome = sweeps.match_pending(now=timezone.now())
    log.info("pending_matched", **outcome._asdict())


@celery.shared_task
def mark_unfinished() -> None:
    """Mark what still runs past the time it was allowed."""
    outcome = sweeps.mark_unfinished(now=timezone.now())
    log.info("unfinished_marked", **outcome._asdict())


@celery.shared_task
def mark_reused() -> None:
    """Mark identities that name operations of different days."""
    outcome = sweeps.mark_reused(now=timezone.now())
    log.info("reused_marked", **outcome._asdict())


@celery.shared_task
def purge_deleted() -> None:
    """Remove some rows of deleted projects."""
    is_left = projects_actions.purge()
    log.info("deleted_projects_purged", is_left=is_left)


@celery.shared_task
def trickle_demo() -> None:
    """Tell the demo projects what happened since the last time."""
    told = demo.trickle(now=timezone.now())
    log.debug("demo_trickled", records=told)
