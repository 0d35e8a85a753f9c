"""Doors for the worker: each runs one action and writes one line. Safe to run twice, late, or two at once."""

from __future__ import annotations

import celery
import structlog
from django.utils import timezone

from analytics import compaction, recount, squashing

log = structlog.get_logger(__name__)

# The command recounts everything that is retained; every day the worker looks at what may still change.
DAYS_RECOUNTED = 3


@celery.shared_task
def fold_tally() -> None:
    """Fold what writers have counted since the last run."""
    now = timezone.now()
    folded, squashed = compaction.fold(now=now), squashing.squash(now=now)
    log.info("tally_folded", **folded._asdict(), squashed=squashed.rows)


@celery.shared_task
def verify_tally() -> None:
    """Recount the last days and say so when the tally differs."""
    report = recount.verify(now=timezone.now(), days=DAYS_RECOUNTED)
    tell = log.error if report.differences_count else log.info
    tell("tally_verified", operations=report.operations, differences=report.differences_count)
