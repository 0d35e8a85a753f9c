"""A filter that was understood: its terms, the verbs that edit it, and its condition in SQL.

`operations/grammar.py` reads the text. Pages never edit text; they edit the `Query` and print it again, so
that every link holds the canonical form.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

from operations import marks, vocabulary

_SAFE = re.compile(r'[^\s()"*\\<>=]+\Z')


@dataclasses.dataclass(frozen=True)
class Value:
    """One value of a term; open where a `*` stands. An empty one that is closed means "not told"."""

    text: str
    is_open_start: bool = False
    is_open_end: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it stands for more than itself."""
        return self.is_open_start or self.is_open_end

    def __str__(self) -> str:
        is_bare = self.text != "OR" and _SAFE.match(self.text)
        escaped = self.text.replace("\\", "\\\\").replace('"', '\\"')
        body = self.text if is_bare else f'"{escaped}"'
        if not self.text and self.is_open:
            return "*"
        return f"{'*' if self.is_open_start else ''}{body}{'*' if self.is_open_end else ''}"


@dataclasses.dataclass(frozen=True)
class Term:
    """One condition: any of the values, or one comparison with a number."""

    field: str
    values: tuple[Value, ...] = ()
    is_negated: bool = False
    operator: str = ""
    number: int = 0

    def __str__(self) -> str:
        return f"{'-' if self.is_negated else ''}{self.field}:{self._condition()}"

    def _condition(self) -> str:
        kind = vocabulary.FIELDS[self.field].kind
        if kind == "number":
            return f"{self.operator}{write_number(self.number, vocabulary.FIELDS[self.field].units)}"
        if len(self.values) == 1:
            return str(self.values[0])
        return f"({' OR '.join(map(str, self.values))})"

    @property
    def described(self) -> vocabulary.Field:
        """The field this term is about."""
        return vocabulary.FIELDS[self.field]


@dataclasses.dataclass(frozen=True)
class Query:
    """A filter that was understood. `str()` gives its canonical text; the verbs below return changed ones."""

    terms: tuple[Term, ...] = ()

    def __str__(self) -> str:
        return " ".join(map(str, self.terms))

    def __bool__(self) -> bool:
        return bool(self.terms)

    @property
    def is_tallied(self) -> bool:
        """Whether the tally can answer this; else the facts must be read."""
        return all(term.described.is_tallied for term in self.terms)

    @property
    def untallied(self) -> tuple[Term, ...]:
        """The terms that only the facts can answer."""
        return tuple(term for term in self.terms if not term.described.is_tallied)

    def tallied_part(self) -> Query:
        """Return the terms that the tally can answer."""
        return Query(tuple(term for term in self.terms if term.described.is_tallied))

    def has(self, field: str) -> bool:
        """Tell whether any term is about `field`."""
        return any(term.field == field for term in self.terms)

    def values_of(self, field: str) -> frozenset[str]:
        """Return the whole values that `field` is held to by one positive term."""
        return frozenset(
            value.text
            for term in self.terms
            if term.field == field and not term.is_negated
            for value in term.values
            if not value.is_open
        )

    def adding(self, *terms: Term) -> Query:
        """Add terms that are not there yet."""
        return Query(self.terms + tuple(term for term in terms if term not in self.terms))

    def without(self, term: Term) -> Query:
        """Leave out one term."""
        return Query(tuple(kept for kept in self.terms if kept != term))

    def without_field(self, *fields: str) -> Query:
        """Leave out every term about any of `fields`."""
        return Query(tuple(kept for kept in self.terms if kept.field not in fields))

    def only(self, field: str, *texts: str) -> Query:
        """Hold `field` to exactly these values, whatever it was held to before."""
        return self.without_field(field).adding(term(field, *texts))

    def divided(self) -> Query:
        """Take commas for "or", as most other tools do; a name may hold one, so this is only ever proposed."""
        return Query(
            tuple(
                term(held.field, *filter(None, held.values[0].text.split(",")), is_negated=held.is_negated)
                if len(held.values) == 1 and "," in held.values[0].text.strip(",")
                else held
                for held in self.terms
            )
        )

    def toggling(self, field: str, text: str) -> Query:
        """Add one value to what `field` may be, or take it away again: what a click in a facet does."""
        held = next((kept for kept in self.terms if kept.field == field and not kept.is_negated), None)
        if held is None:
            return self.adding(term(field, text))
        values = tuple(value for value in held.values if value != Value(text))
        if values == held.values:
            values = (*held.values, Value(text))
        changed = (dataclasses.replace(held, values=values),) if values else ()
        return Query(tuple(new for kept in self.terms for new in (changed if kept is held else (kept,))))


