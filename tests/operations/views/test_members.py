from __future__ import annotations

import re

import pytest

from operations.models import projects as tenants
from tests import make

pytestmark = pytest.mark.django_db

MEMBERS = "/p/acme/settings/members"


def test_an_admin_invites_and_sees_the_link_once():
    browser = make.browser(make.alice())
    page = browser.post(MEMBERS, {"email": "Erin@acme.example", "roles": ["viewer", "responder"]})

    link = re.search(r"http://testserver/invitations/[\w-]{43}", page.text)
    assert link
    invitation = tenants.Invitation.objects.get()
    assert (invitation.email, invitation.roles) == ("erin@acme.example", ["viewer", "responder"])
    again = browser.get(MEMBERS)
    assert "erin@acme.example" in again.text
    assert "/invitations/" not in again.text.replace("/settings/invitations/", "")


def test_an_invitation_links_to_the_configured_address(settings):
    settings.PUBLIC_URL = "https://console.example.com"
    page = make.browser(make.alice()).post(MEMBERS, {"email": "erin@acme.example", "roles": ["viewer"]})

    assert "https://console.example.com/invitations/" in page.text


def test_inviting_a_member_says_so_next_to_the_field():
    make.bob()
    page = make.browser(make.alice()).post(MEMBERS, {"email": "bob@acme.example", "roles": ["viewer"]})

    assert "belongs to the project already" in page.text


@pytest.mark.parametrize("roles", [[], ["owner"]])
def test_an_invitation_has_known_roles(roles):
    page = make.browser(make.alice()).post(MEMBERS, {"email": "erin@acme.example", "roles": roles})

    assert 'class="errors"' in page.text
    assert tenants.Invitation.objects.count() == 0


def test_an_admin_changes_roles_and_removes():
    browser = make.browser(make.alice())
    bob = tenants.Membership.objects.get(user=make.bob())
    browser.post(f"{MEMBERS}/{bob.pk}/roles", {"roles": ["approver", "viewer"]})
    bob.refresh_from_db()

    assert bob.roles == ["viewer", "approver"]
    browser.post(f"{MEMBERS}/{bob.pk}/remove")
    assert not tenants.Membership.objects.filter(pk=bob.pk).exists()


def test_a_removed_member_is_out_at_once():
    browser, bobs = make.browser(make.alice()), make.browser(make.bob())
    assert bobs.get(MEMBERS).status_code == 200
    browser.post(f"{MEMBERS}/{tenants.Membership.objects.get(user=make.bob()).pk}/remove")

    assert bobs.get(MEMBERS).status_code == 404


def test_the_last_admin_is_told_why_they_stay():
    alice = make.alice()
    own = tenants.Membership.objects.get(user=alice)
    browser = make.browser(alice)

    page = browser.post(f"{MEMBERS}/{own.pk}/remove", follow=True)
    assert "keeps at least one admin" in page.text
    page = browser.post(f"{MEMBERS}/{own.pk}/roles", {"roles": ["viewer"]}, follow=True)
    assert "keeps at least one admin" in page.text
    page = browser.post(f"{MEMBERS}/{own.pk}/roles", {"roles": []}, follow=True)
    assert "at least one role" in page.text
    own.refresh_from_db()
    assert own.roles == ["approver", "admin"]


def test_an_admin_who_leaves_is_led_home():
    alice = make.alice()
    make.join(make.dora(), make.acme(), ["admin"])
    response = make.browser(alice).post(f"{MEMBERS}/{tenants.Membership.objects.get(user=alice).pk}/remove")

    assert response["Location"] == "/"


def test_a_viewer_sees_who_belongs_and_changes_nothing():
    alice, bob = make.alice(), make.bob()
    browser = make.browser(bob)
    hers = tenants.Membership.objects.get(user=alice)

    page = browser.get(MEMBERS)
    assert "alice@acme.example" in page.text
    assert 'action="/p/acme' not in page.text
    assert browser.post(MEMBERS, {"email": "x@y.example", "roles": ["admin"]}).status_code == 403
    assert browser.post(f"{MEMBERS}/{hers.pk}/roles", {"roles": ["viewer"]}).status_code == 403
    assert browser.post(f"{MEMBERS}/{hers.pk}/remove").status_code == 403


def test_an_admin_of_one_project_reaches_no_member_of_another():
    charlie = make.charlie()
    theirs = tenants.Membership.objects.get(user=charlie)
    browser = make.browser(make.alice())

    assert browser.post(f"{MEMBERS}/{theirs.pk}/remove").status_code == 404
    assert browser.post(f"{MEMBERS}/{theirs.pk}/roles", {"roles": ["viewer"]}).status_code == 404
    theirs.refresh_from_db()
    assert theirs.roles == ["admin"]


def test_a_withdrawn_invitation_no_longer_opens():
    browser = make.browser(make.alice())
    page = browser.post(MEMBERS, {"email": "erin@acme.example", "roles": ["viewer"]})
    path = re.search(r"/invitations/[\w-]{43}", page.text)[0]
    browser.post(f"/p/acme/settings/invitations/{tenants.Invitation.objects.get().pk}/withdraw")

    assert make.browser().get(path).status_code == 404


def test_whose_roles_are_being_changed_is_in_the_address():
    make.alice()
    bob = tenants.Membership.objects.get(user=make.bob())
    page = make.browser(make.alice()).get(f"{MEMBERS}?member={bob.pk}")

    assert f'action="{MEMBERS}/{bob.pk}/remove"' in page.text
    for other in ("0", "nonsense", ""):
        assert "/remove" not in make.browser(make.alice()).get(f"{MEMBERS}?member={other}").text
