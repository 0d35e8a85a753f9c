"""From bytes to records: one array, one object or lines of JSON, each record refused by itself.

The common batch is decoded in one call, strictly. Only a batch that is not perfectly clean is taken apart:
fields this version does not know are left out and counted, what is wrong is refused by name with a pointer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from operations import limits, raw_json, rejections, wire


class Entry(NamedTuple):
    """One record of a request: decoded, or refused."""

    index: int  # type: ignore[assignment]  # a tuple's own `index` is of no use here
    record: wire.Operation | None
    rejection: rejections.Rejection | None = None
    operation_id: str | None = None
    unknown: tuple[str, ...] = ()
    inferred: frozenset[str] = frozenset()


_decode_batch = msgspec.json.Decoder(list[wire.Operation]).decode
_decode_all_lines = msgspec.json.Decoder(wire.Operation).decode_lines
_decode_record = msgspec.json.Decoder(wire.Operation).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_any = msgspec.json.Decoder().decode
_split_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode

_SPACE = b" \t\r"
_POINTER = re.compile(r" - at `\$(.*?)`\Z")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
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
    body = raw_json.storable(body)
    if is_ndjson:
        entries = _decode_lines(body)
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
        return [_decode_one(index, raw) for index, raw in enumerate(raw_json.elements(body))]
    return _looked_at(body, records, raw_json.elements)


def _looked_at(
    body: bytes, records: Sequence[wire.Operation], divide: Callable[[bytes], list[bytes]]
) -> list[Entry]:
    """Return the entries of records that decoded, with a closer look at those that need one."""
    if _is_plain_batch(body, records, divide):
        return [Entry(index, record, None, record.operation_id) for index, record in enumerate(records)]
    return [
        Entry(index, record, None, record.operation_id) if _is_plain(raw, record) else _decode_one(index, raw)
        for index, (raw, record) in enumerate(zip(divide(body), records, strict=True))
    ]


def _is_plain_batch(
    body: bytes, records: Sequence[wire.Operation], divide: Callable[[bytes], list[bytes]]
) -> bool:
    """Tell of a whole batch at once what `_is_plain` tells of a record, since beginning costs more than going on."""
    lost = body.count(b":") - _encode(records).count(b":")
    if lost or len(body) > limits.RECORD_BYTES_MAX:
        elements = divide(body)
        if max(map(len, elements)) > limits.RECORD_BYTES_MAX or lost != _lost_to_nulls(elements):
            return False
    parts = [part for record in records for part in _raw_parts(record)]
    return all(map(_is_shallow, parts)) and not _needs_a_look(b"[%b]" % b",".join(parts), is_shallow=True)


def _lost_to_nulls(elements: Sequence[bytes]) -> int:
    """Count the colons of fields that are null; -1 when a field stands twice."""
    lost = 0
    for raw in elements:
        if b"null" in raw:
            colons = _colons_without_nulls(raw)
            if colons < 0:
                return -1
            lost += raw.count(b":") - colons
    return lost


def _is_plain(raw: bytes, record: wire.Operation) -> bool:
    """Tell whether a decoded record needs no second look: no key twice, nothing too large or too deep.

    A key that stands twice loses its first value on decoding, and with it at least one colon; so does a null,
    which is why fields that are null are left out first.
    """
    if len(raw) > limits.RECORD_BYTES_MAX:
        return False
    colons = raw.count(b":") if b"null" not in raw else _colons_without_nulls(raw)
    return colons == _encode(record).count(b":") and not any(map(_needs_a_look, _raw_parts(record)))


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
            if len(part.compact):
                yield bytes(part.compact)
            if len(part.value):
                yield bytes(part.value)


def _is_shallow(raw: bytes) -> bool:
    """Tell whether JSON cannot nest too deep: it opens too few brackets."""
    return len(raw) <= limits.DEPTH_MAX or raw.count(b"{") + raw.count(b"[") <= limits.DEPTH_MAX


def _needs_a_look(raw: bytes, *, is_shallow: bool = False) -> bool:
    """Tell whether JSON kept as sent may repeat a key, nest too deep, or hold a number nothing can read."""
    if not is_shallow and not _is_shallow(raw):
        return True
    try:
        return _encode(_decode_any(raw)).count(b":") != raw.count(b":")
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return True


def _decode_lines(body: bytes) -> list[Entry]:
    """Decode one record a line; a last line without its newline that does not parse was cut short."""
    try:
        return _looked_at(body, _decode_all_lines(body), _lines)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        entries = [_decode_one(index, line) for index, line in enumerate(_lines(body))]
    is_open = bool(body.rpartition(b"\n")[2].strip(_SPACE))
    if is_open and entries and isinstance(entries[-1].rejection, rejections.NotJson):
        entries[-1] = entries[-1]._replace(rejection=rejections.Truncated())
    return entries


def _lines(body: bytes) -> list[bytes]:
    return [stripped for line in body.split(b"\n") if (stripped := line.strip(_SPACE))]


def _decode_one(index: int, raw: bytes) -> Entry:
    """Decode one record, leaving out what this version does not know."""
    unknown: tuple[str, ...] = ()
    try:
        if len(raw) > limits.RECORD_BYTES_MAX:
            raise rejections.RecordTooLarge
        is_finite = raw_json.refuse_odd(raw)
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
