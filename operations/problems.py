"""Answer refusals as RFC 9457 problems, and guard every door of the API.

A door never lets an exception out: what was refused by name is told by name, a database that cannot answer is
a 503 that may be retried, and anything else is logged by its class and place alone, because messages of
exceptions can carry values.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Collection
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec
import structlog
from django import http
from django.contrib.auth import decorators as auth
from django.core import exceptions
from django.db import utils as db
from django.views.decorators import csrf
from psycopg import errors as pg

from operations import rejections

Rest = ParamSpec("Rest")
Marked = TypeVar("Marked", bound=Callable[..., Any])
View = Callable[Concatenate[http.HttpRequest, Rest], http.HttpResponseBase]

CONTENT_TYPE = "application/problem+json"
#: When to come back after a 503: PostgreSQL restarts faster than this, and a full disk takes longer anyway.
RETRY_AFTER_S = 5

log = structlog.get_logger("opsconsole.api")


class Problem(msgspec.Struct, omit_defaults=True, kw_only=True):
    """Why a whole request was refused (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    reason: str
    pointer: str | None = None
    suggestion: str | None = None


_encode = msgspec.json.Encoder().encode


def answer(refusal: rejections.Rejection) -> http.HttpResponse:
    """Return the problem that tells `refusal`, with the headers its status asks for."""
    status = refusal.http_status
    problem = Problem(
        type=f"/v1/docs#{refusal.reason}",
        title=refusal.sentence(),
        status=status,
        detail=refusal.detail,
        reason=refusal.reason,
        pointer=refusal.pointer or None,
        suggestion=(refusal.suggestion or None) if isinstance(refusal, rejections.BadFilter) else None,
    )
    response = http.HttpResponse(_encode(problem), status=status, content_type=CONTENT_TYPE)
    if status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="opsconsole"'
    if isinstance(refusal, rejections.TooManyRequests):
        response["Retry-After"] = str(refusal.retry_after_s)
        if refusal.quota:
            response["RateLimit"] = refusal.quota
    elif status == 503:
        response["Retry-After"] = str(RETRY_AFTER_S)
    return response


def door(*methods: str) -> Callable[[View[Rest]], View[Rest]]:
    """Make a view a door of the API: these methods only, no cookies, and every refusal told as a problem."""

    def decorate(view: View[Rest]) -> View[Rest]:
        @functools.wraps(view)
        def guarded(
            request: http.HttpRequest, /, *args: Rest.args, **kwargs: Rest.kwargs
        ) -> http.HttpResponseBase:
            try:
                refuse_method(request, allowed=methods)
                return view(request, *args, **kwargs)
            except Exception as error:
                refusal = refusal_of(error)
            response = answer(refusal)
            if refusal.http_status == 405:
                response["Allow"] = ", ".join(methods)
            return response

        return mark_door(guarded)

    return decorate


def mark_door(guarded: Marked) -> Marked:
    """Mark a view that takes no cookies and answers every refusal itself: `middleware` calls it at once."""
    guarded.is_door = True  # type: ignore[attr-defined]
    return auth.login_not_required(csrf.csrf_exempt(guarded))


def refuse_method(request: http.HttpRequest, *, allowed: Collection[str]) -> None:
    """Refuse a method that is not `allowed`; where GET is, HEAD is."""
    if request.method not in allowed and not (request.method == "HEAD" and "GET" in allowed):
        raise rejections.MethodNotAllowed


def refusal_of(error: Exception) -> rejections.Rejection:
    """Return the refusal that `error` means to a client; what nobody foresaw is logged, and is a fault."""
    if isinstance(error, rejections.Rejection):
        return error
    if isinstance(error, exceptions.SuspiciousOperation):
        return rejections.BadParameter()
    if is_store_away(error):
        log.warning("store_unavailable", error=_name(error))
        return rejections.StoreUnavailable()
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    places = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
    log.error("internal_fault", error=_name(error), at=places)
    return rejections.InternalFault()


def is_store_away(error: BaseException) -> bool:
    """Tell whether `error` means that the database is away, full, read-only or too slow: try again."""
    if isinstance(error, (db.OperationalError, db.InterfaceError, pg.OperationalError, pg.InterfaceError)):
        return True
    cause = error.__cause__ if isinstance(error, db.DatabaseError) else error
    return isinstance(cause, (pg.OperationalError, pg.ReadOnlySqlTransaction))


def _name(error: BaseException) -> str:
    """Return the class of `error` and of what it stands for: never a message, which can carry values."""
    cause = error.__cause__
    return type(error).__name__ + (f" from {type(cause).__name__}" if cause is not None else "")
