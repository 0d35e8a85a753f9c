"""Ingest keys: `ops_<keyid>_<secret>`, shown once, kept as a keyed hash.

A secret has 256 random bits, so one HMAC is enough; a slow hash would let anybody burn our CPU.
"""

from __future__ import annotations

import dataclasses
import datetime
import hmac
import re
import secrets
import string
from collections.abc import Iterable

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from operations import rejections
from operations.models import people, projects

PREFIX = "ops_"
# What a key that does not exist is compared with.
NO_HMAC = bytes(32)

_KEYID_LETTERS = string.ascii_lowercase + string.digits
_TOKEN = re.compile(r"ops_([a-z0-9]{12})_([A-Za-z0-9_-]{43})")


@dataclasses.dataclass(frozen=True, slots=True)
class Issued:
    """A new key with its token, which exists nowhere else and is never shown again."""

    key: projects.IngestKey
    token: str


@dataclasses.dataclass(frozen=True, slots=True)
class Binding:
    """What the records of a key must carry; None means anything."""

    environment: str | None = None
    runtime: str | None = None
    tool_prefix: str | None = None


def issue(
    project: projects.Project,
    *,
    name: str,
    scopes: Iterable[str],
    by: people.User | None = None,
    expires_at: datetime.datetime | None = None,
    binding: Binding = Binding(),
) -> Issued:
    """Make a key of `project`; the token in the answer is the only copy."""
    wanted = set(scopes)
    return _store(
        projects.IngestKey(
            project=project,
            name=name,
            scopes=[scope for scope in projects.Scope.values if scope in wanted],
            environment=binding.environment or None,
            runtime=binding.runtime or None,
            tool_prefix=binding.tool_prefix or None,
            created_by=by,
            expires_at=expires_at,
        )
    )


@transaction.atomic
def rotate(key: projects.IngestKey, *, by: people.User) -> Issued:
    """Make a second key with the same powers; the first stays alive until somebody revokes it."""
    held = projects.IngestKey.objects.select_for_update().get(pk=key.pk)
    now = timezone.now()
    if not held.is_live(now):
        raise rejections.KeyNotLive
    if any(newer.is_live(now) for newer in held.rotated_by.all()):
        raise rejections.KeyBeingRotated
    return _store(
        projects.IngestKey(
            project_id=held.project_id,
            name=held.name,
            scopes=held.scopes,
            environment=held.environment,
            runtime=held.runtime,
            tool_prefix=held.tool_prefix,
            created_by=by,
            expires_at=held.expires_at and now + (held.expires_at - held.created_at),
            rotates=held,
        )
    )


def revoke(key: projects.IngestKey) -> None:
    """End a key at once: what it has not committed by now is refused. Twice keeps the first moment."""
    projects.IngestKey.objects.filter(pk=key.pk, revoked_at__isnull=True).update(revoked_at=timezone.now())


def parse(token: str) -> tuple[str, str]:
    """Split a presented token into its public id and its secret, or refuse it as unknown."""
    match = _TOKEN.fullmatch(token)
    if match is None:
        raise rejections.UnknownKey
    return match[1], match[2]


def matches(secret: str, stored: bytes) -> bool:
    """Compare a presented secret with a stored hash in constant time."""
    return hmac.compare_digest(secret_hmac(secret), stored)


def secret_hmac(secret: str) -> bytes:
    """Hash a secret under the installation's pepper, without which a stolen table is useless."""
    return hmac.digest(settings.KEY_PEPPER, secret.encode("ascii"), "sha256")


def _store(key: projects.IngestKey) -> Issued:
    keyid = "".join(secrets.choice(_KEYID_LETTERS) for _ in range(12))
    secret = secrets.token_urlsafe(32)
    key.keyid, key.secret_hmac, key.last4 = keyid, secret_hmac(secret), secret[-4:]
    key.save(force_insert=True)
    return Issued(key=key, token=f"{PREFIX}{keyid}_{secret}")
