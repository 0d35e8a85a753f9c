"""What was wrong with a call's arguments: where in them, and which rule of the schema failed.

Validators say it in few ways: as a list of errors with their places, as text with a block for each error, or as a
plain list of missing names. What is not one of these is no issue; the words stay in the error's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from operations import wire

#: At most so many issues, as a record may carry.
ISSUES_MAX = 20

#: Validators' words for the keywords of JSON Schema; what is not here keeps its own word.
KEYWORDS = {
    "missing": "required",
    "missing_argument": "required",
    "missing_keyword_only_argument": "required",
    "extra_forbidden": "additionalProperties",
    "unexpected_keyword_argument": "additionalProperties",
    "json_invalid": "json",
    "literal_error": "enum",
    "enum": "enum",
    "string_pattern_mismatch": "pattern",
    "string_too_short": "minLength",
    "string_too_long": "maxLength",
    "too_short": "minItems",
    "too_long": "maxItems",
    "greater_than": "exclusiveMinimum",
    "greater_than_equal": "minimum",
    "less_than": "exclusiveMaximum",
    "less_than_equal": "maximum",
    "multiple_of": "multipleOf",
}

# `city\n  Field required [type=missing, …`: a place on a line, its error indented below.
_BLOCK = re.compile(r"^([^\s\[][^\n]{0,255})\n  [^\n]{0,400}\[type=([a-z_]{1,64})", re.MULTILINE)
# An error of the whole value stands under the headline, without a place.
_WHOLE = re.compile(r"validation errors? for [^\n]{1,200}\n  [^\n]{0,400}\[type=([a-z_]{1,64})")
_MISSING = re.compile(r"mandatory input parameters are not present:\n((?:[\w.-]{1,128}\n){1,40})")
_HEADLINE = re.compile(r"\bvalidation errors? for \S")


def find(result: Any, text: str | None) -> tuple[wire.ContractIssue, ...]:
    """Return the issues that a call's result names, else its error's text; each once, in order."""
    found = list(dict.fromkeys((*_in_list(result), *(() if text is None else _in_text(text)))))
    return tuple(found[:ISSUES_MAX])


def _in_list(result: Any) -> Iterator[wire.ContractIssue]:
    for error in result if isinstance(result, list) else ():
        if (
            isinstance(error, dict)
            and isinstance(error.get("loc"), list)
            and isinstance(error.get("type"), str)
        ):
            yield _issue(error["loc"], error["type"])


def _in_text(text: str) -> Iterator[wire.ContractIssue]:
    for found in _WHOLE.finditer(text):
        yield _issue((), found.group(1))
    for found in _BLOCK.finditer(text):
        if not _HEADLINE.search(found.group(1)):
            yield _issue(found.group(1).strip().split("."), found.group(2))
    for found in _MISSING.finditer(text):
        for name in found.group(1).split():
            yield _issue((name,), "missing")


def _issue(place: Iterable[Any], kind: str) -> wire.ContractIssue:
    steps = (str(step).replace("~", "~0").replace("/", "~1").replace("\0", "\u2400") for step in place)
    pointer = "".join(f"/{step}" for step in steps)
    keyword = KEYWORDS.get(kind) or ("type" if kind.endswith(("_type", "_parsing")) else kind)
    return wire.ContractIssue(path=pointer[:256], keyword=keyword[:64])
