"""Secrets in disguise: full-width letters, invisible characters, escapes, percent-encoding, base64.

A view is the text as a reader would finally see it, with the place in the original of every character, so that what
the rules find in the view is removed from the original.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Callable, Iterator

from operations.redaction import patterns
from operations.redaction.patterns import Span


class View:
    """A text with, for every character, where it begins and ends in the original."""

    __slots__ = ("ends", "starts", "text")

    def __init__(self, text: str, starts: list[int] | None = None, ends: list[int] | None = None) -> None:
        self.text = text
        self.starts = starts
        self.ends = ends

    def original(self, span: Span) -> Span:
        """Return `span` of this view as a span of the original."""
        if self.starts is None or self.ends is None:
            return span
        return Span(self.starts[span.start], self.ends[span.end - 1], span.rule)

    def rewritten(self, pattern: re.Pattern[str], replacement: Callable[[str], str]) -> View:
        """Return a view in which every match of `pattern` is read as what it stands for."""
        starts = self.starts or list(range(len(self.text)))
        ends = self.ends or list(range(1, len(self.text) + 1))
        pieces: list[str] = []
        new_starts: list[int] = []
        new_ends: list[int] = []
        at = 0
        for match in pattern.finditer(self.text):
            start, end = match.span()
            new = replacement(match[0])
            pieces += (self.text[at:start], new)
            new_starts += starts[at:start] + [starts[start]] * len(new)
            new_ends += ends[at:start] + [ends[end - 1]] * len(new)
            at = end
        pieces.append(self.text[at:])
        return View("".join(pieces), new_starts + starts[at:], new_ends + ends[at:])


def views(text: str) -> Iterator[View]:
    """Yield `text` as it stands, then as it reads without disguise, one layer after the other."""
    view = View(text)
    if not text.isascii() and _FOLDED.search(text):
        view = view.rewritten(_FOLDED, lambda character: _FOLDS[character])
    yield view
    for _ in range(_MOST_LAYERS):
        if "\\" in view.text and _ESCAPE.search(view.text):
            view = view.rewritten(_ESCAPE, _unescaped)
        elif "%" in view.text and _PERCENT.search(view.text):
            view = view.rewritten(_PERCENT, lambda code: chr(int(code[1:], 16)))
        else:
            return
        yield view


def find_encoded(text: str, is_secret: Callable[[str], bool]) -> Iterator[Span]:
    """Yield runs of base64 that decode to a text of which `is_secret` is true."""
    covered = 0
    for match in _base64_of_text.finditer(text):
        if match.start() < covered:
            continue
        run = _BASE64_RUN.match(text, match.start())
        covered = run.end() if run else match.end()
        if is_secret(_decoded(text[match.start() : covered])):
            start = match.start()
            while start and text[start - 1] in _BASE64_LETTERS:
                start -= 1
            yield Span(start, covered, "base64")


_MOST_LAYERS = 6

# Every three bytes of ASCII become four letters of which the first three come from small sets (no byte has its high bit
# set). Six such groups in a row, at any alignment, are text for certain: digests, ids and pictures do not look so.
ENCODED_PATTERN = r"(?:[C-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){6}"
_base64_of_text = patterns.compiled(ENCODED_PATTERN)
_BASE64_RUN = re.compile(r"(?:[A-Za-z0-9+/_-]{60,}\r?\n)*[A-Za-z0-9+/_-]+={0,2}")
_BASE64_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-")
_TO_STANDARD = str.maketrans("-_", "+/", "\r\n=")


def _decoded(run: str) -> str:
    letters = run.translate(_TO_STANDARD)
    letters = letters[: len(letters) - (len(letters) % 4 == 1)]
    try:
        return base64.b64decode(letters + "=" * (-len(letters) % 4)).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""


_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[\"'\\/bfnrt])")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": " "}
# Only ASCII: a byte of a longer character says nothing alone, and no rule needs it.
_PERCENT = re.compile(r"%[0-7][0-9A-Fa-f]")


def _unescaped(escape: str) -> str:
    if escape[1] not in "ux" or len(escape) == 2:
        return _ESCAPED.get(escape[1], escape[1])
    character = chr(int(escape[2:], 16))
    return "\ufffd" if "\ud800" <= character <= "\udfff" else _FOLDS.get(character, character)


def _folds() -> dict[str, str]:
    """Return what NFKC turns into one ASCII character, and "" for what nobody sees."""
    folds = {}
    for code in (
        *range(0x80, 0xD800),
        *range(0xE000, 0x10000),
        *range(0x1D400, 0x1D800),
        *range(0x1F100, 0x1F200),
    ):
        character = chr(code)
        folded = unicodedata.normalize("NFKC", character)
        if folded != character and len(folded) == 1 and folded.isascii():
            folds[character] = folded
        elif unicodedata.category(character) == "Cf":
            folds[character] = ""
    for code in (
        0x34F,
        0x115F,
        0x1160,
        0x17B4,
        0x17B5,
        0x3164,
        0xFFA0,
        *range(0xFE00, 0xFE10),
        *range(0xE0000, 0xE01F0),
    ):
        folds[chr(code)] = ""
    return folds | dict.fromkeys("\u2010\u2011\u2212", "-")


_FOLDS = _folds()


def _character_class(characters: list[str]) -> str:
    ranges: list[list[int]] = []
    for code in sorted(map(ord, characters)):
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


_CLASS = _character_class(list(_FOLDS))
_FOLDED = re.compile(f"[{_CLASS}]")

#: Matches every text that may be in disguise.
DISGUISE_PATTERN = rf"\\|%[0-7][0-9A-Fa-f]|[{_CLASS}]|{ENCODED_PATTERN}"
