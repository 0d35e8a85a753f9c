"""Who belongs to a project: invite, accept, change roles, remove.

A project always keeps an admin who can sign in. Every change of roles takes the project's row first, so two
admins who demote each other at once cannot both succeed.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import secrets
from collections.abc import Iterable

from django.db import models, transaction, utils
from django.utils import timezone

from operations import rejections
from operations.models import people, projects

INVITATION_LASTS = datetime.timedelta(days=7)


@dataclasses.dataclass(frozen=True, slots=True)
class Invited:
    """An invitation with the token of its link, which is not kept."""

    invitation: projects.Invitation
    token: str


@transaction.atomic
def invite(project: projects.Project, *, email: str, roles: Iterable[str], by: people.User) -> Invited:
    """Offer `email` a membership; an earlier link for the same address stops working."""
    _take(project)
    address = email.strip().lower()
    if projects.Membership.objects.filter(project=project, user__email=address).exists():
        raise rejections.AlreadyMember
    now = timezone.now()
    _open_invitations(project, now).filter(email=address).update(revoked_at=now)
    token = secrets.token_urlsafe(32)
    invitation = projects.Invitation.objects.create(
        project=project,
        email=address,
        roles=_in_order(roles),
        token_sha256=_token_sha256(token),
        invited_by=by,
        created_at=now,
        expires_at=now + INVITATION_LASTS,
    )
    return Invited(invitation=invitation, token=token)


def invitation_for(token: str) -> projects.Invitation:
    """Find the open invitation that a link names; one refusal for unknown, used, withdrawn and expired."""
    invitation = (
        projects.Invitation.objects.select_related("project", "invited_by")
        .filter(token_sha256=_token_sha256(token), project__deleted_at__isnull=True)
        .first()
    )
    if invitation is None or not invitation.is_open(timezone.now()):
        raise rejections.InvitationGone
    return invitation


def open_invitations(project: projects.Project) -> list[projects.Invitation]:
    """List the invitations of `project` that still work, newest first."""
    return list(
        _open_invitations(project, timezone.now()).select_related("invited_by").order_by("-created_at", "-id")
    )


@transaction.atomic
def accept(token: str, *, user: people.User) -> projects.Membership:
    """Turn an invitation into a membership of `user`, once."""
    found = invitation_for(token)
    _take(found.project)
    invitation = projects.Invitation.objects.select_for_update().get(pk=found.pk)
    now = timezone.now()
    if not invitation.is_open(now):
        raise rejections.InvitationGone
    if invitation.email != user.email:
        raise rejections.InvitedAsSomebodyElse
    invitation.accepted_at = now
    invitation.save(update_fields=["accepted_at"])
    membership, _ = projects.Membership.objects.get_or_create(
        project=found.project, user=user, defaults={"roles": invitation.roles}
    )
    return membership


@transaction.atomic
def accept_as_new(token: str, *, name: str, password: str) -> projects.Membership:
    """Make the invited person an account with this password, and turn the invitation into a membership."""
    invitation = invitation_for(token)
    if is_known(invitation.email):
        raise rejections.InvitedAsSomebodyElse
    try:
        with transaction.atomic():
            user = people.User.objects.create_user(invitation.email, password, name=name)
    except utils.IntegrityError:
        # Another project's invitation to the same person was accepted at this moment.
        raise rejections.InvitedAsSomebodyElse from None
    return accept(token, user=user)


def is_known(email: str) -> bool:
    """Tell whether somebody signs in with this address."""
    return people.User.objects.filter(email=email).exists()


def withdraw(invitation: projects.Invitation) -> None:
    """End an invitation; its link stops working at once."""
    projects.Invitation.objects.filter(
        pk=invitation.pk, accepted_at__isnull=True, revoked_at__isnull=True
    ).update(revoked_at=timezone.now())


@transaction.atomic
def change_roles(membership: projects.Membership, *, roles: Iterable[str]) -> None:
    """Give a member exactly these roles."""
    _take(membership.project)
    wanted = _in_order(roles)
    if projects.Role.ADMIN not in wanted:
        _keep_an_admin(membership)
    projects.Membership.objects.filter(pk=membership.pk).update(roles=wanted)


@transaction.atomic
def remove(membership: projects.Membership) -> None:
    """End a membership."""
    _take(membership.project)
    _keep_an_admin(membership)
    projects.Membership.objects.filter(pk=membership.pk).delete()


def _take(project: projects.Project) -> None:
    # NO KEY: whoever inserts a row that references the project does not have to wait.
    projects.Project.objects.select_for_update(no_key=True).get(pk=project.pk)


def _keep_an_admin(leaving: projects.Membership) -> None:
    others = projects.Membership.objects.filter(
        project_id=leaving.project_id, roles__contains=[projects.Role.ADMIN], user__is_active=True
    ).exclude(pk=leaving.pk)
    if not others.exists():
        raise rejections.LastAdmin


def _open_invitations(
    project: projects.Project, now: datetime.datetime
) -> models.QuerySet[projects.Invitation]:
    return projects.Invitation.objects.filter(
        project=project, accepted_at__isnull=True, revoked_at__isnull=True, expires_at__gt=now
    )


def _in_order(roles: Iterable[str]) -> list[str]:
    wanted = set(roles)
    return [role for role in projects.Role.values if role in wanted]


def _token_sha256(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
