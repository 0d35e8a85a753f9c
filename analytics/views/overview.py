"""Overview: what broke, since when, what changed, how bad."""

from __future__ import annotations

from typing import Any

from django import http, shortcuts
from django.views.decorators import http as methods

from analytics import arrivals, asked, buckets, charts, queries, ranges, signals, tiles
from analytics.views import framing, timelines
from operations import display, filters

WORST_MAX = 8
#: How many tools the headline names, and from what failing share on it names one that is not worse than before.
TOLD_MAX, OFTEN = 3, 0.1


@methods.require_safe
def page(request: http.HttpRequest, slug: str) -> http.HttpResponse:
    """Show the headline numbers of the asked range; an empty project is led to Connect."""
    question = asked.read(request, slug)
    project_id = question.project.pk
    freshness = arrivals.freshness(project_id=project_id, now_us=question.now_us)
    if freshness.newest_us is None and not request.GET:
        return shortcuts.redirect("connect", slug=slug)
    query, span = question.query.tallied_part(), question.span
    line, compared, timeline = _read(question, query)
    found = queries.overview(line, compared)
    health = queries.tools(compared)
    context = {
        **framing.frame(request, question, ""),
        "left_out": [str(term) for term in question.query.untallied],
        "headline": _headline(question, found, health),
        "tiles": _tiles(question, query, found, span),
        "timeline": timeline.chart,
        "worst": _worst(question, query, health),
        "growing": _growing(question, query, health),
        "changes": _changes(question),
        "waiting": arrivals.waiting(project_id=project_id, now_us=question.now_us),
        "operations": found.operations,
    }
    status = 422 if question.problem else 200
    return shortcuts.render(request, "analytics/overview/page.html", context, status=status)


def _read(
    question: asked.Asked, query: filters.Query
) -> tuple[queries.Line, queries.Compared, timelines.Timeline]:
    """Read what tiles, sparklines and timeline show; once, where both lines are by the hour or coarser."""
    span, bins = question.span, timelines.bins(question.span, query)
    is_fine = bins.step_us % buckets.HOUR != 0
    line, compared = queries.compare(
        project_id=question.project.pk,
        query=query,
        span=span,
        before=span.before(),
        bins=_spark_bins(span) if is_fine else bins,
    )
    if is_fine:
        return line, compared, timelines.of_tally(question, query)
    return line, compared, timelines.drawn(question, bins, queries.endings_of(line))


def _spark_bins(span: ranges.Span) -> buckets.Bins:
    finest = buckets.HOUR if span.length_us >= 6 * buckets.HOUR else buckets.MINUTE
    stretch = buckets.Range(span.from_us, span.to_us)
    return buckets.bins(stretch, most=36, finest_us=max(finest, span.finest_us))


def _headline(
    question: asked.Asked, found: queries.Overview, health: list[queries.ToolHealth]
) -> dict[str, Any]:
    """Return what is worse than before, signals and tools, else the tool that fails most of its calls."""
    worse = [
        rate
        for name, rate in found.rates.items()
        if name in signals.HEADLINES and tiles.band(rate.now, rate.before) == "Worse"
    ]
    tools = sorted(
        (tool for tool in health if tiles.band(tool.failing, tool.failing_before) == "Worse"),
        key=lambda tool: (-tool.growth, tool.tool or ""),
    )
    most = max(health, key=lambda tool: tiles.least_share(tool.failing), default=None)
    if tools or (most is not None and tiles.least_share(most.failing) < OFTEN):
        most = None
    return {
        "worse": [(rate.signal.words, rate.now.percent, rate.before.percent) for rate in worse],
        "tools": [(tool, _tool_link(question, tool)) for tool in tools[:TOLD_MAX]],
        "most": most,
        "most_href": _tool_link(question, most) if most is not None else "",
        "is_thin": found.failing.is_thin or found.failing_before.is_thin,
    }


def _tiles(
    question: asked.Asked, query: filters.Query, found: queries.Overview, span: ranges.Span
) -> list[tiles.Tile]:
    shown = [_calls(question, found), _failing(question, found)]
    for name, rate in found.rates.items():
        if name in signals.HEADLINES or rate.now.part:
            shown.append(
                tiles.of_rate(
                    rate,
                    href=question.link("operations", question.query.adding(*rate.signal.terms)),
                    base_href=question.link("operations", question.query.adding(*rate.signal.base.terms))
                    if rate.signal.base.has_rows
                    else "",
                )
            )
    took = queries.percentiles(project_id=question.project.pk, query=query, span=span)
    if took is not None:
        slow = filters.comparison("duration", ">=", int(took.p95))
        shown.insert(2, _took(question.link("operations", question.query.adding(slow)), took))
    return shown


