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


def compare(*, project_id: int, query: filters.Query, span: ranges.Span, before: ranges.Span) -> Compared:
    """Read what a span and the one before it are compared by; `overview` and `tools` tell it."""
    return Compared(
        *(
            [
                (signals.Key(*one.keys[2:]), one.keys[0], one.keys[1], one.operations)
                for one in tallies.sums(project_id=project_id, query=query, span=stretch, by=_COMPARED)
            ]
            for stretch in (span, before)
        )
    )


def overview(
    *, project_id: int, query: filters.Query, span: ranges.Span, compared: Compared, bins: buckets.Bins
) -> Overview:
    """Count every signal over `span`, over the same span before, and along `bins`."""
    by = ("effect", "status", "outcome", "marks")
    here = tallies.sums(project_id=project_id, query=query, span=span, by=by, step_us=bins.step_us)
    now = [(bins.index(one.keys[0]), signals.Key(*one.keys[1:]), one.operations) for one in here]
    was = [(None, key, number) for key, _, _, number in compared.before]
    line = [0] * bins.number
    for place, _, number in now:
        if place is not None:
            line[place] += number
    failing, failing_line = _rate(signals.FAILING, signals.FINISHED, now, bins.number)
    return Overview(
        operations=sum(number for *_, number in now),
        operations_before=sum(number for *_, number in was),
        failing=failing,
        failing_before=_rate(signals.FAILING, signals.FINISHED, was, 0)[0],
        failing_line=failing_line,
        line=tuple(line),
        rates={name: _rate_of(signal, now, was, bins.number) for name, signal in signals.SIGNALS.items()},
    )


_Counted = Sequence[tuple[int | None, signals.Key, int]]


def _rate_of(signal: signals.Signal, now: _Counted, was: _Counted, bins: int) -> Rate:
    share, line = _rate(signal.mark, signal.base, now, bins)
    return Rate(signal, share, _rate(signal.mark, signal.base, was, 0)[0], line)


def _rate(
    mark: int, base: signals.Base, counted: _Counted, bins: int
) -> tuple[display.Share, tuple[float | None, ...]]:
    """Return how many of `base` have any of `mark`, in all and along the bins."""
    part, whole = [0] * (bins + 1), [0] * (bins + 1)
    for place, key, number in counted:
        if not base.counts(key):
            continue
        at = bins if place is None else place
        whole[at] += number
        if key.marks & mark:
            part[at] += number
    line = tuple(part[at] / whole[at] if whole[at] else None for at in range(bins))
    return display.share(sum(part), sum(whole)), line


def endings(
    *, project_id: int, query: filters.Query, span: ranges.Span, bins: buckets.Bins
) -> dict[str, list[int]]:
    """Count operations along `bins` by how they ended."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * bins.number)
    found = tallies.sums(
        project_id=project_id, query=query, span=span, by=("status", "outcome"), step_us=bins.step_us
    )
    for one in found:
        at, status, outcome = one.keys
        place = bins.index(at)
        if place is not None:
            counts[ended_how.key_of(status, outcome)][place] += one.operations
    return dict(counts)


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
            if key.marks & marking.Mark.UNKNOWN_TOOL or not signals.FINISHED.counts(key):
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
