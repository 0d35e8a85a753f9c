"""The API described: OpenAPI, the record's JSON Schema, and a page for people."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import msgspec
from django import http, shortcuts
from django.contrib.auth import decorators as auth
from django.utils import html, safestring
from django.views.decorators import http as methods

from operations import limits, openapi, problems, refusals, rejections, schemas
from operations.views import whoami

CACHE_CONTROL = "public, max-age=300"


@problems.door("GET")
def openapi_document(request: http.HttpRequest) -> http.HttpResponse:
    """Give the OpenAPI 3.1 document."""
    return _public(_document_bytes(), "application/json")


@problems.door("GET")
def record_schema(request: http.HttpRequest) -> http.HttpResponse:
    """Give the JSON Schema of one record."""
    return _public(_schema_bytes(), "application/schema+json")


@problems.door("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
def no_such_address(request: http.HttpRequest, rest: str) -> http.HttpResponse:
    """Refuse what no door of the API answers to, in the API's own way."""
    raise rejections.NoSuchAddress


@auth.login_not_required
@methods.require_safe
def page(request: http.HttpRequest) -> http.HttpResponse:
    """Show the description to people."""
    return shortcuts.render(request, "operations/description_api/page.html", described())


def described() -> dict[str, object]:
    """Return what the page shows, from the same document that programs get."""
    document = _document()
    parts = document["components"]["schemas"]
    return {
        "endpoints": [
            _endpoint(path, method, told)
            for path, by_method in document["paths"].items()
            for method, told in by_method.items()
        ],
        "record": _fields(parts[schemas.RECORD]),
        "parts": [
            {"name": name.removeprefix(schemas.RECORD).lower(), "anchor": name, **_part(schema)}
            for name, schema in parts.items()
            if name.startswith(schemas.RECORD) and name != schemas.RECORD
        ],
        "record_refusals": _refusals(refusals.RECORD_REFUSALS),
        "request_refusals": _refusals(refusals.REQUEST_REFUSALS),
        "limits": limits,
    }


@functools.cache
def _document() -> openapi.Described:
    return openapi.document((whoami.WhoAmI,))


@functools.cache
def _document_bytes() -> bytes:
    return msgspec.json.format(msgspec.json.encode(_document()), indent=1)


@functools.cache
def _schema_bytes() -> bytes:
    return msgspec.json.format(msgspec.json.encode(schemas.record_schema()), indent=1)


def _public(body: bytes, content_type: str) -> http.HttpResponse:
    response = http.HttpResponse(body, content_type=content_type)
    response["Cache-Control"] = CACHE_CONTROL
    response["Access-Control-Allow-Origin"] = "*"
    return response


def _endpoint(path: str, method: str, told: openapi.Described) -> dict[str, object]:
    return {
        "id": told["operationId"],
        "path": path,
        "method": method.upper(),
        "summary": told["summary"],
        "description": words(told.get("description", "")),
        "parameters": [
            {**parameter, "description": words(parameter["description"])}
            for parameter in told.get("parameters", ())
        ],
        "responses": [
            {
                "status": status,
                "description": "" if openapi.REASONS in response else words(response["description"]),
                "reasons": response.get(openapi.REASONS, ()),
                "may_tell_results": "application/json" in response["content"],
            }
            for status, response in told["responses"].items()
        ],
    }


def words(text: str) -> safestring.SafeString:
    """Return a description with what stands between backticks as code."""
    parts = enumerate(text.split("`"))
    return html.format_html_join("", "{}", ((_code(part) if place % 2 else part,) for place, part in parts))


def _code(text: str) -> safestring.SafeString:
    return html.format_html("<code>{}</code>", text)


def _refusals(told: Iterable[type[rejections.Rejection]]) -> list[dict[str, object]]:
    return [
        {"reason": refusal.reason, "http_status": refusal.http_status, "sentence": refusal.sentence()}
        for refusal in told
    ]


def _part(schema: schemas.Schema) -> dict[str, object]:
    return {"description": schema["description"], "fields": _fields(schema)}


def _fields(schema: schemas.Schema) -> list[dict[str, object]]:
    return [
        {"name": name, "description": field["description"], **_type(field)}
        for name, field in schema["properties"].items()
    ]


def _type(field: schemas.Schema) -> dict[str, object]:
    """Return a field's type in words, and the part it leads to if it is one."""
    options = [option for option in field.get("anyOf", [field]) if option.get("type") != "null"]
    told = [_words(option) for option in options]
    leads_to = next((_target(option) for option in options if _target(option)), "")
    return {"type": " or ".join(told), "leads_to": leads_to}


def _target(option: schemas.Schema) -> str:
    reference = option.get("$ref") or option.get("items", {}).get("$ref", "")
    return str(reference).rpartition("/")[2]


def _words(option: schemas.Schema) -> str:
    if "enum" in option:
        return ", ".join(str(value) for value in option["enum"])
    if option.get("type") == "array":
        return f"list of at most {option['maxItems']}"
    if option.get("type") == "object" and "maxProperties" in option:
        return f"object with at most {option['maxProperties']} members"
    if option.get("$ref"):
        return "object"
    if option.get("type") == "string":
        return f"text, at most {option['maxLength']}" if "maxLength" in option else "text"
    if option.get("type") == "integer":
        return f"whole number, {option['minimum']:,} to {option['maximum']:,}"
    return {"number": "number", "boolean": "true or false"}.get(str(option.get("type")), "any JSON")
