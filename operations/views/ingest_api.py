"""`POST /v1/operations`: the door through which runtimes tell what their tools did."""

from __future__ import annotations

import msgspec
from django import http
from django.conf import settings
from django.db import connection
from django.utils import timezone

from operations import access, bodies, decoding, ingest, parameters, ratelimits, replies

JSON, NDJSON = "application/json", "application/x-ndjson"

_encode = msgspec.json.Encoder().encode


def tell(request: http.HttpRequest) -> http.HttpResponse:
    """Store the records in the body; the answer comes after the commit and says what became of them.

    200 when all were stored, 207 when some were refused, 400 when all were.
    """
    credential = access.credential_for(request, scope="ingest", is_rechecked=True)
    quota = ratelimits.admit(credential, "ingest")
    with ratelimits.at_once(credential), access.refusing_dead(credential):
        told = parameters.read(request, "dry_run", "results")
        is_dry_run = parameters.flag(told, "dry_run")
        with_results = parameters.flag(told, "results")
        entries = _entries(request)
        # Charged before storing: what was sent cost us the reading, whatever comes of it.
        ratelimits.charge(credential, "ingest", len(entries) - 1)
        found = ingest.ingest(
            credential=credential, entries=entries, now=timezone.now(), is_dry_run=is_dry_run
        )
    reply = replies.receipt(found, with_results=with_results, is_dry_run=is_dry_run)
    response = http.HttpResponse(_encode(reply), status=_status(reply), content_type=JSON)
    response["RateLimit"] = quota
    return response


def _entries(request: http.HttpRequest) -> list[decoding.Entry]:
    kind = bodies.media_type(request, accepted=(JSON, NDJSON))
    if bodies.may_take_long(request):
        release_connection()
    body = bodies.read(request)
    bodies.refuse_byte_order_mark(body)
    return decoding.decode(body, is_ndjson=kind == NDJSON)


def release_connection() -> None:
    """Give the database connection back while a body arrives, for a slow sender would keep it from others."""
    if settings.DATABASE_POOL and not connection.in_atomic_block:
        connection.close()


def _status(reply: replies.Receipt) -> int:
    if not reply.rejected:
        return 200
    return 207 if reply.accepted or reply.merged or reply.duplicate else 400
