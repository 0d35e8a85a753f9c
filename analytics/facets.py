"""What there is to filter by, with counts from the tally."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from analytics import queries, ranges
from analytics import tally as tallies
from operations import endings, filters, vocabulary

#: The keys that have a facet, by field of the grammar, in their order on the page.
FACETS = (
    "env",
    "tool",
    "code",
    "model",
    "runtime",
    "version",
    "effect",
    "provider",
    "mode",
    "source",
    "kind",
)


#: What `count_facts` counts, after the start of each row.
COLUMNS = ("status", "outcome", "marks", *(vocabulary.FIELDS[field].column for field in FACETS))


class Facet(NamedTuple):
    """The values of one field and how many operations have each, most first."""

    field: str
    counts: list[tuple[str, int]]


def count(*, project_id: int, query: filters.Query, span: ranges.Span) -> dict[str, Facet]:
    """Count the values of each facet among what the rest of the filter lets through.

    A field that the filter holds already is counted without its own terms, so that one sees what else there
    is. The field `ending` stands for status and outcome together.
    """
    columns = {field: vocabulary.FIELDS[field].column for field in FACETS}
    free = [field for field in FACETS if not query.has(field)]
    apart = tallies.sums_apart(
        project_id=project_id, query=query, span=span, by=[columns[field] for field in free]
    )
    found = {field: apart[columns[field]] for field in free}
    for field in FACETS:
        if field not in found:
            rest = query.without_field(field)
            found[field] = tallies.sums(project_id=project_id, query=rest, span=span, by=(columns[field],))
    facets = {
        field: Facet(field, _most_first((one.keys[0], one.operations) for one in found[field]))
        for field in FACETS
    }
    rest = query.without_field("status", "outcome")
    ended = tallies.sums(project_id=project_id, query=rest, span=span, by=("status", "outcome"))
    counts = ((endings.key_of(*one.keys), one.operations) for one in ended)
    marked = tallies.sums(
        project_id=project_id, query=query.without_field("signal"), span=span, by=("marks",)
    )
    flagged = ((name or "", one.operations) for one in marked for name in queries.signals_of(one.keys[0]))
    return {
        "ending": Facet("ending", _most_first(counts)),
        "signal": Facet("signal", [(name, number) for name, number in _most_first(flagged) if name]),
        **facets,
    }


def count_facts(rows: Iterable[Sequence[Any]]) -> dict[str, Facet]:
    """Count the values of each facet among rows of `COLUMNS`, where only the facts can answer."""
    counted: dict[str, Counter[str]] = {field: Counter() for field in ("ending", "signal", *FACETS)}
    for _, status, outcome, marks, *values in rows:
        counted["ending"][endings.key_of(status, outcome)] += 1
        counted["signal"].update(name for name in queries.signals_of(marks) if name)
        for field, value in zip(FACETS, values, strict=True):
            counted[field][value or ""] += 1
    return {field: Facet(field, _most_first(counts.items())) for field, counts in counted.items()}


def _most_first(counts: Iterable[tuple[str | None, int]]) -> list[tuple[str, int]]:
    summed: Counter[str] = Counter()
    for value, number in counts:
        summed[value or ""] += number
    return sorted(((v, n) for v, n in summed.items() if n > 0), key=lambda item: (-item[1], item[0]))
