"""From bytes to records: one array, one object or lines of JSON, each record refused by itself.

The common batch is decoded in one call, strictly. Only a batch that is not perfectly clean is taken apart:
fields this version does not know are left out and counted, what is wrong is refused by name with a pointer.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from operations import limits, rejections, wire


class Entry(NamedTuple):
    """One record of a request: decoded, or refused."""

    index: int  # type: ignore[assignment]  # a tuple's own `index` is of no use here
    record: wire.Operation | None
    rejection: rejections.Rejection | None = None
    operation_id: str | None = None
    unknown: tuple[str, ...] = ()
    inferred: frozenset[str] = frozenset()


_decode_batch = msgspec.json.Decoder(list[wire.Operation]).decode
_decode_record = msgspec.json.Decoder(wire.Operation).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_any = msgspec.json.Decoder().decode
_split_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode

_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_POINTER = re.compile(r" - at `\$(.*?)`\Z")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
# What divides JSON: texts as wholes, so that nothing in them counts, and runs of brackets. Never recursive.
_STRUCTURE = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*+"?|[\[{]+|[\]}]+|,', re.DOTALL)
_OPERATION_ID = re.compile(rb'"operation_id"\s*:\s*"([A-Za-z0-9._:/=+-]{1,128})"')
_KNOWN = {field.encode_name for field in msgspec.structs.fields(wire.Operation)}
_KNOWN_PARTS = {
    name: {field.encode_name for field in msgspec.structs.fields(part)} for name, part in wire.PARTS.items()
}
_LENGTH_COMPLAINT = re.compile(r"Expected `\w+` of length")


def decode(body: bytes, *, is_ndjson: bool) -> list[Entry]:
    """Decode the records of `body`, in order.

    Raises `NotUtf8`, `BodyNotJson`, `TooDeep` or `TooManyRecords` when there are no single records to refuse.
    """
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise rejections.NotUtf8(f"The body is not UTF-8 at byte {error.start}.") from None
    body = _clean(body)
    if is_ndjson:
        entries = list(_decode_lines(body))
    else:
        stripped = body.strip(b" \t\r\n")
        entries = [_decode_one(0, stripped)] if stripped[:1] == b"{" else _decode_array(stripped)
    if len(entries) > limits.RECORDS_MAX:
        raise rejections.TooManyRecords(
            f"The body has {len(entries)} records; at most {limits.RECORDS_MAX} are allowed."
        )
    return entries


def _decode_array(body: bytes) -> list[Entry]:
    try:
        records = _decode_batch(body)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return [_decode_one(index, raw) for index, raw in enumerate(_split(body))]
    is_plain = len(body) <= limits.RECORD_BYTES_MAX and _encode(records).count(b":") == body.count(b":")
    if is_plain and not any(_needs_a_look(raw) for record in records for raw in _raw_parts(record)):
        return [Entry(index, record, None, record.operation_id) for index, record in enumerate(records)]
    return [
        Entry(index, record, None, record.operation_id) if _is_plain(raw, record) else _decode_one(index, raw)
        for index, (raw, record) in enumerate(zip(_split(body), records, strict=True))
    ]


def _is_plain(raw: bytes, record: wire.Operation) -> bool:
    """Tell whether a decoded record needs no second look: no key twice, nothing too large or too deep.

    A key that stands twice loses its first value on decoding, and with it at least one colon; so does a null, which
    is why fields that are null are left out first.
    """
    if len(raw) > limits.RECORD_BYTES_MAX:
        return False
    colons = raw.count(b":") if b"null" not in raw else _colons_without_nulls(raw)
    return colons == _encode(record).count(b":") and not any(
        _needs_a_look(part) for part in _raw_parts(record)
    )


def _colons_without_nulls(raw: bytes) -> int:
    """Count the colons of an object's fields that are not null; -1 when a field stands twice."""
    fields = {name: bytes(value) for name, value in _decode_fields(raw).items()}
    if raw.count(b":") != len(fields) + sum(value.count(b":") for value in fields.values()):
        return -1
    counted = 0
    for name, value in fields.items():
        if value == b"null":
            continue
        inner = _colons_without_nulls(value) if name in wire.PARTS and b"null" in value else value.count(b":")
        if inner < 0:
            return -1
        counted += 1 + inner
    return counted


def _raw_parts(record: wire.Operation) -> Iterator[bytes]:
    for part in (record.input, record.output):
        if part is not None:
            if part.compact != wire.ABSENT:
                yield bytes(part.compact)
            if part.value != wire.ABSENT:
                yield bytes(part.value)


