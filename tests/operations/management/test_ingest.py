"""`manage.py ingest`: records from a file or a pipe."""

from __future__ import annotations

import datetime
import io
import json
import types
from typing import Any

import pytest
from django.core import management
from django.core.management import base
from django.db import OperationalError, connection
from django.utils import timezone

from operations import access, ingest, limits
from operations.management.commands import ingest as command
from tests import make

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def acme():
    """The project that the files are for."""
    return make.acme()


def record(operation_id: str, **facts: Any) -> str:
    started_at = timezone.now() - datetime.timedelta(minutes=1)
    return json.dumps(
        {"operation_id": operation_id, "tool": "refund", "started_at": started_at.isoformat(), **facts}
    )


def run(*arguments: str) -> tuple[int, str, str]:
    """Run the command; returns its exit code, what it printed and what it complained of."""
    out, complaints = io.StringIO(), io.StringIO()
    try:
        management.call_command("ingest", *arguments, stdout=out, stderr=complaints)
    except base.CommandError as error:
        return error.returncode, out.getvalue(), complaints.getvalue() + str(error)
    return 0, out.getvalue(), complaints.getvalue()


def stored() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT operation_id FROM operation ORDER BY operation_id")
        return [row[0] for row in cursor.fetchall()]


def pipe(monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    stdin = types.SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(told.encode())))
    monkeypatch.setattr(command.sys, "stdin", stdin)


@pytest.mark.parametrize(
    "told",
    [
        f"{record('a')}\n{record('b')}\n",
        f"\n\n{record('a')}\n\n{record('b')}",
        f"[{record('a')},\n{record('b')}]",
        f"  \n [{record('a')}, {record('b')}]",
    ],
)
def test_lines_and_arrays_are_told_apart_and_stored(told, tmp_path):
    file = tmp_path / "records"
    file.write_text(told)

    assert run(str(file), "--project", "acme") == (0, "accepted 2, merged 0, duplicate 0, rejected 0\n", "")
    assert stored() == ["a", "b"]


def test_standard_input_is_read_with_a_key(monkeypatch):
    monkeypatch.setenv("OPSCONSOLE_KEY", make.key().token)
    pipe(monkeypatch, record("a"))

    assert run("-")[0] == 0
    assert stored() == ["a"]


def test_many_lines_are_stored_in_batches_and_numbered_through(monkeypatch):
    monkeypatch.setattr(command, "BATCH_RECORDS", 10)
    pipe(monkeypatch, "".join(record(f"op-{n}", attempt=1 if n != 33 else 0) + "\n" for n in range(40)))

    code, out, complaints = run("-", "--project", "acme")

    assert (code, out) == (3, "accepted 39, merged 0, duplicate 0, rejected 1\n")
    assert complaints.startswith("record 33: wrong_value at /attempt: ")
    assert len(stored()) == 39


def test_json_tells_the_counts_and_every_refusal_for_scripts(monkeypatch):
    pipe(monkeypatch, f"{record('a', colour='red')}\n{record('b')[:-4]}")

    code, out, _ = run("-", "--project", "acme", "--json")

    told = json.loads(out)
    assert code == 3
    assert told == {
        "accepted": 1,
        "merged": 0,
        "duplicate": 0,
        "rejected": 1,
        "unknown_fields": {"colour": 1},
        "results": [
            {
                "index": 1,
                "operation_id": "b",
                "attempt": 1,
                "result": "rejected",
                "reason": "truncated",
                "pointer": "",
                "detail": "The last line was cut short.",
            }
        ],
    }


def test_all_refused_has_an_exit_code_of_its_own(monkeypatch):
    pipe(monkeypatch, "{}\n{}\n")

    assert run("-", "--project", "acme")[0] == 4


def test_a_dry_run_stores_nothing(monkeypatch):
    pipe(monkeypatch, record("a"))

    assert run("-", "--project", "acme", "--dry-run")[:2] == (
        0,
        "accepted 1, merged 0, duplicate 0, rejected 0\n",
    )
    assert stored() == []


def test_a_line_longer_than_any_record_is_refused_and_the_next_one_read(monkeypatch):
    pipe(monkeypatch, "x" * (3 * limits.RECORD_BYTES_MAX) + f"\n{record('a')}\n")

    code, _, complaints = run("-", "--project", "acme")

    assert code == 3
    assert complaints.startswith("record 0: record_too_large")
    assert stored() == ["a"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--project", "nowhere"), "There is no project 'nowhere'. There are: acme."),
        ((), "Say whose records these are"),
        (("--key", "ops_nonsense"), "(unknown_key)"),
        (("--project", "acme", "--format", "json"), "(body_not_json)"),
    ],
)
def test_what_cannot_begin_says_why(arguments, complaint, monkeypatch):
    monkeypatch.delenv("OPSCONSOLE_KEY", raising=False)
    pipe(monkeypatch, "nonsense")

    code, out, complaints = run("-", *arguments)

    assert (code, out) == (1, "")
    assert complaint in complaints


def test_a_file_that_is_not_there_says_so():
    code, _, complaints = run("/nowhere/records.ndjson", "--project", "acme")

    assert (code, complaints) == (1, "The input could not be read: No such file or directory.")


def test_a_database_that_is_away_is_worth_another_try(monkeypatch):
    def fail(**given: Any) -> None:
        raise OperationalError

    monkeypatch.setattr(ingest, "ingest", fail)
    pipe(monkeypatch, record("a"))

    code, _, complaints = run("-", "--project", "acme")

    assert (code, "try again" in complaints) == (1, True)


def test_a_project_that_is_being_deleted_takes_nothing(monkeypatch, acme):
    credential = access.credential_of(acme)
    monkeypatch.setattr(access, "credential_of", lambda project: credential)
    acme_rows = type(acme).objects.filter(pk=acme.pk)
    really = ingest.ingest

    def meanwhile(**given: Any) -> ingest.Receipt:
        acme_rows.update(deleted_at=timezone.now())
        return really(**given)

    monkeypatch.setattr(ingest, "ingest", meanwhile)
    pipe(monkeypatch, record("a"))

    assert run("-", "--project", "acme")[0] == 1
    assert stored() == []
