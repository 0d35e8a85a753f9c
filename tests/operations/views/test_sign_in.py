from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.urls import resolve

from operations import urls
from tests import make

pytestmark = pytest.mark.django_db

LOGIN = "/accounts/login/"


@pytest.fixture(autouse=True)
def fresh_throttles() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def sign_in(browser: Client, email: str, password: str = make.PASSWORD, query: str = ""):
    return browser.post(LOGIN + query, {"login": email, "password": password})


def test_one_signs_in_with_an_address_in_any_case():
    make.alice()
    browser = make.browser()

    assert sign_in(browser, "Alice@ACME.example")["Location"] == "/"
    assert browser.get("/p/acme/settings").status_code == 200


def test_a_wrong_password_and_an_unknown_address_are_told_alike():
    make.alice()
    wrong = sign_in(make.browser(), "alice@acme.example", "not this one")
    unknown = sign_in(make.browser(), "nobody@acme.example", "not this one")

    said = [re.findall(r'role="alert">(.*?)<', page.text) for page in (wrong, unknown)]
    assert said[0] == said[1]
    assert said[0]


def test_guessing_is_slowed_down_and_without_redis():
    make.alice()
    browser = make.browser()
    for _ in range(5):
        sign_in(browser, "alice@acme.example", "a guess")

    page = sign_in(browser, "alice@acme.example")

    assert page.status_code == 200
    assert "Too many failed login attempts" in page.text


def test_the_session_key_changes_at_sign_in():
    make.alice()
    browser = make.browser()
    browser.get("/p/acme/settings")
    browser.session["planted"] = "by somebody else"
    browser.session.save()
    before = browser.session.session_key
    sign_in(browser, "alice@acme.example")

    assert browser.session.session_key != before


@pytest.mark.parametrize(
    "elsewhere",
    ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "https:evil"],
)
def test_next_never_leads_to_another_host(elsewhere):
    make.alice()
    response = make.browser().post(
        LOGIN, {"login": "alice@acme.example", "password": make.PASSWORD, "next": elsewhere}
    )

    assert response["Location"] == "/"


def test_next_leads_back_to_the_page_that_asked():
    make.alice()
    browser = make.browser()
    asked = browser.get("/p/acme/settings/keys?a=1")

    assert asked["Location"] == "/accounts/login/?next=/p/acme/settings/keys%3Fa%3D1"


def test_changing_the_password_ends_every_other_session():
    alice = make.alice()
    here, elsewhere = make.browser(alice), make.browser(alice)
    new = "an entirely new password"
    here.post(
        "/accounts/password/change/", {"oldpassword": make.PASSWORD, "password1": new, "password2": new}
    )

    assert here.get("/p/acme/settings").status_code == 200
    assert elsewhere.get("/p/acme/settings").status_code == 302
    assert sign_in(make.browser(), "alice@acme.example", new).status_code == 302


def test_signing_out_needs_a_post():
    browser = make.browser(make.alice())
    assert browser.get("/accounts/logout/").status_code == 200
    assert browser.get("/p/acme/settings").status_code == 200

    browser.post("/accounts/logout/")
    assert browser.get("/p/acme/settings").status_code == 302


def test_nobody_signs_up_by_themselves():
    page = make.browser().get("/accounts/signup/")
    assert "by invitation" in page.text

    make.browser().post("/accounts/signup/", {"email": "x@y.example", "password1": make.PASSWORD})
    assert not make.people.User.objects.filter(email="x@y.example").exists()


def test_a_closed_account_does_not_open():
    alice = make.alice()
    browser = make.browser(alice)
    make.people.User.objects.filter(pk=alice.pk).update(is_active=False)

    assert browser.get("/p/acme/settings").status_code == 302
    sign_in(browser, "alice@acme.example")
    assert browser.get("/p/acme/settings").status_code == 302


def test_a_password_is_reset_by_a_link_that_works_once(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    settings.PUBLIC_URL = "https://console.example.com"
    settings.ALLOWED_HOSTS = ["testserver"]
    make.alice()
    make.browser().post("/accounts/password/reset/", {"email": "alice@acme.example"})
    path = re.search(r"https://console\.example\.com(/accounts/password/reset/key/\S+)", mail.outbox[0].body)[
        1
    ]

    browser, new = make.browser(), "an entirely new password"
    form = browser.get(path, follow=True)
    browser.post(form.request["PATH_INFO"], {"password1": new, "password2": new})

    assert sign_in(make.browser(), "alice@acme.example", new).status_code == 302
    assert "no longer works" in make.browser().get(path, follow=True).text


def test_a_reset_for_an_unknown_address_looks_the_same_and_sends_nobody_a_link(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    make.alice()
    known = make.browser().post("/accounts/password/reset/", {"email": "alice@acme.example"})
    unknown = make.browser().post("/accounts/password/reset/", {"email": "nobody@acme.example"})

    assert known["Location"] == unknown["Location"] == "/accounts/password/reset/done/"
    assert all("/reset/key/" not in sent.body for sent in mail.outbox if "nobody@acme.example" in sent.to)


def test_a_console_without_mail_says_how_to_reset(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"

    assert "manage.py changepassword" in make.browser().get("/accounts/password/reset/").text


@pytest.mark.parametrize("path", ["reauthenticate/", "password/change/", "logout/"])
def test_account_pages_of_ours_stand_in_our_frame(path):
    page = make.browser(make.alice()).get(f"/accounts/{path}")

    assert page.status_code == 200
    assert 'href="/static/css/console.css"' in page.text


def test_nobody_can_change_the_address_that_an_invitation_trusts():
    names = {pattern.name for pattern in urls.account_urls}

    assert "account_email" not in names
    assert resolve(LOGIN).url_name == "account_login"


def test_signing_in_is_not_announced():
    make.alice()
    browser = make.browser()
    sign_in(browser, "alice@acme.example")

    assert "signed in as" not in browser.get("/p/acme/settings").text
