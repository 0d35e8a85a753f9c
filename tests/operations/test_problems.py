"""What a door of the API answers when something was refused, is away, or broke."""

from __future__ import annotations

import inspect
import json
from typing import Any

import psycopg
import pytest
from django import http
from django.core import exceptions
from django.db import DatabaseError, InterfaceError, OperationalError
from django.db.utils import DataError
from django.test import RequestFactory
from psycopg import errors as pg
from psycopg_pool import PoolTimeout

from operations import problems, refusals, rejections

SECRET = "sk-ant-a-value-that-nobody-may-read"


def ask(error: Exception | None, method: str = "GET") -> http.HttpResponseBase:
    """Ask a door that meets `error`."""

    @problems.door("GET", "POST")
    def view(request: http.HttpRequest) -> http.HttpResponse:
        if error is not None:
            raise error
        return http.HttpResponse("fine")

    return view(RequestFactory().generic(method, "/v1/door"))


def told(response: Any) -> dict[str, Any]:
    assert response["Content-Type"] == "application/problem+json"
    return json.loads(response.content)


def caused(outer: Exception, cause: Exception) -> Exception:
    outer.__cause__ = cause
    return outer


def test_a_refusal_is_a_problem_with_its_name_and_sentence():
    response = ask(rejections.BadParameter("limit is a whole number.", pointer="/limit"))

    assert response.status_code == 422
    assert told(response) == {
        "type": "/v1/docs#bad_parameter",
        "title": "A parameter of the query string is not understood.",
        "status": 422,
        "detail": "limit is a whole number.",
        "reason": "bad_parameter",
        "pointer": "/limit",
    }


def test_a_filter_that_is_not_understood_says_what_was_probably_meant():
    response = ask(rejections.BadFilter("There is no field tol.", suggestion="tool:refund"))

    assert told(response)["suggestion"] == "tool:refund"


def test_a_missing_key_is_told_how_to_send_one():
    response = ask(rejections.MissingCredential())

    assert response.status_code == 401
    assert response["WWW-Authenticate"] == 'Bearer realm="opsconsole"'


def test_too_fast_is_told_when_to_come_back():
    response = ask(rejections.TooManyRequests(retry_after_s=7, quota='"key";r=0;t=7'))

    assert (response.status_code, response["Retry-After"], response["RateLimit"]) == (
        429,
        "7",
        '"key";r=0;t=7',
    )


@pytest.mark.parametrize(
    "error",
    [
        OperationalError(SECRET),
        InterfaceError(SECRET),
        psycopg.OperationalError(SECRET),
        PoolTimeout(SECRET),
        pg.DiskFull(SECRET),
        pg.ReadOnlySqlTransaction(SECRET),
        pg.QueryCanceled(SECRET),
        pg.AdminShutdown(SECRET),
        caused(DatabaseError(SECRET), pg.ReadOnlySqlTransaction(SECRET)),
        caused(OperationalError(SECRET), pg.DiskFull(SECRET)),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_database_that_cannot_answer_is_a_503_to_be_tried_again(error):
    response = ask(error)

    assert response.status_code == 503
    assert response["Retry-After"] == "5"
    assert told(response)["reason"] == "store_unavailable"


@pytest.mark.parametrize("error", [ValueError(SECRET), DataError(SECRET), KeyError(SECRET)])
def test_a_fault_of_ours_shows_no_value_and_no_trace(error, caplog):
    response = ask(error)

    assert response.status_code == 500
    assert told(response)["detail"] == rejections.InternalFault.sentence()
    assert SECRET not in caplog.text + response.content.decode()
    assert type(error).__name__ in caplog.text


def test_a_query_string_that_django_finds_suspicious_is_refused():
    assert ask(exceptions.TooManyFieldsSent(SECRET)).status_code == 422


def test_a_method_that_is_not_answered_is_told_which_are():
    response = ask(None, "DELETE")

    assert (response.status_code, response["Allow"]) == (405, "GET, POST")


def test_head_is_answered_where_get_is():
    assert ask(None, "HEAD").status_code == 200


def test_every_refusal_that_the_api_gives_is_described():
    described = {*refusals.RECORD_REFUSALS, *refusals.REQUEST_REFUSALS}
    of_pages = {
        rejections.AddressTaken,
        rejections.AlreadyMember,
        rejections.InvitationGone,
        rejections.InvitedAsSomebodyElse,
        rejections.KeyBeingRotated,
        rejections.KeyNotLive,
        rejections.LastAdmin,
        rejections.TooManyExports,
    }
    of_canonical_values = {
        rejections.BrokenText,
        rejections.NumberNotExact,
        rejections.NumberNotFinite,
        rejections.ValueNotJson,
        rejections.ValueTooLarge,
    }
    every = {
        refusal
        for _, refusal in inspect.getmembers(rejections, inspect.isclass)
        if issubclass(refusal, rejections.Rejection) and refusal is not rejections.Rejection
    }

    assert every - described - of_pages - of_canonical_values == set()
