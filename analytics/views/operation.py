"""One tool call: what was asked, what was told, what happened; as a page and as a panel beside the list."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any
from urllib import parse

import msgspec
from django import http, shortcuts
from django.utils import timezone
from django.views.decorators import http as methods

from analytics import asked, buckets, charts, patterns, ranges, signals, tally
from analytics.views import framing
from operations import access, display, endings, excerpts, filters, find, links, moments, story
from operations.models import projects

SAME_MAX = 8
SAME_WITHIN_US = 7 * moments.DAY_US
TURN_MAX = 60

_decode = msgspec.json.Decoder().decode


@methods.require_safe
def page(request: http.HttpRequest, slug: str) -> http.HttpResponse:
    """Show everything known of one attempt."""
    membership = access.project_for(request.user, slug)
    told = request.GET
    found = _found(membership.project, told.get("id", ""), told.get("attempt", ""), told.get("day", ""))
    now_us = moments.from_datetime(timezone.now())
    context = {
        **_told(membership.project, found, now_us),
        **_beside(membership.project, found.operation, now_us),
        "copy_url": links.absolute(request, place(slug, found.operation)),
    }
    return shortcuts.render(request, "analytics/operation/page.html", context)


@methods.require_safe
def peek(request: http.HttpRequest, slug: str) -> http.HttpResponse:
    """Show the gist of one attempt, for the panel beside the list; a page of its own without the script."""
    membership = access.project_for(request.user, slug)
    found = _found(membership.project, request.GET.get("id", ""), request.GET.get("attempt", ""))
    context = _told(membership.project, found, moments.from_datetime(timezone.now()))
    is_part = bool(getattr(request, "htmx", False))
    template = "analytics/operation/_peek.html" if is_part else "analytics/operation/peek.html"
    return shortcuts.render(request, template, context)


def peeked(request: http.HttpRequest, question: asked.Asked) -> dict[str, Any]:
    """Return what the panel beside a list shows when the address names a call; nothing when it does not."""
    told = request.GET.get("peek", "")
    operation_id, _, attempt = told.rpartition("~")
    if not operation_id:
        return {}
    try:
        found = _found(question.project, operation_id, attempt)
    except http.Http404:
        return {}
    return {"peek": told, **_told(question.project, found, question.now_us)}


def place(slug: str, call: find.Operation, path: str = "operation") -> str:
    """Return the address of a call."""
    told = parse.urlencode({"id": call.operation_id, "attempt": call.attempt})
    return f"/p/{slug}/{path}?{told}"


def session_place(slug: str, session_id: str | None) -> str:
    """Return the address of a session, nothing when there is none."""
    return f"/p/{slug}/session?{parse.urlencode({'id': session_id})}" if session_id else ""


def lane(
    slug: str, call: find.Operation, *, notes: list[str], depth: int = 0, is_current: bool = False
) -> charts.Lane:
    """Return a call as a row of a waterfall."""
    answered = call.answered_at if call.late_by_us is not None else None
    return charts.Lane(
        label=call.tool or "tool not told",
        ending=endings.of(call.status, call.outcome, call.code, call.contract_kind),
        started_us=call.start,
        ended_us=None if call.status in signals.UNENDED else call.ended_at or call.start,
        answered_us=answered,
        href=place(slug, call),
        turn=call.turn_id or "",
        depth=depth,
        notes=(*notes, *(mark.word for mark in endings.mark_words(call.marks)[:2])),
        is_current=is_current,
        is_timed=call.status in signals.UNENDED or call.duration_us is not None,
    )


def _found(project: projects.Project, operation_id: str, attempt: str, day: str = "") -> find.Found:
    number = int(attempt) if attempt.isascii() and attempt.isdigit() and len(attempt) < 5 else None
    found = find.one(
        project_id=project.pk,
        operation_id=operation_id,
        attempt=number,
        day=_day(day),
    )
    if found is None:
        raise http.Http404
    return found


def _day(told: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(told)
    except ValueError:
        return None


@dataclasses.dataclass(frozen=True)
class Words:
    """An excerpt to show: what it holds as indented JSON, and what was taken out of it."""

    heading: str
    anchor: str
    text: str
    remarks: list[dict[str, Any]]
    is_truncated: bool
    is_gone: bool
    octets: int | None = None


def _told(project: projects.Project, found: find.Found, now_us: int) -> dict[str, Any]:
    call = found.operation
    return {
        "project": project,
        "call": call,
        "ending": endings.of(call.status, call.outcome, call.code, call.contract_kind),
        "verdict": story.verdict(call, now_us=now_us),
        "steps": story.steps(call),
        "issues": story.issues(call),
        "timeout_us": None if call.timeout_ms is None else call.timeout_ms * display.MILLISECOND,
        "legs_chart": _legs(call),
        "error_facts": story.error_facts(call),
        "words": _words(project, call),
        "attempts": found.attempts if len(found.attempts) > 1 else [],
        "twins": found.twins,
        "href": place(project.slug, call),
        "session_href": session_place(project.slug, call.session_id),
        "excerpt_days": project.excerpt_days,
        "filtered": _filtered(project.slug, call),
    }


def _legs(call: find.Operation) -> charts.Chart | None:
    legs = story.legs(call)
    if not legs:
        return None
    rows = [charts.Bar(leg.name, leg.ms, display.duration(round(leg.ms * 1000))) for leg in legs]
    return charts.bars(
        label="Legs of the call",
        heading="Leg",
        value_heading="Took",
        rows=rows,
        largest=max(call.timeout_ms or 0, sum(leg.ms for leg in legs)),
    )


def _words(project: projects.Project, call: find.Operation) -> list[Words]:
    """Return the excerpts that the call's facts point at; of several told ones, those that count."""
    kept = excerpts.of_operation(project_id=project.pk, operation_id=call.operation_id, attempt=call.attempt)
    by_hash = {(one.kind, one.hash): one for one in kept}
    wanted = (
        ("What was asked", "input", "input", call.input_excerpt, call.input_bytes),
        ("What came back", "output", "output", call.output_excerpt, call.output_bytes),
        ("Error text", "error", "error", call.error_excerpt, None),
        ("What the caller was told", "verdict", "error", call.verdict_excerpt, None),
        ("Attributes", "attributes", "attributes", call.attributes_excerpt, None),
    )
    found = []
    for heading, anchor, kind, number, octets in wanted:
        if number is None:
            continue
        one = by_hash.get((kind, number))
        if one is None:
            found.append(Words(heading, anchor, "", [], False, True, octets))
            continue
        remarks = _decode(one.remarks) if one.remarks else []
        found.append(Words(heading, anchor, _indented(one.content), remarks, one.is_truncated, False, octets))
    return found


