from __future__ import annotations

import pytest

from operations import members
from operations.models import people
from operations.models import projects as tenants
from tests import make

pytestmark = pytest.mark.django_db


def link_for(email: str) -> str:
    invited = members.invite(make.acme(), email=email, roles=["viewer", "approver"], by=make.alice())
    return f"/invitations/{invited.token}"


def test_a_new_person_chooses_a_password_and_is_in():
    browser, link = make.browser(), link_for("erin@acme.example")
    page = browser.get(link)
    assert "Join <bdi>Acme</bdi>" in page.text

    response = browser.post(link, {"name": "Erin", "password": make.PASSWORD})

    assert response["Location"] == "/p/acme/"
    assert browser.get("/p/acme/settings/members").status_code == 200
    assert tenants.Membership.objects.get(user__name="Erin").roles == ["viewer", "approver"]
    fresh = make.browser()
    fresh.post("/accounts/login/", {"login": "ERIN@acme.example", "password": make.PASSWORD})
    assert fresh.get("/")["Location"] == "/p/acme/"


def test_looking_at_a_link_does_not_use_it_up():
    link = link_for("erin@acme.example")
    for _ in range(3):
        assert make.browser().get(link).status_code == 200

    assert make.browser().post(link, {"password": make.PASSWORD}).status_code == 302


@pytest.mark.parametrize("password", ["", "short", "password123", "erin@acme.example"])
def test_a_weak_password_is_refused_and_nothing_is_used_up(password):
    link = link_for("erin@acme.example")
    page = make.browser().post(link, {"password": password})

    assert 'class="errors"' in page.text
    assert not people.User.objects.filter(email="erin@acme.example").exists()
    assert make.browser().get(link).status_code == 200


def test_somebody_with_an_account_joins_with_one_press():
    link, browser = link_for("dora@nowhere.example"), make.browser(make.dora())
    assert "<button" in browser.get(link).text

    assert browser.post(link)["Location"] == "/p/acme/"


def test_somebody_with_an_account_is_sent_to_sign_in_first_and_back():
    link = link_for("dora@nowhere.example")
    make.dora()
    browser = make.browser()
    page = browser.get(link)
    assert f"/accounts/login/?next={link}" in page.text
    assert browser.post(link, {"password": make.PASSWORD}).status_code == 403

    response = browser.post(
        f"/accounts/login/?next={link}",
        {"login": "dora@nowhere.example", "password": make.PASSWORD, "next": link},
    )
    assert response["Location"] == link


def test_signed_in_as_somebody_else_one_cannot_join():
    link, browser = link_for("erin@acme.example"), make.browser(make.charlie())

    assert "this invitation is for erin@acme.example" in browser.get(link).text
    assert browser.post(link).status_code == 403
    assert not tenants.Membership.objects.filter(user=make.charlie(), project=make.acme()).exists()


def test_a_used_link_and_a_made_up_one_look_the_same():
    link, browser = link_for("erin@acme.example"), make.browser()
    make.browser().post(link, {"password": make.PASSWORD})

    used, made_up = browser.get(link), browser.get("/invitations/made-up")
    assert (used.status_code, made_up.status_code) == (404, 404)
    assert used.content == made_up.content