def _needs_a_look(raw: bytes) -> bool:
    """Tell whether JSON kept as sent may repeat a key, nest too deep, or hold a number nothing can read."""
    if raw.count(b"{") + raw.count(b"[") > limits.DEPTH_MAX:
        return True
    try:
        return _encode(_decode_any(raw)).count(b":") != raw.count(b":")
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return True


def _decode_lines(body: bytes) -> Iterator[Entry]:
    """Decode one record a line; a last line without its newline that does not parse was cut short."""
    lines = body.split(b"\n")
    complete = len(lines) - 1
    index = 0
    for number, line in enumerate(lines):
        stripped = line.strip(b" \t\r")
        if not stripped:
            continue
        entry = _decode_one(index, stripped)
        if number == complete and isinstance(entry.rejection, rejections.NotJson):
            entry = entry._replace(rejection=rejections.Truncated())
        yield entry
        index += 1


def _split(body: bytes) -> list[bytes]:
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


def _decode_one(index: int, raw: bytes) -> Entry:
    """Decode one record, leaving out what this version does not know."""
    unknown: tuple[str, ...] = ()
    try:
        if len(raw) > limits.RECORD_BYTES_MAX:
            raise rejections.RecordTooLarge
        is_finite = _refuse_odd_json(raw)
        try:
            record = _decode_record(raw)
        except msgspec.ValidationError as error:
            if "unknown field" not in str(error):
                raise
            raw, unknown = _without_unknown(raw)
            record = _decode_record(raw)
        if not is_finite:
            # The types name a field's own number with its place; this one stands in JSON that is kept as sent.
            raise rejections.WrongValue("A number is larger than any double.")
    except rejections.Rejection as rejection:
        return Entry(index, None, rejection, _told_id(raw))
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        return Entry(index, None, _name(error), _told_id(raw), unknown)
    return Entry(index, record, None, record.operation_id, unknown)


def _told_id(raw: bytes) -> str | None:
    """Return the id that a refused record names, so that its sender can find it."""
    found = _OPERATION_ID.search(raw)
    return found.group(1).decode() if found else None


def _refuse_odd_json(raw: bytes) -> bool:
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


def _without_unknown(raw: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return the record without the fields this version does not know, and their names."""
    unknown: list[str] = []
    fields = _decode_fields(raw)
    kept: dict[str, Any] = {}
    for name, value in fields.items():
        if name not in _KNOWN:
            unknown.append(name[:64])
        elif name in _KNOWN_PARTS and bytes(value).lstrip()[:1] == b"{":
            part = _decode_fields(value)
            unknown.extend(f"{name}.{inner[:64]}" for inner in part if inner not in _KNOWN_PARTS[name])
            kept[name] = {k: v for k, v in part.items() if k in _KNOWN_PARTS[name]}
        else:
            kept[name] = _without_unknown_items(name, value, unknown)
    return _encode(kept), tuple(unknown)


def _without_unknown_items(name: str, value: msgspec.Raw, unknown: list[str]) -> Any:
    """Leave out what is not known of a leg; issues of a contract are left to the strict types."""
    if name != "legs" or bytes(value).lstrip()[:1] != b"[":
        return value
    legs = []
    for item in _split_array(value):
        if bytes(item).lstrip()[:1] != b"{":
            return value
        leg = _decode_fields(item)
        unknown.extend(f"legs.{inner[:64]}" for inner in leg if inner not in {"name", "ms"})
        legs.append({k: v for k, v in leg.items() if k in {"name", "ms"}})
    return legs


def _name(error: Exception) -> rejections.Rejection:
    """Return the refusal that names what the decoder complained of, without repeating any value."""
    complaint = str(error)
    found = _POINTER.search(complaint)
    pointer = _pointer(found.group(1)) if found else ""
    said = complaint[: found.start()] if found else complaint
    if isinstance(error, RecursionError):
        return rejections.TooDeep(pointer=pointer)
    if not isinstance(error, msgspec.ValidationError):
        return rejections.NotJson()
    if _LENGTH_COMPLAINT.match(said):
        return rejections.TooLong(f"{said}.", pointer=pointer)
    if "matching regex" in said:
        return rejections.WrongValue(
            "The value has characters or a length that are not allowed.", pointer=pointer
        )
    if said.startswith("Expected") and ", got" in said:
        return rejections.WrongType(f"{said}.", pointer=pointer)
    if said.startswith("Invalid enum value"):
        return rejections.WrongValue("The value is not one of those allowed.", pointer=pointer)
    return rejections.WrongValue(f"{said}.", pointer=pointer)


def _pointer(path: str) -> str:
    """Turn the decoder's path (`.error.category`, `[0]`) into a JSON pointer."""
    return "".join(f"/{name or index}" for name, index in _STEP.findall(path))


def _clean(body: bytes) -> bytes:
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
