"""The walk through a parsed value: what names say about their values, and what stands in its texts."""

from __future__ import annotations

import functools
import json
from decimal import Decimal

import msgspec

from operations import compact
from operations.redaction import (
    headers,
    keywords,
    neighbours,
    people,
    placeholders,
    rules,
    texts,
    validators,
)
from operations.redaction.keywords import Verdict
from operations.redaction.patterns import Span

MOST_REMARKS = 64
#: Values nested deeper are replaced: what nobody reads needs no rules.
DEEPEST = 64

_MOST_TEXTS_IN_TEXTS = 5
_MOST_PASSES = 4
_SHORTEST_TEXT = 5
_LONGEST_POINTER_NAME = 64
_FEWEST_CARD_DIGITS = 12


_decoder = msgspec.json.Decoder(float_hook=Decimal)
_encoder = msgspec.json.Encoder(decimal_format="number")


class Remark(msgspec.Struct, frozen=True, gc=False):
    """One removal: where, by which rule, and the class of length of what was removed; never what it was.

    `path` is a JSON pointer made of redacted names. `length` is the length rounded up to a power of two, so that a
    remark helps nobody to guess.
    """

    path: str
    rule: str
    length: int


class Walk:
    """One walk through one value, collecting remarks; gives back the very same object where nothing was found."""

    def __init__(self) -> None:
        self._remarks: list[Remark] = []
        self._left_out = 0
        self._texts_around = 0
        self._names = 0

    def remarks(self) -> tuple[Remark, ...]:
        """Return the remarks; when there were too many, the last one counts those left out."""
        last = (Remark("", "more", self._left_out),) if self._left_out else ()
        return (*self._remarks, *last)

    def json(self, raw: bytes) -> bytes:
        """Return a JSON text redacted."""
        names_before = self._names
        value = _parsed(raw)
        redacted = self.value(value, "", 0)
        if redacted is value:
            if not _hides_members(raw, self._names - names_before):
                return raw
            self._remark("", "repeated", 0)
        return _encoder.encode(redacted)

    def text(self, text: str, path: str, depth: int) -> str:
        """Return a text redacted; a JSON text in it is walked like a value of its own."""
        begins_json = text.lstrip()[:1] in ("{", "[", '"')
        gate = rules.json_gate if begins_json else rules.text_gate
        if len(text) < _SHORTEST_TEXT or not gate.search(text.encode()):
            return text
        if begins_json and self._texts_around < _MOST_TEXTS_IN_TEXTS:
            inner = self._json_inside(text, path, depth)
            if inner is not None:
                return inner
        for _ in range(_MOST_PASSES):
            found = texts.spans(text)
            if not found:
                return text
            for span in found:
                self._remark(path, span.rule, span.end - span.start)
            text = texts.without(text, found)
        return text if not texts.spans(text) else self._mark(path, "unstable", len(text))

    def value(self, value: object, path: str, depth: int) -> object:
        """Return any JSON value redacted."""
        if isinstance(value, str):
            return self.text(value, path, depth)
        if isinstance(value, dict | list):
            if depth >= DEEPEST:
                return self._mark(path, "depth", 0) if value else value
            return (
                self._object(value, path, depth)
                if isinstance(value, dict)
                else self._array(value, path, depth)
            )
        if isinstance(value, int) and value > 0:
            digits = str(value) if value < 10**20 else ""
            if len(digits) >= _FEWEST_CARD_DIGITS and validators.is_card(digits):
                return self._mark(path, "card", len(digits))
        return value

    def _json_inside(self, text: str, path: str, depth: int) -> str | None:
        """Return a text that is JSON redacted, and None when it is not JSON."""
        if text.rstrip()[-1:] not in ("}", "]", '"'):
            return None
        try:
            value = _parsed(text.encode())
        except (msgspec.DecodeError, ValueError):
            return None
        names_before = self._names
        self._texts_around += 1
        redacted = self.value(value, path, depth + 1)
        self._texts_around -= 1
        if redacted is value:
            if not _hides_members(text.encode(), self._names - names_before):
                return text
            self._remark(path, "repeated", 0)
        return _encoder.encode(redacted).decode()

    def _object(self, members: dict[str, object], path: str, depth: int) -> dict[str, object]:
        return self._members(members, neighbours.told_by_a_member(members), path, depth)

    def _members(
        self, members: dict[str, object], told: dict[str, Verdict], path: str, depth: int
    ) -> dict[str, object]:
        self._names += len(members)
        redacted: dict[str, object] = {}
        is_same = True
        for name, value in members.items():
            new_name = name if _is_harmless_name(name) else self.text(name, path, depth)
            here = f"{path}/{_pointer_name(new_name)}"
            new_value = self._judged(told.get(name) or keywords.verdict(name), value, here, depth)
            if new_name is not name:
                # Without what was removed from it, the name may say something else: the next reader would hear that.
                new_value = self._judged(keywords.verdict(new_name), new_value, here, depth)
            is_same = is_same and new_name is name and new_value is value
            while new_name in redacted:
                new_name += "'"
            redacted[new_name] = new_value
        return members if is_same else redacted

    def _array(self, items: list[object], path: str, depth: int) -> list[object]:
        told = neighbours.told_by_position(items)
        redacted: list[object] = []
        for at, item in enumerate(items):
            here = f"{path}/{at}"
            if isinstance(item, list) and told.get(at):
                redacted.append(self._pair(told[at], item, here, depth))
            else:
                redacted.append(self._judged(told.get(at, ""), item, here, depth))
        return items if all(new is old for new, old in zip(redacted, items, strict=True)) else redacted

    def _pair(self, verdict: Verdict, pair: list[object], path: str, depth: int) -> list[object]:
        name, value = pair
        new_name = self.value(name, f"{path}/0", depth)
        new_value = self._judged(verdict, value, f"{path}/1", depth)
        if isinstance(new_name, str) and new_name is not name:
            new_value = self._judged(keywords.verdict(new_name), new_value, f"{path}/1", depth)
        return pair if new_name is name and new_value is value else [new_name, new_value]

    def _judged(self, verdict: Verdict, value: object, path: str, depth: int) -> object:
        """Return a value redacted, after what its name says about it."""
        if not verdict:
            return self.value(value, path, depth + 1)
        if verdict == "members" and isinstance(value, dict):
            return self._members(value, dict.fromkeys(value, "secret"), path, depth + 1)
        if (
            verdict in ("secret", "members")
            and not neighbours.is_blank(value)
            and not neighbours.is_schema(value)
        ):
            return self._mark(path, "key", _size(value))
        if verdict == "tokens" and neighbours.holds_text(value):
            return self._mark(path, "key", _size(value))
        if (
            verdict == "text"
            and isinstance(value, str)
            and not neighbours.is_blank(value)
            and not placeholders.is_plain_word(value)
        ):
            return self._mark(path, "key", len(value))
        if (
            verdict == "cookie"
            and isinstance(value, dict | list)
            and not neighbours.is_blank(value)
            and not neighbours.is_schema(value)
        ):
            return self._mark(path, "cookie", _size(value))
        if verdict == "cookie" and isinstance(value, str):
            return self._cookies(value, path, depth)
        if verdict == "ip" and isinstance(value, str):
            return self._spliced(value, list(people.ip_spans(value, also_private=True)), path, depth)
        if verdict == "phone" and neighbours.is_phone(value):
            return self._mark(path, "phone", _size(value))
        return (
            value
            if verdict == "secret" and neighbours.is_blank(value)
            else self.value(value, path, depth + 1)
        )

    def _cookies(self, text: str, path: str, depth: int) -> str:
        for _ in range(_MOST_PASSES):
            shorter = self._spliced(text, headers.cookie_spans(text), path, depth)
            if shorter == text:
                return text
            text = shorter
        return self._mark(path, "cookie", len(text))

    def _spliced(self, text: str, found: list[Span], path: str, depth: int) -> str:
        for span in found:
            self._remark(path, span.rule, span.end - span.start)
        return self.text(texts.without(text, found) if found else text, path, depth)

    def _mark(self, path: str, rule: str, length: int) -> str:
        self._remark(path, rule, length)
        return f"[REDACTED:{rule}]"

    def _remark(self, path: str, rule: str, length: int) -> None:
        if len(self._remarks) < MOST_REMARKS:
            self._remarks.append(Remark(path, rule, length_class(length)))
        else:
            self._left_out += 1


