"""Who may see or change what: the only loaders of projects and credentials.

Everything that belongs to a project is reached from what these functions return. A project that does not
exist, was deleted, or is somebody else's gives the same `Http404`, so an answer never tells which it was.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import dataclasses
import time
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, TypeVar

from django import http
from django.contrib.auth import models as auth_models
from django.core import exceptions
from django.db import DatabaseError, connection

from operations import keys, raw, rejections
from operations.models import people, projects

Row = TypeVar("Row")

LAST_USED_EVERY_S = 60.0
# In the place of a key's id: the operator's own commands.
NO_KEY = 0

# How long, and of how many keys, the row is remembered for those who recheck it. A project's settings that stand in it
# come into force as much later.
REMEMBERED_S = 5.0
REMEMBERED_MAX = 10_000
_looked_up: dict[str, tuple[float, tuple[Any, ...]]] = {}

# The newest moment at which this process wrote a key's last use. Losing it costs one UPDATE a key.
_last_used_written: dict[int, float] = {}

# Primary look-up by ingest_key.keyid (unique); the database's clock decides about expiry.
CREDENTIAL_SQL = """
SELECT k.id, k.secret_hmac, k.scopes, k.environment, k.runtime, k.tool_prefix,
       k.revoked_at IS NOT NULL, k.expires_at <= statement_timestamp(),
       p.id, p.slug, p.digest_key, p.retention_days, p.excerpt_days
  FROM ingest_key k JOIN project p ON p.id = k.project_id
 WHERE k.keyid = %s AND p.deleted_at IS NULL
"""

RECHECK_SQL = """
SELECT k.revoked_at IS NOT NULL, k.expires_at <= clock_timestamp()
  FROM ingest_key k JOIN project p ON p.id = k.project_id
 WHERE k.id = %s AND p.id = %s AND p.deleted_at IS NULL
"""

RECHECK_PROJECT_SQL = "SELECT false, NULL::boolean FROM project WHERE id = %s AND deleted_at IS NULL"

LAST_USED_SQL = """
UPDATE ingest_key SET last_used_at = statement_timestamp()
 WHERE id = %s AND (last_used_at IS NULL OR last_used_at < statement_timestamp() - interval '1 minute')
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Credential:
    """What a key that was found good opens: one project, some scopes, and what its records are bound to."""

    project_id: int
    project_slug: str
    key_id: int
    keyid: str
    scopes: frozenset[str]
    environment: str | None
    runtime: str | None
    tool_prefix: str | None
    digest_key: bytes
    retention_days: int
    excerpt_days: int


def project_for(
    user: people.User | auth_models.AnonymousUser, slug: str, *, role: str | None = None
) -> projects.Membership:
    """Load the membership of `user` in the project at `slug`, or raise the one and only 404.

    A member who lacks `role` is told so (403); anybody else learns nothing.
    """
    if not user.is_authenticated:
        raise http.Http404
    membership = (
        projects.Membership.objects.select_related("project")
        .filter(user=user, project__slug=slug, project__deleted_at__isnull=True)
        .first()
    )
    if membership is None:
        raise http.Http404
    if role is not None and not membership.has(role):
        raise exceptions.PermissionDenied
    return membership


def memberships_of(user: people.User | auth_models.AnonymousUser) -> list[projects.Membership]:
    """List the projects that `user` may open, by name."""
    if not user.is_authenticated:
        return []
    return list(
        projects.Membership.objects.select_related("project")
        .filter(user=user, project__deleted_at__isnull=True)
        .order_by("project__is_demo", "project__name", "project_id")
    )


def person(user: people.User | auth_models.AnonymousUser) -> people.User:
    """Narrow a request's user to a person; the sign-in middleware let nobody else come this far."""
    if not isinstance(user, people.User):
        raise exceptions.PermissionDenied
    return user


def may_create_projects(
    user: people.User | auth_models.AnonymousUser, memberships: Iterable[projects.Membership]
) -> bool:
    """Tell whether `user`, with these memberships, may make a project: staff of the installation, or some admin."""
    if not user.is_authenticated:
        return False
    return user.is_staff or any(membership.has(projects.Role.ADMIN) for membership in memberships)


def member_in(project: projects.Project, member_id: int) -> projects.Membership:
    """Load one membership of `project`, or raise the 404."""
    found = projects.Membership.objects.select_related("user", "project").filter(
        project=project, pk=member_id
    )
    return _only(found.first())


def invitation_in(project: projects.Project, invitation_id: int) -> projects.Invitation:
    """Load one invitation of `project`, or raise the 404."""
    return _only(projects.Invitation.objects.filter(project=project, pk=invitation_id).first())


def key_in(project: projects.Project, keyid: str) -> projects.IngestKey:
    """Load one ingest key of `project`, or raise the 404."""
    return _only(projects.IngestKey.objects.filter(project=project, keyid=keyid).first())


