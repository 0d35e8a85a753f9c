"""Tags and filters of every page: `display` and `visible` with markup around them."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Iterable, Mapping

import lucide
from django import template
from django.utils import html, safestring

from operations import display, endings, visible

register = template.Library()

register.filter("duration", display.duration)
register.filter("lateness", display.lateness)
register.filter("size", display.size)
register.filter("count", display.count)
register.filter("short_count", display.short_count)
register.filter("iso", display.iso)
register.filter("plain", visible.plain)
register.filter("mark_words", endings.mark_words)


@register.simple_tag
def icon(name: str, label: str = "", size: int = 16) -> safestring.SafeString:
    """Draw a lucide icon; without a label it is decoration and hidden from screen readers."""
    drawn = _drawn(str(name), size)
    if not label:
        return drawn
    return html.format_html('{}<span class="sr-only">{}</span>', drawn, label)


@functools.lru_cache(maxsize=256)
def _drawn(name: str, size: int) -> safestring.SafeString:
    attributes = {"aria_hidden": "true", "focusable": "false", "stroke_width": "1.75"}
    # Names are ours and the markup is the package's; lucide's own tag copies and prints a tree every time.
    return safestring.mark_safe(lucide._render_icon(name, size, **attributes))


@register.simple_tag
def when(at: datetime.datetime | int | None, style: str = "full") -> str | safestring.SafeString:
    """Print a time, in UTC until the script moves it to the reader's zone; styles `full`, `clock`, `ago`."""
    if at is None:
        return display.ABSENT
    at_us = at if isinstance(at, int) else display.microseconds(at)
    in_full = display.full(at_us)
    if style == "ago":
        shown = display.ago(at_us, display.microseconds(datetime.datetime.now(tz=datetime.UTC)))
    else:
        shown = in_full if style == "full" else f"{display.clock(at_us)} UTC"
    return html.format_html(
        '<time datetime="{}" title="{}" data-at="{}" data-style="{}">{}</time>',
        display.iso(at_us),
        in_full,
        at_us,
        style,
        shown,
    )


@register.simple_tag(name="visible")
def visible_text(text: str | None, length_max: int = visible.LENGTH_MAX) -> str | safestring.SafeString:
    """Print text from the outside, kept in its own direction, with all that would hide in it shown."""
    if text is None:
        return display.ABSENT
    return html.format_html("<bdi>{}</bdi>", _shown(visible.runs(str(text), length_max)))


@register.simple_tag
def visible_block(text: str | None, length_max: int = 20_000) -> str | safestring.SafeString:
    """Print text of several lines for a <pre>: as `visible`, with its line breaks and indentation kept."""
    return display.ABSENT if text is None else _shown(visible.block(str(text), length_max))


def _shown(runs: Iterable[visible.Run]) -> safestring.SafeString:
    return html.format_html_join(
        "",
        "{}",
        (
            (html.format_html('<span class="escape" title="{}">{}</span>', run.meaning, run.text),)
            if run.is_escape
            else (run.text,)
            for run in runs
        ),
    )


@register.simple_tag
def share(part: int, whole: int) -> safestring.SafeString:
    """Print a rate with its sample in the title; from fewer than 20 it is greyed and shows its counts."""
    found = display.share(part, whole)
    if not found.is_known:
        return html.format_html('<span class="faint" title="no calls to judge">{}</span>', display.ABSENT)
    if found.is_thin:
        return html.format_html(
            '<span class="thin" title="from fewer than {}">{} ({})</span>',
            display.SAMPLE_MIN,
            found.percent,
            found.sample,
        )
    return html.format_html('<span title="{}">{}</span>', found.sample, found.percent)


@register.simple_tag
def ending(
    status: str, outcome: str | None = None, code: str | None = None, kind: str | None = None
) -> safestring.SafeString:
    """Print how a call went, as a badge with a word and a shape."""
    found = endings.of(status, outcome, code, kind)
    detail = (
        html.format_html('<span class="detail">{}</span>', visible.plain(found.detail))
        if found.detail
        else ""
    )
    return html.format_html(
        '<span class="badge {}">{}{}{}{}</span>',
        found.key,
        icon(found.icon, size=13),
        found.word,
        ": " if found.detail else "",
        detail,
    )


@register.simple_tag
def marks(bits: int) -> safestring.SafeString:
    """Print the marks that the ending does not say, as badges, the gravest first."""
    return html.format_html_join(
        " ",
        '<span class="badge plain {}">{}</span>',
        ((mark.tone, mark.word) for mark in endings.mark_words(bits)),
    )


@register.simple_tag
def change(now: int, before: int) -> safestring.SafeString:
    """Print how a count moved against the span before."""
    moved = display.change(now, before)
    return html.format_html(
        '<span class="{}">{}</span>', "" if moved.direction == "same" else moved.direction, moved.words
    )


@register.simple_tag(takes_context=True)
def query_with(context: template.Context, **changes: object) -> str:
    """Return the page's query string with some parameters set, and those set to None or "" left out."""
    return query_string(context["request"].GET, changes)


def query_string(query: Mapping[str, str], changes: Mapping[str, object]) -> str:
    """Edit a query string; the cursor of another view never survives an edit that does not set it."""
    edited = query.copy()  # type: ignore[attr-defined]
    edited.pop("cursor", None)
    for name, value in changes.items():
        # `from` is a word of Python: tags say `from_`.
        key = name.rstrip("_")
        edited.pop(key, None)
        if value is not None and value != "":
            edited[key] = str(value)
    return f"?{edited.urlencode()}"
