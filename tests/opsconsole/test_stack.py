"""The real processes together: they answer, they are seen, and they outlive Redis."""

from __future__ import annotations

import json
import urllib.request

from playwright import sync_api

from tests import stack


def test_the_running_console_says_that_it_is_ready(live_stack: stack.Stack) -> None:
    with urllib.request.urlopen(f"{live_stack.address}/readyz") as answer:
        told = json.load(answer)

    assert told["status"] == "ready"
    assert told["reasons"] == []
    assert set(told["heartbeat_age_s"]) == {"urgent", "bulk"}


def test_the_sign_in_page_opens_in_chromium(page: sync_api.Page) -> None:
    page.goto("/accounts/login/")

    assert page.locator("input[type=password]").is_visible()