def credential_for(request: http.HttpRequest, *, scope: str | None, is_rechecked: bool = False) -> Credential:
    """Load what the key in the request's headers opens, or raise the refusal that names what is wrong.

    `scope=None` asks for any good key. Cookies and the address are never looked at. With `is_rechecked` the caller
    promises to `recheck` before it commits or answers, and a key that was good a moment ago is not looked up again.
    """
    return credential_by(_presented(request), scope=scope, is_rechecked=is_rechecked)


def credential_by(token: str, *, scope: str | None, is_rechecked: bool = False) -> Credential:
    """Load what the key `token` opens, or raise the refusal that names what is wrong."""
    keyid, secret = keys.parse(token)
    row = (_remembered(keyid) if is_rechecked else None) or _look_up(keyid)
    # The comparison happens on a miss too, so that its time does not tell which ids exist.
    is_match = keys.matches(secret, bytes(row[1]) if row else keys.NO_HMAC)
    if row is None or not is_match:
        raise rejections.UnknownKey
    _refuse_dead(is_revoked=row[6], is_expired=row[7])
    if scope is not None and scope not in row[2]:
        raise rejections.ScopeMissing
    _note_use(row[0])
    return Credential(
        project_id=row[8],
        project_slug=row[9],
        key_id=row[0],
        keyid=keyid,
        scopes=frozenset(row[2]),
        environment=row[3],
        runtime=row[4],
        tool_prefix=row[5],
        digest_key=bytes(row[10]),
        retention_days=row[11],
        excerpt_days=row[12],
    )


def credential_of(project: projects.Project) -> Credential:
    """Return what the operator's commands open: what any key of `project` could send, without one."""
    return Credential(
        project_id=project.pk,
        project_slug=project.slug,
        key_id=NO_KEY,
        keyid="command",
        scopes=frozenset({projects.Scope.INGEST.value}),
        environment=None,
        runtime=None,
        tool_prefix=None,
        digest_key=bytes(project.digest_key),
        retention_days=project.retention_days,
        excerpt_days=project.excerpt_days,
    )


def recheck(credential: Credential) -> None:
    """Refuse, inside the transaction that is about to commit, a key that died since it was looked up."""
    cursor = raw.cursor("recheck")
    if credential.key_id == NO_KEY:
        cursor.execute(RECHECK_PROJECT_SQL, [credential.project_id])
    else:
        cursor.execute(RECHECK_SQL, [credential.key_id, credential.project_id], prepare=True)
    row = cursor.fetchone()
    if row is None:
        raise rejections.KeyRevoked
    _refuse_dead(is_revoked=row[0], is_expired=row[1])


def _remembered(keyid: str) -> tuple[Any, ...] | None:
    at, row = _looked_up.get(keyid, (0.0, None))
    return row if time.monotonic() < at + REMEMBERED_S else None


def _look_up(keyid: str) -> tuple[Any, ...] | None:
    row = raw.cursor("credential").execute(CREDENTIAL_SQL, [keyid], prepare=True).fetchone()
    if row is not None:
        if len(_looked_up) > REMEMBERED_MAX:
            _looked_up.clear()
        _looked_up[keyid] = time.monotonic(), row
    return row


@contextlib.contextmanager
def refusing_dead(credential: Credential) -> Iterator[None]:
    """Tell the owner of a key that died so, rather than what else is wrong with the request."""
    try:
        yield
    except rejections.Rejection:
        recheck(credential)
        raise


def _only(found: Row | None) -> Row:
    if found is None:
        raise http.Http404
    return found


def _refuse_dead(*, is_revoked: bool, is_expired: bool | None) -> None:
    if is_revoked:
        raise rejections.KeyRevoked
    if is_expired:
        raise rejections.KeyExpired


def _presented(request: http.HttpRequest) -> str:
    """Read the key from the headers: Bearer, x-api-key, or Basic with the key on either side."""
    header = str(request.META.get("HTTP_AUTHORIZATION", ""))
    if not header:
        return str(request.META.get("HTTP_X_API_KEY", "")).strip() or _refuse_missing()
    kind, _, rest = header.partition(" ")
    kind, rest = kind.lower(), rest.strip()
    if kind == "bearer" and rest:
        return rest
    if kind == "basic" and rest:
        return _from_basic(rest)
    return _refuse_missing()


def _from_basic(encoded: str) -> str:
    try:
        user, _, password = base64.b64decode(encoded, validate=True).decode("ascii").partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise rejections.UnknownKey from None
    return user if user.startswith(keys.PREFIX) else password or _refuse_missing()


def _refuse_missing() -> NoReturn:
    raise rejections.MissingCredential


def _note_use(key_id: int) -> None:
    """Write the key's last use, at most once a minute in this process and outside any ingest transaction."""
    now = time.monotonic()
    if now - _last_used_written.get(key_id, -LAST_USED_EVERY_S) < LAST_USED_EVERY_S:
        return
    _last_used_written[key_id] = now
    # A database that takes no writes must still answer those who read.
    with contextlib.suppress(DatabaseError), connection.cursor() as cursor:
        cursor.execute(LAST_USED_SQL, [key_id])
