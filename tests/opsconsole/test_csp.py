"""Every answer carries the headers that keep a browser strict."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client

EXPECTED = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/accounts/login/", "/livez", "/nowhere", "/v1/whoami"])
def test_every_answer_is_strict(client: Client, path: str) -> None:
    answer = client.get(path)

    assert {name: answer.headers.get(name) for name in EXPECTED} == EXPECTED


@pytest.mark.django_db
def test_what_programs_get_is_kept_by_nobody_and_has_its_length_and_no_cookie(client: Client) -> None:
    answer = client.get("/v1/whoami")

    assert answer["Cache-Control"] == "no-store, private"
    assert int(answer["Content-Length"]) == len(answer.content)
    assert not answer.cookies


def test_the_policy_lets_nothing_inline_and_nothing_from_elsewhere() -> None:
    words = {word for sources in settings.SECURE_CSP.values() for word in sources}

    assert words == {"'none'", "'self'", "data:"}
