from __future__ import annotations

import datetime
import json
import logging

import pytest
from django.db import connection

from analytics import tasks as analytics_tasks
from operations import heartbeat, partitions, tasks
from opsconsole import celery
from tests import make, traffic

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("job", celery.SCHEDULE.values(), ids=list(celery.SCHEDULE))
def test_every_scheduled_task_exists_is_safe_twice_and_writes_one_line(
    job: celery.Job, caplog: pytest.LogCaptureFixture
) -> None:
    traffic.send(traffic.call("a"))
    task = celery.app.tasks[job.task]
    arguments = [job.queue] if job.task.endswith("beat_heart") else []
    with caplog.at_level(logging.DEBUG):
        task(*arguments)
        caplog.clear()
        task(*arguments)

    assert len([line for line in caplog.records if line.name.endswith(".tasks")]) == 1


def test_a_heartbeat_tells_its_age_by_queue() -> None:
    tasks.beat_heart("urgent")
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO heartbeat VALUES ('bulk', now() - interval '10 minutes')")
    ages = heartbeat.ages_s()
    assert ages["urgent"] < 60
    assert ages["bulk"] >= 600

    tasks.beat_heart("bulk")
    assert heartbeat.ages_s()["bulk"] < 60


def test_partitions_are_made_ahead_for_every_retention_in_use() -> None:
    project = make.acme()
    project.excerpt_days = 30
    project.save()
    tasks.make_partitions()

    today = datetime.datetime.now(datetime.UTC).date()
    assert {today + datetime.timedelta(days=n) for n in range(-1, 8)} <= partitions.existing("operation")
    assert {today + datetime.timedelta(days=n) for n in range(38)} <= partitions.existing("excerpt")


def test_a_difference_in_the_tally_is_logged_as_an_error(caplog: pytest.LogCaptureFixture) -> None:
    now = datetime.datetime.now(datetime.UTC)
    traffic.send(traffic.call("a", started_at=now.isoformat(), ended_at=now.isoformat()), now=now)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM tally")
    analytics_tasks.verify_tally()

    line = caplog.records[-1]
    assert line.levelname == "ERROR"
    told = line.msg if isinstance(line.msg, dict) else json.loads(line.getMessage())
    assert told["differences"] == 4  # of its minute, its hour, and the pace of both
