"""JSON Schemas of what is sent and answered, generated from the structs that decode and encode it."""

from __future__ import annotations

import functools
import operator
import types
import typing
from collections.abc import Iterable
from typing import Any

import msgspec

from operations import field_notes, wire

Schema = dict[str, Any]

RECORD = "Record"
#: How one schema refers to another.
REFERENCE = "#/components/schemas/{name}"
#: What names an operation: any of these sets of fields.
IDENTITIES = (("operation_id",), ("session_id", "tool_call_id"), ("session_id", "tool", "started_at"))


@functools.cache
def record_components() -> dict[str, Schema]:
    """Return the schemas of the record and its parts, with what each field means."""
    _, found = msgspec.json.schema_components([_described(wire.Operation)], ref_template=REFERENCE)
    for name, schema in found.items():
        notes = field_notes.RECORD if name == RECORD else field_notes.PARTS[name.removeprefix(RECORD)]
        for field, described in schema["properties"].items():
            described["description"] = notes[field]
    found[RECORD]["anyOf"] = [
        {"required": list(fields), "properties": {name: {"type": "string"} for name in fields}}
        for fields in IDENTITIES
    ]
    return {name: _for_everyone(schema) for name, schema in found.items()}


def reply_components(structs: Iterable[type[msgspec.Struct]]) -> dict[str, Schema]:
    """Return the schemas of what the API answers."""
    _, found = msgspec.json.schema_components(structs, ref_template=REFERENCE)
    return {name: _for_everyone(schema) for name, schema in found.items()}


def record_schema() -> Schema:
    """Return the JSON Schema of one record, on its own."""
    parts = {name: _moved(schema) for name, schema in record_components().items()}
    record = parts.pop(RECORD)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Record, version 1",
        **{name: value for name, value in record.items() if name != "title"},
        "$defs": parts,
    }


@functools.cache
def _described(struct: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Return a twin of a struct of the wire that can be described.

    JSON kept as sent is any value. A field that is not known is no error to a sender, although the decoder
    stops at it.
    """
    name = RECORD if struct is wire.Operation else RECORD + struct.__name__
    hints = typing.get_type_hints(struct, include_extras=True)
    fields: list[Any] = []
    for field in msgspec.structs.fields(struct):
        described = (field.encode_name, _substituted(hints[field.name]))
        default = None if isinstance(field.default, msgspec.Raw) else field.default
        fields.append(described if field.required else (*described, default))
    return msgspec.defstruct(name, fields, namespace={"__doc__": struct.__doc__}, kw_only=True)


def _substituted(hint: Any) -> Any:
    """Replace, anywhere in a type, the wire's structs by their twins and kept JSON by any JSON."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _described(hint)
    if hint is msgspec.Raw:
        return Any
    inner = typing.get_args(hint)
    origin = typing.get_origin(hint)
    if origin is None or origin is typing.Literal:
        return hint
    if origin is typing.Annotated:
        return typing.Annotated[(_substituted(inner[0]), *hint.__metadata__)]
    replaced = tuple(part if part is ... else _substituted(part) for part in inner)
    if origin is types.UnionType:
        return functools.reduce(operator.or_, replaced)
    return origin[replaced]


def _for_everyone(schema: Any) -> Any:
    """Write patterns as every validator reads them, for Python alone knows `\\Z`; say no default that means absent."""
    if isinstance(schema, dict):
        return {
            key: value.replace(r"\Z", "$")
            if key == "pattern" and isinstance(value, str)
            else _for_everyone(value)
            for key, value in schema.items()
            if not (key in {"default", "required"} and value in (None, (), []))
        }
    return [_for_everyone(part) for part in schema] if isinstance(schema, list) else schema


def _moved(schema: Any) -> Any:
    """Let references lead to `$defs`."""
    if isinstance(schema, dict):
        return {
            key: value.replace("#/components/schemas/", "#/$defs/")
            if key == "$ref" and isinstance(value, str)
            else _moved(value)
            for key, value in schema.items()
        }
    return [_moved(part) for part in schema] if isinstance(schema, list) else schema
