"""What a key opens, told to whoever holds it."""

from __future__ import annotations

import msgspec
from django import http

from operations import access, limits, problems


class Bound(msgspec.Struct, kw_only=True):
    """What the records of this key must carry; null means anything."""

    environment: str | None
    runtime: str | None
    tool_prefix: str | None


class Limits(msgspec.Struct, kw_only=True):
    """What one request, and one record in it, may hold."""

    request_bytes: int = limits.REQUEST_BYTES_MAX
    records: int = limits.RECORDS_MAX
    record_bytes: int = limits.RECORD_BYTES_MAX
    value_bytes: int = limits.VALUE_BYTES_MAX
    compact_bytes: int = limits.COMPACT_BYTES_MAX
    error_text_characters: int = limits.ERROR_TEXT_CHARS_MAX
    depth: int = limits.DEPTH_MAX
    seconds_ahead: int = limits.AHEAD_MAX_US // 1_000_000
    days_back: int


class WhoAmI(msgspec.Struct, kw_only=True):
    """The project, powers and limits of a key."""

    project: str
    key: str
    scopes: list[str]
    bound: Bound
    limits: Limits


_encode = msgspec.json.Encoder().encode


@problems.door("GET")
def whoami(request: http.HttpRequest) -> http.HttpResponse:
    """Tell the project, the scopes and the limits of the key; any good key may ask."""
    credential = access.credential_for(request, scope=None)
    told = WhoAmI(
        project=credential.project_slug,
        key=credential.keyid,
        scopes=sorted(credential.scopes),
        bound=Bound(
            environment=credential.environment,
            runtime=credential.runtime,
            tool_prefix=credential.tool_prefix,
        ),
        limits=Limits(days_back=credential.retention_days),
    )
    return http.HttpResponse(_encode(told), content_type="application/json")
