"""Tool calls: the list with its filter, facets, timeline and peek; what is new in it; its export."""

from __future__ import annotations

import dataclasses

from django import http, shortcuts
from django.views.decorators import http as methods

from analytics import asked, facets
from analytics.views import framing, operation, timelines
from operations import cursors, endings, exports, filters, find, moments, rejections, vocabulary

ROWS = 50
FACET_VALUES_MAX = 12


@methods.require_safe
def page(request: http.HttpRequest, slug: str) -> http.HttpResponse:
    """List the calls of the asked range, newest first."""
    question = asked.read(request, slug)
    before, question = _cursor(request, question)
    timeline = timelines.draw(question)
    found = _list(question, timeline, before)
    context = {
        **framing.frame(request, question, "operations"),
        "rows": [_row(question, row) for row in found.rows],
        "older_url": _paged(question, found.next),
        "newest_url": question.link("operations") if before else "",
        "searched": found.searched,
        "meant": _meant(question) if not found.rows else None,
        "timeline": timeline,
        "newer_url": _newer_url(question, found, before),
        "facets_url": question.link("operations/facets"),
        "facets": _facets(question) if request.GET.get("facets") and question.is_readable else None,
        "exports": [
            (kind.upper(), question.link("operations/export", format=kind)) for kind in exports.FORMATS
        ],
        "export_rows": exports.ROWS_MAX,
        **operation.peeked(request, question),
    }
    status = 422 if question.problem else 200
    return shortcuts.render(request, "analytics/operations/page.html", context, status=status)


@methods.require_safe
def facets_part(request: http.HttpRequest, slug: str) -> http.HttpResponse:
    """Show what there is to filter by, with counts."""
    question = asked.read(request, slug)
    if not question.is_readable:
        return http.HttpResponse(status=422)
    context = {"asked": question, "facets": _facets(question)}
    return shortcuts.render(request, "analytics/operations/_facets.html", context)


@methods.require_safe
def newer_part(request: http.HttpRequest, slug: str) -> http.HttpResponse:
    """Say how many calls stand above the list by now; the list itself never moves."""
    question = asked.read(request, slug)
    if not question.is_readable:
        return http.HttpResponse(status=422)
    try:
        after = cursors.read(request.GET.get("after", ""), project_id=question.project.pk)
    except rejections.BadCursor:
        return http.HttpResponse(status=204)
    number = find.newer_than(
        project_id=question.project.pk,
        query=question.query,
        after=after,
        until=question.now_us + moments.DAY_US,
    )
    context = {"number": number, "most": find.NEWER_MAX, "href": question.link("operations")}
    return shortcuts.render(request, "analytics/operations/_newer.html", context)


@methods.require_safe
def export(request: http.HttpRequest, slug: str) -> http.HttpResponseBase:
    """Stream the asked list as NDJSON or CSV."""
    question = asked.read(request, slug)
    kind = request.GET.get("format", "")
    if kind not in exports.FORMATS or question.problem is not None:
        return http.HttpResponseBadRequest("format is ndjson or csv, and the filter must be readable.\n")
    try:
        chunks = exports.stream(
            project_id=question.project.pk,
            query=question.query,
            since=question.stretch.from_us,
            until=question.stretch.to_us,
            kind=kind,
        )
    except rejections.TooManyExports as refusal:
        return http.HttpResponse(f"{refusal.detail}\n", status=429, headers={"Retry-After": "30"})
    return http.StreamingHttpResponse(
        chunks,
        content_type=exports.FORMATS[kind],
        headers={
            "Content-Disposition": f'attachment; filename="{slug}-tool-calls.{kind}"',
            "X-Content-Type-Options": "nosniff",
        },
    )


def _meant(question: asked.Asked) -> tuple[str, str] | None:
    """Return the text and the address of what was probably meant by a filter that found nothing."""
    divided = question.query.divided()
    return (str(divided), question.link("operations", divided)) if divided != question.query else None


def _cursor(request: http.HttpRequest, question: asked.Asked) -> tuple[find.Cursor | None, asked.Asked]:
    told = request.GET.get("cursor", "")
    if not told:
        return None, question
    try:
        return cursors.read(told, project_id=question.project.pk), question
    except rejections.BadCursor:
        problem = asked.Problem("This place in the list is no longer known. Showing the newest.")
        return None, dataclasses.replace(question, problem=question.problem or problem)


