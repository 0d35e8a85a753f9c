"""What the rules find in one text, and the text without it."""

from __future__ import annotations

import bisect
import re

from operations.redaction import carriers, rules
from operations.redaction.patterns import Span

MARK = re.compile(r"\[REDACTED:[a-z0-9-]+\]")
_MOST_LAYERS_OF_BASE64 = 3

_Rank = tuple[int, int]
_LAST: _Rank = (9, 0)


def spans(text: str) -> list[Span]:
    """Return the parts of `text` that the rules name, in order, none overlapping or touching another."""
    marks = [mark.span() for mark in MARK.finditer(text)] if "[REDACTED:" in text else []
    if not marks:
        return _merged(_found(text, 0))
    # The rules read earlier marks as a mask, or the word token in a mark would announce a secret.
    masked = MARK.sub(lambda mark: "*" * len(mark[0]), text)
    return _merged(_outside_marks(_found(masked, 0), marks))


def without(text: str, found: list[Span]) -> str:
    """Return `text` with a mark in the place of each span."""
    pieces: list[str] = []
    at = 0
    for span in found:
        pieces += (text[at : span.start], f"[REDACTED:{span.rule}]")
        at = span.end
    return "".join((*pieces, text[at:]))


def _found(text: str, layers: int) -> list[tuple[_Rank, Span]]:
    found: list[tuple[_Rank, Span]] = []
    for view in carriers.views(text):
        encoded_text = view.text.encode()
        for rank, family in enumerate(rules.FAMILIES):
            if not family.gate.search(encoded_text):
                continue
            for place, rule in enumerate(family.rules):
                if rule.gate.search(encoded_text):
                    found_by_rule = (span for span in rule.find(view.text) if span.end > span.start)
                    found += (((rank, place), view.original(span)) for span in found_by_rule)
        if layers < _MOST_LAYERS_OF_BASE64:
            encoded = carriers.find_encoded(view.text, lambda inner: bool(_found(inner, layers + 1)))
            found += ((_LAST, view.original(span)) for span in encoded)
    return found


def _merged(found: list[tuple[_Rank, Span]]) -> list[Span]:
    merged: list[tuple[_Rank, Span]] = []
    for rank, span in sorted(found, key=lambda each: each[1].start):
        last_rank, last = merged[-1] if merged else ((0, 0), Span(-2, -2, ""))
        if span.start > last.end:
            merged.append((rank, span))
        else:
            rule = last.rule if last_rank <= rank else span.rule
            merged[-1] = (min(rank, last_rank), Span(last.start, max(last.end, span.end), rule))
    return [span for _, span in merged]


def _outside_marks(found: list[tuple[_Rank, Span]], marks: list[tuple[int, int]]) -> list[tuple[_Rank, Span]]:
    """Leave out what lies within an earlier mark, and let no removal cut a mark in two."""
    starts = [first for first, _ in marks]
    kept = []
    for rank, (start, end, rule) in found:
        first, last = marks[max(0, bisect.bisect_right(starts, start) - 1)]
        if first <= start < last:
            if end <= last:
                continue
            start = first
        first, last = marks[max(0, bisect.bisect_left(starts, end) - 1)]
        if first < end < last:
            end = last
        kept.append((rank, Span(start, end, rule)))
    return kept
