"""The API described as OpenAPI 3.1, from the structs that decode and encode it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from operations import limits, problems, published, refusals, rejections, replies, schemas

Described = dict[str, Any]

#: Names the reasons of a refusal in its response, for generators and our own page.
REASONS = "x-reasons"

_REPLIES = (replies.Receipt, replies.Page, replies.Tally, published.Detail, problems.Problem)
_ANSWERS_LATER = {
    "Retry-After": {"description": "Seconds to wait before trying again.", "schema": {"type": "integer"}}
}
_QUOTA = {
    "RateLimit": {
        "description": "What is left to the key and to the project (r), and in how many seconds all of it is "
        "there again (t).",
        "schema": {"type": "string"},
    }
}


def document(further: Iterable[type[msgspec.Struct]] = ()) -> Described:
    """Return the description of the API; `further` are structs of answers that other doors give."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "opsconsole",
            "version": "1",
            "summary": "Tell what tools did, and ask what became of it.",
            "description": "An operation is one attempt to run one tool. A runtime tells it in one record or "
            "in several, in any order, as often as it likes: the facts are merged, and what repeats is answered "
            "as a duplicate. A 2xx means committed.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"key": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A key of the project, as in `Authorization: Bearer ops_…`. Its scopes say "
                    "what it may do: `ingest` to tell, `read` to ask.",
                }
            },
            "schemas": {**schemas.record_components(), **schemas.reply_components((*_REPLIES, *further))},
        },
    }


def _paths() -> Described:
    return {
        "/v1/operations": {"post": _tell(), "get": _list()},
        "/v1/operations/{operation_id}": {"get": _one()},
        "/v1/tally": {"get": _tally()},
        "/v1/whoami": {
            "get": {
                "operationId": "whoAmI",
                "summary": "Tell the project, scopes and limits of the key.",
                "responses": {
                    "200": _answer("What the key opens.", "WhoAmI"),
                    **_problems(*refusals.KEY, rejections.StoreUnavailable),
                },
            }
        },
        "/v1/traces": {"post": _traces()},
        "/v1/schema/operation.json": {
            "get": {
                "operationId": "recordSchema",
                "summary": "The JSON Schema of one record.",
                "security": [],
                "responses": {
                    "200": {
                        "description": "A JSON Schema, draft 2020-12.",
                        "content": {"application/schema+json": {"schema": {"type": "object"}}},
                    }
                },
            }
        },
    }


def _tell() -> Described:
    record = _reference(schemas.RECORD)
    many = {"type": "array", "items": record, "maxItems": limits.RECORDS_MAX}
    return {
        "operationId": "tellOperations",
        "summary": "Tell records.",
        "description": f"At most {limits.RECORDS_MAX:,} records and {limits.REQUEST_BYTES_MAX:,} bytes, before and "
        "after decompression. A record that is refused leaves the rest of its batch alone. Needs the scope "
        "`ingest`.",
        "parameters": [
            _flag("dry_run", "Check the records and store nothing."),
            _flag("results", "Tell what became of each record, also when none was refused."),
            {
                "name": "Content-Encoding",
                "in": "header",
                "description": "How the body is compressed.",
                "schema": {"enum": ["identity", "gzip", "zstd"]},
            },
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"oneOf": [record, many]}},
                "application/x-ndjson": {"schema": {"type": "string", "description": "One record a line."}},
            },
        },
        "responses": {
            "200": _answer("All records are stored.", "Receipt", _QUOTA),
            "207": _answer("Some records were refused; `results` says which and why.", "Receipt", _QUOTA),
            **_problems(*refusals.BODY, *refusals.ALWAYS, also=_reference("Receipt")),
        },
    }


def _list() -> Described:
    return {
        "operationId": "listOperations",
        "summary": "List operations, newest first.",
        "description": "Needs the scope `read`.",
        "parameters": [
            _query("q", "A filter, as in `tool:refund status:timed_out -env:staging duration:>2s`."),
            *_range(),
            _query(
                "limit",
                "How many at most.",
                {"type": "integer", "minimum": 1, "maximum": 500, "default": 100},
            ),
            _query("cursor", "Where to go on: `next` of the answer before."),
        ],
        "responses": {
            "200": _answer("A stretch of the list.", "Page", _QUOTA),
            **_problems(rejections.BadFilter, rejections.BadCursor, *refusals.ALWAYS),
        },
    }


