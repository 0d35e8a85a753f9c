"""How a measure is spread: bars over the tally's log buckets, with percentiles marked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from analytics import buckets
from analytics.charts import markup
from operations import display


@dataclasses.dataclass(frozen=True)
class Marker:
    """A line across a histogram: `p95` at a value."""

    label: str
    value: float


def histogram(
    *,
    label: str,
    edges: Sequence[int],
    counts: Sequence[int],
    words: Callable[[int], str] = display.duration,
    markers: Sequence[Marker] = (),
    links: Sequence[str] = (),
    tone: str = "plain",
    unit: str = "tool calls",
    height: int = 148,
) -> markup.Chart:
    """Draw `counts[i]` between `edges[i]` and `edges[i + 1]`; `words` writes an edge, `markers` are percentiles."""
    if len(edges) != len(counts) + 1:
        raise ValueError("a histogram has one edge more than it has counts")
    scale = buckets.value_ticks(max(counts, default=0))
    plot = "".join(
        (
            markup.gridlines(scale, height=height),
            _bars(edges, counts, words, links, tone=tone, top=scale[-1], height=height, unit=unit),
            _edges_axis(edges, words, height=height),
            _markers(markers, edges, words, height=height),
        )
    )
    twin = markup.table(
        label,
        [markup.Column("From"), markup.Column("to"), markup.Column(unit.capitalize())],
        [
            [markup.words(words(edges[place])), markup.words(words(edges[place + 1])), display.count(amount)]
            for place, amount in enumerate(counts)
            if amount
        ],
    )
    return markup.Chart(
        f'<figure class="chart" aria-label="{markup.words(label)}"><div class="chart-frame">'
        f"{markup.value_axis(scale, height=height)}"
        f'<div class="chart-plot"><svg height="{height}" aria-hidden="true" focusable="false">{plot}</svg></div></div>'
        f'<div class="chart-foot"><span>{markup.words(unit)}; each bar is up to 10 % wide</span>{twin}</div></figure>'
    )


def _bars(
    edges: Sequence[int],
    counts: Sequence[int],
    words: Callable[[int], str],
    links: Sequence[str],
    *,
    tone: str,
    top: int,
    height: int,
    unit: str,
) -> str:
    bars = len(counts)
    floor = markup.level(0, top, height=height)
    parts = []
    for place, amount in enumerate(counts):
        x, width = markup.at(place / bars), markup.at(1 / bars)
        tall = max(2.0, floor - markup.level(amount, top, height=height)) if amount else 0
        bar = (
            f'<rect class="fill-{markup.words(tone)}" x="{markup.at((place + 0.06) / bars)}" y="{markup.number(floor - tall)}"'
            f' width="{markup.at(0.88 / bars)}" height="{markup.number(tall)}"/>'
            if amount
            else ""
        )
        title = f"{words(edges[place])} to {words(edges[place + 1])}"
        hit = (
            f'<rect class="hit" x="{x}" y="0" width="{width}" height="{markup.number(floor)}">'
            f"<title>{markup.lines(title, f'{amount:,} {unit}')}</title></rect>"
        )
        if links and amount:
            parts.append(f'<a class="bin" href="{markup.link(links[place])}" tabindex="-1">{bar}{hit}</a>')
        else:
            parts.append(f'<g class="bin">{bar}{hit}</g>')
    return "".join(parts)


def _edges_axis(edges: Sequence[int], words: Callable[[int], str], *, height: int) -> str:
    floor = height - markup.BOTTOM
    last = len(edges) - 1
    parts = []
    for rank, place in enumerate(buckets.log_ticks(tuple(edges))):
        x = markup.at(place / last)
        anchor = "start" if place == 0 else "end" if place == last else "middle"
        parts.append(
            f'<g class="rank-{2 if rank % 2 else 0}">'
            f'<line class="tick-mark" x1="{x}" x2="{x}" y1="{floor}" y2="{floor + 4}"/>'
            f'<text x="{x}" y="{floor + 16}" text-anchor="{anchor}">{markup.words(words(edges[place]))}</text></g>'
        )
    return "".join(parts)


def _markers(
    markers: Sequence[Marker], edges: Sequence[int], words: Callable[[int], str], *, height: int
) -> str:
    parts = []
    for row, marker in enumerate(markers):
        fraction = _fraction(marker.value, edges)
        x = markup.at(fraction)
        anchor, shift = ("end", -4) if fraction > 0.7 else ("start", 4)
        parts.append(
            f'<line class="marker" x1="{x}" x2="{x}" y1="0" y2="{height - markup.BOTTOM}"/>'
            f'<text class="marker-label" x="{x}" dx="{shift}" y="{10 + 13 * row}" text-anchor="{anchor}">'
            f"{markup.words(marker.label)} {markup.words(words(round(marker.value)))}</text>"
        )
    return "".join(parts)


def _fraction(value: float, edges: Sequence[int]) -> float:
    last = len(edges) - 1
    for place in range(last):
        low, high = edges[place], edges[place + 1]
        if value < high:
            return (place + max(0.0, (value - low) / (high - low))) / last
    return 1.0
