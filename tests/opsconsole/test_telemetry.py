"""Logs tell what happened and never what somebody wrote."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import psycopg.errors
import pytest
import structlog
from django.test import Client

from opsconsole import telemetry

SECRET = "hunter2-canary"


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What the real set-up writes during this test."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    telemetry.set_up_logs({"level": "INFO"})
    yield stream
    root.handlers[:] = before
    root.setLevel(level)


def lines(written: io.StringIO) -> list[dict[str, Any]]:
    """Return what was written, line by line."""
    return [json.loads(line) for line in written.getvalue().splitlines()]


@pytest.mark.django_db
def test_a_request_is_one_line_with_its_route_and_nothing_that_was_sent(
    client: Client, written: io.StringIO
) -> None:
    client.get(f"/invitations/{SECRET}?q={SECRET}", headers={"authorization": f"Bearer {SECRET}"})
    client.post(f"/nowhere/{SECRET}", {"password": SECRET})

    first, second = lines(written)
    assert (first["event"], first["method"], first["route"]) == ("request", "GET", "invitations/<str:token>")
    assert (second["method"], second["route"], second["status"]) == ("POST", None, 404)
    assert first["ms"] >= 0
    assert SECRET not in written.getvalue()


@pytest.mark.django_db
def test_a_page_of_a_project_names_it(client: Client, written: io.StringIO) -> None:
    client.get("/p/acme/")

    (line,) = lines(written)
    assert (line["project"], line["route"]) == ("acme", "p/<slug:slug>/")


def test_probes_that_find_all_well_write_nothing(client: Client, written: io.StringIO) -> None:
    client.get("/livez")

    assert lines(written) == []


def test_an_exception_is_told_by_kind_and_place_without_its_message(written: io.StringIO) -> None:
    try:
        try:
            raise psycopg.errors.UniqueViolation(f"Key (name)=({SECRET}) already exists.")
        except psycopg.Error as error:
            raise ValueError(SECRET) from error
    except ValueError:
        logging.getLogger("some.library").exception("it broke")
        structlog.get_logger("ours").exception("ours_broke")

    for line in lines(written):
        assert line["exception"] == ["builtins.ValueError", "psycopg.errors.UniqueViolation (23505)"]
        assert line["at"][-1].endswith("test_an_exception_is_told_by_kind_and_place_without_its_message")
    assert len(lines(written)) == 2
    assert SECRET not in written.getvalue()


def test_a_view_that_fails_is_told_without_its_path(
    client: Client, written: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.raise_request_exception = False
    logger = logging.getLogger("django.request")
    try:
        raise RuntimeError(SECRET)
    except RuntimeError as error:
        logger.error("Internal Server Error: %s", f"/p/{SECRET}", exc_info=error)
    logger.warning("Not Found: %s", f"/p/{SECRET}")
    logging.getLogger("django.security.DisallowedHost").error("Invalid HTTP_HOST header: %s", SECRET)

    (line,) = lines(written)
    assert (line["event"], line["exception"]) == ("request_failed", ["builtins.RuntimeError"])
    assert SECRET not in written.getvalue()


def test_the_seam_for_traces_and_metrics_does_nothing_by_itself() -> None:
    with telemetry.tracer.start_as_current_span("nothing") as span:
        assert not span.is_recording()
    telemetry.meter.create_counter("nothing").add(1)
