"""Read the filter grammar: `tool:refund -env:staging code:(quota OR timeout) duration:>2s`.

Terms are joined by "and". Nothing is ignored: what cannot be understood is a `BadFilter` with what was
probably meant.
"""

from __future__ import annotations

import decimal
import difflib
import re
from collections.abc import Iterable
from typing import NoReturn

from operations import filters, rejections, vocabulary

LENGTH_MAX = 2_000
TERMS_MAX = 40
VALUES_MAX = 50
NUMBER_MAX = 2**53
OPERATORS = (">=", "<=", ">", "<")

_BARE = re.compile(r'[^\s()"]+')
_FIELD = re.compile(r"(-?)([A-Za-z_]{1,32}):")
_NUMBER = re.compile(r"(-?\d{1,15}(?:\.\d{1,6})?)([A-Za-z]*)\Z", re.ASCII)


def parse(text: str) -> filters.Query:
    """Read a filter; raises `BadFilter`, with what was probably meant, for anything not understood."""
    if len(text) > LENGTH_MAX:
        raise rejections.BadFilter(f"A filter is at most {LENGTH_MAX} characters long.")
    if "\0" in text:
        raise rejections.BadFilter("A filter holds no NUL character.")
    reader = _Reader(text)
    terms: list[filters.Term] = []
    while reader.skip_space():
        found = reader.term()
        if found not in terms:
            terms.append(found)
        if len(terms) > TERMS_MAX:
            raise rejections.BadFilter(f"A filter has at most {TERMS_MAX} terms.")
    return filters.Query(tuple(terms))


