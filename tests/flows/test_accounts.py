"""Whole journeys of people and keys in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python import sync_playwright as axe
from django.test import RequestFactory
from playwright import sync_api
from playwright.sync_api import expect

from operations import access, members, rejections
from operations.models import people
from operations.models import projects as tenants
from tests import make

pytestmark = pytest.mark.usefixtures("live_stack")

HOSTILE = "<b>Erin</b>\u202e" + "x" * 80


@pytest.fixture
def alice(page: sync_api.Page, sign_in: Callable[[Any], None]) -> sync_api.Page:
    """Alice's browser."""
    sign_in(make.alice())
    return page


def opened_by(token: str) -> access.Credential:
    request = RequestFactory().get("/", headers={"authorization": f"Bearer {token}"})
    return access.credential_for(request, scope=None)


def test_alice_invites_erin_who_joins_and_may_look(
    alice: sync_api.Page, browser: sync_api.Browser, live_stack: Any
) -> None:
    alice.goto("/p/acme/settings/members")
    alice.get_by_label("E-mail").fill("erin@acme.example")
    alice.get_by_label("Responder").check()
    alice.get_by_role("button", name="Make invitation link").click()
    link = alice.locator("#invitation-link").inner_text()

    hers = browser.new_context(base_url=live_stack.address)
    page = hers.new_page()
    page.goto(link)
    page.get_by_label("Name").fill("Erin")
    page.get_by_label("Password").fill(make.PASSWORD)
    page.get_by_role("button", name="Make account and join").click()

    expect(page.get_by_role("status").first).to_have_text("Welcome to Acme.")
    page.goto("/p/acme/settings/members")
    expect(page.locator("tr", has_text="erin@acme.example")).to_contain_text("Viewer, Responder")
    expect(page.get_by_role("button", name="Make invitation link")).to_have_count(0)
    hers.close()


def test_alice_makes_a_key_rotates_it_and_revokes_the_first(alice: sync_api.Page) -> None:
    alice.goto("/p/acme/settings/keys")
    alice.get_by_label("Name").fill("refund worker")
    alice.get_by_text("Narrow what it may send").click()
    alice.get_by_label("Only tools that begin with").fill("refund_")
    alice.get_by_role("button", name="Make key").click()
    first = alice.locator("#issued-token").inner_text()
    assert opened_by(first).tool_prefix == "refund_"

    alice.get_by_role("link", name="Change the key refund worker").click()
    alice.get_by_role("button", name="Make the successor").click()
    second = alice.locator("#issued-token").inner_text()
    alice.get_by_role("button", name="Revoke the old key now").click()

    expect(alice.get_by_role("status")).to_contain_text("was revoked")
    assert opened_by(second).tool_prefix == "refund_"
    with pytest.raises(rejections.KeyRevoked):
        opened_by(first)


def test_roles_are_changed_by_keyboard_alone(alice: sync_api.Page) -> None:
    bob = tenants.Membership.objects.get(user=make.bob())
    alice.goto("/p/acme/settings/members")
    alice.get_by_role("link", name="Change Bob").focus()
    alice.keyboard.press("Enter")
    alice.get_by_role("heading", name="Bob").wait_for()
    alice.get_by_label("Approver").focus()
    alice.keyboard.press("Space")
    alice.get_by_role("button", name="Save roles").focus()
    alice.keyboard.press("Enter")

    expect(alice.locator("tr", has_text="bob@acme.example")).to_contain_text("Viewer, Approver")
    bob.refresh_from_db()
    assert bob.roles == ["viewer", "approver"]


def test_a_project_is_deleted_without_the_script(
    browser: sync_api.Browser,
    live_stack: Any,
    sign_in: Callable[[Any], None],
    context: sync_api.BrowserContext,
) -> None:
    sign_in(make.alice())
    plain = browser.new_context(
        base_url=live_stack.address, java_script_enabled=False, storage_state=context.storage_state()
    )
    page = plain.new_page()
    page.goto("/p/acme/settings")
    page.get_by_label("Type the project's address to confirm").fill("acme")
    page.get_by_role("button", name="Delete Acme").click()

    expect(page.get_by_role("status")).to_contain_text("Acme was deleted.")
    assert page.goto("/p/acme/settings").status == 404
    plain.close()


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(
    page: sync_api.Page, sign_in: Callable[[Any], None], theme: Any, width: int
) -> None:
    alice = make.alice()
    erin = make.person("a-very-long-address-of-somebody@department.acme.example", HOSTILE)
    member = make.join(erin, make.acme(), ["viewer"])
    key = make.key(environment="production", runtime="shop@" + "1" * 100, tool_prefix="refund_").key
    token = members.invite(make.acme(), email="frank@acme.example", roles=["viewer"], by=alice).token
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 900})

    for path in (
        "/accounts/login/",
        "/accounts/password/reset/",
        f"/invitations/{token}",
        "/invitations/none",
    ):
        look_at(page, path)
    sign_in(alice)
    for path in (
        "/projects/new",
        "/accounts/password/change/",
        "/accounts/logout/",
        "/p/nowhere/settings",
        "/p/acme/settings",
        f"/p/acme/settings/members?member={member.pk}",
        f"/p/acme/settings/keys?key={key.keyid}",
        "/p/acme/settings/keys",
    ):
        look_at(page, path)
    assert people.User.objects.get(pk=erin.pk).name == HOSTILE


def look_at(page: sync_api.Page, path: str) -> None:
    page.goto(path)
    found = axe.Axe().run(page).response["violations"]

    assert [(path, one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
    overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert (path, overflow) == (path, min(overflow, 0))
