"""`GET /v1/operations` and `GET /v1/operations/{operation_id}`: facts for programs, with a `read` key."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from django import http
from django.utils import timezone

from operations import (
    access,
    cursors,
    excerpts,
    find,
    moments,
    parameters,
    problems,
    published,
    ratelimits,
    rejections,
    replies,
)

JSON = "application/json"
LIMIT_DEFAULT, LIMIT_MAX = 100, 500
ATTEMPT_MAX = 1000

_OPERATION_ID = re.compile(r"[A-Za-z0-9._:/=+-]{1,128}\Z", re.ASCII)
_encode = msgspec.json.Encoder().encode


def page(request: http.HttpRequest) -> http.HttpResponse:
    """List operations, newest first: of the time range, those that the filter lets through."""
    credential, quota = admit(request)
    told = parameters.read(request, "q", "from", "to", "limit", "cursor")
    query = find.parse(told.get("q", ""))
    since, until = span(told, credential)
    limit = parameters.whole(told, "limit", LIMIT_DEFAULT, least=1, most=LIMIT_MAX)
    project_id = credential.project_id
    before = cursors.read(told["cursor"], project_id=project_id) if "cursor" in told else None
    with ratelimits.at_once(credential):
        found = find.page(
            project_id=project_id, query=query, since=since, until=until, limit=limit, before=before
        )
    following = cursors.write(found.next, project_id=project_id) if found.next else None
    return answer(replies.page(found.rows, following, found.searched), quota)


@problems.door("GET")
def operation(request: http.HttpRequest, operation_id: str) -> http.HttpResponse:
    """Tell all that is known of one attempt, by default the highest, with its redacted words."""
    credential, quota = admit(request)
    told = parameters.read(request, "attempt")
    attempt = parameters.whole(told, "attempt", 0, least=1, most=ATTEMPT_MAX) or None
    if not _OPERATION_ID.match(operation_id):
        raise rejections.NoSuchOperation
    project_id = credential.project_id
    with ratelimits.at_once(credential):
        found = find.one(project_id=project_id, operation_id=operation_id, attempt=attempt)
        if found is None:
            raise rejections.NoSuchOperation
        kept = excerpts.of_operation(
            project_id=project_id, operation_id=operation_id, attempt=found.operation.attempt
        )
    return answer(published.detail(found, kept), quota)


def admit(request: http.HttpRequest) -> tuple[access.Credential, str]:
    """Let in who has a key with the scope `read`; returns it and the RateLimit header."""
    credential = access.credential_for(request, scope="read")
    return credential, ratelimits.admit(credential, "read")


def span(told: dict[str, str], credential: access.Credential) -> tuple[int, int]:
    """Return the asked time range, by default all that the project keeps."""
    now_us = moments.from_datetime(timezone.now())
    oldest = now_us - (credential.retention_days + 2) * moments.DAY_US
    since = parameters.moment_us(told, "from", oldest)
    # Clocks that are ahead are let in up to a day; by default they are shown.
    until = parameters.moment_us(told, "to", now_us + 2 * moments.DAY_US)
    if since > until:
        raise rejections.BadParameter("from lies after to.", pointer="/from")
    return max(since, oldest), min(until, now_us + 2 * moments.DAY_US)


def answer(reply: Any, quota: str) -> http.HttpResponse:
    """Return `reply` as JSON."""
    response = http.HttpResponse(_encode(reply), content_type=JSON)
    response["RateLimit"] = quota
    return response