class _Reader:
    """Walks over the text once, from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def skip_space(self) -> bool:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.at < len(self.text)

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def term(self) -> filters.Term:
        start = self.at
        head = _FIELD.match(self.text, self.at)
        if head is None:
            self.refuse_word(start)
        name = vocabulary.ALIASES.get(head[2].lower(), head[2].lower())
        self.at = head.end()
        if name not in vocabulary.FIELDS:
            self.refuse_field(head, start)
        field = vocabulary.FIELDS[name]
        if field.kind == "number":
            operator, number = self.comparison(field, start)
            found = filters.Term(name, (), head[1] == "-", operator, number)
        else:
            found = filters.Term(name, tuple(dict.fromkeys(self.values(field, start))), head[1] == "-")
        if self.at < len(self.text) and not self.peek().isspace():
            instead = "" if self.peek() in "()" else f"{found} "
            self.refuse(f"Leave a space after “{self.text[start : self.at]}”.", start, self.at, instead)
        return found

    def values(self, field: vocabulary.Field, start: int) -> list[filters.Value]:
        if self.peek() != "(":
            return [self.value(field, start)]
        self.at += 1
        values = []
        while True:
            self.skip_space()
            values.append(self.value(field, start))
            if len(values) > VALUES_MAX:
                raise rejections.BadFilter(f"A list has at most {VALUES_MAX} values.")
            self.skip_space()
            if self.peek() == ")":
                self.at += 1
                return values
            joiner = _BARE.match(self.text, self.at)
            if joiner is None:
                self.refuse(f"The list after “{field.name}:” needs a closing “)”.", start, len(self.text))
            if joiner[0].upper() == "OR":
                self.at = joiner.end()
                continue
            here = joiner.start()
            self.refuse(f"Put OR between the values of “{field.name}:”.", here, here, "OR ")

    def value(self, field: vocabulary.Field, start: int) -> filters.Value:
        began = self.at
        is_open_start = self.peek() == "*"
        self.at += is_open_start
        if self.peek() == '"':
            body = self.quoted(start)
            is_open_end = self.peek() == "*"
            self.at += is_open_end
        else:
            body, is_open_end = self.bare()
            if "*" in body:
                self.refuse("A * stands at the start or end of a value; quote any other.", start, self.at)
            if self.at == began or body == "OR":
                named = f"“{field.name}:”"
                self.refuse(f'Say what {named} should be; {field.name}:"" means not told.', start, self.at)
        is_any = not body and (is_open_start or is_open_end)
        if field.choices:
            self.check_choice(field, body, is_open_start or is_open_end, (began, self.at))
        return filters.Value(body, is_open_start or is_any, is_open_end or is_any)

    def bare(self) -> tuple[str, bool]:
        found = _BARE.match(self.text, self.at)
        body = found[0] if found else ""
        self.at += len(body)
        return (body[:-1], True) if body.endswith("*") else (body, False)

    def quoted(self, start: int) -> str:
        self.at += 1
        body: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == '"':
                return "".join(body)
            if char == "\\" and self.at < len(self.text):
                char = self.text[self.at]
                self.at += 1
            body.append(char)
        self.refuse("A quoted value needs a closing quote.", start, len(self.text), self.text[start:] + '"')

    def comparison(self, field: vocabulary.Field, start: int) -> tuple[str, int]:
        operator = next((found for found in OPERATORS if self.text.startswith(found, self.at)), "")
        self.at += len(operator) or self.peek() == "="
        bare = _BARE.match(self.text, self.at)
        told = bare[0] if bare else ""
        self.at += len(told)
        found = _NUMBER.match(told)
        names = [name for name, _ in field.units]
        sizes = {name.lower(): size for name, size in field.units}
        if found is None or (found[2] and found[2].lower() not in sizes):
            example = f"{field.name}:>2{names[2]}" if names else f"{field.name}:>1"
            self.refuse(f"“{told}” is not a {field.words}; write {example}.", start, self.at)
        amount = decimal.Decimal(found[1])
        if names and not found[2] and amount:
            example = f"{field.name}:{operator}{found[1]}{names[1]}"
            self.refuse(f"Say in which unit {field.name} is: {', '.join(names)}.", start, self.at, example)
        number = round(amount * sizes.get(found[2].lower(), 1))
        if abs(number) > NUMBER_MAX:
            self.refuse(f"“{told}” is larger than anything here.", start, self.at)
        return operator, number

    def check_choice(self, field: vocabulary.Field, body: str, is_open: bool, place: tuple[int, int]) -> None:
        if body in field.choices or (not body and field.kind != "has") or is_open:
            if is_open and field.kind in {"signal", "has"}:
                self.refuse(f"“{field.name}:” takes whole names.", *place)
            return
        near = _nearest(body, field.choices)
        listed = ", ".join(field.choices)
        self.refuse(f"“{body}” is no {field.words}. {field.name} is one of {listed}.", *place, near)

    def refuse_word(self, start: int) -> NoReturn:
        word = _BARE.match(self.text, start)
        end = word.end() if word else start + 1
        text = self.text[start:end]
        bare = text.removeprefix("-")
        field = next((name for name, known in vocabulary.FIELDS.items() if bare in known.choices), "tool")
        probable = filters.term(field, bare, is_negated=bare != text)
        self.refuse(
            f"“{text}” does not say what it filters: write a field, a colon and a value.",
            start,
            end,
            str(probable) if word and bare and ":" not in text else "",
        )

    def refuse_field(self, head: re.Match[str], start: int) -> NoReturn:
        near = _nearest(head[2].lower(), (*vocabulary.FIELDS, *vocabulary.ALIASES))
        self.refuse(
            f"There is no field “{head[2]}”.",
            start,
            head.end(),
            f"{head[1]}{vocabulary.ALIASES.get(near, near)}:" if near else "",
        )

    def refuse(self, detail: str, start: int, end: int, instead: str = "") -> NoReturn:
        suggestion = ""
        if instead:
            suggestion = (self.text[:start] + instead + self.text[end:]).strip()
            detail = f"{detail} Did you mean “{suggestion}”?"
        raise rejections.BadFilter(detail, suggestion=suggestion)


def _nearest(told: str, names: Iterable[str]) -> str:
    found = difflib.get_close_matches(told, tuple(names), n=1, cutoff=0.6)
    return found[0] if found else ""
