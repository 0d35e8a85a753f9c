"""Celery: two queues and the whole schedule. Redis carries it and keeps nothing that matters.

Every job finds what is due in the database, works in short steps and is safe to run twice, late, or two at
once; so a message may be lost, and one that nobody took within its period is better dropped than piled up.
"""

from __future__ import annotations

import datetime
from typing import NamedTuple

import celery
import kombu
from celery import beat, schedules
from django.conf import settings

from opsconsole import env

URGENT, BULK = "urgent", "bulk"

# A step takes at most 5 s; a message that is not acknowledged for this long is given to another worker.
LOST_AFTER_S = 300
NEVER = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)


class Job(NamedTuple):
    """One line of the schedule."""

    task: str
    every_s: float
    queue: str


# What runs, how often, and on which queue: all of it.
SCHEDULE = {
    "urgent-heartbeat": Job("operations.tasks.beat_heart", 15, URGENT),
    "bulk-heartbeat": Job("operations.tasks.beat_heart", 15, BULK),
    "make-partitions": Job("operations.tasks.make_partitions", 600, BULK),
    "match-pending": Job("operations.tasks.match_pending", 60, BULK),
    "mark-unfinished": Job("operations.tasks.mark_unfinished", 60, BULK),
    "mark-reused": Job("operations.tasks.mark_reused", 3600, BULK),
    "purge-deleted-projects": Job("operations.tasks.purge_deleted", 60, BULK),
    "fold-tally": Job("analytics.tasks.fold_tally", 15, BULK),
    "trickle-demo": Job("operations.tasks.trickle_demo", 5, BULK),
    "verify-tally": Job("analytics.tasks.verify_tally", 86_400, BULK),
}
# A heartbeat says for which queue it beats.
ARGUMENTS = {"urgent-heartbeat": (URGENT,), "bulk-heartbeat": (BULK,)}


class InMemory(beat.Scheduler):
    """The schedule as the code has it, in no file. All is due at the start: restarts starve no rare job."""

    def setup_schedule(self) -> None:
        """Fill the schedule with entries that never ran."""
        super().setup_schedule()
        for entry in self.schedule.values():
            entry.last_run_at = NEVER


app = celery.Celery("opsconsole")
app.conf.update(
    broker_url=env.broker_url(settings.REDIS_URL),
    # Redis may come late or go away; wait for it without an end.
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={
        "visibility_timeout": LOST_AFTER_S,
        "socket_connect_timeout": 5,
        "socket_timeout": 30,
        "health_check_interval": 15,
    },
    accept_content=["json"],
    task_serializer="json",
    result_serializer="json",
    event_serializer="json",
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_queues=[kombu.Queue(URGENT), kombu.Queue(BULK)],
    task_default_queue=BULK,
    task_create_missing_queues=False,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    worker_pool="threads",
    enable_utc=True,
    timezone="UTC",
    beat_scheduler="opsconsole.celery:InMemory",
    beat_max_loop_interval=5,
    beat_schedule={
        name: {
            "task": job.task,
            "schedule": schedules.schedule(job.every_s),
            "args": ARGUMENTS.get(name, ()),
            "options": {"queue": job.queue, "expires": max(job.every_s, 60)},
        }
        for name, job in SCHEDULE.items()
    },
)
app.autodiscover_tasks(["operations", "analytics"])
