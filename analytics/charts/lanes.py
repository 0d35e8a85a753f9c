"""Charts that are tables: one row a lane, its bar drawn in a cell, so that no twin is needed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from analytics import buckets
from analytics.charts import markup
from operations import display, endings

DEPTH_MAX = 3
#: A call shorter than a pixel still shows.
VISIBLE_SHARE = 0.004


@dataclasses.dataclass(frozen=True)
class Bar:
    """One row of a bar table: how long it is, and what it says."""

    label: str
    value: float
    words: str
    href: str = ""
    note: str = ""
    tone: str = "plain"
    is_thin: bool = False


def bars(
    *, label: str, heading: str, value_heading: str, rows: Sequence[Bar], largest: float = 0
) -> markup.Chart:
    """Draw a table of bars, scaled to the largest (or to `largest`: 1 for shares)."""
    top = largest or max((row.value for row in rows), default=0) or 1
    heads = (
        f'<th scope="col">{markup.words(heading)}</th>'
        '<th scope="col" class="bar-cell"><span class="sr-only">Bar</span></th>'
        f'<th scope="col" class="num">{markup.words(value_heading)}</th>'
    )
    body = "".join(_bar(row, top) for row in rows)
    return markup.Chart(markup.region(label, "table bars", heads, body))


def _bar(row: Bar, top: float) -> str:
    tone, thin = ("quiet", " thin") if row.is_thin else (markup.words(row.tone), "")
    note = (
        f'<span class="note" title="{markup.figure(row.note)}">{markup.figure(row.note)}</span>'
        if row.note
        else ""
    )
    width = markup.at(min(1.0, row.value / top))
    return (
        f'<tr><th scope="row"><span class="clip">{_linked(row.label, row.href)}</span></th>'
        f'<td class="bar-cell"><svg height="8" {markup.HIDDEN}>'
        '<rect class="fill-track" width="100%" height="8" rx="2"/>'
        f'<rect class="fill-{tone}" width="{width}" height="8" rx="2"/></svg></td>'
        f'<td class="num"><span class="value{thin}">{markup.figure(row.words)}</span>{note}</td></tr>'
    )


@dataclasses.dataclass(frozen=True)
class Lane:
    """One call in a waterfall; without `ended_us` it still runs; `answered_us` is a late answer's time.

    One that is not `is_timed` ended, and nobody told when: it stands where it began.
    """

    label: str
    ending: endings.Ending
    started_us: int
    ended_us: int | None = None
    answered_us: int | None = None
    href: str = ""
    turn: str = ""
    depth: int = 0
    notes: tuple[str, ...] = ()
    is_current: bool = False
    is_timed: bool = True


def waterfall(*, label: str, rows: Sequence[Lane], now_us: int) -> markup.Chart:
    """Draw calls along one time axis, headed by turn, with running ends open and late answers ringed."""
    stretch = _stretch(rows, now_us)
    places = [(tick / stretch.span_us, tick) for tick in buckets.span_ticks(stretch.span_us)]
    grid = "".join(
        f'<line class="gridline" x1="{markup.at(place)}" x2="{markup.at(place)}" y1="0" y2="20"/>'
        for place, _ in places
    )
    axis = "".join(
        f'<text x="{markup.at(place)}" y="12" text-anchor="{_anchor(place)}">{display.tick(tick)}</text>'
        for place, tick in places
    )
    body, turn = [], ""
    for row in rows:
        if row.turn and row.turn != turn:
            turn = row.turn
            body.append(
                f'<tr class="turn"><th scope="colgroup" colspan="4">Turn {markup.words(turn)}</th></tr>'
            )
        body.append(_lane(row, stretch, grid, now_us))
    heads = (
        '<th scope="col">Tool call</th><th scope="col">Ending</th><th scope="col" class="bar-cell">'
        '<span class="sr-only">Time since the first call</span>'
        f'<svg height="16" {markup.HIDDEN}>{axis}</svg></th>'
        '<th scope="col" class="num">Took</th>'
    )
    return markup.Chart(markup.region(label, "table waterfall", heads, "".join(body)))


def _lane(row: Lane, stretch: buckets.Range, grid: str, now_us: int) -> str:
    notes = "".join(f'<span class="badge plain warn">{markup.words(note)}</span>' for note in row.notes)
    depth = f" depth-{min(row.depth, DEPTH_MAX)}" if row.depth else ""
    ended = now_us if row.ended_us is None else row.ended_us
    took = display.duration(ended - row.started_us) if row.is_timed else display.ABSENT
    if row.ended_us is None:
        took = "still running"
    offset = display.duration(max(0, row.started_us - stretch.from_us))
    title = markup.lines(
        f"{row.label}: {row.ending.words}",
        f"starts {offset} in, took {took if row.is_timed else 'a time nobody told'}",
    )
    word = row.ending.word
    if row.ending.detail:
        word = f'{word}: <span class="detail">{markup.words(row.ending.detail)}</span>'
    name = _linked(row.label, row.href, f" data-row{' aria-current=true' if row.is_current else ''}")
    return (
        f"<tr{' class=current' if row.is_current else ''}>"
        f'<th scope="row"><span class="name{depth}"><span class="clip">{name}</span>{notes}</span></th>'
        f'<td class="tight"><span class="badge plain {row.ending.key}">{word}</span></td>'
        f'<td class="bar-cell"><svg height="20" {markup.HIDDEN}>{grid}{_lane_bar(row, stretch, ended)}'
        f'<title>{title}</title></svg></td><td class="num">{took}</td></tr>'
    )


def _lane_bar(row: Lane, stretch: buckets.Range, ended_us: int) -> str:
    start, end = _place(row.started_us, stretch), _place(ended_us, stretch)
    width = max(VISIBLE_SHARE, end - start)
    x, wide = markup.at(min(start, 1 - width)), markup.at(width)
    parts = [f'<rect class="fill-{row.ending.key}" x="{x}" y="5" width="{wide}" height="10" rx="2"/>']
    if row.ended_us is None:
        x = markup.at(end)
        parts.append(f'<line class="open-end" x1="{x}" x2="{x}" y1="2" y2="18"/>')
    if row.answered_us is not None:
        x, from_x = markup.at(_place(row.answered_us, stretch)), markup.at(end)
        parts.append(f'<line class="connector" x1="{from_x}" x2="{x}" y1="10" y2="10"/>')
        parts.append(f'<circle class="late-mark" cx="{x}" cy="10" r="3.5"/>')
    return "".join(parts)


def _linked(label: str, href: str, attributes: str = "") -> str:
    name = markup.words(label)
    return f'<a href="{markup.link(href)}"{attributes}>{name}</a>' if href else name


def _stretch(rows: Sequence[Lane], now_us: int) -> buckets.Range:
    if not rows:
        return buckets.Range(from_us=now_us - 1, to_us=now_us)
    first = min(row.started_us for row in rows)
    last = max(max(now_us if row.ended_us is None else row.ended_us, row.answered_us or 0) for row in rows)
    return buckets.Range(from_us=first, to_us=max(first + 1, last))


def _place(at_us: int, stretch: buckets.Range) -> float:
    return min(1.0, max(0.0, (at_us - stretch.from_us) / stretch.span_us))


def _anchor(place: float) -> str:
    return "start" if place < 0.03 else "end" if place > 0.94 else "middle"
