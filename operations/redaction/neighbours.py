"""What stands beside a value and tells what it is: a member with its name, an item before it, its own form."""

from __future__ import annotations

import itertools
import re

from operations.redaction import keywords, patterns, placeholders
from operations.redaction.keywords import Verdict

_ARGUMENT_NAME = re.compile(r"[\w.-]{2,64}")
_ISSUED_VALUE = re.compile(r"(?:[A-Za-z]+ )?[^\s\[\]]{12,}")
_USER_FLAGS = frozenset(("-u", "-U", "--user", "--proxy-user"))
_USER_AND_PASSWORD = re.compile(r"(?!\d+:\d+\Z)[\w.@%+-]{1,64}:(?!//|\[REDACTED:)\S+")
_SCHEMA_TYPES = frozenset(patterns.words("string number integer boolean object array null"))
_SCHEMA_VALUES = frozenset(patterns.words("default example examples const enum value"))
_PHONE = re.compile(r"[+0-9(][0-9 ()./+-]{5,}[0-9]")
_FEWEST_PHONE_DIGITS = 7


def _spelled(words: str) -> frozenset[str]:
    return frozenset(
        spelling for word in words.split() for spelling in (word, word.capitalize(), word.upper())
    )


_NAME_MEMBERS = _spelled("name key header field param parameter attribute variable label id k property")
_VALUE_MEMBERS = _spelled("value values val v content data text default current") | frozenset(
    patterns.words("stringValue string_value secretValue secretString SecretString")
)
_MANIFEST_MEMBERS = frozenset(("data", "stringData"))


def told_by_a_member(members: dict[str, object]) -> dict[str, Verdict]:
    """Return what a member says about its sibling: {"name": "password", "value": …}, or a Kubernetes Secret."""
    if members.get("kind") == "Secret":
        return dict.fromkeys(members.keys() & _MANIFEST_MEMBERS, "members")
    if values := members.keys() & _VALUE_MEMBERS:
        for name in members.keys() & _NAME_MEMBERS:
            said = members[name]
            if isinstance(said, str) and (verdict := keywords.verdict(said)):
                return dict.fromkeys(values - {name}, verdict)
    return {}


def told_by_position(items: list[object]) -> dict[int, Verdict]:
    """Return what items say about the next: lists of pairs, arguments of a command, headers one after the other."""
    if items and all(
        isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) for item in items
    ):
        return {at: keywords.verdict(item[0]) for at, item in enumerate(items) if isinstance(item, list)}
    told: dict[int, Verdict] = {}
    for at, (item, following) in enumerate(itertools.pairwise(items), 1):
        if not isinstance(item, str) or not isinstance(following, str) or not _ARGUMENT_NAME.fullmatch(item):
            continue
        if item in _USER_FLAGS:
            if _USER_AND_PASSWORD.fullmatch(following):
                told[at] = "secret"
        elif keywords.verdict(item) == "secret":
            is_flag = item.startswith("-") and not following.startswith("-")
            if is_flag or (
                at % 2 and _ISSUED_VALUE.fullmatch(following) and placeholders.looks_random(following[-12:])
            ):
                told[at] = "secret"
    return told


def is_blank(value: object) -> bool:
    """Tell whether there is no secret in `value`: nothing, yes or no, or what only stands for one."""
    if isinstance(value, str):
        return placeholders.stands_for_a_secret(value)
    if isinstance(value, list):
        return all(map(is_blank, value))
    if isinstance(value, dict):
        return all(map(is_blank, value.values()))
    return value is None or isinstance(value, bool) or value == 0


def is_schema(value: object) -> bool:
    """Tell whether `value` describes a secret in JSON Schema, as the parameters of a tool do."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and value["type"] in _SCHEMA_TYPES
        and not value.keys() & _SCHEMA_VALUES
    )


def holds_text(value: object) -> bool:
    """Tell whether there is a text in `value` that is no number: counts of tokens have none."""
    if isinstance(value, str):
        return not placeholders.stands_for_a_secret(value) and not value.replace(",", "").isdigit()
    if isinstance(value, dict):
        return any(map(holds_text, value.values()))
    return isinstance(value, list) and any(map(holds_text, value))


def is_phone(value: object) -> bool:
    """Tell whether `value` can be a phone number as people write it."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return False
    digits = sum(c.isdigit() for c in str(value))
    return digits >= _FEWEST_PHONE_DIGITS and _PHONE.fullmatch(str(value).strip()) is not None
