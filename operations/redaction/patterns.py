"""RE2 as this package uses it: linear time whatever the input, and a budget large enough for one big automaton.

With the library's default budget of 8 MB a combined pattern runs out of states, says so on stderr and slows down.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol, cast

import re2

MAX_MEM_BYTES = 256 << 20

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
    options.max_mem = MAX_MEM_BYTES
    options.log_errors = False
    options.never_capture = not capture
    return cast("Pattern", re2.compile(pattern, options))  # type: ignore[no-untyped-call]


class Chooser:
    """Tells which of several patterns occur in a text, in one pass."""

    def __init__(self, gates: list[str]) -> None:
        options = re2.Options()
        options.max_mem = MAX_MEM_BYTES
        options.log_errors = False
        self._all = list(range(len(gates)))
        self._any = compiled(any_of(gates), capture=False)
        self._set = re2.Set.SearchSet(options)  # type: ignore[no-untyped-call]
        for gate in gates:
            self._set.Add(gate)
        self._set.Compile()

    def chosen(self, text: str) -> list[int]:
        """Return the positions of the patterns that occur in `text`.

        A set that ran out of memory answers like one that found nothing, so its silence alone is not believed.
        """
        encoded = text.encode()
        return self._set.Match(encoded) or (self._all if self._any.search(encoded) else [])


def any_of(patterns: tuple[str, ...] | list[str]) -> str:
    """Return one pattern that matches where one of `patterns` does."""
    return "|".join(f"(?:{pattern})" for pattern in patterns)