def _calls(question: asked.Asked, found: queries.Overview) -> tiles.Tile:
    return tiles.Tile(
        label="Tool calls",
        value=display.short_count(found.operations),
        href=question.link("operations"),
        change=display.change(found.operations, found.operations_before),
        sample=f"{display.count(found.operations_before)} before",
        line=tuple(float(number) for number in found.line),
    )


def _failing(question: asked.Asked, found: queries.Overview) -> tiles.Tile:
    return tiles.Tile(
        label="Failing",
        value=found.failing.percent,
        href=question.link("operations", question.query.adding(signals.FAILING_TERM)),
        change=display.change_of_rate(found.failing, found.failing_before),
        sample=f"{found.failing.sample} {signals.FINISHED.words}",
        sample_href=question.link("operations", question.query.adding(*signals.FINISHED.terms)),
        line=found.failing_line,
        band=tiles.band(found.failing, found.failing_before),
        meaning="Failed, broke, timed out or never ran.",
        is_thin=found.failing.is_thin,
    )


def _took(href: str, took: queries.Percentiles) -> tiles.Tile:
    return tiles.Tile(
        label="Duration, p95",
        value=display.duration(int(took.p95)),
        href=href,
        change=display.Change("same", f"p50 {display.duration(int(took.p50))}"),
        sample=f"p99 {display.duration(int(took.p99))}",
        is_thin=took.operations < display.SAMPLE_MIN,
    )


def _worst(
    question: asked.Asked, query: filters.Query, health: list[queries.ToolHealth]
) -> charts.Chart | None:
    failing = [tool for tool in health if tool.failing.part > 0]
    failing.sort(key=lambda tool: (tool.failing.is_thin, -tiles.least_share(tool.failing), tool.tool or ""))
    rows = [
        charts.Bar(
            label=tool.tool or "tool not told",
            value=tool.failing.fraction,
            words=tool.failing.percent,
            href=_tool_link(question, tool),
            note=f"{tool.failing.sample}{f', {tool.worst_code}' if tool.worst_code else ''}",
            tone="exception",
            is_thin=tool.failing.is_thin,
        )
        for tool in failing[:WORST_MAX]
    ]
    if not rows:
        return None
    return charts.bars(
        label="Tools by failing share", heading="Tool", value_heading="Failing", rows=rows, largest=1
    )


def _growing(
    question: asked.Asked, query: filters.Query, health: list[queries.ToolHealth]
) -> charts.Chart | None:
    growing = sorted(
        (tool for tool in health if tool.growth > 0), key=lambda tool: (-tool.growth, tool.tool or "")
    )
    rows = [
        charts.Bar(
            label=tool.tool or "tool not told",
            value=tool.growth,
            words=f"+{display.count(tool.growth)}",
            href=_tool_link(question, tool),
            note=f"{display.count(tool.failing_before.part)} before, {display.count(tool.failing.part)} now",
            tone="failed",
        )
        for tool in growing[:WORST_MAX]
    ]
    if not rows:
        return None
    return charts.bars(
        label="Tools by growth of failures", heading="Tool", value_heading="More than before", rows=rows
    )


def _tool_link(question: asked.Asked, tool: queries.ToolHealth) -> str:
    return question.link(
        "operations", question.query.only("tool", tool.tool or "").adding(signals.FAILING_TERM)
    )


_DIMENSIONS = {
    "tool": ("New tool", "tool"),
    "tool_version": ("New tool version", "version"),
    "code": ("New code", "code"),
    "model": ("New model", "model"),
    "runtime": ("New runtime", "runtime"),
    "environment": ("New environment", "env"),
    "provider": ("New provider", "provider"),
}


def _changes(question: asked.Asked) -> list[dict[str, Any]]:
    """Return what was first seen in the range, with links to its calls in any environment."""
    found = arrivals.changes(project_id=question.project.pk, span=question.span)
    new_tools = {(change.value, change.seen_us) for change in found if change.dimension == "tool"}
    listed = []
    for change in found:
        # The first version of a new tool says nothing that the tool does not say.
        tool, _, version = change.value.rpartition("@")
        if change.dimension == "tool_version" and (tool, change.seen_us) in new_tools:
            continue
        words, field = _DIMENSIONS.get(change.dimension, (f"New {change.dimension}", ""))
        terms: tuple[filters.Term, ...] = (filters.term(field, change.value),) if field else ()
        if change.dimension == "tool_version":
            terms = (filters.term("tool", tool), filters.term("version", version))
        listed.append(
            {
                "words": words,
                "value": change.value,
                "at": change.seen_us,
                "href": question.link(
                    "operations", filters.Query(terms), framing.around(change.seen_us, question.stretch.to_us)
                ),
            }
        )
    return listed
