"""Calls over time by how they ended: from the tally, or from the facts where a filter needs them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from analytics import asked, buckets, charts, facets, grains, queries, ranges, tally
from operations import endings, filters, find


class Timeline(NamedTuple):
    """A drawn timeline and how many calls it shows; not whole when only the newest were counted."""

    chart: charts.Chart
    number: int
    #: The stretches that hold any of them, newest first.
    windows: tuple[tuple[int, int], ...]
    is_whole: bool = True


def draw(question: asked.Asked) -> Timeline:
    """Draw all calls of the asked range that the filter lets through."""
    if question.query.untallied:
        return _of_facts(question, read_facts(question))
    return of_tally(question, question.query)


def of_tally(question: asked.Asked, query: filters.Query) -> Timeline:
    """Draw what the tally counts under `query`."""
    chosen = bins(question.span, query)
    counts = queries.endings(project_id=question.project.pk, query=query, span=question.span, bins=chosen)
    return drawn(question, chosen, counts)


def bins(span: ranges.Span, query: filters.Query) -> buckets.Bins:
    """Choose bins as fine as can be read fast: a filter on many minutes is read by the hour."""
    finest = span.finest_us
    is_many = span.length_us > 6 * buckets.HOUR
    if is_many and not tally.needed(query, ()) <= set(grains.KEPT["tally"][grains.Grain.PACE]):
        finest = max(finest, buckets.HOUR)
    return buckets.bins(buckets.Range(span.from_us, span.to_us), finest_us=finest)


def drawn(question: asked.Asked, along: buckets.Bins, counts: Mapping[str, Sequence[int]]) -> Timeline:
    """Draw counts along bins, each bar leading to its rows."""
    chart = charts.stacked_timeline(
        label="Tool calls by ending",
        bins=along,
        counts=counts,
        links=[question.link("operations", stretch=along.range(place)) for place in range(along.number)],
        legend_links={
            key: question.link("operations", ended(question.query, key)) for key in endings.ENDINGS
        },
        now_us=question.now_us,
    )
    return Timeline(chart, sum(map(sum, counts.values())), _windows(question, along, counts))


def read_facts(question: asked.Asked) -> find.Keys:
    """Read what facets and timeline count of calls that only the facts can find."""
    return find.keys(
        project_id=question.project.pk,
        query=question.query,
        since=question.stretch.from_us,
        until=question.stretch.to_us,
        columns=facets.COLUMNS,
    )


def ended(query: filters.Query, key: str) -> filters.Query:
    """Hold a filter to one ending."""
    return query.without_field("status", "outcome").adding(ending_term(key))


def ending_term(key: str) -> filters.Term:
    """Return the term that shows the calls with one ending."""
    if key in {"success", "failed"}:
        return filters.term("outcome", "success" if key == "success" else "failure")
    return filters.term("status", {"exception": "runtime_error", "never_ran": "contract_error"}.get(key, key))


def _of_facts(question: asked.Asked, found: find.Keys) -> Timeline:
    chosen = buckets.bins(buckets.Range(question.stretch.from_us, question.stretch.to_us))
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * chosen.number)
    for row in found.rows:
        started_us, status, outcome = _head(row)
        place = chosen.index(started_us)
        if place is not None:
            counts[endings.key_of(status, outcome)][place] += 1
    return drawn(question, chosen, counts)._replace(is_whole=found.is_whole)


def _head(row: Sequence[Any]) -> tuple[int, str, str | None]:
    return row[0], row[1], row[2]


def _windows(
    question: asked.Asked, along: buckets.Bins, counts: Mapping[str, Sequence[int]]
) -> tuple[tuple[int, int], ...]:
    """Return the runs of bins in which anything was counted, within the asked range, newest first."""
    runs: list[tuple[int, int]] = []
    for place, start in enumerate(along.starts):
        if not any(numbers[place] for numbers in counts.values()):
            continue
        end = start + along.step_us
        if runs and runs[-1][1] == start:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    asked_from, asked_to = question.stretch.from_us, question.stretch.to_us
    return tuple((max(start, asked_from), min(end, asked_to)) for start, end in reversed(runs))
