from __future__ import annotations

import pytest

from operations.models import projects as tenants
from tests import make

pytestmark = pytest.mark.django_db


def test_the_bare_address_leads_to_the_first_project():
    response = make.browser(make.alice()).get("/")

    assert (response.status_code, response["Location"]) == (302, "/p/acme/")


def test_the_bare_address_leads_to_the_project_that_was_looked_at_last():
    alice = make.alice()
    make.join(alice, make.project("zulu"), ["viewer"])
    browser = make.browser(alice)
    browser.get("/p/zulu/settings")

    assert browser.get("/")["Location"] == "/p/zulu/"


def test_a_remembered_project_that_is_no_longer_ours_is_forgotten():
    make.charlie()
    browser = make.browser(make.alice())
    browser.cookies["opsconsole_project"] = "globex"

    assert browser.get("/")["Location"] == "/p/acme/"


def test_a_demo_project_is_never_the_first():
    alice = make.alice()
    demo = tenants.Project.objects.create(slug="aaa", name="AAA", is_demo=True)
    make.join(alice, demo, ["admin"])

    assert make.browser(alice).get("/")["Location"] == "/p/acme/"


def test_somebody_without_a_project_is_told_what_to_do():
    page = make.browser(make.dora()).get("/")

    assert "You belong to no project yet" in page.text
    assert make.browser(make.dora()).get("/projects/new").status_code == 403


def test_an_admin_makes_a_project_and_is_led_to_connect():
    browser = make.browser(make.alice())
    response = browser.post("/projects/new", {"name": "Second Shop", "slug": ""})

    assert response["Location"] == "/p/second-shop/connect"
    membership = tenants.Membership.objects.get(project__slug="second-shop")
    assert (membership.user, membership.roles) == (make.alice(), ["admin"])


def test_an_address_that_is_taken_is_said_next_to_the_field():
    make.charlie()
    page = make.browser(make.alice()).post("/projects/new", {"name": "Mine", "slug": "globex"})

    assert page.status_code == 200
    assert "Another project has this address already." in page.text


def test_pages_are_kept_by_no_cache():
    assert make.browser(make.alice()).get("/p/acme/settings")["Cache-Control"] == "no-store, private"