def _indented(content: str) -> str:
    try:
        return msgspec.json.format(content, indent=2)
    except msgspec.DecodeError:
        return content


def _beside(project: projects.Project, call: find.Operation, now_us: int) -> dict[str, Any]:
    """Return what stands around the call: its turn, and the same failure elsewhere."""
    turn = []
    if call.session_id is not None:
        session = find.session(project_id=project.pk, session_id=call.session_id)
        notes = patterns.notes(session)
        turn = [one for one in session if one.turn_id == call.turn_id]
        if len(turn) > TURN_MAX:
            middle = next((n for n, one in enumerate(turn) if one.cursor == call.cursor), 0)
            turn = turn[max(0, middle - TURN_MAX // 2) : middle + TURN_MAX // 2]
        lanes = [
            lane(
                project.slug,
                one,
                notes=notes.get((one.operation_id, one.attempt), []),
                is_current=one.cursor == call.cursor,
            )
            for one in turn
        ]
        waterfall = charts.waterfall(label="Calls of this turn", rows=lanes, now_us=now_us)
    return {
        "turn": waterfall if len(turn) > 1 else None,
        "turn_size": len(turn),
        **_same(project, call, now_us),
    }


def _same(project: projects.Project, call: find.Operation, now_us: int) -> dict[str, Any]:
    """Return other calls of the tool that ended the same bad way in the week before now."""
    if not call.marks & (signals.FAILING | signals.SIGNALS["late_answer"].mark):
        return {"same": [], "same_total": 0}
    terms = [filters.term("tool", call.tool or ""), filters.term("status", call.status)]
    if call.outcome:
        terms.append(filters.term("outcome", call.outcome))
    if call.code or call.contract_kind:
        terms.append(filters.term("code", call.code or ""))
    query = filters.Query(tuple(terms))
    stretch = buckets.Range(now_us - SAME_WITHIN_US, now_us + buckets.MINUTE, "7d")
    found = find.page(
        project_id=project.pk, query=query, since=stretch.from_us, until=stretch.to_us, limit=SAME_MAX + 1
    )
    counted = tally.sums(
        project_id=project.pk, query=query, span=ranges.of(stretch, now_us=now_us), by=("environment",)
    )
    return {
        "same": [
            {"call": row, "href": place(project.slug, row)} for row in found.rows if row.cursor != call.cursor
        ][:SAME_MAX],
        "same_total": sum(one.operations for one in counted),
        "same_url": _list_link(project.slug, query, "7d"),
        "same_environments": len(counted),
    }


def _filtered(slug: str, call: find.Operation) -> dict[str, str]:
    """Return the lists that the facts of a call lead to: the same tool, model, trace and so on."""
    around = framing.around(call.start - 12 * buckets.HOUR, call.start + 12 * buckets.HOUR)
    facts = {
        "tool": ("tool", call.tool),
        "code": ("code", call.code),
        "model": ("model", call.model),
        "runtime": ("runtime", call.runtime),
        "instance": ("instance", call.instance),
        "trace": ("trace", call.trace_id),
        "key": ("key", call.idempotency_key),
        "resource": ("resource", call.conflict_resource),
        "parent": ("id", call.parent_id),
    }
    found = {}
    for name, (field, value) in facts.items():
        if value:
            query = filters.Query((filters.term(field, value),))
            told = parse.urlencode({"q": str(query), **around.absolute_query})
            found[name] = f"/p/{slug}/operations?{told}"
    return found


def _list_link(slug: str, query: filters.Query, preset: str) -> str:
    return f"/p/{slug}/operations?{parse.urlencode({'q': str(query), 'range': preset})}"
