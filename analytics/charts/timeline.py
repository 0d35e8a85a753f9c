"""Tool calls over time, stacked by how they ended."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from analytics import buckets
from analytics.charts import markup
from operations import display, endings

#: A single failure among thousands must still be seen.
VISIBLE_PX = 2.0
#: Of a bin's width, what its bar fills.
FILL = 0.86


@dataclasses.dataclass(frozen=True)
class _Stack:
    """What is drawn: the endings that occur, from the baseline up, and each bin's counts and address."""

    bins: buckets.Bins
    shown: Sequence[endings.Ending]
    counts: Mapping[str, Sequence[int]]
    totals: Sequence[int]
    links: Sequence[str]
    #: Escaped.
    unit: str

    def link(self, place: int) -> str:
        return markup.link(self.links[place]) if self.links and self.totals[place] else ""


def stacked_timeline(
    *,
    label: str,
    bins: buckets.Bins,
    counts: Mapping[str, Sequence[int]],
    links: Sequence[str] = (),
    legend_links: Mapping[str, str] | None = None,
    unit: str = "tool calls",
    height: int = 168,
    now_us: int | None = None,
) -> markup.Chart:
    """Draw one bar per bin, stacked by ending; each bar opens its rows, and the chart can be brushed.

    `counts` holds a sequence as long as the bins for each ending (the keys of `endings.ENDINGS`); `links` an
    address for each bin, `legend_links` one for each ending; the bin of `now_us` says it is filling.
    """
    shown = [ending for key, ending in endings.ENDINGS.items() if any(counts.get(key, ()))]
    totals = [sum(counts[ending.key][place] for ending in shown) for place in range(bins.number)]
    stack = _Stack(bins, shown, counts, totals, links, markup.words(unit))
    frame = markup.Frame(buckets.value_ticks(max(totals, default=0)), height)
    plot = _bars(stack, frame) + _time_axis(bins, frame) + _hits(stack, frame, now_us)
    # Bins of whole days are days of UTC, whatever the reader's zone.
    zone = "" if bins.step_us >= display.DAY else " data-zone"
    foot = f"{stack.unit} per {display.step(bins.step_us)}, times in <span{zone}>UTC</span>"
    data = f' data-brush data-from="{bins.first_us}" data-to="{bins.end_us}" data-step="{bins.step_us}"'
    return markup.framed(
        label,
        frame,
        plot if shown else plot + _nothing(stack.unit, frame),
        legend=_legend(stack, legend_links or {}),
        foot=f"<span>{foot}</span>{_twin(label, stack)}",
        attributes=data,
    )


def _bars(stack: _Stack, frame: markup.Frame) -> str:
    bins = stack.bins
    width = markup.at(FILL / bins.number)
    xs = [markup.at((place + (1 - FILL) / 2) / bins.number) for place in range(bins.number)]
    tops = [float(frame.floor)] * bins.number
    groups = []
    for ending in stack.shown:
        rects = []
        for place, amount in enumerate(stack.counts[ending.key]):
            if amount:
                tall = max(VISIBLE_PX, frame.tall(amount))
                tops[place] -= tall
                rects.append(
                    f'<rect x="{xs[place]}" y="{tops[place]:.1f}" width="{width}" height="{tall:.1f}"/>'
                )
        groups.append(f'<g class="fill-{ending.key}">{"".join(rects)}</g>')
    return "".join(groups)


def _hits(stack: _Stack, frame: markup.Frame, now_us: int | None) -> str:
    bins = stack.bins
    width = markup.at(1 / bins.number)
    rows = [(ending.word, stack.counts[ending.key]) for ending in stack.shown]
    current = bins.index(now_us) if now_us is not None else None
    parts = []
    for place, start in enumerate(bins.starts):
        end = start + bins.step_us
        # Only numbers and words of ours: escaping each line of each bin would double what a chart costs.
        lines = [_span_words(start, end), f"{stack.totals[place]:,} {stack.unit}"]
        lines += [f"{word} {counts[place]:,}" for word, counts in rows if counts[place]]
        if place == current:
            lines.append("still filling")
        title = "\n".join(lines)
        x = markup.at(place / bins.number)
        hit = f'<rect class="hit" x="{x}" y="0" width="{width}" height="{frame.floor}">'
        about = f'class="bin" data-from="{start}" data-to="{end}"'
        href = stack.link(place)
        # The table twin is the way for the keyboard: a hundred stops on the way through a page would be none.
        opened, closed = (f'a href="{href}" tabindex="-1"', "a") if href else ("g", "g")
        parts.append(f"<{opened} {about}>{hit}<title>{title}</title></rect></{closed}>")
    return "".join(parts)


def _time_axis(bins: buckets.Bins, frame: markup.Frame) -> str:
    stretch = buckets.Range(from_us=bins.first_us, to_us=bins.end_us)
    parts = []
    for tick in buckets.time_ticks(stretch):
        local = "" if bins.step_us >= display.DAY else f' data-at="{tick.at}"'
        parts.append(markup.tick(frame, tick.fraction, tick.label, rank=tick.rank, attributes=local))
    return "".join(parts)


def _legend(stack: _Stack, links: Mapping[str, str]) -> str:
    entries = []
    for ending in stack.shown:
        total = display.count(sum(stack.counts[ending.key]))
        inner = f'{markup.swatch(ending.key)}{ending.word} <span class="num">{total}</span>'
        href = links.get(ending.key)
        entries.append(f'<li><a href="{markup.link(href)}">{inner}</a></li>' if href else f"<li>{inner}</li>")
    return f'<ul class="chart-legend">{"".join(entries)}</ul>' if entries else ""


def _twin(label: str, stack: _Stack) -> str:
    columns = [markup.Column("From", is_number=False), markup.Column("All")]
    columns += [markup.Column(ending.word) for ending in stack.shown]
    rows = []
    for place, start in enumerate(stack.bins.starts):
        if not stack.totals[place]:
            continue
        first = f'<time data-at="{start}" datetime="{display.iso(start)}">{display.clock(start)} UTC</time>'
        href = stack.link(place)
        if href:
            first = f'<a href="{href}">{first}</a>'
        counts = [display.count(stack.counts[ending.key][place]) for ending in stack.shown]
        rows.append([first, display.count(stack.totals[place]), *counts])
    return markup.table(label, columns, rows) if rows else ""


def _span_words(start_us: int, end_us: int) -> str:
    start, end = display.moment(start_us), display.moment(end_us)
    if end_us - start_us >= display.DAY:
        return f"{start.day} {start:%b} UTC"
    return f"{start.day} {start:%b} {start.hour:02}:{start.minute:02} to {end.hour:02}:{end.minute:02} UTC"


def _nothing(unit: str, frame: markup.Frame) -> str:
    said = f"No {unit} in this range"
    return f'<text class="none" x="50%" y="{frame.height // 2}" text-anchor="middle">{said}</text>'
