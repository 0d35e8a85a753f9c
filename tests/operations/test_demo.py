from __future__ import annotations

import datetime
import json

import pytest
import time_machine
from django.core import management
from django.db import connection

from analytics import recount
from operations import demo, projects
from operations.simulation import scenario, tour
from tests import make

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.UTC)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A demo of a few hours, and a process that told nothing yet."""
    monkeypatch.setattr(demo, "PAST", datetime.timedelta(hours=3))
    monkeypatch.setattr(demo, "_worlds", {})


def count(condition: str = "true") -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM operation WHERE {condition}")
        return int(cursor.fetchone()[0])


def test_the_command_makes_and_fills_a_demo_once(capsys: pytest.CaptureFixture[str]) -> None:
    with time_machine.travel(NOW, tick=False):
        management.call_command("seed_demo", "--json")
        first, filled = json.loads(capsys.readouterr().out), count()
        management.call_command("seed_demo", "--json")
        again = json.loads(capsys.readouterr().out)

    assert first["project"] == "demo"
    assert first["accepted"] >= filled > 500
    assert "rejected" not in first
    assert set(again) <= {"project", "duplicate"}
    assert count() == filled
    assert recount.verify(now=NOW, days=1).differences == []


def test_a_demo_that_was_off_is_told_what_it_missed() -> None:
    project = projects.create(name="Demo", is_demo=True)
    demo.fill(project, now=NOW - datetime.timedelta(hours=1))
    demo.fill(project, now=NOW)
    other = projects.create(name="Another", is_demo=True)
    demo.fill(other, now=NOW)

    since = f"started_at > '{NOW - datetime.timedelta(hours=2)}'"
    assert (
        count(f"project_id = {project.pk} AND {since}") == count(f"project_id = {other.pk} AND {since}") > 500
    )


def test_the_trickle_goes_on_where_filling_ended() -> None:
    project = projects.create(name="Demo", is_demo=True)
    demo.fill(project, now=NOW)
    for minute in range(1, 11):
        demo.trickle(now=NOW + datetime.timedelta(minutes=minute))
    began_us = int((NOW - demo.PAST).timestamp()) * 10**6
    ended_us = began_us + int((demo.PAST + datetime.timedelta(minutes=10)).total_seconds()) * 10**6
    told = scenario.between(began_us, ended_us, seed=demo.SEED, hourly=demo.HOURLY)
    started = {(o.record["operation_id"], o.record["attempt"]) for o in told if "started_at" in o.record}

    assert count() == len(started)


def test_a_demo_that_is_to_stay_empty_gets_no_trickle() -> None:
    projects.create(name="Demo", is_demo=True)
    make.acme()

    assert demo.trickle(now=NOW) == 0
    assert count() == 0


def test_nothing_secret_is_kept() -> None:
    demo.fill(projects.create(name="Demo", is_demo=True), now=NOW)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FILTER (WHERE words LIKE '%%sk-live-%%'), count(*) FROM excerpt")
        leaked, kept = cursor.fetchone()

    assert (leaked, kept > 1000) == (0, True)


def test_the_tour_leads_from_the_overview_to_a_call_of_the_incident() -> None:
    project = projects.create(name="Demo", is_demo=True)
    make.join(make.alice(), project, ["viewer"])
    browser = make.browser(make.alice())
    with time_machine.travel(NOW, tick=False):
        assert b"does not hold these hours" in browser.get("/p/demo/tour").content
        demo.fill(project, now=NOW)
        page = browser.get("/p/demo/tour")
        told = tour.tour(int(NOW.timestamp()) * 10**6)
        for step in (*told.steps, *told.others):
            assert browser.get(f"/p/demo/{step.path}").status_code == 200

    assert page.status_code == 200
    assert page.context["example"].startswith("operation?id=ses-")
    assert browser.get(f"/p/demo/{page.context['example']}").status_code == 200


def test_only_a_demo_has_a_tour() -> None:
    assert make.browser(make.alice()).get("/p/acme/tour").status_code == 404
