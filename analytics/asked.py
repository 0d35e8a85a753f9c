"""What a page was asked: whose project, which stretch of time, which filter. The query string is the whole state."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from urllib import parse

from django import http
from django.db import connection
from django.utils import timezone

from analytics import buckets, ranges
from operations import access, display, filters, grammar, moments, rejections
from operations.models import projects

# Primary key of first_seen.
_HAS_ENVIRONMENT = """
SELECT EXISTS (SELECT FROM first_seen WHERE project_id = %s AND dimension = 'environment' AND value = %s)
"""

_AHEAD_US = 10 * moments.SECOND_US
#: Times beyond are nobody's, and some of them are no dates.
_REACH_US = 100 * 366 * moments.DAY_US


@dataclasses.dataclass(frozen=True)
class Problem:
    """Why a part of the query string was not understood, and what to ask instead."""

    text: str
    href: str = ""
    label: str = ""


@dataclasses.dataclass(frozen=True)
class Asked:
    """One question to a page. Times are Unix microseconds."""

    membership: projects.Membership
    now_us: int
    stretch: buckets.Range
    query: filters.Query
    is_default_query: bool
    typed: str
    problem: Problem | None = None
    refresh: str = ""

    @property
    def project(self) -> projects.Project:
        """Whose operations are asked for."""
        return self.membership.project

    @property
    def span(self) -> ranges.Span:
        """The stretch that counts cover, widened to what the tally still holds."""
        return ranges.of(self.stretch, now_us=self.now_us)

    @property
    def is_readable(self) -> bool:
        """Whether the filter was understood; one that was not must not look like an answer."""
        return self.typed == str(self.query)

    @property
    def is_widened(self) -> bool:
        """Whether counts cover more than the list because of the range's age."""
        return self.span.finest_us > buckets.MINUTE and (
            self.span.from_us != self.stretch.from_us or self.span.to_us != self.stretch.to_us
        )

    @property
    def environment(self) -> str:
        """The environments shown, for the header."""
        held = [term for term in self.query.terms if term.field == "env"]
        if not held:
            return "all environments"
        said = ("not " if held[0].is_negated else "") + ", ".join(
            value.text or "none" for value in held[0].values
        )
        return said if len(held) == 1 else f"{said} …"

    def link(
        self,
        path: str | None = None,
        query: filters.Query | None = None,
        stretch: buckets.Range | None = None,
        **extra: str | int | None,
    ) -> str:
        """Return the address of a page of this project with the same question, but for what is changed."""
        said = self._query_said if query is None else parse.quote_plus(str(query))
        during = self._stretch_said if stretch is None else stretch.said
        told = {name: value for name, value in extra.items() if value is not None}
        if self.refresh:
            told["refresh"] = self.refresh
        more = f"&{parse.urlencode(told)}" if told else ""
        return f"/p/{self.project.slug}/{path or ''}?q={said}&{during}{more}"

    # A page has hundreds of links that differ in one of the two.
    @functools.cached_property
    def _query_said(self) -> str:
        return parse.quote_plus(str(self.query))

    @functools.cached_property
    def _stretch_said(self) -> str:
        return self.stretch.said

    @property
    def presets(self) -> list[tuple[str, str, bool]]:
        """The ranges to choose from: key, words, whether it is the current one."""
        return [(name, words, name == self.stretch.preset) for name, words in buckets.PRESET_WORDS.items()]

    @property
    def from_field(self) -> str:
        """The start, as a field of a form takes it (UTC)."""
        return display.iso(self.stretch.from_us)[:16]

    @property
    def to_field(self) -> str:
        """The end, as a field of a form takes it (UTC)."""
        return display.iso(self.stretch.to_us)[:16]


def read(request: http.HttpRequest, slug: str) -> Asked:
    """Load the project and understand the query string; what is not understood becomes `problem`."""
    membership = access.project_for(request.user, slug)
    now_us = moments.from_datetime(timezone.now())
    stretch, range_problem = _stretch(request.GET, now_us)
    typed = request.GET.get("q")
    query, filter_problem = filters.EMPTY, None
    if typed is None:
        query = _default_query(membership.project)
    else:
        try:
            query = grammar.parse(typed)
        except rejections.BadFilter as refusal:
            filter_problem = refusal
    found = Asked(
        membership=membership,
        now_us=now_us,
        stretch=stretch,
        query=query,
        is_default_query=typed is None,
        typed=str(query) if filter_problem is None else typed or "",
        refresh=request.GET.get("refresh", "") if request.GET.get("refresh") in {"10", "30", "60"} else "",
    )
    if filter_problem is not None:
        return dataclasses.replace(found, problem=_filter_problem(found, filter_problem, request))
    return dataclasses.replace(found, problem=range_problem) if range_problem else found


def _stretch(query: Mapping[str, str], now_us: int) -> tuple[buckets.Range, Problem | None]:
    try:
        found, problem = buckets.read_range(query, now_us=now_us), None
        if abs(found.from_us - now_us) > _REACH_US:
            raise buckets.UnreadableRange("a range lies within a hundred years of now.")
    except buckets.UnreadableRange as error:
        found = buckets.read_range({}, now_us=now_us)
        problem = Problem(f"{str(error)[:1].upper()}{str(error)[1:]} Showing the {found.words} instead.")
    if not found.preset:
        return found, problem
    # A moving range moves in whole buckets, so that its list and its counts cover the same.
    # It ends a little ahead of now: senders' clocks are not ours.
    to_us = ((now_us + _AHEAD_US) // buckets.MINUTE + 1) * buckets.MINUTE
    whole = ranges.span(to_us - found.span_us, to_us, now_us=now_us)
    return dataclasses.replace(found, from_us=whole.from_us, to_us=whole.to_us), problem


def _filter_problem(asked: Asked, refusal: rejections.BadFilter, request: http.HttpRequest) -> Problem:
    if not refusal.suggestion:
        return Problem(refusal.detail)
    told = {
        **{name: value for name, value in request.GET.items() if name != "cursor"},
        "q": refusal.suggestion,
    }
    return Problem(refusal.detail, f"?{parse.urlencode(told)}", "Use that")


def _default_query(project: projects.Project) -> filters.Query:
    """Begin at the project's default environment, if anything was ever told of it."""
    name = project.default_environment
    if not name:
        return filters.EMPTY
    with connection.cursor() as cursor:
        cursor.execute(_HAS_ENVIRONMENT, [project.pk, name])
        row = cursor.fetchone()
    return filters.Query((filters.term("env", name),)) if row and row[0] else filters.EMPTY
