"""The one place where a chart's words and numbers become markup."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from xml.sax import saxutils

from operations import display, visible

#: Room for "100k" and a tick; the stylesheet's first column is as wide.
AXIS_WIDTH = 44
#: Above the highest gridline, for its label; below the baseline, for the times.
TOP = 8
BOTTOM = 20


@dataclasses.dataclass(frozen=True)
class Chart:
    """Finished, escaped markup; only the charts package makes one."""

    html: str


@dataclasses.dataclass(frozen=True)
class Column:
    """A heading of a table twin; numbers stand right."""

    label: str
    is_number: bool = True


def words(text: str) -> str:
    """Escape text for an element or a quoted attribute, hidden characters written out."""
    return saxutils.escape(visible.plain(text), {'"': "&quot;", "'": "&#39;"})


def lines(*parts: str) -> str:
    """Escape several lines for a title; the breaks between them are ours."""
    return "\n".join(words(part) for part in parts)


def link(href: str) -> str:
    """Escape an address of this site; anything that could leave it or run is refused."""
    if href[:1] not in {"/", "?", "#"} or href.startswith(("//", "/\\")):
        raise ValueError("a chart links only to this site")
    return saxutils.escape(href, {'"': "&quot;", "'": "&#39;"})


def at(fraction: float) -> str:
    """Write a place across as a percentage."""
    return f"{100 * fraction:.3f}".rstrip("0").rstrip(".") + "%"


def number(amount: float) -> str:
    """Write a length without needless digits."""
    return f"{amount:.2f}".rstrip("0").rstrip(".")


def value_axis(ticks: Sequence[int], *, height: int) -> str:
    """Draw the labels of the vertical axis in a column of their own."""
    parts = [
        f'<svg class="chart-axis" width="{AXIS_WIDTH}" height="{height}" aria-hidden="true" focusable="false">'
    ]
    for tick in ticks:
        y = level(tick, ticks[-1], height=height)
        parts.append(
            f'<text x="{AXIS_WIDTH - 8}" y="{number(y + 3.5)}" text-anchor="end">{display.short_count(tick)}</text>'
        )
    parts.append("</svg>")
    return "".join(parts)


def gridlines(ticks: Sequence[int], *, height: int) -> str:
    """Draw one line for each tick of the vertical axis, the baseline stronger."""
    lines = []
    for tick in ticks:
        y = number(round(level(tick, ticks[-1], height=height)) + 0.5)
        kind = "gridline" if tick else "baseline"
        lines.append(f'<line class="{kind}" x1="0" x2="100%" y1="{y}" y2="{y}"/>')
    return "".join(lines)


def level(value: float, top: float, *, height: int) -> float:
    """Return how far down a value stands."""
    room = height - TOP - BOTTOM
    return TOP + room * (1 - min(1.0, value / top))


def table(caption: str, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> str:
    """Write a table twin, folded away under a word; cells are markup already."""
    heads = "".join(
        f'<th scope="col"{_num(column.is_number)}>{words(column.label)}</th>' for column in columns
    )
    attributes = [_num(column.is_number) for column in columns]
    body = "".join(
        f"<tr>{''.join(f'<td{kind}>{cell}</td>' for kind, cell in zip(attributes, row, strict=True))}</tr>"
        for row in rows
    )
    label = words(caption)
    return (
        '<details class="chart-table"><summary>Show as a table</summary>'
        f'<div class="table-region" role="region" tabindex="0" aria-label="{label}, as a table">'
        f'<table class="table"><caption class="sr-only">{label}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div></details>"
    )


def swatch(key: str) -> str:
    """Draw the square of a legend."""
    return (
        '<svg width="10" height="10" aria-hidden="true" focusable="false">'
        f'<rect class="fill-{key}" width="10" height="10" rx="2"/></svg>'
    )


def _num(is_number: bool) -> str:
    return ' class="num"' if is_number else ""
