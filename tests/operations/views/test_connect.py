"""Connect: what to paste, with this project's address, until the first call is there."""

from __future__ import annotations

import json
import re

import pytest

from operations import decoding
from operations.views import connect
from tests import make, traffic

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_admin_of_an_empty_project_is_led_to_a_key_and_waits():
    markup = make.browser(make.alice()).get("/p/acme/connect").content.decode()

    assert "Waiting for the first call." in markup
    assert 'href="/p/acme/settings/keys"' in markup
    assert "curl http://testserver/v1/operations" in markup
    assert 'hx-get="/p/acme/connect/waiting"' in markup


def test_a_viewer_without_a_key_is_told_whom_to_ask():
    markup = make.browser(make.bob()).get("/p/acme/connect").content.decode()

    assert "Ask an admin of this project" in markup


def test_a_key_is_named_and_its_token_never_shown():
    issued = make.key(make.acme())

    markup = make.browser(make.alice()).get("/p/acme/connect").content.decode()

    assert f"ops_{issued.key.keyid}_…" in markup
    assert issued.token not in markup


def test_the_page_turns_green_with_a_link_to_the_first_call():
    browser = make.browser(make.bob())
    assert "Waiting" in browser.get("/p/acme/connect/waiting").content.decode()
    traffic.send(traffic.call("a/b", 0), now=traffic.NOON)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connect.timezone, "now", lambda: traffic.NOON)
        markup = browser.get("/p/acme/connect/waiting").content.decode()

    assert "Connected." in markup
    assert 'href="/p/acme/operation?id=a%2Fb&amp;attempt=1"' in markup


def test_the_record_to_paste_is_one_that_is_taken():
    text = connect._recipes("http://localhost", "production")[0].text
    body = re.search(r"-d '(.*)'", text, re.DOTALL)
    assert body is not None
    told = body[1].replace("""'"$(date -u +%Y-%m-%dT%H:%M:%SZ)"'""", "2026-03-10T12:00:00Z")
    assert json.loads(told)["tool"] == "search_orders"

    entry = decoding.decode(told.encode(), is_ndjson=False)[0]

    assert entry.rejection is None
    assert entry.unknown == ()
