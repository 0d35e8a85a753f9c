"""The tour of a demo project."""

from __future__ import annotations

import urllib.parse

from django import http, shortcuts
from django.utils import timezone
from django.views.decorators import http as methods

from operations import access, find, grammar, moments
from operations.models import projects
from operations.simulation import tour


@methods.require_safe
def page(request: http.HttpRequest, slug: str) -> http.HttpResponse:
    """Show the tour of the latest incident; only a demo project has one."""
    project = access.project_for(request.user, slug).project
    if not project.is_demo:
        raise http.Http404
    told = tour.tour(moments.from_datetime(timezone.now()))
    context = {
        "project": project,
        "tour": told,
        "began_at": moments.to_datetime(told.began_us),
        "ended_at": moments.to_datetime(told.ended_us),
        "example": _example(project, told),
    }
    return shortcuts.render(request, "operations/tour/page.html", context)


def _example(project: projects.Project, told: tour.Tour) -> str:
    """Return the page of one call that the incident failed, or nothing when the demo has none."""
    found = find.page(
        project_id=project.pk,
        query=grammar.parse(tour.FAILING),
        since=told.began_us,
        until=told.ended_us,
        limit=1,
    )
    if not found.rows:
        return ""
    one = found.rows[0]
    return "operation?" + urllib.parse.urlencode({"id": one.operation_id, "attempt": one.attempt})
