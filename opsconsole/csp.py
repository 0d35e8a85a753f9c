"""The Content-Security-Policy header, from the setting that Django 6 also reads."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

Respond = Callable[[HttpRequest], HttpResponseBase]


def add_policy(respond: Respond) -> Respond:
    """Put the policy on every response that has none of its own."""
    policy = "; ".join(f"{name} {' '.join(sources)}" for name, sources in settings.SECURE_CSP.items())

    def add(request: HttpRequest) -> HttpResponseBase:
        response = respond(request)
        response.headers.setdefault("Content-Security-Policy", policy)
        return response

    return add
