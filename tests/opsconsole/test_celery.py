"""The schedule is whole, and Celery is set so that a lost message costs nothing."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

import pytest
from celery import beat as celery_beat

from operations import heartbeat
from opsconsole import celery
from opsconsole.local import account, servers, valkey
from tests import stack


def test_every_scheduled_task_exists_and_every_task_is_scheduled() -> None:
    celery.app.loader.import_default_modules()
    ours = {name for name in celery.app.tasks if not name.startswith("celery.")}

    assert {job.task for job in celery.SCHEDULE.values()} == ours


def test_each_queue_has_a_heartbeat() -> None:
    for queue in (celery.URGENT, celery.BULK):
        assert celery.SCHEDULE[f"{queue}-heartbeat"].queue == queue
        assert celery.ARGUMENTS[f"{queue}-heartbeat"] == (queue,)


def test_all_is_due_at_the_start_of_the_clock() -> None:
    scheduler = celery.InMemory(app=celery.app)

    assert set(scheduler.schedule) == set(celery.SCHEDULE)
    assert all(entry.is_due().is_due for entry in scheduler.schedule.values())
    assert isinstance(scheduler, celery_beat.Scheduler)


def test_messages_are_json_and_acknowledged_after_the_work() -> None:
    conf = celery.app.conf

    assert (conf.accept_content, conf.task_serializer) == (["json"], "json")
    assert (conf.task_acks_late, conf.task_reject_on_worker_lost) == (True, True)
    assert (conf.task_ignore_result, conf.result_backend) == (True, None)
    assert (conf.worker_prefetch_multiplier, conf.worker_pool, conf.timezone) == (1, "threads", "UTC")


@pytest.fixture
def redis_of_our_own() -> Iterator[valkey.Valkey]:
    """A Valkey that this test may kill."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ops-"))
    folder.chmod(0o711)
    runner = account.choose()
    runner.make_folder(folder / "run")
    yield valkey.Valkey(
        folder=folder / "valkey",
        socket=folder / "run" / "valkey.sock",
        log=folder / "valkey.log",
        runner=runner,
        is_throwaway=True,
    )
    shutil.rmtree(folder)


def test_workers_and_clock_go_on_when_redis_comes_back(
    clean_database: None, database_name: str, redis_of_our_own: valkey.Valkey
) -> None:
    environment = {**os.environ, "REDIS_URL": redis_of_our_own.url(), "DATABASE_POOL": "2"}
    environment["DATABASE_URL"] = stack.with_database(os.environ["DATABASE_URL"], database_name)
    environment.pop("DATABASE_OWNER_URL")
    log = redis_of_our_own.log.with_name("workers.log")
    with contextlib.ExitStack() as ended:
        # Redis is away when the workers start, too.
        command = [sys.executable, "-m", "opsconsole.workers"]
        said = ended.enter_context(log.open("wb"))
        workers = subprocess.Popen(command, cwd=servers.PROJECT, env=environment, stdout=said, stderr=said)
        ended.callback(workers.wait, timeout=30)
        ended.callback(workers.terminate)
        first = redis_of_our_own.start()
        wait_for(lambda: set(heartbeat.ages_s()) == {"urgent", "bulk"}, log)

        first.send_signal(signal.SIGKILL)
        first.wait()
        second = redis_of_our_own.start()
        ended.callback(second.wait)
        ended.callback(second.terminate)
        back_at = time.monotonic()

        wait_for(lambda: max(heartbeat.ages_s().values()) < time.monotonic() - back_at, log)
        assert workers.poll() is None


def wait_for(holds: Callable[[], bool], log: pathlib.Path, *, within_s: float = 90) -> None:
    """Wait until something that other processes do has happened."""
    until = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < until, log.read_text(errors="replace")[-4000:]
        time.sleep(0.1)