@functools.lru_cache(maxsize=8192)
def _is_harmless_name(name: str) -> bool:
    return (
        len(name) < _LONGEST_POINTER_NAME
        and not rules.text_gate.search(name.encode())
        and name[:1] not in '{["'
    )


def forget_names() -> None:
    """Forget which names were harmless; for when the rules change."""
    _is_harmless_name.cache_clear()


def length_class(length: int) -> int:
    """Return `length` rounded up to a power of two."""
    return 1 << max(0, length - 1).bit_length()


def _parsed(raw: bytes) -> object:
    try:
        return _decoder.decode(raw)
    except (msgspec.DecodeError, msgspec.ValidationError):
        # Half surrogate pairs, NaN and bytes that are not UTF-8 are for the lenient parser, which repairs them.
        return _decoder.decode(compact.repaired(raw))


def _hides_members(raw: bytes, names: int) -> bool:
    """Tell whether an object names a member twice: the walk saw the last one only, and the first must not stay."""
    if raw.count(b":") <= names:
        return False
    repeated: list[bool] = []

    def look(pairs: list[tuple[str, object]]) -> None:
        repeated.append(len({name for name, _ in pairs}) < len(pairs))

    json.loads(raw.decode("utf-8", "replace"), object_pairs_hook=look)
    return any(repeated)


def _size(value: object) -> int:
    return len(value) if isinstance(value, str) else len(_encoder.encode(value))


def _pointer_name(name: str) -> str:
    return name[:_LONGEST_POINTER_NAME].replace("~", "~0").replace("/", "~1")
