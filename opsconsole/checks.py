"""What must hold before anything starts: settings that agree, and a PostgreSQL that is new enough."""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.core import checks, exceptions
from django.db import connections, utils

POSTGRESQL_LEAST = 18


def refuse_contradictions() -> None:
    """Raise with the first pair of settings that contradict each other."""
    for sentence in contradictions():
        raise exceptions.ImproperlyConfigured(sentence)


def contradictions() -> Iterator[str]:
    """Yield one sentence for each pair of settings that contradict each other."""
    if settings.DEBUG and not settings.PLAIN_HTTP:
        yield "DEBUG shows the inside of the program to everybody: it goes with PLAIN_HTTP only."
    if settings.PLAIN_HTTP and settings.SECURE_PROXY:
        yield "PLAIN_HTTP and SECURE_PROXY contradict each other: either a proxy brings TLS or nobody does."
    if not settings.ALLOWED_HOSTS:
        yield "ALLOWED_HOSTS is not set: name the hosts under which the console is reached, split at commas."
    if "*" in settings.ALLOWED_HOSTS:
        yield "ALLOWED_HOSTS must name hosts; * would let any name in."
    if settings.PUBLIC_URL:
        parts = urllib.parse.urlsplit(settings.PUBLIC_URL)
        if (parts.scheme == "http") != settings.PLAIN_HTTP:
            yield (
                f"PUBLIC_URL begins with {parts.scheme}:// but PLAIN_HTTP is "
                f"{'on' if settings.PLAIN_HTTP else 'off'}."
            )
        if not _allows(settings.ALLOWED_HOSTS, parts.hostname or ""):
            yield f"PUBLIC_URL names the host {parts.hostname}, which ALLOWED_HOSTS does not."
    default, owner = settings.DATABASES["default"], settings.DATABASES["owner"]
    if default["NAME"] != owner["NAME"]:
        yield "DATABASE_URL and DATABASE_OWNER_URL must name the same database."


def refuse_old_postgresql() -> None:
    """Raise when the server is older than PostgreSQL 18, and leave no connection behind."""
    connection = connections["default"]
    try:
        refuse_version(server_version())
    finally:
        connection.close()
        # Processes forked later must not share its connections.
        connection.close_pool()  # type: ignore[attr-defined]


def server_version() -> int:
    """Return the server's version as libpq tells it; of one that is away, the least that we take."""
    connection = connections["default"]
    try:
        connection.ensure_connection()
    except utils.NotSupportedError:
        # Django knows a least version too, a lower one; the connection is there.
        pass
    except utils.OperationalError:
        return POSTGRESQL_LEAST * 10_000
    return int(connection.connection.info.server_version)


def refuse_version(number: int) -> None:
    """Raise when `number`, as libpq tells it, is older than PostgreSQL 18."""
    major = number // 10_000
    if major < POSTGRESQL_LEAST:
        raise exceptions.ImproperlyConfigured(
            f"PostgreSQL {major} is too old: the console needs PostgreSQL {POSTGRESQL_LEAST} or newer."
        )


@checks.register(checks.Tags.database)
def check_postgresql(*, databases: Sequence[str] | None = None, **_: Any) -> list[checks.CheckMessage]:
    """Report a PostgreSQL that is too old, to `manage.py check --database default` and to `migrate`."""
    if not databases:
        return []
    try:
        refuse_version(server_version())
    except exceptions.ImproperlyConfigured as error:
        return [checks.Error(str(error), id="opsconsole.E001")]
    return []


def _allows(hosts: Sequence[str], host: str) -> bool:
    return any(host == known or (known.startswith(".") and host.endswith(known)) for known in hosts)
