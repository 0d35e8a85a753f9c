"""Each reader of the environment takes what is meant and refuses nonsense in one sentence without secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core import exceptions

from opsconsole import env

LONG = "a1b2c3d4e5f6g7h8i9j0" * 3


@pytest.mark.parametrize(
    ("read", "word", "value"),
    [
        (env.text, " word ", "word"),
        (env.text, "", ""),
        (env.flag, "Yes", True),
        (env.flag, "off", False),
        (env.flag, "", False),
        (env.words, "a, b,,c ", ["a", "b", "c"]),
        (env.secret, LONG, LONG),
        (env.http_url, "https://console.example.com/", "https://console.example.com"),
        (env.http_url, "", ""),
        (env.redis_url, "redis://cache:6379/2", "redis://cache:6379/2"),
        (env.redis_url, "unix:///run/valkey.sock?db=1", "unix:///run/valkey.sock?db=1"),
    ],
)
def test_a_sensible_value_is_read(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[str], Any], word: str, value: object
) -> None:
    monkeypatch.setenv("NAME", word)

    assert read("NAME") == value


@pytest.mark.parametrize(
    ("read", "word", "sentence"),
    [
        (env.flag, "perhaps", "NAME must be yes or no, not 'perhaps'."),
        (lambda name: env.whole(name, 1), "1.5", "NAME must be a whole number, not '1.5'."),
        (lambda name: env.whole(name, 1, least=2, most=9), "10", "NAME must be from 2 to 9, not 10."),
        (lambda name: env.choice(name, "A", of={"A", "B"}), "C", "NAME must be one of A, B, not 'C'."),
        (env.secret, "", "NAME is not set: give a random text of 50 characters or more."),
        (env.secret, "changeme", "NAME is too easy to guess: give a random text of 50 characters or more."),
        (env.secret, "x" * 80, "NAME is too easy to guess: give a random text of 50 characters or more."),
        (
            env.http_url,
            "console.example.com",
            "NAME must look like https://console.example.com, without a path, not 'console.example.com'.",
        ),
        (
            env.redis_url,
            "memcached://x",
            "NAME must look like redis://host:6379/0 or unix:///path/to/socket.",
        ),
        (
            env.redis_url,
            "",
            "NAME is not set: give the address of a Redis or Valkey server, as in redis://host:6379/0.",
        ),
        (
            env.email,
            "imap://user:pass@host",
            "NAME must look like smtp://user:password@host:587?tls=yes or file:///folder.",
        ),
        (
            env.email,
            "smtp://host:notaport",
            "NAME must look like smtp://user:password@host:587?tls=yes or file:///folder.",
        ),
    ],
)
def test_nonsense_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[str], Any], word: str, sentence: str
) -> None:
    monkeypatch.setenv("NAME", word)

    with pytest.raises(exceptions.ImproperlyConfigured) as refusal:
        read("NAME")

    assert str(refusal.value) == sentence


def test_a_database_address_becomes_djangos_words() -> None:
    found = env.database(
        "NAME",
        "postgresql://me:p%40ss@db.example:6432/console?sslmode=require",
        statement_timeout_ms=100,
        pool_size=3,
    )

    assert (found["NAME"], found["USER"], found["PASSWORD"]) == ("console", "me", "p@ss")
    assert (found["HOST"], found["PORT"]) == ("db.example", "6432")
    assert found["OPTIONS"]["sslmode"] == "require"
    assert found["OPTIONS"]["options"] == "-c statement_timeout=100"
    assert found["OPTIONS"]["pool"]["max_size"] == 3
    assert found["OPTIONS"]["server_side_binding"] is True


@pytest.mark.parametrize(
    "url",
    [
        "mysql://me:hunter2@host/console",
        "postgresql://me:hunter2@host",
        "host=db password=hunter2",
        "hunter2",
        "postgresql://me:hunter2@host:port/console",
    ],
)
def test_a_wrong_database_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(exceptions.ImproperlyConfigured) as refusal:
        env.database("DATABASE_URL", url)

    assert str(refusal.value).startswith("DATABASE_URL must look like postgresql://")
    assert "hunter2" not in str(refusal.value)


def test_celery_is_told_the_socket_in_its_own_spelling() -> None:
    assert env.broker_url("redis://cache:6379/2") == "redis://cache:6379/2"
    assert env.broker_url("unix:///run/v.sock?db=3") == "redis+socket:///run/v.sock?virtual_host=3"


def test_mail_leaves_by_smtp_to_a_folder_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAME", raising=False)
    assert env.email("NAME").backend.endswith("dummy.EmailBackend")

    monkeypatch.setenv("NAME", "file:///tmp/mail")
    assert env.email("NAME").folder == "/tmp/mail"

    monkeypatch.setenv("NAME", "smtp://me:p%40ss@mail.example?tls=yes")
    found = env.email("NAME")
    assert (found.host, found.port, found.user, found.password) == ("mail.example", 587, "me", "p@ss")
    assert found.use_tls


def test_a_socket_without_its_slashes_is_refused_rather_than_taken_for_a_host(monkeypatch):
    monkeypatch.setenv("REDIS_URL", "unix:/run/v.sock")

    with pytest.raises(exceptions.ImproperlyConfigured):
        env.redis_url("REDIS_URL")
