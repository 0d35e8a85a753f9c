from __future__ import annotations

import datetime
import threading

import pytest
from django.db import connection
from django.utils import timezone

from operations import members, projects, rejections
from operations.models import people
from operations.models import projects as tenants
from tests import make

pytestmark = pytest.mark.django_db


def roles_of(user: people.User, project: tenants.Project) -> list[str] | None:
    found = tenants.Membership.objects.filter(user=user, project=project).first()
    return found.roles if found else None


def invite(email: str = "erin@acme.example", roles: tuple[str, ...] = ("viewer",)) -> members.Invited:
    return members.invite(make.acme(), email=email, roles=roles, by=make.alice())


def test_a_new_person_accepts_with_a_password_and_gets_the_offered_roles():
    token = invite("Erin@Acme.example", ("responder", "viewer")).token

    membership = members.accept_as_new(token, name="Erin", password=make.PASSWORD)

    assert membership.user.email == "erin@acme.example"
    assert membership.user.check_password(make.PASSWORD)
    assert roles_of(membership.user, make.acme()) == ["viewer", "responder"]


def test_a_link_works_once():
    token = invite().token
    members.accept_as_new(token, name="", password=make.PASSWORD)

    with pytest.raises(rejections.InvitationGone):
        members.invitation_for(token)
    with pytest.raises(rejections.InvitationGone):
        members.accept(token, user=people.User.objects.get(email="erin@acme.example"))


def test_the_token_is_not_in_the_table():
    invited = invite()

    assert invited.token not in repr(tenants.Invitation.objects.values().get(pk=invited.invitation.pk))


def test_somebody_else_cannot_accept():
    token = invite("dora@nowhere.example").token

    with pytest.raises(rejections.InvitedAsSomebodyElse):
        members.accept(token, user=make.charlie())
    make.dora()
    with pytest.raises(rejections.InvitedAsSomebodyElse):
        members.accept_as_new(token, name="", password=make.PASSWORD)
    assert roles_of(make.charlie(), make.acme()) is None


def test_unknown_expired_withdrawn_and_superseded_links_are_refused_alike():
    expired, withdrawn = invite("a@acme.example"), invite("b@acme.example")
    superseded, current = invite("c@acme.example"), invite("C@acme.example")
    tenants.Invitation.objects.filter(pk=expired.invitation.pk).update(expires_at=timezone.now())
    members.withdraw(withdrawn.invitation)

    for token in (expired.token, withdrawn.token, superseded.token, "nonsense"):
        with pytest.raises(rejections.InvitationGone):
            members.invitation_for(token)
    assert [found.email for found in members.open_invitations(make.acme())] == ["c@acme.example"]
    assert members.invitation_for(current.token).is_open(timezone.now())


def test_a_link_lasts_seven_days():
    invitation = invite().invitation

    assert invitation.expires_at - invitation.created_at == datetime.timedelta(days=7)


def test_a_link_to_a_deleted_project_is_gone():
    token = invite().token
    projects.delete(make.acme())

    with pytest.raises(rejections.InvitationGone):
        members.invitation_for(token)


def test_a_member_is_not_invited_again():
    make.bob()

    with pytest.raises(rejections.AlreadyMember):
        invite("BOB@acme.example")


def test_the_last_admin_can_neither_be_removed_nor_demoted():
    alice, _ = make.alice(), make.bob()
    membership = tenants.Membership.objects.get(user=alice)

    with pytest.raises(rejections.LastAdmin):
        members.remove(membership)
    with pytest.raises(rejections.LastAdmin):
        members.change_roles(membership, roles=["viewer", "approver"])
    assert roles_of(alice, make.acme()) == ["approver", "admin"]


def test_an_admin_who_cannot_sign_in_does_not_count():
    alice = make.alice()
    gone = make.dora()
    make.join(gone, make.acme(), ["admin"])
    people.User.objects.filter(pk=gone.pk).update(is_active=False)

    with pytest.raises(rejections.LastAdmin):
        members.remove(tenants.Membership.objects.get(user=alice))


def test_with_a_second_admin_the_first_may_go():
    alice, dora = make.alice(), make.dora()
    make.join(dora, make.acme(), ["admin"])
    members.remove(tenants.Membership.objects.get(user=alice))

    assert roles_of(alice, make.acme()) is None
    assert roles_of(dora, make.acme()) == ["admin"]


@pytest.mark.usefixtures("clean_database")
def test_two_admins_who_remove_each_other_at_once_leave_one():
    alice, other = make.alice(), make.dora()
    make.join(other, make.acme(), ["admin"])
    start, refused = threading.Barrier(2), []

    def demote(user: people.User) -> None:
        membership = tenants.Membership.objects.select_related("project").get(user=user)
        start.wait()
        try:
            members.remove(membership)
        except rejections.LastAdmin:
            refused.append(user)
        finally:
            connection.close()

    racers = [threading.Thread(target=demote, args=(user,)) for user in (alice, other)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()

    assert len(refused) == 1
    assert tenants.Membership.objects.filter(project=make.acme(), roles__contains=["admin"]).count() == 1


@pytest.mark.usefixtures("clean_database")
def test_one_link_opened_twice_at_once_makes_one_person():
    make.alice()
    token = invite().token
    start, refused = threading.Barrier(2), []

    def accept() -> None:
        start.wait()
        try:
            members.accept_as_new(token, name="", password=make.PASSWORD)
        except (rejections.InvitationGone, rejections.InvitedAsSomebodyElse) as refusal:
            refused.append(refusal)
        finally:
            connection.close()

    racers = [threading.Thread(target=accept) for _ in range(2)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()

    assert len(refused) == 1
    assert people.User.objects.filter(email="erin@acme.example").count() == 1
