"""How current the project is, for the header."""

from __future__ import annotations

from django import http, shortcuts
from django.utils import timezone
from django.views.decorators import http as methods

from analytics import arrivals
from operations import access, moments

STALE_AFTER_US = 15 * 60 * moments.SECOND_US


@methods.require_safe
def part(request: http.HttpRequest, slug: str) -> http.HttpResponse:
    """Say when the newest record came, and what is wrong with the way in."""
    project = access.project_for(request.user, slug).project
    now_us = moments.from_datetime(timezone.now())
    found = arrivals.freshness(project_id=project.pk, now_us=now_us)
    is_stale = found.newest_us is None or now_us - found.newest_us > STALE_AFTER_US
    context = {"project": project, "freshness": found, "is_stale": is_stale}
    return shortcuts.render(request, "analytics/freshness/_freshness.html", context)