EMPTY = Query()


def term(field: str, *texts: str, is_negated: bool = False) -> Term:
    """Return the term that holds `field` to any of these exact values."""
    return Term(field, tuple(map(Value, texts)), is_negated)


def comparison(field: str, operator: str, number: int) -> Term:
    """Return the term that compares `field` with a number in its least unit."""
    return Term(field, operator=operator, number=number)


def write_number(number: int, units: tuple[tuple[str, int], ...]) -> str:
    """Write a number in the largest unit that divides it: `2s`, `1500ms`."""
    if not units or number == 0:
        return str(number)
    name, size = next((name, size) for name, size in reversed(units) if number % size == 0)
    return f"{number // size}{name}"


# --- SQL ----------------------------------------------------------------------------------------------------


def condition(query: Query) -> tuple[str, list[Any]]:
    """Return the condition on columns of `operation`, or of `tally` for tallied terms, and its parameters."""
    pieces: list[str] = []
    parameters: list[Any] = []
    for one in query.terms:
        sql, bound = _BY_KIND[one.described.kind](one)
        pieces.append(f"({sql}) IS NOT TRUE" if one.is_negated else f"({sql})")
        parameters += bound
    return " AND ".join(pieces) or "TRUE", parameters


def _text(one: Term) -> tuple[str, list[Any]]:
    column = one.described.column
    exact = [value.text for value in one.values if value.text and not value.is_open]
    pieces: list[str] = []
    parameters: list[Any] = []
    if exact:
        pieces.append(f"{column} = %s" if len(exact) == 1 else f"{column} = ANY(%s)")
        parameters.append(exact[0] if len(exact) == 1 else exact)
    for value in one.values:
        if value.is_open:
            if value.text:
                pieces.append(f"{column} LIKE %s")
                parameters.append(_pattern(value))
            else:
                pieces.append(f"{column} IS NOT NULL")
        elif not value.text:
            pieces.append(f"{column} IS NULL")
    return " OR ".join(pieces), parameters


def _pattern(value: Value) -> str:
    escaped = value.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"{'%' if value.is_open_start else ''}{escaped}{'%' if value.is_open_end else ''}"


def _number(one: Term) -> tuple[str, list[Any]]:
    return f"{one.described.column} {one.operator or '='} %s", [one.number]


def _signal(one: Term) -> tuple[str, list[Any]]:
    names = [value.text for value in one.values]
    bits = sum((int(marks.BY_NAME[name]) for name in names if name), 0)
    pieces = [f"marks & {bits} <> 0"] if bits else []
    if "" in names:
        every = sum((int(mark) for mark in marks.BY_NAME.values()), 0)
        pieces.append(f"marks & {every} = 0")
    return " OR ".join(pieces), []


def _has(one: Term) -> tuple[str, list[Any]]:
    return " OR ".join(f"{vocabulary.HAS[value.text]} IS NOT NULL" for value in one.values), []


_BY_KIND: dict[str, Callable[[Term], tuple[str, list[Any]]]] = {
    "text": _text,
    "choice": _text,
    "number": _number,
    "signal": _signal,
    "has": _has,
}
