"""Test databases: one template that is migrated once a run, and a clone of it for every xdist worker."""

from __future__ import annotations

import os
import pathlib
import subprocess
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.conf import settings
from django.core import management
from django.db import connections
from psycopg import sql

from opsconsole.local import locks, servers

SCRATCH = "OPSCONSOLE_TEST_SCRATCH"
RUN = "OPSCONSOLE_TEST_RUN"
# Set when the run has servers of its own, rather than given addresses.
EMBEDDED = "OPSCONSOLE_TEST_EMBEDDED"

ALL_TABLES = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
 ORDER BY 1
"""


def scratch() -> pathlib.Path:
    """Return the folder that the processes of this run share."""
    return pathlib.Path(os.environ[SCRATCH])


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let one process of this run in."""
    with locks.hold(scratch() / "run.lock"):
        yield


def start_servers() -> dict[str, subprocess.Popen[bytes]]:
    """Start the run's own servers unless they run; the process that reserved them ends them."""
    if EMBEDDED not in os.environ:
        return {}
    place = servers.open_place(pathlib.Path(os.environ[EMBEDDED]), is_throwaway=True)
    with one_at_a_time():
        return {} if servers.are_running(place) else servers.start(place)


def make(worker: str) -> str:
    """Make this worker's database, point Django at it, and return its name."""
    template, name = (f"test_{os.environ[RUN]}_{kind}" for kind in ("template", worker))
    with one_at_a_time():
        marker = scratch() / "template-migrated"
        if not marker.exists():
            _run_on_server("DROP DATABASE IF EXISTS {} WITH (FORCE)", template)
            _run_on_server("CREATE DATABASE {}", template)
            _point_at(template)
            management.call_command("migrate", verbosity=0, interactive=False)
            connections.close_all()
            marker.touch()
        _run_on_server("CREATE DATABASE {} TEMPLATE {}", name, template)
    _point_at(name)
    return name


def redis_of(worker: str) -> str:
    """Return the address of this worker's own numbered database in Redis, so that no stack takes another's tasks."""
    parts = urllib.parse.urlsplit(os.environ["REDIS_URL"])
    number = int(worker.removeprefix("gw")) + 1
    if parts.scheme == "unix":
        return f"unix://{parts.path}?db={number}"
    return parts._replace(path=f"/{number}").geturl()


def drop_all() -> None:
    """Drop what this run made on a given server."""
    with connect(None) as connection:
        prefix = f"test_{os.environ[RUN]}_"
        found = connection.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [prefix])
        for (name,) in found.fetchall():
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def connect(name: str | None) -> psycopg.Connection[tuple[object, ...]]:
    """Return an autocommitting connection as the owner, to the database `name` or the given one."""
    return psycopg.connect(
        os.environ["DATABASE_OWNER_URL"], autocommit=True, **({"dbname": name} if name else {})
    )


def filled_tables(connection: psycopg.Connection[tuple[object, ...]]) -> set[str]:
    """Return the tables that hold any row."""
    names = [str(name) for (name,) in connection.execute(ALL_TABLES).fetchall()]
    ask = sql.SQL(" UNION ALL ").join(
        sql.SQL("(SELECT {} FROM {} LIMIT 1)").format(sql.Literal(name), sql.Identifier(name))
        for name in names
    )
    return {str(name) for (name,) in connection.execute(ask).fetchall()}


def wipe(connection: psycopg.Connection[tuple[object, ...]], *, keep: set[str]) -> None:
    """Empty every table but those in `keep`."""
    filled = sorted(filled_tables(connection) - keep)
    if filled:
        tables = sql.SQL(", ").join(map(sql.Identifier, filled))
        connection.execute(sql.SQL("TRUNCATE {} CASCADE").format(tables))


def _point_at(name: str) -> None:
    for alias in ("default", "owner"):
        connections[alias].close()
        settings.DATABASES[alias]["NAME"] = name
        connections[alias].settings_dict["NAME"] = name


def _run_on_server(statement: str, *names: str) -> None:
    with connect(None) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
