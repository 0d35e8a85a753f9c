"""RE2 as this package uses it: linear time whatever the input, and a bounded memory for the states it builds.

With the library's default budget of 8 MB a combined pattern runs out of states, says so on stderr and slows down; with
a large one, strange inputs fill it in every process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol, cast

import re2

MAX_MEM_BYTES = 8 << 20
MAX_MEM_OF_GATE_BYTES = 32 << 20

#: Letters and digits inside of a character class. Every character beyond ASCII counts: the exact Unicode classes make
#: programs a hundred times as large, and finders look again at what they get.
LETTERS = r"0-9A-Za-z\x{80}-\x{10FFFF}"


class Span(NamedTuple):
    """A part of a text that a rule names."""

    start: int
    end: int
    rule: str


class Match(Protocol):
    """What this package asks of a match."""

    def start(self, group: int = 0) -> int: ...
    def end(self, group: int = 0) -> int: ...
    def span(self, group: int = 0) -> tuple[int, int]: ...
    def __getitem__(self, group: int) -> str | None: ...


class Pattern(Protocol):
    """What this package asks of a compiled pattern."""

    def search(self, text: str | bytes) -> Match | None: ...
    def match(self, text: str | bytes, pos: int | None = None) -> Match | None: ...
    def fullmatch(self, text: str | bytes) -> Match | None: ...
    def finditer(self, text: str | bytes) -> Iterator[Match]: ...


def words(text: str) -> tuple[str, ...]:
    """Return the words of `text`: a list that is written to be read."""
    return tuple(text.split())


def compiled(pattern: str, *, capture: bool = True) -> Pattern:
    """Compile `pattern` for RE2; without `capture` it only tells whether it occurs, which is faster."""
    options = re2.Options()
    options.max_mem = MAX_MEM_BYTES if capture else MAX_MEM_OF_GATE_BYTES
    options.log_errors = False
    options.never_capture = not capture
    return cast("Pattern", re2.compile(pattern, options))  # type: ignore[no-untyped-call]


class Gate:
    """Several patterns of which one must occur; each searched alone.

    In one automaton the states of unrelated patterns multiply: on texts that it has not seen it then builds states
    instead of reading, at a hundredth of the speed.
    """

    __slots__ = ("_patterns",)

    def __init__(self, *gates: Pattern) -> None:
        self._patterns = gates

    def search(self, text: bytes) -> bool:
        """Tell whether one of the patterns occurs in `text`."""
        for pattern in self._patterns:  # noqa: SIM110 - a generator would cost as much as a search
            if pattern.search(text) is not None:
                return True
        return False


def any_of(patterns: tuple[str, ...] | list[str]) -> str:
    """Return one pattern that matches where one of `patterns` does."""
    return "|".join(f"(?:{pattern})" for pattern in patterns)
