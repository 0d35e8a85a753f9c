"""The doors for OpenTelemetry exporters: what they send is stored, and answered by their contract."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from google.rpc import status_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

from operations import keys, limits, ratelimits, rejections
from tests import make
from tests.operations.otlp import sample

pytestmark = pytest.mark.django_db

PROTOBUF, JSON = "application/x-protobuf", "application/json"


def post(
    body: bytes, *, kind: str = PROTOBUF, by: keys.Issued | None = None, path: str = "/v1/traces", **more: Any
) -> Any:
    headers = {**make.bearer(by or make.key()), **more.pop("headers", {})}
    # Django's client names no type for an empty body.
    return Client().post(path, body, content_type=kind, headers=headers, CONTENT_TYPE=kind, **more)


def stored() -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tool, status, outcome, code, tool_call_id FROM operation ORDER BY tool, span_id"
        )
        return cursor.fetchall()


def partial(response: Any) -> tuple[int, str]:
    told = trace_service_pb2.ExportTraceServiceResponse.FromString(response.content).partial_success
    return told.rejected_spans, told.error_message


def message(response: Any) -> str:
    return status_pb2.Status.FromString(response.content).message


def test_a_tool_call_sent_as_protobuf_is_stored_and_answered_with_nothing() -> None:
    response = post(sample.body(sample.tool_span("get_weather", gen_ai__tool__call__id="call_1")))

    assert (response.status_code, response["Content-Type"], response.content) == (200, PROTOBUF, b"")
    assert stored() == [("get_weather", "done", "success", None, "call_1")]


def test_a_tool_call_sent_as_json_is_stored_and_answered_with_an_empty_object() -> None:
    response = post(sample.json_body(sample.tool_span("get_weather")), kind="application/json; charset=utf-8")

    assert (response.status_code, response["Content-Type"], response.content) == (200, JSON, b"{}")
    assert stored() == [("get_weather", "done", "success", None, None)]


def test_a_request_sent_again_in_either_type_changes_nothing() -> None:
    span = sample.tool_span("refund", status=sample.ERROR, events=[sample.exception("RuntimeError", "no")])

    answers = [
        post(sample.body(span)),
        post(sample.body(span)),
        post(sample.json_body(span), kind=JSON),
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert stored() == [("refund", "runtime_error", None, "runtime_error", None)]


def test_a_gzipped_body_is_read() -> None:
    response = post(gzip.compress(sample.body(sample.tool_span())), headers={"Content-Encoding": "gzip"})

    assert response.status_code == 200
    assert len(stored()) == 1


@pytest.mark.parametrize(("body", "kind"), [(b"", PROTOBUF), (b"{}", JSON), (b'{"resourceSpans":[]}', JSON)])
def test_an_empty_request_is_fine(body: bytes, kind: str) -> None:
    assert post(body, kind=kind).status_code == 200


def test_spans_that_are_no_tool_calls_are_let_pass() -> None:
    chat = sample.span("chat gpt", gen_ai__operation__name="chat")

    response = post(sample.body(chat))

    assert (response.status_code, partial(response)) == (200, (0, ""))
    assert stored() == []


def test_a_refused_span_is_told_as_a_partial_success_and_the_others_are_stored() -> None:
    old = sample.tool_span("old", "0000000000000001", start_ns=10**18)
    nameless = sample.tool_span("nameless", "0000000000000000")

    response = post(sample.body(old, nameless, sample.tool_span("new", "0000000000000002")))

    assert response.status_code == 200
    assert partial(response) == (2, "Refused: older_than_retention, span_without_ids.")
    assert [row[0] for row in stored()] == ["new"]


def test_a_partial_success_in_json_counts_in_text() -> None:
    response = post(sample.json_body(sample.tool_span("old", start_ns=10**18)), kind=JSON)

    assert json.loads(response.content) == {
        "partialSuccess": {"rejectedSpans": "1", "errorMessage": "Refused: older_than_retention."}
    }


@pytest.mark.parametrize("body", [b"\xff\xff", b"not protobuf at all"])
def test_a_body_that_is_no_request_is_refused_for_good(body: bytes) -> None:
    response = post(body)

    assert (response.status_code, response["Content-Type"]) == (400, PROTOBUF)
    assert message(response).startswith("body_not_otlp: ")


@pytest.mark.parametrize("body", [b"[", b"[]", b'{"resourceSpans": 1}', b'"x"', b'{"a":' * 100_000, b"\xff"])
def test_json_that_is_no_request_is_refused_for_good(body: bytes) -> None:
    response = post(body, kind=JSON)

    assert (response.status_code, response["Content-Type"]) == (400, JSON)
    assert response.json()["message"].startswith("body_not_otlp: ")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-ndjson", "application/json; charset=latin-1"])
def test_other_media_types_are_refused(kind: str) -> None:
    response = post(b"{}", kind=kind)

    assert response.status_code == 415
    assert "application/x-protobuf" in response.json()["message"]


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip"])
def test_other_encodings_are_refused(encoding: str) -> None:
    assert post(b"", headers={"Content-Encoding": encoding}).status_code == 415


def test_a_body_that_unpacks_beyond_the_limit_is_refused_for_good() -> None:
    bomb = gzip.compress(bytes(limits.OTLP_BYTES_MAX + 1))

    response = post(bomb, headers={"Content-Encoding": "gzip"})

    assert (response.status_code, message(response).partition(":")[0]) == (413, "body_too_large")


def test_a_request_without_a_key_is_refused_with_a_status() -> None:
    response = Client().post("/v1/traces", b"-", content_type=PROTOBUF)

    assert response.status_code == 401
    assert message(response).startswith("missing_credential: ")
    assert response["WWW-Authenticate"]


def test_a_key_that_may_only_read_is_refused() -> None:
    assert post(b"", by=make.key(scopes=["read"])).status_code == 403


def test_only_post_is_answered() -> None:
    response = Client().get("/v1/traces", headers=make.bearer(make.key()))

    assert (response.status_code, response["Allow"]) == (405, "POST")


def test_a_sender_that_is_too_fast_is_told_when_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> str:
        raise rejections.TooManyRequests(retry_after_s=7)

    monkeypatch.setattr(ratelimits, "admit", refuse)

    response = post(sample.body(sample.tool_span()))

    assert (response.status_code, response["Retry-After"]) == (429, "7")
    assert message(response).startswith("too_many_requests: ")


def test_a_database_that_is_away_may_be_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise rejections.StoreUnavailable

    monkeypatch.setattr("operations.ingest.ingest", refuse)

    response = post(sample.body(sample.tool_span()))

    assert response.status_code == 503
    assert int(response["Retry-After"]) > 0


def test_a_body_that_came_too_slowly_may_be_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> bytes:
        raise rejections.BodyTooSlow

    monkeypatch.setattr("operations.bodies.read", refuse)

    response = post(sample.body(sample.tool_span()))

    assert response.status_code == 503
    assert int(response["Retry-After"]) > 0


@pytest.mark.parametrize(("kind", "answer"), [(PROTOBUF, b""), (JSON, b"{}")])
def test_metrics_are_accepted_and_not_kept(kind: str, answer: bytes) -> None:
    response = post(b"{}" if kind == JSON else b"", kind=kind, path="/v1/metrics")

    assert (response.status_code, response["Content-Type"], response.content) == (200, kind, answer)


def test_nothing_of_a_tenant_reaches_another() -> None:
    post(sample.body(sample.tool_span("get_weather")), by=make.key(make.globex()))
    post(sample.body(sample.tool_span("get_weather")), by=make.key(make.acme()))

    assert len(stored()) == 2


@pytest.mark.parametrize("body", [b"{}", b'{"resourceSpans": []}', b"not json"])
def test_a_key_that_was_good_a_moment_ago_is_refused_once_it_is_revoked(body: bytes) -> None:
    by = make.key()
    assert post(b"{}", by=by, kind=JSON).status_code == 200
    keys.revoke(by.key)

    response = post(body, by=by, kind=JSON)

    assert response.status_code == 401
    assert "key_revoked" in response.json()["message"]