def _list(question: asked.Asked, timeline: timelines.Timeline, before: find.Cursor | None) -> find.Page:
    if not question.is_readable:
        return find.Page([], None)
    if not question.query.untallied:
        return find.page_within(
            project_id=question.project.pk,
            query=question.query,
            windows=timeline.windows,
            limit=ROWS,
            before=before,
        )
    return find.page(
        project_id=question.project.pk,
        query=question.query,
        since=question.stretch.from_us,
        until=question.stretch.to_us,
        limit=ROWS,
        before=before,
    )


def _paged(question: asked.Asked, place: find.Cursor | None) -> str:
    if place is None:
        return ""
    return question.link("operations", cursor=cursors.write(place, project_id=question.project.pk))


def _newer_url(question: asked.Asked, found: find.Page, before: find.Cursor | None) -> str:
    """Return where to ask what is new: only on the first page of a range that moves."""
    if before is not None or not question.stretch.preset or question.problem:
        return ""
    top = found.rows[0].cursor if found.rows else find.Cursor(question.now_us, "", 0)
    return question.link("operations/newer", after=cursors.write(top, project_id=question.project.pk))


@dataclasses.dataclass(frozen=True)
class Row:
    """One call in the list, with where it leads."""

    call: find.Operation
    key: str
    href: str
    peek_href: str
    push_href: str
    session_href: str


def _row(question: asked.Asked, call: find.Operation) -> Row:
    place = operation.place(question.project.slug, call)
    return Row(
        call=call,
        key=f"{call.operation_id}~{call.attempt}",
        href=place,
        peek_href=operation.place(question.project.slug, call, "operation/peek"),
        push_href=question.link("operations", peek=f"{call.operation_id}~{call.attempt}"),
        session_href=operation.session_place(question.project.slug, call.session_id),
    )


@dataclasses.dataclass(frozen=True)
class FacetValue:
    """One value of a facet: its words, its count, and the filters with and without it."""

    words: str
    number: int
    href: str
    not_href: str
    is_held: bool


@dataclasses.dataclass(frozen=True)
class FacetList:
    """One facet as a list of links."""

    words: str
    values: list[FacetValue]
    rest: list[FacetValue]
    is_open: bool


_FACET_WORDS = {"ending": "Ending", "signal": "Signal", "env": "Environment", "version": "Tool version"}
_OPEN = frozenset({"ending", "signal", "env", "tool", "code"})


def _facets(question: asked.Asked) -> list[FacetList]:
    if question.query.untallied:
        found = facets.count_facts(timelines.read_facts(question).rows)
    else:
        found = facets.count(project_id=question.project.pk, query=question.query, span=question.span)
    listed = []
    for name in ("ending", "signal", "env", "tool", "code", *facets.FACETS):
        if name not in found:
            continue
        facet = found.pop(name)
        if not facet.counts or (len(facet.counts) == 1 and not facet.counts[0][0]):
            continue
        values = [_facet_value(question, name, value, number) for value, number in facet.counts[:60]]
        words = _FACET_WORDS.get(name, vocabulary.FIELDS[name].words.capitalize() if name != "ending" else "")
        is_open = name in _OPEN or any(value.is_held for value in values)
        listed.append(FacetList(words, values[:FACET_VALUES_MAX], values[FACET_VALUES_MAX:], is_open))
    return listed


def _facet_value(question: asked.Asked, name: str, value: str, number: int) -> FacetValue:
    query = question.query
    if name == "ending":
        wanted = timelines.ending_term(value)
        held = wanted in query.terms
        chosen = query.without(wanted) if held else timelines.ended(query, value)
        excluded = query.without(wanted).adding(dataclasses.replace(wanted, is_negated=True))
        return FacetValue(
            endings.ENDINGS[value].word,
            number,
            question.link("operations", chosen),
            question.link("operations", excluded),
            held,
        )
    words = endings.SIGNAL_WORDS.get(value, value) if name == "signal" else value or "not told"
    excluded = query.without_field(name).adding(filters.term(name, value, is_negated=True))
    return FacetValue(
        words,
        number,
        question.link("operations", query.toggling(name, value)),
        question.link("operations", excluded),
        value in query.values_of(name),
    )
