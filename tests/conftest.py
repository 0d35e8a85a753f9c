"""What every test may ask for. Servers start when the first test needs them and are gone at the end."""

from __future__ import annotations

import contextlib
import datetime
import os
import pathlib
import secrets
import tempfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import django
import psycopg
import pytest
import time_machine
from playwright import sync_api

from opsconsole.local import servers
from tests import databases, stack

if TYPE_CHECKING:
    from django.contrib.auth import base_user as auth_models

CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

Owner = psycopg.Connection[tuple[object, ...]]

held = pytest.StashKey[contextlib.ExitStack]()


def pytest_configure(config: pytest.Config) -> None:
    """Reserve the run's servers (in xdist's controller) and set Django up before anything is collected."""
    if not hasattr(config, "workerinput"):
        config.stash[held] = contextlib.ExitStack()
        config.stash[held].enter_context(reserve())
    else:
        os.environ["REDIS_URL"] = databases.redis_of(config.workerinput["workerid"])
    os.environ["DJANGO_SETTINGS_MODULE"] = "opsconsole.settings"
    from django.conf import settings

    settings.PASSWORD_HASHERS = [
        "tests.hashing.QuickHasher",
        "django.contrib.auth.hashers.PBKDF2PasswordHasher",
    ]
    # Names without hashes: pages can be made before `collectstatic`. The live stack uses the real storage.
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}
    django.setup()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Give back what was reserved, even after a failure."""
    if held in config.stash:
        config.stash[held].close()


@contextlib.contextmanager
def reserve() -> Iterator[None]:
    """Put the addresses of this run's servers into the environment, for xdist's workers too."""
    with contextlib.ExitStack() as stack:
        if os.environ.get("DATABASE_URL"):
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
            wanted = {"SECRET_KEY": os.environ.get("SECRET_KEY") or secrets.token_urlsafe(64)}
            wanted["DATABASE_OWNER_URL"] = os.environ.get("DATABASE_OWNER_URL") or os.environ["DATABASE_URL"]
        else:
            place = stack.enter_context(servers.throwaway())
            folder = place.data / "scratch"
            folder.mkdir()
            wanted = {**place.environment(), databases.EMBEDDED: str(place.data)}
        wanted |= {databases.SCRATCH: str(folder), databases.RUN: secrets.token_hex(4)}
        wanted |= {"PLAIN_HTTP": "yes", "DATABASE_POOL": "0", "STATIC_ROOT": str(folder / "static")}
        (folder / "static").mkdir()
        os.environ.update(wanted)
        yield
        if databases.EMBEDDED not in os.environ:
            databases.drop_all()


@pytest.fixture(scope="session")
def running_servers() -> Iterator[None]:
    """PostgreSQL and Valkey, answering."""
    children = databases.start_servers()
    yield
    for child in children.values():
        # The process that reserved them ends them, after the last worker.
        child.returncode = 0


@pytest.fixture(scope="session")
def database_name(running_servers: None, worker_id: str, django_db_blocker: object) -> str:
    """The name of this worker's database; Django's `default` is the app role in it."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        return databases.make(worker_id)


@pytest.fixture(scope="session")
def seeded_tables(database_name: str) -> set[str]:
    """The tables that migrations fill; emptying leaves them alone."""
    with databases.connect(database_name) as connection:
        return databases.filled_tables(connection)


@pytest.fixture(scope="session")
def django_db_setup(database_name: str, seeded_tables: set[str]) -> Iterator[None]:
    """Give Django the worker's database, and empty it as the owner after tests that commit."""
    from django.db import connections
    from django.test import testcases

    def empty(case: object) -> None:
        with databases.connect(database_name) as connection:
            databases.wipe(connection, keep=seeded_tables)

    with pytest.MonkeyPatch.context() as patch:
        # Django's own way needs TRUNCATE, which the app role must not have, and knows only models.
        patch.setattr(testcases.TransactionTestCase, "_fixture_teardown", empty)
        yield
    connections.close_all()


@pytest.fixture
def clean_database(transactional_db: None) -> None:
    """A database in which this test may commit, emptied after it."""


@pytest.fixture
def owner_connection(django_db_setup: None, database_name: str) -> Iterator[Owner]:
    """A connection of the owner, which commits each statement. Ask for `clean_database` when writing."""
    with databases.connect(database_name) as connection:
        yield connection


@pytest.fixture
def now() -> Iterator[datetime.datetime]:
    """A clock that stands at noon; the database's own clock goes on."""
    moment = datetime.datetime(2026, 3, 10, 12, 0, tzinfo=datetime.UTC)
    with time_machine.travel(moment, tick=False):
        yield moment


@pytest.fixture(scope="session")
def session_stack(
    django_db_setup: None, database_name: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[stack.Stack]:
    """The real web server and workers on this worker's database, started once. Ask for `live_stack`."""
    with stack.running(database_name, tmp_path_factory.mktemp("stack")) as running:
        yield running


@pytest.fixture
def live_stack(clean_database: None, session_stack: stack.Stack) -> Iterator[stack.Stack]:
    """The real web server and workers, ready, on a database in which this test commits."""
    session_stack.wake()
    session_stack.wait_until_ready()
    yield session_stack
    session_stack.rest()


@pytest.fixture(scope="session")
def browser() -> Iterator[sync_api.Browser]:
    """A real Chromium: CHROMIUM, or the one that the system has."""
    program = os.environ.get("CHROMIUM") or "/usr/bin/chromium"
    with pytest.MonkeyPatch.context() as patch, sync_api.sync_playwright() as playwright:
        # Playwright keeps an event loop in this thread, from which Django would refuse to be called.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "yes")
        chromium = playwright.chromium.launch(executable_path=program, args=CHROMIUM_ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def context(browser: sync_api.Browser, live_stack: stack.Stack) -> Iterator[sync_api.BrowserContext]:
    """A browser of somebody who was never here; addresses are relative to the running console."""
    fresh = browser.new_context(base_url=live_stack.address)
    fresh.set_default_timeout(15_000)
    yield fresh
    fresh.close()


@pytest.fixture
def page(context: sync_api.BrowserContext) -> Iterator[sync_api.Page]:
    """A page in which no script fails and nothing offends the Content-Security-Policy."""
    complaints: list[str] = []
    fresh = context.new_page()
    fresh.on("pageerror", lambda error: complaints.append(str(error)))
    fresh.on("console", lambda said: complaints.append(said.text) if offends(said) else None)
    yield fresh
    assert complaints == []


@pytest.fixture
def sign_in(
    context: sync_api.BrowserContext, live_stack: stack.Stack
) -> Callable[[auth_models.AbstractBaseUser], None]:
    """Sign a person into the browser without the form."""

    def remember(person: auth_models.AbstractBaseUser) -> None:
        from django.conf import settings
        from django.test import Client

        client = Client()
        client.force_login(person, backend=settings.AUTHENTICATION_BACKENDS[0])
        cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
        context.add_cookies(
            [{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live_stack.address}]
        )

    return remember


def offends(said: sync_api.ConsoleMessage) -> bool:
    """Tell whether the browser refused something that a page of ours asked for."""
    return said.type == "error" and "Content Security Policy" in said.text
