"""The tenant, who belongs to it, who was invited to it, and the keys that its runtimes send with."""

from __future__ import annotations

import datetime
import secrets

from django.contrib.postgres import fields as postgres_fields
from django.core import validators
from django.db import models
from django.utils import timezone

from operations.models import people

SLUG_PATTERN = r"\A[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?\Z"
NAME_PATTERN = r"\A[^\x00-\x1f\x7f]+\Z"


class Role(models.TextChoices):
    """What a member may do; a member has a set of these, and none implies another."""

    VIEWER = "viewer", "Viewer"
    RESPONDER = "responder", "Responder"
    APPROVER = "approver", "Approver"
    ADMIN = "admin", "Admin"


class Scope(models.TextChoices):
    """What a key may do; none of them decides anything."""

    INGEST = "ingest", "Send records"
    READ = "read", "Read records"
    APPROVALS = "approvals", "Ask for approvals"


def new_digest_key() -> bytes:
    """Make the key under which one project's digests are stored."""
    return secrets.token_bytes(32)


class Project(models.Model):
    """The tenant. A deleted one is unreachable at once; its rows go in steps."""

    slug = models.CharField(
        max_length=40,
        validators=[
            validators.RegexValidator(
                SLUG_PATTERN, "Use lower-case letters and digits, with hyphens between."
            )
        ],
    )
    name = models.CharField(
        max_length=80,
        validators=[validators.RegexValidator(NAME_PATTERN, "Leave out control characters.")],
    )
    digest_key = models.BinaryField(max_length=32, default=new_digest_key)
    default_environment = models.CharField(max_length=64, default="production", blank=True)
    retention_days = models.PositiveIntegerField(default=90)
    excerpt_days = models.PositiveIntegerField(default=14)
    is_demo = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "project"
        constraints = [
            # Serves access.project_for. A deleted project gives its address back.
            models.UniqueConstraint(
                fields=["slug"], condition=models.Q(deleted_at__isnull=True), name="project_slug_is_unique"
            ),
            models.CheckConstraint(
                condition=models.Q(slug__regex=SLUG_PATTERN), name="project_slug_is_well_formed"
            ),
            models.CheckConstraint(
                condition=models.Q(excerpt_days__lte=models.F("retention_days"), excerpt_days__gte=1),
                name="project_excerpts_go_first",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """One person in one project, with a set of roles."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        people.User, on_delete=models.CASCADE, related_name="memberships", db_index=False
    )
    roles = postgres_fields.ArrayField(models.CharField(max_length=16, choices=Role.choices))
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "membership"
        constraints = [
            # Serves access.project_for and access.memberships_of: one person's projects.
            models.UniqueConstraint(fields=["user", "project"], name="membership_is_unique"),
            models.CheckConstraint(
                condition=models.Q(roles__contained_by=list(Role.values), roles__len__gte=1),
                name="membership_roles_are_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.project}"

    def has(self, role: str) -> bool:
        """Tell whether this member holds `role` itself; no role implies another."""
        return role in self.roles

    @property
    def role_labels(self) -> list[str]:
        """The roles as words, in their fixed order."""
        return [str(role.label) for role in Role if role.value in self.roles]


class Invitation(models.Model):
    """An offer of membership to one e-mail address, by a link that works once."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField()
    roles = postgres_fields.ArrayField(models.CharField(max_length=16, choices=Role.choices))
    # SHA-256 of the token in the link: reading this table lets nobody in.
    token_sha256 = models.BinaryField(max_length=32, unique=True)
    invited_by = models.ForeignKey(
        people.User, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "invitation"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(roles__contained_by=list(Role.values), roles__len__gte=1),
                name="invitation_roles_are_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.email} to {self.project}"

    @property
    def role_labels(self) -> list[str]:
        """The offered roles as words, in their fixed order."""
        return [str(role.label) for role in Role if role.value in self.roles]

    def is_open(self, now: datetime.datetime) -> bool:
        """Tell whether the link still works at `now`."""
        return self.accepted_at is None and self.revoked_at is None and self.expires_at > now


class IngestKey(models.Model):
    """A runtime's credential: a public id and a secret of which only a keyed hash is kept."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="keys")
    # Serves access.credential_for.
    keyid = models.CharField(max_length=12, unique=True)
    secret_hmac = models.BinaryField(max_length=32)
    last4 = models.CharField(max_length=4)
    name = models.CharField(
        max_length=80,
        validators=[validators.RegexValidator(NAME_PATTERN, "Leave out control characters.")],
    )
    scopes = postgres_fields.ArrayField(models.CharField(max_length=16, choices=Scope.choices))
    environment = models.CharField(max_length=64, null=True, blank=True)  # noqa: DJ001 - null is "any", as in a record
    runtime = models.CharField(max_length=128, null=True, blank=True)  # noqa: DJ001
    tool_prefix = models.CharField(max_length=128, null=True, blank=True)  # noqa: DJ001
    created_by = models.ForeignKey(
        people.User, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    # Written at most once a minute by each process.
    last_used_at = models.DateTimeField(null=True, blank=True)
    rotates = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="rotated_by", db_index=False
    )

    class Meta:
        db_table = "ingest_key"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(scopes__contained_by=list(Scope.values), scopes__len__gte=1),
                name="ingest_key_scopes_are_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.keyid})"

    def is_live(self, now: datetime.datetime) -> bool:
        """Tell whether the key opens anything at `now`."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)

    @property
    def scope_labels(self) -> list[str]:
        """The scopes as words, in their fixed order."""
        return [str(scope.label) for scope in Scope if scope.value in self.scopes]