def _one() -> Described:
    return {
        "operationId": "readOperation",
        "summary": "Read one operation with its redacted words.",
        "description": "Needs the scope `read`.",
        "parameters": [
            {
                "name": "operation_id",
                "in": "path",
                "required": True,
                "description": "The operation's id. It may contain slashes, which need not be escaped.",
                "schema": {"type": "string"},
            },
            _query("attempt", "Which attempt; by default the highest.", {"type": "integer", "minimum": 1}),
        ],
        "responses": {
            "200": _answer("The operation.", "Detail", _QUOTA),
            **_problems(rejections.NoSuchOperation, *refusals.ALWAYS),
        },
    }


def _tally() -> Described:
    keys = ", ".join((*replies.TALLY_KEYS, *replies.TALLY_STEPS))
    return {
        "operationId": "readTally",
        "summary": "Count operations.",
        "description": "Counts are exact at every moment. Minutes are kept for 48 hours, hours for 90 days and "
        "days for good; a range is widened to what is kept, and the answer tells the range it is about. Needs "
        "the scope `read`.",
        "parameters": [
            _query("q", "A filter on what is counted by."),
            *_range(),
            _query(
                "group_by",
                f"Keys with commas between them, of {keys}. Of the last {len(replies.TALLY_STEPS)}, one at most. "
                "An operation with several signals counts under each.",
            ),
        ],
        "responses": {
            "200": _answer("The counts.", "Tally", _QUOTA),
            **_problems(rejections.BadFilter, *refusals.ALWAYS),
        },
    }


def _traces() -> Described:
    message = {"schema": {"description": "An OTLP ExportTraceServiceRequest or its answer."}}
    content = {"application/x-protobuf": message, "application/json": message}
    return {
        "operationId": "tellTraces",
        "summary": "Receive OpenTelemetry traces (OTLP/HTTP).",
        "description": "Spans that tell of a tool's run become records; the others are left out. Refusals are a "
        "`google.rpc.Status`, as OTLP asks. Needs the scope `ingest`.",
        "requestBody": {"required": True, "content": content},
        "responses": {
            "200": {
                "description": "Stored; what was refused is told as a partial success.",
                "content": content,
            },
            "default": {"description": "Refused.", "content": content},
        },
    }


def _range() -> list[Described]:
    told = "RFC 3339 with an offset, or Unix nanoseconds"
    return [
        _query("from", f"Started at or after: {told}. By default as far back as is kept."),
        _query("to", f"Started before: {told}. By default without end, for clocks may be ahead."),
    ]


def _query(name: str, description: str, schema: Described | None = None) -> Described:
    return {"name": name, "in": "query", "description": description, "schema": schema or {"type": "string"}}


def _flag(name: str, description: str) -> Described:
    return _query(name, description, {"enum": ["1", "0"], "default": "0"})


def _answer(description: str, name: str, headers: Described | None = None) -> Described:
    content = {"application/json": {"schema": _reference(name)}}
    return {"description": description, "content": content, **({"headers": headers} if headers else {})}


def _problems(*refused: type[rejections.Rejection], also: Described | None = None) -> Described:
    """Return what may be refused, by status; `also` is what else is answered with 400."""
    statuses = sorted({refusal.http_status for refusal in refused})
    return {
        str(status): _problem(
            status,
            [refusal for refusal in refused if refusal.http_status == status],
            also if status == 400 else None,
        )
        for status in statuses
    }


def _problem(status: int, refused: Sequence[type[rejections.Rejection]], also: Described | None) -> Described:
    content: Described = {problems.CONTENT_TYPE: {"schema": _reference("Problem")}}
    described = " ".join(f"`{refusal.reason}`: {refusal.sentence()}" for refusal in refused)
    if also is not None:
        content["application/json"] = {"schema": also}
        described = f"All records were refused, and `results` says why. Or {described}"
    response: Described = {
        "description": described,
        "content": content,
        REASONS: [refusal.reason for refusal in refused],
    }
    if status in {429, 503}:
        response["headers"] = _ANSWERS_LATER
    return response


def _reference(name: str) -> Described:
    return {"$ref": schemas.REFERENCE.format(name=name)}
