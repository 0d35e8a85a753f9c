"""One session: its turns and calls along one axis of time, with what repeats and what recovers."""

from __future__ import annotations

from collections import Counter
from urllib import parse

from django import http, shortcuts
from django.utils import timezone
from django.views.decorators import http as methods

from analytics import buckets, charts, patterns, signals
from analytics.views import operation
from operations import access, display, endings, filters, find, links, moments

DEPTH_MAX = 3


@methods.require_safe
def page(request: http.HttpRequest, slug: str) -> http.HttpResponse:
    """Show the calls of one session, oldest first."""
    membership = access.project_for(request.user, slug)
    session_id = request.GET.get("id", "")
    calls = find.session(project_id=membership.project.pk, session_id=session_id) if session_id else []
    if not calls:
        raise http.Http404
    now_us = moments.from_datetime(timezone.now())
    notes = patterns.notes(calls)
    depths = _depths(calls)
    lanes = [
        operation.lane(
            slug,
            call,
            notes=notes.get((call.operation_id, call.attempt), []),
            depth=depths.get(call.operation_id, 0),
        )
        for call in calls
    ]
    ended = [call.ended_at or call.start for call in calls]
    context = {
        "project": membership.project,
        "session_id": session_id,
        "calls": calls,
        "first_us": calls[0].start,
        "took_us": max(ended) - calls[0].start,
        "is_cut": len(calls) >= find.SESSION_MAX,
        "turns": len({call.turn_id for call in calls if call.turn_id}),
        "failing": sum(1 for call in calls if call.marks & signals.FAILING),
        "repeats": patterns.repeats(calls),
        "recoveries": patterns.recoveries(calls),
        "endings": _endings(calls),
        "models": sorted({call.model for call in calls if call.model}),
        "runtimes": sorted({call.runtime for call in calls if call.runtime}),
        "waterfall": charts.waterfall(label="Calls of this session", rows=lanes, now_us=now_us),
        "copy_url": links.absolute(request, operation.session_place(slug, session_id)),
        "list_url": _list_url(slug, calls, filters.term("session", session_id)),
        "failing_url": _list_url(slug, calls, filters.term("session", session_id), signals.FAILING_TERM),
    }
    return shortcuts.render(request, "analytics/sessions/page.html", context)


def _endings(calls: list[find.Operation]) -> list[tuple[endings.Ending, int]]:
    counted = Counter(endings.key_of(call.status, call.outcome) for call in calls)
    return [(ending, counted[key]) for key, ending in endings.ENDINGS.items() if counted[key]]


def _depths(calls: list[find.Operation]) -> dict[str, int]:
    """Return how deep each call stands under its parents; a parent that never came counts as none."""
    parents = {call.operation_id: call.parent_id for call in calls}
    depths: dict[str, int] = {}
    for call in calls:
        depth, above = 0, call.parent_id
        while above in parents and depth < DEPTH_MAX:
            depth, above = depth + 1, parents[above]
        depths[call.operation_id] = depth
    return depths


def _list_url(slug: str, calls: list[find.Operation], *terms: filters.Term) -> str:
    first, last = calls[0].start // buckets.MINUTE * buckets.MINUTE, calls[-1].start + buckets.MINUTE
    told = {
        "q": str(filters.Query(terms)),
        "from": display.iso(first),
        "to": display.iso(last),
    }
    return f"/p/{slug}/operations?{parse.urlencode(told)}"
