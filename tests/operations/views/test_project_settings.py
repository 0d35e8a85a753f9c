from __future__ import annotations

import pytest

from operations.models import projects as tenants
from tests import make

pytestmark = pytest.mark.django_db


def test_an_admin_renames_a_project_and_its_address_stays():
    browser = make.browser(make.alice())
    browser.post(
        "/p/acme/settings", {"name": "Acme & Sons", "default_environment": "staging", "slug": "other"}
    )

    project = tenants.Project.objects.get(slug="acme")
    assert (project.name, project.default_environment) == ("Acme & Sons", "staging")
    assert "Acme &amp; Sons" in browser.get("/p/acme/settings").text


def test_a_viewer_sees_the_settings_and_cannot_change_them():
    browser = make.browser(make.bob())
    page = browser.get("/p/acme/settings")
    make.alice()

    assert page.status_code == 200
    assert 'action="/p/acme' not in page.text
    assert browser.post("/p/acme/settings", {"name": "Mine"}).status_code == 403
    assert browser.post("/p/acme/settings/delete", {"confirmation": "acme"}).status_code == 403
    assert make.acme().name == "Acme"


def test_deleting_needs_the_address_typed():
    browser = make.browser(make.alice())
    page = browser.post("/p/acme/settings/delete", {"confirmation": "Acme"})

    assert "Nothing was deleted." in page.text
    assert tenants.Project.objects.get(slug="acme").deleted_at is None


def test_a_deleted_project_is_a_404_at_once():
    browser = make.browser(make.alice())
    response = browser.post("/p/acme/settings/delete", {"confirmation": "acme"})

    assert response["Location"] == "/"
    assert browser.get("/p/acme/settings").status_code == 404
    assert "Acme was deleted" in browser.get("/").text


def test_a_hostile_name_is_shown_and_does_nothing():
    tenants.Project.objects.filter(pk=make.acme().pk).update(name="<script>x</script>\u202egnp")
    page = make.browser(make.alice()).get("/p/acme/settings")

    assert "<script>x" not in page.text
    assert "&lt;script&gt;x" in page.text
    assert "\u202e" not in page.text.replace('value="&lt;script&gt;x&lt;/script&gt;\u202egnp"', "")
