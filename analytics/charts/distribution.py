"""How a measure is spread: bars over the tally's log buckets, with percentiles marked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from analytics import buckets
from analytics.charts import markup
from operations import display

Words = Callable[[int], str]

#: The height of one marker's label; they stand above the bars, a row each.
ROW = 14


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
    words: Words = display.duration,
    markers: Sequence[Marker] = (),
    links: Sequence[str] = (),
    tone: str = "plain",
    unit: str = "tool calls",
    height: int = 148,
) -> markup.Chart:
    """Draw `counts[i]` between `edges[i]` and `edges[i + 1]`.

    `words` writes an edge, `markers` are percentiles, `links` an address for each bar.
    """
    if len(edges) != len(counts) + 1:
        raise ValueError("a histogram has one edge more than it has counts")
    above = 8 + ROW * len(markers)
    frame = markup.Frame(buckets.value_ticks(max(counts, default=0)), height + ROW * len(markers), above)
    parts = []
    for place, amount in enumerate(counts):
        title = f"{words(edges[place])} to {words(edges[place + 1])}"
        drawn = _bar(frame, place, len(counts), amount, title=markup.lines(title, f"{amount:,} {unit}"))
        if links and amount:
            parts.append(f'<a class="bin" href="{markup.link(links[place])}" tabindex="-1">{drawn}</a>')
        else:
            parts.append(f'<g class="bin">{drawn}</g>')
    plot = f'<g class="fill-{markup.words(tone)}">{"".join(parts)}</g>'
    return markup.framed(
        label,
        frame,
        plot + _edge_ticks(edges, words, frame) + _markers(markers, edges, words, frame),
        foot=f"<span>{markup.words(unit)}</span>{_twin(label, edges, counts, words, unit)}",
    )


def _bar(frame: markup.Frame, place: int, bars: int, amount: int, *, title: str) -> str:
    bar = ""
    if amount:
        tall = max(2.0, frame.tall(amount))
        x, width = markup.at((place + 0.06) / bars), markup.at(0.88 / bars)
        y = markup.number(frame.floor - tall)
        bar = f'<rect x="{x}" y="{y}" width="{width}" height="{markup.number(tall)}"/>'
    x, width = markup.at(place / bars), markup.at(1 / bars)
    hit = f'<rect class="hit" x="{x}" y="0" width="{width}" height="{frame.floor}">'
    return f"{bar}{hit}<title>{title}</title></rect>"


def _edge_ticks(edges: Sequence[int], words: Words, frame: markup.Frame) -> str:
    last = len(edges) - 1
    return "".join(
        markup.tick(frame, place / last, words(edges[place]), rank=2 if nth % 2 else 0)
        for nth, place in enumerate(buckets.spread(len(edges)))
    )


def _markers(markers: Sequence[Marker], edges: Sequence[int], words: Words, frame: markup.Frame) -> str:
    parts = []
    for row, marker in enumerate(markers):
        fraction = _fraction(marker.value, edges)
        x = markup.at(fraction)
        anchor, shift = ("end", -4) if fraction > 0.6 else ("start", 4)
        top = 2 + ROW * row
        said = f"{marker.label} {words(round(marker.value))}"
        parts.append(
            f'<line class="marker" x1="{x}" x2="{x}" y1="{top}" y2="{frame.floor}"/>'
            f'<text class="marker-label" x="{x}" dx="{shift}" y="{top + 10}" text-anchor="{anchor}">'
            f"{markup.words(said)}</text>"
        )
    return "".join(parts)


def _fraction(value: float, edges: Sequence[int]) -> float:
    last = len(edges) - 1
    for place in range(last):
        low, high = edges[place], edges[place + 1]
        if value < high:
            return (place + max(0.0, (value - low) / (high - low))) / last
    return 1.0


def _twin(label: str, edges: Sequence[int], counts: Sequence[int], words: Words, unit: str) -> str:
    columns = [markup.Column("From"), markup.Column("to"), markup.Column(unit.capitalize())]
    rows = [
        [markup.words(words(edges[place])), markup.words(words(edges[place + 1])), display.count(amount)]
        for place, amount in enumerate(counts)
        if amount
    ]
    return markup.table(label, columns, rows) if rows else ""
