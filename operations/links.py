"""Links that leave the console: in mails, invitations and snippets to copy."""

from __future__ import annotations

from django import http
from django.conf import settings


def absolute(request: http.HttpRequest, path: str) -> str:
    """Build the full address of `path`, on the configured address where there is one."""
    return f"{settings.PUBLIC_URL}{path}" if settings.PUBLIC_URL else request.build_absolute_uri(path)
