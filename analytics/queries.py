"""One function per question, frozen rows back, all from the tally: costs follow the answer, not history."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from analytics import buckets, ranges, signals
from analytics import tally as tallies
from operations import display, filters, histogram
from operations import endings as ended_how
from operations import marks as marking


def signals_of(marks: int) -> Iterable[str | None]:
    """Return the names of the signals in a mask; None stands for no signal."""
    found = [name for name, mark in marking.BY_NAME.items() if marks & mark]
    return found or [None]


class Rate(NamedTuple):
    """A signal over a span and the same span before, with its run over the span."""

    signal: signals.Signal
    now: display.Share
    before: display.Share
    line: tuple[float | None, ...]


_COMPARED = ("tool", "code", "effect", "status", "outcome", "marks")


class Compared(NamedTuple):
    """The operations of a span and of the one before, as (key, tool, code, number)."""

    now: list[tuple[signals.Key, str | None, str | None, int]]
    before: list[tuple[signals.Key, str | None, str | None, int]]


class Overview(NamedTuple):
    """Everything counted at the top of Overview."""

    operations: int
    operations_before: int
    failing: display.Share
    failing_before: display.Share
    failing_line: tuple[float | None, ...]
    line: tuple[int, ...]
    rates: dict[str, Rate]


_Counted = Sequence[tuple[int | None, signals.Key, int]]
_ByKey = dict[signals.Key, list[tuple[int | None, int]]]


class Line(NamedTuple):
    """The operations of a span along bins, as (bin, key, number)."""

    bins: buckets.Bins
    counted: _Counted


def compare(
    *, project_id: int, query: filters.Query, span: ranges.Span, before: ranges.Span, bins: buckets.Bins
) -> tuple[Line, Compared]:
    """Read a span along `bins`, and what it and the one before are compared by.

    `overview` and `endings_of` tell the line, `overview` and `tools` the comparison.
    """
    stepped, now = tallies.sums_along(
        project_id=project_id,
        query=query,
        span=span,
        step_us=bins.step_us,
        along=signals.Key._fields,
        by=_COMPARED,
    )
    was = tallies.sums(project_id=project_id, query=query, span=before, by=_COMPARED)
    line = Line(
        bins, [(bins.index(one.keys[0]), signals.Key(*one.keys[1:]), one.operations) for one in stepped]
    )
    return line, Compared(_compared(now), _compared(was))


def _compared(sums: Iterable[tallies.Sum]) -> list[tuple[signals.Key, str | None, str | None, int]]:
    return [(signals.Key(*one.keys[2:]), one.keys[0], one.keys[1], one.operations) for one in sums]


def overview(line: Line, compared: Compared) -> Overview:
    """Count every signal along a line, and over the span before it."""
    bins = line.bins.number
    now, was = _by_key(line.counted), _by_key((None, key, number) for key, _, _, number in compared.before)
    numbers = [0] * bins
    for place, _, number in line.counted:
        if place is not None:
            numbers[place] += number
    failing, failing_line = _rate(signals.FAILING, signals.FINISHED, now, bins)
    return Overview(
        operations=sum(number for *_, number in line.counted),
        operations_before=sum(number for *_, number in compared.before),
        failing=failing,
        failing_before=_rate(signals.FAILING, signals.FINISHED, was, 0)[0],
        failing_line=failing_line,
        line=tuple(numbers),
        rates={name: _rate_of(signal, now, was, bins) for name, signal in signals.SIGNALS.items()},
    )


def _by_key(counted: Iterable[tuple[int | None, signals.Key, int]]) -> _ByKey:
    """Put together what has the same key: every signal looks at each key once."""
    found: _ByKey = defaultdict(list)
    for place, key, number in counted:
        found[key].append((place, number))
    return found


def _rate_of(signal: signals.Signal, now: _ByKey, was: _ByKey, bins: int) -> Rate:
    share, line = _rate(signal.mark, signal.base, now, bins)
    return Rate(signal, share, _rate(signal.mark, signal.base, was, 0)[0], line)


def _rate(
    mark: int, base: signals.Base, counted: _ByKey, bins: int
) -> tuple[display.Share, tuple[float | None, ...]]:
    """Return how many of `base` have any of `mark`, in all and along the bins."""
    # A flag's own "and" costs twenty times that of a number.
    bits = int(mark)
    part, whole = [0] * (bins + 1), [0] * (bins + 1)
    for key, numbers in counted.items():
        if not base.counts(key):
            continue
        has_mark = key.marks & bits
        for place, number in numbers:
            at = bins if place is None else place
            whole[at] += number
            if has_mark:
                part[at] += number
    line = tuple(part[at] / whole[at] if whole[at] else None for at in range(bins))
    return display.share(sum(part), sum(whole)), line


def endings_of(line: Line) -> dict[str, list[int]]:
    """Return the operations along a line by how they ended."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * line.bins.number)
    for place, key, number in line.counted:
        if place is not None:
            counts[ended_how.key_of(key.status or "", key.outcome)][place] += number
    return dict(counts)


def endings(
    *, project_id: int, query: filters.Query, span: ranges.Span, bins: buckets.Bins
) -> dict[str, list[int]]:
    """Count operations along `bins` by how they ended."""
    by = ("status", "outcome")
    found = tallies.sums(project_id=project_id, query=query, span=span, by=by, step_us=bins.step_us)
    counted = [
        (bins.index(at), signals.Key(None, status, outcome, 0), one.operations)
        for one in found
        for at, status, outcome in (one.keys,)
    ]
    return endings_of(Line(bins, counted))


_UNKNOWN_TOOL = int(marking.Mark.UNKNOWN_TOOL)


class ToolHealth(NamedTuple):
    """How one tool does, now and over the same span before."""

    tool: str | None
    failing: display.Share
    failing_before: display.Share
    worst_code: str | None

    @property
    def growth(self) -> int:
        """How many more fail than before."""
        return self.failing.part - self.failing_before.part


def tools(compared: Compared) -> list[ToolHealth]:
    """Return every tool's failing share now and before, and the code that most of its failures carry."""
    counted: dict[str | None, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    codes: dict[str | None, Counter[str]] = defaultdict(Counter)
    for at, found in ((0, compared.now), (2, compared.before)):
        for key, tool, code, number in found:
            # A name that is no tool is not a tool that does badly.
            if key.marks & _UNKNOWN_TOOL or not signals.FINISHED.counts(key):
                continue
            counted[tool][at + 1] += number
            if key.marks & signals.FAILING:
                counted[tool][at] += number
                if code and not at:
                    codes[tool][code] += number
    return [
        ToolHealth(
            tool,
            display.share(numbers[0], numbers[1]),
            display.share(numbers[2], numbers[3]),
            min(codes[tool], key=lambda code: (-codes[tool][code], code), default=None),
        )
        for tool, numbers in sorted(counted.items(), key=lambda item: item[0] or "")
    ]


class Percentiles(NamedTuple):
    """What half, nineteen of twenty and all but one of a hundred stay below, in the measure's own unit."""

    p50: float
    p95: float
    p99: float
    operations: int


def percentiles(
    *, project_id: int, query: filters.Query, span: ranges.Span, measure: str = "duration"
) -> Percentiles | None:
    """Return the percentiles of a measure, at most 10 % off; None when nothing was measured."""
    counts = tallies.histogram(project_id=project_id, query=query, span=span, measure=measure)
    found = [histogram.percentile(counts, share) for share in (0.5, 0.95, 0.99)]
    p50, p95, p99 = found
    if p50 is None or p95 is None or p99 is None:
        return None
    return Percentiles(p50, p95, p99, sum(counts.values()))
