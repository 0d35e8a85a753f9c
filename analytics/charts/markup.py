"""The one place where a chart's words and numbers become markup."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterable, Sequence

from operations import display, visible

#: Room for "100k" and a gap; the stylesheet's first column is as wide.
AXIS_WIDTH = 44
#: Below the baseline, for the labels of the horizontal axis.
BELOW = 20
HIDDEN = 'aria-hidden="true" focusable="false"'


@dataclasses.dataclass(frozen=True)
class Chart:
    """Finished, escaped markup; only the charts package makes one."""

    html: str


@dataclasses.dataclass(frozen=True)
class Frame:
    """Where values stand: pixels down, from the highest tick to the baseline."""

    ticks: Sequence[int]
    height: int
    above: int = 8

    @property
    def floor(self) -> int:
        """Where the baseline is."""
        return self.height - BELOW

    def level(self, value: float) -> float:
        """Return how far down a value stands."""
        return self.floor - self.tall(value)

    def tall(self, value: float) -> float:
        """Return how tall a value is."""
        return (self.floor - self.above) * min(1.0, value / self.ticks[-1])


@dataclasses.dataclass(frozen=True)
class Column:
    """A heading of a table twin; numbers stand right."""

    label: str
    is_number: bool = True


def words(text: str) -> str:
    """Escape text for an element or a quoted attribute, hidden characters written out."""
    return html.escape(visible.plain(text))


def figure(text: str) -> str:
    """Escape a number in words, which holds a narrow space before its unit on purpose."""
    return display.NARROW_SPACE.join(words(part) for part in text.split(display.NARROW_SPACE))


def lines(*parts: str) -> str:
    """Escape several lines for a title; the breaks between them are ours."""
    return "\n".join(words(part) for part in parts)


def link(href: str) -> str:
    """Escape an address of this site; anything that could leave it or run is refused."""
    if href[:1] not in {"/", "?", "#"} or href.startswith(("//", "/\\")):
        raise ValueError("a chart links only to this site")
    return html.escape(href)


def at(fraction: float) -> str:
    """Write a place across as a percentage."""
    return f"{100 * fraction:.3f}".rstrip("0").rstrip(".") + "%"


def number(amount: float) -> str:
    """Write a length without needless digits."""
    return f"{amount:.2f}".rstrip("0").rstrip(".")


def framed(
    label: str, frame: Frame, plot: str, *, legend: str = "", foot: str, attributes: str = ""
) -> Chart:
    """Put a plot between its axis labels, its legend and its foot, where the table twin waits."""
    labels = []
    for tick in frame.ticks:
        y = number(frame.level(tick) + 3.5)
        words_of_tick = display.short_count(tick)
        labels.append(f'<text x="{AXIS_WIDTH - 8}" y="{y}" text-anchor="end">{words_of_tick}</text>')
    size = f'height="{frame.height}" {HIDDEN}'
    return Chart(
        f'<figure class="chart" aria-label="{words(label)}"{attributes}>{legend}<div class="chart-frame">'
        f'<svg class="chart-axis" width="{AXIS_WIDTH}" {size}>{"".join(labels)}</svg>'
        f'<div class="chart-plot"><svg {size}>{_gridlines(frame)}{plot}</svg></div></div>'
        f'<div class="chart-foot">{foot}</div></figure>'
    )


def _gridlines(frame: Frame) -> str:
    drawn = []
    for tick in frame.ticks:
        y = number(round(frame.level(tick)) + 0.5)
        kind = "gridline" if tick else "baseline"
        drawn.append(f'<line class="{kind}" x1="0" x2="100%" y1="{y}" y2="{y}"/>')
    return "".join(drawn)


def tick(frame: Frame, fraction: float, label: str, *, rank: int, attributes: str = "") -> str:
    """Draw one tick of the horizontal axis; labels at the ends stay inside."""
    x = at(fraction)
    anchor = "start" if fraction < 0.03 else "end" if fraction > 0.97 else "middle"
    floor = frame.floor
    return (
        f'<g class="rank-{rank}">'
        f'<line class="tick-mark" x1="{x}" x2="{x}" y1="{floor}" y2="{floor + 4}"/>'
        f'<text x="{x}" y="{floor + 16}" text-anchor="{anchor}"{attributes}>{words(label)}</text></g>'
    )


def table(caption: str, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> str:
    """Write a table twin, folded away under a word; cells are markup already."""
    kinds = [' class="num"' if column.is_number else "" for column in columns]
    heads = "".join(
        f'<th scope="col"{kind}>{words(column.label)}</th>'
        for kind, column in zip(kinds, columns, strict=True)
    )
    body = "".join(
        f"<tr>{''.join(f'<td{kind}>{cell}</td>' for kind, cell in zip(kinds, row, strict=True))}</tr>"
        for row in rows
    )
    return (
        '<details class="chart-table"><summary>Show as a table</summary>'
        f"{region(f'{caption}, as a table', 'table', heads, body)}</details>"
    )


def region(label: str, kind: str, heads: str, body: str) -> str:
    """Write a table in a region that scrolls by itself and can be reached by keyboard."""
    name = words(label)
    return (
        f'<div class="table-region" role="region" tabindex="0" aria-label="{name}">'
        f'<table class="{kind}"><caption class="sr-only">{name}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def swatch(key: str) -> str:
    """Draw the square of a legend."""
    return (
        f'<svg width="10" height="10" {HIDDEN}><rect class="fill-{key}" width="10" height="10" rx="2"/></svg>'
    )
