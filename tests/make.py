"""The people, projects and keys that tests begin with.

Alice runs Acme (admin and approver), Bob may look at it (viewer); Charlie, a stranger to it, runs Globex.
Each function gives the same one when asked twice in a test.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from django.test import Client

from operations import keys
from operations.models import people, projects

PASSWORD = "correct horse battery staple"


def alice() -> people.User:
    """Acme's admin and approver."""
    return _member("alice@acme.example", "Alice", acme(), ["approver", "admin"])


def bob() -> people.User:
    """A viewer of Acme."""
    return _member("bob@acme.example", "Bob", acme(), ["viewer"])


def charlie() -> people.User:
    """Globex's admin, and nobody to Acme."""
    return _member("charlie@globex.example", "Charlie", globex(), ["admin"])


def dora() -> people.User:
    """Somebody with an account and no project."""
    return person("dora@nowhere.example", "Dora")


def acme() -> projects.Project:
    """The project that most tests are about."""
    return project("acme", "Acme")


def globex() -> projects.Project:
    """Another tenant."""
    return project("globex", "Globex")


def person(email: str, name: str = "", *, password: str = PASSWORD, is_staff: bool = False) -> people.User:
    """Somebody who signs in with `email` and PASSWORD."""
    found = people.User.objects.filter(email=email).first()
    return found or people.User.objects.create_user(email, password, name=name, is_staff=is_staff)


def project(slug: str, name: str = "") -> projects.Project:
    """A project at `slug`, with nobody in it."""
    found = projects.Project.objects.filter(slug=slug, deleted_at__isnull=True).first()
    return found or projects.Project.objects.create(slug=slug, name=name or slug.title())


def join(user: people.User, to: projects.Project, roles: Iterable[str]) -> projects.Membership:
    """A membership with exactly these roles."""
    membership, _ = projects.Membership.objects.update_or_create(
        user=user, project=to, defaults={"roles": list(roles)}
    )
    return membership


def key(
    of: projects.Project | None = None,
    *,
    scopes: Iterable[str] = ("ingest",),
    expires_at: datetime.datetime | None = None,
    environment: str | None = None,
    runtime: str | None = None,
    tool_prefix: str | None = None,
) -> keys.Issued:
    """A new key of Acme, or of the project given; `.token` is what a runtime sends."""
    return keys.issue(
        of or acme(),
        name="test key",
        scopes=scopes,
        expires_at=expires_at,
        binding=keys.Binding(environment=environment, runtime=runtime, tool_prefix=tool_prefix),
    )


def bearer(issued: keys.Issued) -> dict[str, str]:
    """The header that carries a key: `client.get(url, headers=make.bearer(key))`."""
    return {"Authorization": f"Bearer {issued.token}"}


def browser(user: people.User | None = None) -> Client:
    """A browser in which `user`, if any, is signed in."""
    client = Client()
    if user is not None:
        client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


def _member(email: str, name: str, of: projects.Project, roles: list[str]) -> people.User:
    user = person(email, name)
    join(user, of, roles)
    return user
