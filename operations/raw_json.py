"""JSON as the bytes that were sent: repaired, divided and refused without being read into values.

Two readers must not see different things in it: no key twice, no NaN, nothing nested deeper than anyone reads.
"""

from __future__ import annotations

import functools
import json
import math
import re
from typing import Any

import msgspec

from operations import limits, rejections

_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
# What divides JSON: texts as wholes, so that nothing in them counts, and runs of brackets. Never recursive.
_STRUCTURE = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*+"?|[\[{]+|[\]}]+|,', re.DOTALL)
_split_array = msgspec.json.Decoder(list[msgspec.Raw]).decode


def storable(body: bytes) -> bytes:
    """Replace what PostgreSQL's text cannot hold: NUL by U+2400, a lone surrogate by U+FFFD."""
    if b"\\u" not in body or not re.search(rb"\\u(?:0000|[dD][89a-fA-F])", body):
        return body
    parts: list[bytes] = []
    position, high = 0, None  # `high` is the place in `parts` of a high surrogate that waits for its low one
    for found in _ESCAPE.finditer(body):
        parts.append(body[position : found.start()])
        if high is not None and parts[-1]:
            parts[high], high = b"\\ufffd", None
        position = found.end()
        unit = int(found.group(1), 16) if found.group(1) else -1
        is_low = 0xDC00 <= unit <= 0xDFFF
        if high is not None and not is_low:
            parts[high], high = b"\\ufffd", None
        if unit == 0:
            parts.append(b"\\u2400")
        elif is_low and high is None:
            parts.append(b"\\ufffd")
        else:
            parts.append(found.group())
            high = len(parts) - 1 if 0xD800 <= unit <= 0xDBFF else None
    parts.append(body[position:])
    if high is not None:
        parts[high] = b"\\ufffd"
    return b"".join(parts)


def elements(body: bytes) -> list[bytes]:
    """Return the elements of an array as sent, also where single elements are not quite JSON or nest too deep."""
    try:
        return [bytes(raw) for raw in _split_array(body)]
    except (msgspec.MsgspecError, RecursionError, ValueError):
        pass
    if not body.startswith(b"["):
        raise rejections.BodyNotJson
    found: list[bytes] = []
    depth, start = 0, 1
    for token in _STRUCTURE.finditer(body):
        mark = token.group()[:1]
        if mark in b"[{":
            depth += len(token.group())
        elif mark in b"]}":
            depth -= len(token.group())
            if depth <= 0:
                return _ended(body, found, start=start, end=token.end() + depth - 1)
        elif mark == b"," and depth == 1:
            found.append(_element(body, start, token.start()))
            start = token.end()
    raise rejections.BodyNotJson("The body ends before its array does.")


def _ended(body: bytes, found: list[bytes], *, start: int, end: int) -> list[bytes]:
    """Return the elements of an array of which `found` came before `start` and which was closed at `end`."""
    if body[end : end + 1] != b"]":
        raise rejections.BodyNotJson(f"The body is not JSON at byte {end}.")
    if body[end + 1 :].strip(b" \t\r\n"):
        raise rejections.BodyNotJson(f"The body goes on after its array, at byte {end + 1}.")
    if found or body[start:end].strip(b" \t\r\n"):
        found.append(_element(body, start, end))
    return found


def _element(body: bytes, start: int, end: int) -> bytes:
    element = body[start:end].strip(b" \t\r\n")
    if not element:
        raise rejections.BodyNotJson(f"The body is not JSON at byte {end}.")
    return element


def refuse_odd(raw: bytes) -> bool:
    """Refuse what a strict reader refuses: nesting too deep, a key twice, NaN; tell whether all numbers are finite."""
    if raw[:1] != b"{":
        raise rejections.NotJson
    if raw.count(b"{") + raw.count(b"[") > limits.DEPTH_MAX and _depth(raw) > limits.DEPTH_MAX:
        raise rejections.TooDeep
    endless: list[str] = []
    try:
        json.loads(
            raw,
            object_pairs_hook=_refuse_repeated,
            parse_constant=_refuse_constant,
            parse_float=functools.partial(_float, endless=endless),
        )
    except RecursionError:
        raise rejections.TooDeep from None
    except ValueError:
        raise rejections.NotJson from None
    return not endless


def _depth(raw: bytes) -> int:
    """Return how deep `raw` is nested, without recursion."""
    deepest = depth = 0
    in_string = escaped = False
    for byte in raw:
        if escaped:
            escaped = False
        elif in_string:
            escaped = byte == 0x5C
            in_string = byte != 0x22
        elif byte == 0x22:
            in_string = True
        elif byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise rejections.RepeatedKey
    return found


def _refuse_constant(name: str) -> Any:
    raise rejections.WrongValue(f"{name} is not a JSON number.")


def _float(text: str, endless: list[str]) -> float:
    number = float(text)
    if math.isinf(number):
        endless.append(text)
    return number
