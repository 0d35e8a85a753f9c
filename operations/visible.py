"""Hostile text made visible: what would hide, reorder or imitate becomes an escape. Pure: no markup."""

from __future__ import annotations

import dataclasses
import functools
import re
import unicodedata

#: A name in a list; more is cut, with the whole in the title.
LENGTH_MAX = 400

_NAMED = {
    "\t": ("\\t", "tab"),
    "\n": ("\\n", "line break"),
    "\r": ("\\r", "carriage return"),
    "\x00": ("\\0", "null"),
    "\x1b": ("\\e", "escape"),
    "\x7f": ("\\x7f", "delete"),
}

# Whatever is beyond plain Latin is looked at one by one; a plain space is suspect where nobody sees it: at
# either end, or doubled.
_SUSPECT = re.compile(
    "[^\\x21-\\x7e\\xa1-\\xac\\xae-\\u02ff ]|^ +| +$|(?<= ) +",
)
_BLANKS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
#: Marks that may pile up on one letter before the rest are escaped (decomposed scripts need a few).
_MARKS_IN_A_ROW = 4


@dataclasses.dataclass(frozen=True)
class Run:
    """A stretch of text: as it was, or an escape standing for one character."""

    text: str
    meaning: str = ""

    @property
    def is_escape(self) -> bool:
        """The run stands for a character that would not show."""
        return bool(self.meaning)


@functools.lru_cache(maxsize=4096)
def runs(text: str, length_max: int = LENGTH_MAX) -> tuple[Run, ...]:
    """Split `text` into plain runs and escapes; past `length_max` characters it is cut, and says so."""
    cut = text[:length_max]
    found: list[Run] = []
    plain_from = 0
    for match in _SUSPECT.finditer(cut):
        escapes = _escapes(cut, match)
        if not escapes:
            continue
        if match.start() > plain_from:
            found.append(Run(cut[plain_from : match.start()]))
        found.extend(escapes)
        plain_from = match.end()
    if plain_from < len(cut):
        found.append(Run(cut[plain_from:]))
    if len(text) > length_max:
        found.append(_missing(text, length_max))
    return tuple(found)


def block(text: str, length_max: int = LENGTH_MAX) -> tuple[Run, ...]:
    """Split text of several lines: its line breaks and indentation stay, the rest is as in `runs`."""
    found: list[Run] = []
    for place, line in enumerate(text[:length_max].split("\n")):
        words = line.lstrip(" \t")
        indent = line[: len(line) - len(words)]
        if place or indent:
            found.append(Run("\n" * (place > 0) + indent))
        found.extend(runs(words, length_max))
    if len(text) > length_max:
        found.append(_missing(text, length_max))
    return tuple(found)


def plain(text: str, length_max: int = LENGTH_MAX) -> str:
    """Return `text` with every hidden character written out, for titles and labels."""
    return "".join(run.text for run in runs(text, length_max))


def _escapes(text: str, match: re.Match[str]) -> list[Run]:
    found = match.group()
    if found[0] == " ":
        return [Run("·", "space") for _ in found]
    category = unicodedata.category(found)
    if category in {"Mn", "Me"}:
        start = max(0, match.start() - _MARKS_IN_A_ROW)
        before = text[start : match.start()]
        if len(before) < _MARKS_IN_A_ROW or any(
            unicodedata.category(mark) not in {"Mn", "Me"} for mark in before
        ):
            return [] if found not in _BLANKS and not _is_selector(found) else [_escape(found)]
        return [_escape(found)]
    if category in _HIDDEN_CATEGORIES or found in _BLANKS:
        return [_escape(found)]
    return []


def _missing(text: str, length_max: int) -> Run:
    return Run("…", f"{len(text) - length_max:,} more characters")


def _is_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0e" or "\U000e0100" <= character <= "\U000e01ef"


def _escape(character: str) -> Run:
    if character in _NAMED:
        return Run(*_NAMED[character])
    point = ord(character)
    meaning = unicodedata.name(character, "").lower() or {
        "Cc": "control character",
        "Cs": "half of a pair",
        "Co": "private character",
    }.get(unicodedata.category(character), "unassigned character")
    if point < 0x100:
        return Run(f"\\x{point:02x}", meaning)
    return Run(f"\\u{point:04X}" if point < 0x10000 else f"\\u{{{point:X}}}", meaning)
