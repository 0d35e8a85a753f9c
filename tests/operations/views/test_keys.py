from __future__ import annotations

import re

import pytest
from django.test import RequestFactory

from operations import access, rejections
from operations.models import projects as tenants
from tests import make

pytestmark = pytest.mark.django_db

KEYS = "/p/acme/settings/keys"
NEW = {"name": "refund worker", "scopes": ["ingest"], "lasts_days": "90", "tool_prefix": "refund_"}


def opened_by(token: str) -> access.Credential:
    request = RequestFactory().get("/", headers={"authorization": f"Bearer {token}"})
    return access.credential_for(request, scope=None)


def token_in(text: str) -> str:
    return re.search(r"ops_[a-z0-9]{12}_[A-Za-z0-9_-]{43}", text)[0]


def test_an_admin_makes_a_key_and_sees_it_once():
    browser = make.browser(make.alice())
    page = browser.post(KEYS, NEW)

    token = token_in(page.text)
    assert opened_by(token).tool_prefix == "refund_"
    assert page["Cache-Control"] == "no-store, private"
    again = browser.get(KEYS)
    assert "refund worker" in again.text
    assert token not in again.text
    assert tenants.IngestKey.objects.get().expires_at is not None


@pytest.mark.parametrize("wrong", [{"scopes": []}, {"scopes": ["decide"]}, {"name": ""}, {"name": "a\x00b"}])
def test_a_key_needs_a_name_and_known_scopes(wrong):
    page = make.browser(make.alice()).post(KEYS, {**NEW, **wrong})

    assert 'class="errors"' in page.text
    assert tenants.IngestKey.objects.count() == 0


def test_rotating_shows_a_second_key_and_offers_to_revoke_the_first():
    issued = make.key()
    browser = make.browser(make.alice())
    page = browser.post(f"{KEYS}/{issued.key.keyid}/rotate")

    second = token_in(page.text)
    assert opened_by(second).project_id == opened_by(issued.token).project_id
    assert f"{KEYS}/{issued.key.keyid}/revoke" in page.text
    browser.post(f"{KEYS}/{issued.key.keyid}/revoke")
    with pytest.raises(rejections.KeyRevoked):
        opened_by(issued.token)
    assert opened_by(second)


def test_a_key_that_has_a_successor_says_so():
    issued = make.key()
    browser = make.browser(make.alice())
    browser.post(f"{KEYS}/{issued.key.keyid}/rotate")
    page = browser.post(f"{KEYS}/{issued.key.keyid}/rotate", follow=True)

    assert "has a successor" in page.text
    assert tenants.IngestKey.objects.count() == 2


def test_a_viewer_sees_keys_and_makes_none():
    issued = make.key()
    browser = make.browser(make.bob())
    page = browser.get(KEYS)

    assert issued.key.keyid in page.text
    assert 'action="/p/acme' not in page.text
    assert browser.post(KEYS, NEW).status_code == 403
    assert browser.post(f"{KEYS}/{issued.key.keyid}/revoke").status_code == 403
    assert browser.post(f"{KEYS}/{issued.key.keyid}/rotate").status_code == 403
    assert opened_by(issued.token)


def test_a_key_of_another_project_is_not_there():
    issued = make.key(make.globex())
    browser = make.browser(make.alice())

    assert browser.post(f"{KEYS}/{issued.key.keyid}/revoke").status_code == 404
    assert issued.key.keyid not in browser.get(KEYS).text
    assert opened_by(issued.token)


def test_looking_never_revokes():
    issued = make.key()

    assert make.browser(make.alice()).get(f"{KEYS}/{issued.key.keyid}/revoke").status_code == 405
    assert opened_by(issued.token)


def test_which_key_is_being_changed_is_in_the_address():
    issued, theirs = make.key(), make.key(make.globex())
    page = make.browser(make.alice()).get(f"{KEYS}?key={issued.key.keyid}")

    assert f'action="{KEYS}/{issued.key.keyid}/rotate"' in page.text
    assert "/rotate" not in make.browser(make.alice()).get(f"{KEYS}?key={theirs.key.keyid}").text
