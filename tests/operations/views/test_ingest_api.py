"""The door through which runtimes tell what their tools did."""

from __future__ import annotations

import datetime
import gzip
import io
import json
from typing import Any

import psycopg
import pytest
import zstandard
from django.db import OperationalError, connection
from django.test import Client
from django.test import utils as test_utils
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from operations import access, field_notes, ingest, keys, limits, ratelimits, rejections
from operations.models import projects
from tests import make

pytestmark = pytest.mark.django_db

COUNTS = {"accepted": 0, "merged": 0, "duplicate": 0, "rejected": 0, "unknown_fields": {}}
NDJSON = "application/x-ndjson"


@pytest.fixture(autouse=True)
def full_buckets():
    """No test pays for what another one sent."""
    ratelimits.forget()


def record(operation_id: str = "op-1", **facts: Any) -> dict[str, Any]:
    """A finished call of a minute ago."""
    started_at = timezone.now().replace(second=0, microsecond=0) - datetime.timedelta(minutes=1)
    return {
        "operation_id": operation_id,
        "tool": "refund",
        "started_at": started_at.isoformat(),
        "ended_at": (started_at + datetime.timedelta(seconds=1)).isoformat(),
        "status": "done",
        "outcome": "success",
        **facts,
    }


def post(body: object, *, by: keys.Issued | None = None, query: str = "", **more: Any) -> Any:
    """Post to the door, as JSON unless `body` is bytes."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {**make.bearer(by or make.key()), **more.pop("headers", {})}
    content_type = more.pop("content_type", "application/json")
    return Client().post(f"/v1/operations{query}", sent, content_type=content_type, headers=headers, **more)


def stored() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT operation_id FROM operation ORDER BY operation_id")
        return [row[0] for row in cursor.fetchall()]


def reason(response: Any) -> str:
    assert response["Content-Type"] == "application/problem+json"
    return response.json()["reason"]


def test_a_batch_is_stored_and_counted():
    response = post([record("op-1"), record("op-2")])

    assert (response.status_code, response.json()) == (200, {**COUNTS, "accepted": 2})
    assert stored() == ["op-1", "op-2"]


def test_one_record_needs_no_array():
    assert post(record()).json() == {**COUNTS, "accepted": 1}


def test_an_empty_batch_is_fine():
    assert [post([]).json(), post(b"\n", content_type=NDJSON).json()] == [COUNTS, COUNTS]


def test_a_batch_sent_twice_is_told_as_duplicate():
    post([record("op-1"), record("op-2")])

    response = post([record("op-1"), record("op-2")])

    assert (response.status_code, response.json()) == (200, {**COUNTS, "duplicate": 2})


def test_results_are_told_on_request():
    running = {
        name: told for name, told in record().items() if name in {"operation_id", "tool", "started_at"}
    }
    post([running])

    response = post([record("op-1"), record("op-1"), record("op-2", attempt=3)], query="?results=1")

    assert response.status_code == 200
    assert response.json()["results"] == [
        {"index": 0, "operation_id": "op-1", "attempt": 1, "result": "merged"},
        {"index": 1, "operation_id": "op-1", "attempt": 1, "result": "duplicate"},
        {"index": 2, "operation_id": "op-2", "attempt": 3, "result": "accepted"},
    ]


def test_some_refused_is_a_207_that_names_each_and_stores_the_rest():
    response = post([record("op-1"), {"operation_id": "op-2", "tool": 7}, {"tool": "x"}])

    assert response.status_code == 207
    told = response.json()
    assert (told["accepted"], told["rejected"]) == (1, 2)
    assert [
        (one["index"], one["result"], one.get("reason"), one.get("pointer")) for one in told["results"]
    ] == [
        (0, "accepted", None, None),
        (1, "rejected", "wrong_type", "/tool"),
        (2, "rejected", "identity_missing", "/operation_id"),
    ]
    assert told["results"][1]["operation_id"] == "op-2"
    assert stored() == ["op-1"]


def test_all_refused_is_a_400_with_the_same_results():
    response = post([{"tool": "x"}])

    assert (response.status_code, response["Content-Type"]) == (400, "application/json")
    assert response.json()["results"][0]["reason"] == "identity_missing"


def test_unknown_fields_are_left_out_and_counted():
    response = post([record("op-1", colour="red"), record("op-2", colour="blue", error={"mood": "bad"})])

    assert response.status_code == 200
    assert response.json()["unknown_fields"] == {"colour": 2, "error.mood": 1}


def test_a_dry_run_checks_and_stores_nothing():
    response = post([record(), {"tool": 7}], query="?dry_run=1")

    assert response.status_code == 207
    assert response.json()["dry_run"] is True
    assert stored() == []


def test_lines_are_records_and_a_cut_last_line_is_refused_alone():
    body = json.dumps(record("op-1")).encode() + b"\n" + json.dumps(record("op-2")).encode()[:-5]

    response = post(body, content_type=NDJSON)

    assert response.status_code == 207
    assert [one.get("reason") for one in response.json()["results"]] == [None, "truncated"]
    assert stored() == ["op-1"]


@pytest.mark.parametrize(
    ("encoding", "pack"), [("gzip", gzip.compress), ("zstd", zstandard.ZstdCompressor().compress)]
)
def test_packed_bodies_are_read(encoding, pack):
    response = post(pack(json.dumps([record()]).encode()), headers={"Content-Encoding": encoding})

    assert response.json() == {**COUNTS, "accepted": 1}


@pytest.mark.parametrize(
    ("told", "status", "name"),
    [
        ({"body": b"{"}, 400, None),
        ({"body": b"nonsense"}, 400, "body_not_json"),
        ({"body": b"[1"}, 400, "body_not_json"),
        ({"body": b"\xff\xff"}, 400, "not_utf8"),
        ({"body": b"\xef\xbb\xbf[]"}, 400, "byte_order_mark"),
        ({"body": b"[]", "content_type": "text/plain"}, 415, "unsupported_media_type"),
        ({"body": b"[]", "content_type": "application/json; charset=latin-1"}, 415, "unsupported_media_type"),
        ({"body": b"[]", "headers": {"Content-Encoding": "br"}}, 415, "unsupported_encoding"),
        ({"body": b"[]", "headers": {"Content-Encoding": "gzip"}}, 400, "body_damaged"),
        ({"body": b"[]", "query": "?dryrun=1"}, 422, "unknown_parameter"),
        ({"body": b"[]", "query": "?dry_run=perhaps"}, 422, "bad_parameter"),
        ({"body": b"[]", "query": "?dry_run=1&dry_run=0"}, 422, "bad_parameter"),
        ({"body": b"[" * 100_000}, 400, None),
        ({"body": b'[{"operation_id":' * 5_000}, 400, None),
        ({"body": b" " * (limits.REQUEST_BYTES_MAX + 1)}, 413, "body_too_large"),
        ({"body": b"[" + b"{}," * limits.RECORDS_MAX + b"{}]"}, 413, "too_many_records"),
        ({"body": b"{}\n" * (limits.RECORDS_MAX + 1), "content_type": NDJSON}, 413, "too_many_records"),
    ],
)
def test_what_cannot_be_read_is_refused_whole_and_by_name(told, status, name):
    response = post(told.pop("body"), **told)

    assert response.status_code == status
    if name:
        assert reason(response) == name
    assert stored() == []


def test_a_body_cut_short_stores_nothing():
    body = json.dumps(record()).encode() + b"\n" + json.dumps(record("op-2")).encode()

    response = post(
        body,
        content_type=NDJSON,
        **{"CONTENT_LENGTH": str(len(body) + 10), "wsgi.input": io.BytesIO(body)},
    )

    assert (response.status_code, reason(response)) == (400, "body_damaged")
    assert stored() == []


def test_no_key_a_wrong_key_and_a_key_that_may_only_read_are_refused():
    reader = make.key(scopes=["read"])
    revoked = make.key()
    keys.revoke(revoked.key)
    responses = [
        Client().post("/v1/operations", b"[]", content_type="application/json"),
        post([], headers={"Authorization": "Bearer ops_aaaaaaaaaaaa_" + "x" * 43}),
        post([], headers={"Authorization": "Bearer nonsense"}),
        post([], by=revoked),
        post([], by=reader),
    ]

    assert [(response.status_code, reason(response)) for response in responses] == [
        (401, "missing_credential"),
        (401, "unknown_key"),
        (401, "unknown_key"),
        (401, "key_revoked"),
        (403, "scope_missing"),
    ]
    assert responses[0]["WWW-Authenticate"] == 'Bearer realm="opsconsole"'


def test_a_signed_in_person_without_a_key_is_nobody_here():
    browser = make.browser(make.alice())

    with test_utils.CaptureQueriesContext(connection) as asked:
        response = browser.post("/v1/operations", b"[]", content_type="application/json")

    assert response.status_code == 401
    assert not response.cookies
    assert "Vary" not in response
    assert asked.captured_queries == []


def test_a_key_in_the_address_is_not_read():
    response = Client().post(f"/v1/operations?key={make.key().token}", b"[]", content_type="application/json")

    assert response.status_code == 401


def test_other_methods_are_refused():
    response = Client().delete("/v1/operations", headers=make.bearer(make.key()))

    assert (response.status_code, response["Allow"]) == (405, "GET, POST")


@pytest.mark.parametrize(
    "missing", [("environment", "production"), ("runtime", "agent"), ("tool_prefix", "billing_")]
)
def test_a_key_bound_to_one_thing_refuses_another_by_name(missing):
    name, value = missing
    told = record(environment="staging", runtime="other@1")

    response = post([told], by=make.key(**{name: value}))

    assert response.json()["results"][0]["reason"] in {
        "environment_not_allowed",
        "runtime_not_allowed",
        "tool_not_allowed",
    }


def test_a_flood_is_told_when_to_come_back_and_starves_no_other_project(settings):
    settings.RATES = {"ingest": (0.01, 0.01)}
    settings.RATE_BURST_SECONDS = 300
    by, other = make.key(), make.key(make.globex())
    first = post([record(f"op-{n}") for n in range(5)], by=by)

    refused, unharmed = post([record()], by=by), post([record()], by=other)

    assert (first.status_code, refused.status_code, unharmed.status_code) == (200, 429, 200)
    assert reason(refused) == "too_many_requests"
    assert 200 <= int(refused["Retry-After"]) <= 300
    assert refused["RateLimit"].startswith('"key";r=0;t=')


def test_the_answer_tells_what_is_left_of_the_rate():
    assert post([])["RateLimit"] == '"key";r=199999;t=1, "project";r=399999;t=1'


def test_a_project_that_holds_every_place_is_told_to_come_back(settings):
    settings.REQUESTS_AT_ONCE = 1
    by = make.key()
    credential = access.credential_by(by.token, scope="ingest")

    with ratelimits.at_once(credential):
        response = post([record()], by=by)

    assert (response.status_code, reason(response), response["Retry-After"]) == (429, "too_many_at_once", "1")
    assert post([record()], by=by).status_code == 200


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("away"),
        psycopg.errors.DiskFull("full"),
        psycopg.errors.ReadOnlySqlTransaction("standby"),
    ],
)
def test_a_database_that_is_away_or_full_is_a_503_to_be_tried_again(error, monkeypatch):
    def fail(**given: Any) -> None:
        raise error

    monkeypatch.setattr(ingest, "ingest", fail)

    response = post([record()])

    assert (response.status_code, reason(response), response["Retry-After"]) == (
        503,
        "store_unavailable",
        "5",
    )


def test_a_key_revoked_while_its_batch_is_on_the_way_stores_nothing(monkeypatch):
    by = make.key()
    really = ingest.ingest

    def meanwhile(**given: Any) -> ingest.Receipt:
        projects.IngestKey.objects.filter(pk=by.key.pk).update(revoked_at=timezone.now())
        return really(**given)

    monkeypatch.setattr(ingest, "ingest", meanwhile)

    response = post([record()], by=by)

    assert (response.status_code, reason(response)) == (401, "key_revoked")
    assert stored() == []


@pytest.mark.parametrize(
    ("body", "query"),
    [([], ""), ([{"operation_id": 7}], ""), ([{"operation_id": "a"}], "?dry_run=1"), (None, "")],
)
def test_a_key_that_was_good_a_moment_ago_is_refused_once_it_is_revoked(body, query):
    by = make.key()
    assert post([record("before")], by=by).status_code == 200
    keys.revoke(by.key)

    response = post([record("after")] if body is None else body, by=by, query=query)

    assert (response.status_code, reason(response)) == (401, "key_revoked")
    assert stored() == ["before"]


def test_a_large_batch_that_was_rolled_back_does_not_hinder_the_next_one(monkeypatch):
    batch = [record(f"op-{number}") for number in range(50)]
    monkeypatch.setattr(access, "recheck", refuse_as_revoked)
    assert post(batch).status_code == 401
    monkeypatch.undo()

    assert post(batch).json() == {**COUNTS, "accepted": 50}


def refuse_as_revoked(*given: Any) -> None:
    raise rejections.KeyRevoked


def test_refusals_never_repeat_a_value():
    secret = "sk-ant-nobody-may-read-this-anywhere"
    response = post(
        [
            {"operation_id": secret + " ", "tool": {secret: secret}},
            record(status=secret),
            record(started_at=secret),
            record(attempt=secret),
            record(input={"digest": secret}),
            record(attributes={secret: [secret]}),
        ]
    )

    assert response.status_code == 400
    assert secret not in response.content.decode()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(sorted(field_notes.RECORD))
RECORDISH = st.dictionaries(FIELDS, JSON, max_size=6)
TOLD = st.builds(lambda facts: {**record(), **facts}, RECORDISH)


@hypothesis_settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(body=st.one_of(JSON, st.lists(st.one_of(JSON, RECORDISH, TOLD), max_size=4)), by_line=st.booleans())
def test_no_json_at_all_is_a_500(db, body, by_line):
    lines = body if isinstance(body, list) else [body]
    sent = json.dumps(body) if not by_line else "".join(f"{json.dumps(line)}\n" for line in lines) or "\n"

    response = post(sent.encode(), content_type=NDJSON if by_line else "application/json")

    assert response.status_code in {200, 207, 400, 413}, response.content


@hypothesis_settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(body=st.binary(max_size=200), encoding=st.sampled_from(["", "gzip", "zstd"]))
def test_no_bytes_at_all_are_a_500(db, body, encoding):
    response = post(body, headers={"Content-Encoding": encoding} if encoding else {})

    assert response.status_code in {200, 207, 400, 413, 415}, response.content
