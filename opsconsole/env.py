"""Readers of the environment that refuse nonsense when the process starts, each with one sentence."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import urllib.parse
from collections.abc import Collection
from typing import Any

import psycopg
import psycopg.conninfo
from django.core import exceptions

SECRET_LENGTH_LEAST = 50


def text(name: str, default: str = "") -> str:
    """Return the variable `name`, or `default` when it is unset or empty."""
    return os.environ.get(name, "").strip() or default


def flag(name: str, default: bool = False) -> bool:
    """Return the variable `name` as a yes or no; refuse any other word."""
    word = text(name).lower()
    if not word:
        return default
    if word in {"1", "true", "yes", "on"}:
        return True
    if word in {"0", "false", "no", "off"}:
        return False
    raise exceptions.ImproperlyConfigured(f"{name} must be yes or no, not {word!r}.")


def whole(name: str, default: int, *, least: int = 0, most: int = 2**31) -> int:
    """Return the variable `name` as an integer between `least` and `most`."""
    word = text(name)
    if not word:
        return default
    try:
        number = int(word)
    except ValueError:
        raise exceptions.ImproperlyConfigured(f"{name} must be a whole number, not {word!r}.") from None
    if not least <= number <= most:
        raise exceptions.ImproperlyConfigured(f"{name} must be from {least} to {most}, not {number}.")
    return number


def words(name: str, default: str = "") -> list[str]:
    """Return the variable `name` as a list, split at commas."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def choice(name: str, default: str, *, of: Collection[str]) -> str:
    """Return the variable `name`, which must be one of `of`."""
    word = text(name, default)
    if word not in of:
        raise exceptions.ImproperlyConfigured(f"{name} must be one of {', '.join(sorted(of))}, not {word!r}.")
    return word


def secret(name: str) -> str:
    """Return the secret `name`; refuse to go on without one, or with a guessable one. Never shows it."""
    word = text(name)
    if not word:
        raise exceptions.ImproperlyConfigured(
            f"{name} is not set: give a random text of {SECRET_LENGTH_LEAST} characters or more."
        )
    if len(word) < SECRET_LENGTH_LEAST or len(set(word)) < 10:
        raise exceptions.ImproperlyConfigured(
            f"{name} is too easy to guess: give a random text of {SECRET_LENGTH_LEAST} characters or more."
        )
    return word


def http_url(name: str) -> str:
    """Return the variable `name` as an http(s) address without a path, or nothing."""
    word = text(name).rstrip("/")
    parts = urllib.parse.urlsplit(word)
    if word and (parts.scheme not in {"http", "https"} or not parts.hostname or parts.path or parts.query):
        raise exceptions.ImproperlyConfigured(
            f"{name} must look like https://console.example.com, without a path, not {word!r}."
        )
    return word


def database(
    name: str, url: str, *, statement_timeout_ms: int = 0, pool_size: int = 0, pool_wait_s: int = 5
) -> dict[str, Any]:
    """Return Django's description of the PostgreSQL database at `url`. A refusal never shows the password."""
    if not url:
        raise exceptions.ImproperlyConfigured(
            f"{name} is not set: give the address of a PostgreSQL 18 database, "
            "as in postgresql://user:password@host:5432/opsconsole."
        )
    try:
        known = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        known = {}
    port = str(known.get("port") or "5432")
    if not url.startswith(("postgresql://", "postgres://")) or not known.get("dbname") or not port.isdigit():
        raise exceptions.ImproperlyConfigured(
            f"{name} must look like postgresql://user:password@host:5432/opsconsole."
        )
    taken = {key: str(known.pop(key, None) or "") for key in ("dbname", "user", "password", "host", "port")}
    options: dict[str, Any] = {**known, "server_side_binding": True}
    options.setdefault("connect_timeout", 5)
    if statement_timeout_ms:
        given = known.get("options") or ""
        options["options"] = f"{given} -c statement_timeout={statement_timeout_ms}".strip()
    if pool_size:
        # A quiet process gives its connections back: each costs the server memory.
        options["pool"] = {"min_size": 1, "max_size": pool_size, "timeout": pool_wait_s, "max_idle": 10}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": taken["dbname"],
        "USER": taken["user"],
        "PASSWORD": taken["password"],
        "HOST": taken["host"],
        "PORT": taken["port"],
        "OPTIONS": options,
        # Prepared statements and pools of ours; a pool closes what is old.
        "CONN_MAX_AGE": 0,
    }


def redis_url(name: str) -> str:
    """Return the address of Redis: redis://, rediss:// or unix:// with a socket's path."""
    word = text(name)
    if not word:
        raise exceptions.ImproperlyConfigured(
            f"{name} is not set: give the address of a Redis or Valkey server, as in redis://host:6379/0."
        )
    parts = urllib.parse.urlsplit(word)
    if parts.scheme in {"redis", "rediss"} and parts.hostname:
        return word
    if word.startswith("unix:///"):
        return word
    raise exceptions.ImproperlyConfigured(
        f"{name} must look like redis://host:6379/0 or unix:///path/to/socket."
    )


def broker_url(redis: str) -> str:
    """Return how Celery spells the address that redis-py spells `redis`."""
    if not redis.startswith("unix://"):
        return redis
    parts = urllib.parse.urlsplit(redis)
    number = urllib.parse.parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.path}?virtual_host={number}"


@dataclasses.dataclass(frozen=True)
class Email:
    """How mail leaves: nowhere, to a folder, or over SMTP."""

    backend: str = "django.core.mail.backends.dummy.EmailBackend"
    host: str = ""
    port: int = 25
    user: str = ""
    password: str = ""
    use_tls: bool = False
    folder: str | None = None


def email(name: str) -> Email:
    """Return how mail leaves, from an smtp:// or file:// address, or nowhere when it is unset."""
    word = text(name)
    if not word:
        return Email()
    parts = urllib.parse.urlsplit(word)
    if parts.scheme == "file" and parts.path.startswith("/"):
        return Email(
            backend="django.core.mail.backends.filebased.EmailBackend", folder=str(pathlib.Path(parts.path))
        )
    try:
        port = parts.port or 587
    except ValueError:
        port = 0
    if parts.scheme != "smtp" or not parts.hostname or not port:
        raise exceptions.ImproperlyConfigured(
            f"{name} must look like smtp://user:password@host:587?tls=yes or file:///folder."
        )
    tls = urllib.parse.parse_qs(parts.query).get("tls", ["yes"])[0]
    return Email(
        backend="django.core.mail.backends.smtp.EmailBackend",
        host=parts.hostname,
        port=port,
        user=urllib.parse.unquote(parts.username or ""),
        password=urllib.parse.unquote(parts.password or ""),
        use_tls=tls.lower() in {"1", "yes", "true", "on"},
    )
