"""The API described as OpenAPI 3.1, from the structs that decode and encode it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from operations import limits, problems, published, rejections, replies, schemas

Described = dict[str, Any]

#: Refusals of one record; the rest of its batch is stored.
RECORD_REFUSALS: tuple[type[rejections.Rejection], ...] = (
    rejections.NotJson,
    rejections.Truncated,
    rejections.WrongType,
    rejections.WrongValue,
    rejections.TooLong,
    rejections.RecordTooLarge,
    rejections.TooDeep,
    rejections.RepeatedKey,
    rejections.IdentityMissing,
    rejections.BadTime,
    rejections.TooFarAhead,
    rejections.OlderThanRetention,
    rejections.OutcomeWithoutDone,
    rejections.AnswerWithOtherEnding,
    rejections.BadDigest,
    rejections.EnvironmentNotAllowed,
    rejections.RuntimeNotAllowed,
    rejections.ToolNotAllowed,
    rejections.SpanWithoutIds,
    rejections.Unstorable,
)
#: Refusals of a whole request; nothing of it is stored.
REQUEST_REFUSALS: tuple[type[rejections.Rejection], ...] = (
    rejections.BodyDamaged,
    rejections.BodyNotJson,
    rejections.BodyNotOtlp,
    rejections.ByteOrderMark,
    rejections.NotUtf8,
    rejections.MissingCredential,
    rejections.UnknownKey,
    rejections.KeyRevoked,
    rejections.KeyExpired,
    rejections.ScopeMissing,
    rejections.NoSuchAddress,
    rejections.NoSuchOperation,
    rejections.MethodNotAllowed,
    rejections.BodyTooSlow,
    rejections.BodyTooLarge,
    rejections.TooManyRecords,
    rejections.UnsupportedMediaType,
    rejections.UnsupportedEncoding,
    rejections.BadParameter,
    rejections.UnknownParameter,
    rejections.BadFilter,
    rejections.BadCursor,
    rejections.TooManyRequests,
    rejections.TooManyAtOnce,
    rejections.InternalFault,
    rejections.StoreUnavailable,
)

_REPLIES = (replies.Receipt, replies.Page, replies.Tally, published.Detail, problems.Problem)
_ALWAYS = (401, 403, 429, 503)
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
                "responses": {"200": _answer("What the key opens.", "WhoAmI"), **_problems(401, 503)},
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
            "400": _problem(400, also=_reference("Receipt")),
            **_problems(408, 413, 415, 422, *_ALWAYS),
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
        "responses": {"200": _answer("A stretch of the list.", "Page", _QUOTA), **_problems(422, *_ALWAYS)},
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
            **_problems(404, 422, *_ALWAYS),
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
        "responses": {"200": _answer("The counts.", "Tally", _QUOTA), **_problems(422, *_ALWAYS)},
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


def _problems(*statuses: int) -> Described:
    return {str(status): _problem(status) for status in sorted(statuses)}


def _problem(status: int, *, also: Described | None = None) -> Described:
    """Return the refusals with one status; `also` is what else may be answered with it."""
    reasons = [refusal for refusal in REQUEST_REFUSALS if refusal.http_status == status]
    content: Described = {problems.CONTENT_TYPE: {"schema": _reference("Problem")}}
    described = "; ".join(f"`{refusal.reason}`: {refusal.sentence()}" for refusal in reasons)
    if also is not None:
        content["application/json"] = {"schema": also}
        described = f"All records were refused, and `results` says why. Or {described}"
    response: Described = {"description": described, "content": content}
    if status in {429, 503}:
        response["headers"] = _ANSWERS_LATER
    return response


def _reference(name: str) -> Described:
    return {"$ref": schemas.REFERENCE.format(name=name)}
