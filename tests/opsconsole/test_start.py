"""Every kind of process refuses bad settings with one sentence, and production settings have no complaints."""

from __future__ import annotations

import os
import subprocess
import sys

import psycopg
import pytest
from django.core import exceptions

from opsconsole import checks
from opsconsole.local import servers

PRODUCTION = {
    "SECRET_KEY": "e2e4e7e5g1f3b8c6f1b5a7a6b5a4g8f6e1g1f8e7f1e1b7b5a4b3",
    "DATABASE_URL": "postgresql://app:secret@db.invalid/console",
    "DATABASE_OWNER_URL": "postgresql://owner:secret@db.invalid/console",
    "REDIS_URL": "redis://cache.invalid:6379/0",
    "ALLOWED_HOSTS": "console.example.com",
    "PUBLIC_URL": "https://console.example.com",
    "SECURE_PROXY": "yes",
}
ENTRANCES = {
    "manage.py": ["manage.py", "check"],
    "web": ["-m", "opsconsole.web"],
    "wsgi": ["-c", "import opsconsole.wsgi"],
    "workers": ["-m", "opsconsole.workers"],
}


def run(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run Python with production settings and `changes`; an empty value takes a setting away."""
    environment = {"PATH": os.environ["PATH"], **PRODUCTION, "STATIC_ROOT": os.environ["STATIC_ROOT"]}
    environment = {name: value for name, value in {**environment, **changes}.items() if value}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=servers.PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_every_process_ends_with_one_sentence_when_a_setting_is_missing(entrance: str) -> None:
    done = run(*ENTRANCES[entrance], REDIS_URL="")

    assert done.returncode == 1
    assert done.stderr == (
        "opsconsole cannot start: REDIS_URL is not set: give the address of a Redis or Valkey server, "
        "as in redis://host:6379/0.\n"
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"DEBUG": "maybe"}, "DEBUG must be yes or no, not 'maybe'."),
        (
            {"DEBUG": "yes"},
            "DEBUG shows the inside of the program to everybody: it goes with PLAIN_HTTP only.",
        ),
        (
            {"PLAIN_HTTP": "yes"},
            "PLAIN_HTTP and SECURE_PROXY contradict each other: either a proxy brings TLS or nobody does.",
        ),
        (
            {"ALLOWED_HOSTS": ""},
            "ALLOWED_HOSTS is not set: name the hosts under which the console is reached, split at commas.",
        ),
        (
            {"PUBLIC_URL": "https://other.example.com"},
            "PUBLIC_URL names the host other.example.com, which ALLOWED_HOSTS does not.",
        ),
        (
            {"PUBLIC_URL": "http://console.example.com"},
            "PUBLIC_URL begins with http:// but PLAIN_HTTP is off.",
        ),
        (
            {"DATABASE_OWNER_URL": "postgresql://owner:secret@db.invalid/other"},
            "DATABASE_URL and DATABASE_OWNER_URL must name the same database.",
        ),
    ],
)
def test_settings_that_contradict_each_other_stop_the_start(changes: dict[str, str], sentence: str) -> None:
    done = run("manage.py", "check", **changes)

    assert done.returncode == 1
    assert done.stderr == f"opsconsole cannot start: {sentence}\n"


def test_production_settings_pass_djangos_deployment_checks() -> None:
    done = run("manage.py", "check", "--deploy", "--fail-level", "WARNING")

    assert (done.returncode, done.stderr) == (0, "")
    assert "no issues" in done.stdout


@pytest.mark.parametrize("version", [90624, 140011, 170009])
def test_postgresql_older_than_18_is_refused_by_name(version: int) -> None:
    with pytest.raises(exceptions.ImproperlyConfigured) as refusal:
        checks.refuse_version(version)

    major = version // 10_000
    assert str(refusal.value) == f"PostgreSQL {major} is too old: the console needs PostgreSQL 18 or newer."


@pytest.mark.django_db
def test_the_check_of_the_database_reports_a_version_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks.check_postgresql(databases=["default"]) == []

    monkeypatch.setattr(psycopg.ConnectionInfo, "server_version", 170004)
    (found,) = checks.check_postgresql(databases=["default"])

    assert found.msg == "PostgreSQL 17 is too old: the console needs PostgreSQL 18 or newer."
