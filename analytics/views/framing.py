"""What the pages that answer a question share: the filter bar, its chips, the range and the link to copy."""

from __future__ import annotations

import dataclasses
from typing import Any

from django import http

from analytics import asked, buckets
from operations import filters, links, vocabulary

_EXAMPLES = {
    "number": {"duration": ">2s", "late": ">0", "timeout": ">10s", "bytes": ">1MB", "input": ">64kB"},
    "choice": {"status": "timed_out", "outcome": "failure", "kind": "unknown_tool", "effect": "write"},
}


@dataclasses.dataclass(frozen=True)
class Chip:
    """One applied term, and the address without it."""

    field: str
    value: str
    text: str
    is_negated: bool
    href: str


@dataclasses.dataclass(frozen=True)
class FieldHelp:
    """One field of the grammar, by example."""

    example: str
    words: str


def frame(request: http.HttpRequest, question: asked.Asked, path: str) -> dict[str, Any]:
    """Return what the filter bar and the range of a page show; `path` is the page's own inside the project."""
    absolute = dataclasses.replace(question.stretch, preset="")
    return {
        "asked": question,
        "environment": question.environment,
        "chips": [_chip(question, term, path) for term in question.query.terms],
        "clear_url": question.link(path, filters.EMPTY),
        "copy_url": links.absolute(request, question.link(path, stretch=absolute)),
        "fields": _FIELDS,
    }


def around(at_us: int, to_us: int) -> buckets.Range:
    """Return a range that begins at a moment and holds at least a second."""
    return buckets.Range(at_us, max(to_us, at_us + 1_000_000))


def _chip(question: asked.Asked, term: filters.Term, path: str) -> Chip:
    text = str(term)
    return Chip(
        field=term.described.words,
        value=text.partition(":")[2] if str(term.values) != '""' else "not told",
        text=text,
        is_negated=term.is_negated,
        href=question.link(path, question.query.without(term)),
    )


def _help(field: vocabulary.Field) -> FieldHelp:
    shown = _EXAMPLES.get(field.kind, {}).get(field.name, "")
    shown = shown or {"number": ">1", "signal": "late_answer", "has": "approval"}.get(field.kind, "…")
    return FieldHelp(f"{field.name}:{shown}", field.words)


_FIELDS = tuple(_help(field) for field in vocabulary.FIELDS.values())
