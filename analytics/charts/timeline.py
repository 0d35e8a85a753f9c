"""Tool calls over time, stacked by how they ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analytics import buckets
from analytics.charts import markup
from operations import display

#: A single failure among thousands must still be seen.
VISIBLE_PX = 2.0
#: Of a bin's width, what its bar fills.
FILL = 0.86


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

    `counts` holds a sequence as long as the bins for each ending; `links` an address for each bin; the bin that holds
    `now_us` is drawn as unfinished.
    """
    shown = [ending for key, ending in display.ENDINGS.items() if any(counts.get(key, ()))]
    totals = [sum(counts[ending.key][place] for ending in shown) for place in range(bins.number)]
    scale = buckets.value_ticks(max(totals, default=0))
    stretch = buckets.Range(from_us=bins.first_us, to_us=bins.end_us)
    plot = "".join(
        (
            markup.gridlines(scale, height=height),
            _bars(bins, counts, shown, top=scale[-1], height=height),
            _time_axis(stretch, height=height),
            _hits(bins, counts, shown, links, totals=totals, height=height, now_us=now_us, unit=unit),
            "" if shown else _nothing(unit, height),
        )
    )
    return markup.Chart(
        f'<figure class="chart" aria-label="{markup.words(label)}" data-brush data-from="{bins.first_us}"'
        f' data-to="{bins.end_us}" data-step="{bins.step_us}">{_legend(shown, counts, legend_links or {})}'
        f'<div class="chart-frame">{markup.value_axis(scale, height=height)}'
        f'<div class="chart-plot"><svg height="{height}" aria-hidden="true" focusable="false">{plot}</svg></div></div>'
        f'<div class="chart-foot"><span>{markup.words(unit)} per {display.duration(bins.step_us)}, times in '
        f"<span {'' if bins.step_us >= display.DAY else 'data-zone'}>UTC</span></span>"
        f"{_twin(label, bins, counts, shown, links, totals)}</div></figure>"
    )


def _bars(
    bins: buckets.Bins,
    counts: Mapping[str, Sequence[int]],
    shown: Sequence[display.Ending],
    *,
    top: int,
    height: int,
) -> str:
    width = markup.at(FILL / bins.number)
    xs = [markup.at((place + (1 - FILL) / 2) / bins.number) for place in range(bins.number)]
    floor = markup.level(0, top, height=height)
    per_call = (floor - markup.TOP) / top
    ys = [floor] * bins.number
    groups = []
    for ending in shown:
        rects = []
        for place, amount in enumerate(counts[ending.key]):
            if amount:
                tall = max(VISIBLE_PX, amount * per_call)
                ys[place] -= tall
                y, h = markup.number(ys[place]), markup.number(tall)
                rects.append(f'<rect x="{xs[place]}" y="{y}" width="{width}" height="{h}"/>')
        groups.append(f'<g class="fill-{ending.key}">{"".join(rects)}</g>')
    return "".join(groups)


def _hits(
    bins: buckets.Bins,
    counts: Mapping[str, Sequence[int]],
    shown: Sequence[display.Ending],
    links: Sequence[str],
    *,
    totals: Sequence[int],
    height: int,
    now_us: int | None,
    unit: str,
) -> str:
    width = markup.at(1 / bins.number)
    current = bins.index(now_us) if now_us is not None else None
    tall = height - markup.BOTTOM
    parts = []
    for place, start in enumerate(bins.starts):
        lines = [_span_words(start, bins.step_us), f"{totals[place]:,} {unit}"]
        lines += [f"{e.word} {counts[e.key][place]:,}" for e in shown if counts[e.key][place]]
        if place == current:
            lines.append("still filling")
        rect = (
            f'<rect class="hit" x="{markup.at(place / bins.number)}" y="0" width="{width}" height="{tall}">'
            f"<title>{markup.lines(*lines)}</title></rect>"
        )
        mark = f'class="bin" data-from="{start}" data-to="{start + bins.step_us}"'
        if links and totals[place]:
            parts.append(f'<a {mark} href="{markup.link(links[place])}" tabindex="-1">{rect}</a>')
        else:
            parts.append(f"<g {mark}>{rect}</g>")
    return "".join(parts)


def _time_axis(stretch: buckets.Range, *, height: int) -> str:
    floor = height - markup.BOTTOM
    parts = []
    for tick in buckets.time_ticks(stretch):
        x = markup.at(tick.fraction)
        anchor = "start" if tick.fraction < 0.03 else "end" if tick.fraction > 0.97 else "middle"
        local = "" if stretch.span_us >= 12 * display.DAY else f' data-at="{tick.at}"'
        parts.append(
            f'<g class="rank-{tick.rank}"><line class="tick-mark" x1="{x}" x2="{x}" y1="{floor}" y2="{floor + 4}"/>'
            f'<text x="{x}" y="{floor + 16}" text-anchor="{anchor}"{local}>{tick.label}</text></g>'
        )
    return "".join(parts)


def _legend(
    shown: Sequence[display.Ending], counts: Mapping[str, Sequence[int]], legend_links: Mapping[str, str]
) -> str:
    entries = []
    for ending in shown:
        total = sum(counts[ending.key])
        inner = f'{markup.swatch(ending.key)}{ending.word} <span class="num">{display.count(total)}</span>'
        href = legend_links.get(ending.key)
        entries.append(f'<li><a href="{markup.link(href)}">{inner}</a></li>' if href else f"<li>{inner}</li>")
    return f'<ul class="chart-legend">{"".join(entries)}</ul>' if entries else ""


def _twin(
    label: str,
    bins: buckets.Bins,
    counts: Mapping[str, Sequence[int]],
    shown: Sequence[display.Ending],
    links: Sequence[str],
    totals: Sequence[int],
) -> str:
    columns = [markup.Column("From", is_number=False), markup.Column("All")]
    columns += [markup.Column(ending.word) for ending in shown]
    rows = []
    for place, start in enumerate(bins.starts):
        if totals[place]:
            words = (
                f'<time data-at="{start}" datetime="{display.iso(start)}">{display.clock(start)} UTC</time>'
            )
            first = f'<a href="{markup.link(links[place])}">{words}</a>' if links else words
            rows.append(
                [first, display.count(totals[place]), *(display.count(counts[e.key][place]) for e in shown)]
            )
    return markup.table(label, columns, rows) if rows else ""


def _span_words(start_us: int, step_us: int) -> str:
    first, last = display.moment(start_us), display.moment(start_us + step_us)
    if step_us >= display.DAY:
        return f"{first.day} {first:%b} UTC"
    return f"{first.day} {first:%b} {first:%H:%M} to {last:%H:%M} UTC"


def _nothing(unit: str, height: int) -> str:
    return f'<text class="none" x="50%" y="{height // 2}" text-anchor="middle">No {markup.words(unit)} in this range</text>'
