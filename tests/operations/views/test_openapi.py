"""The description of the API holds, and what the API answers holds to it."""

from __future__ import annotations

import datetime
import json
import re
from typing import Any

import jsonschema
import msgspec
import openapi_spec_validator
import pytest
from django.test import Client
from django.utils import timezone

from operations import field_notes, refusals, schemas, urls, wire
from tests import make

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return json.loads(Client().get("/v1/openapi.json").content)


def holds(document: dict[str, Any], name: str, told: object) -> None:
    """Fail unless `told` is what the description calls `name`."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
    jsonschema.Draft202012Validator(schema).validate(told)


def record(**facts: Any) -> dict[str, Any]:
    started_at = timezone.now() - datetime.timedelta(minutes=1)
    return {"operation_id": "op-1", "tool": "refund", "started_at": started_at.isoformat(), **facts}


def test_the_document_is_openapi_3_1(document):
    assert document["openapi"] == "3.1.0"
    openapi_spec_validator.validate(document)


def test_every_answer_is_what_the_document_says(document):
    headers = make.bearer(make.key(scopes=["ingest", "read"]))
    told = record(
        status="done", code="Prose!", input={"value": {"password": "x"}}, legs=[{"name": "a", "ms": 1}]
    )
    client = Client(headers=headers)

    def post(body: object, query: str = "") -> Any:
        return client.post(f"/v1/operations{query}", json.dumps(body), content_type="application/json").json()

    holds(document, "Receipt", post([told, record(tool=7)], "?results=1"))
    holds(document, "Receipt", post([told], "?dry_run=1"))
    holds(document, "Problem", post(7))
    holds(document, "Page", client.get("/v1/operations").json())
    holds(document, "Detail", client.get("/v1/operations/op-1").json())
    holds(document, "Tally", client.get("/v1/tally?group_by=hour,tool,signal").json())
    holds(document, "WhoAmI", client.get("/v1/whoami").json())
    holds(document, "Problem", client.get("/v1/operations?q=x").json())


def test_the_document_knows_every_address_of_the_api(document):

    undescribed = {"openapi.json", "docs", "metrics"}
    ours = {str(route.pattern).replace("<path:operation_id>", "{operation_id}") for route in urls.api_urls}

    assert {f"/v1/{path}" for path in ours - undescribed} | {"/v1/tally"} == set(document["paths"])


def test_the_schema_of_the_record_stands_alone_and_is_sound():
    response = Client().get("/v1/schema/operation.json")
    schema = response.json()

    assert response["Content-Type"] == "application/schema+json"
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(record(colour="red", error={"text": "x", "mood": 1}))


GOOD = [
    {"operation_id": "a/b:c=d+e-f_g.h"},
    {"session_id": "s", "tool_call_id": "c"},
    {"session_id": "s", "tool": "t", "started_at": "2026-01-01T00:00:00Z"},
    {"operation_id": "a", "attempt": 1000, "legs": [], "timeout_ms": 1.5, "verified": None},
    {"operation_id": "a", "input": {"value": [{"any": None}], "digest": "ab" * 32}},
    {"operation_id": "a", "attributes": {"k": "v", "n": 1, "b": True, "none": None}},
    {
        "operation_id": "a",
        "contract": {"kind": "unknown_tool", "issues": [{"path": "/a", "keyword": "type"}]},
    },
]
BAD = [
    {"operation_id": ""},
    {"operation_id": "with space"},
    {"operation_id": "x" * 129},
    {"operation_id": "a", "attempt": 0},
    {"operation_id": "a", "attempt": 1001},
    {"operation_id": "a", "tool": ""},
    {"operation_id": "a", "tool": "x" * 129},
    {"operation_id": "a", "status": "fine"},
    {"operation_id": "a", "legs": [{"name": "x", "ms": 1}] * 9},
    {"operation_id": "a", "legs": [{"name": "x"}]},
    {"operation_id": "a", "contract": {"kind": "other"}},
    {"operation_id": "a", "trace_id": "xyz"},
    {"operation_id": "a", "attributes": {"k": []}},
    {"operation_id": "a", "attributes": {str(n): n for n in range(17)}},
    {"operation_id": "a", "timeout_ms": -1},
]


@pytest.mark.parametrize("told", GOOD, ids=str)
def test_schema_and_decoder_agree_on_what_is_good(told):
    jsonschema.validate(told, schemas.record_schema())
    msgspec.json.decode(json.dumps(told), type=wire.Operation)


@pytest.mark.parametrize("told", BAD, ids=str)
def test_schema_and_decoder_agree_on_what_is_bad(told):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(told, schemas.record_schema())
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(json.dumps(told), type=wire.Operation)


def test_every_field_says_what_it_means_and_no_note_is_left_over():
    assert set(field_notes.RECORD) == {field.name for field in msgspec.structs.fields(wire.Operation)}
    parts = {
        wire.Error,
        wire.Contract,
        wire.ContractIssue,
        wire.Conflict,
        wire.Leg,
        wire.Answer,
        wire.ManifestSeen,
    }
    for part in {*parts, wire.Payload, wire.Input}:
        notes = field_notes.PARTS[part.__name__]
        assert set(notes) == {field.name for field in msgspec.structs.fields(part)}, part


def test_the_page_shows_every_address_field_and_refusal():
    response = Client().get("/v1/docs")
    shown = response.content.decode()

    assert response.status_code == 200
    for path in ("/v1/operations", "/v1/tally", "/v1/whoami", "/v1/traces"):
        assert path in shown
    for field in field_notes.RECORD:
        assert f">{field}<" in shown
    for refusal in (*refusals.RECORD_REFUSALS, *refusals.REQUEST_REFUSALS):
        assert f'id="{refusal.reason}"' in shown


def test_no_id_on_the_page_stands_twice():
    found = re.findall(r'\bid="([^"]+)"', Client().get("/v1/docs").content.decode())

    assert len(found) == len(set(found))


def test_a_signed_in_person_reads_the_same_page():
    assert make.browser(make.bob()).get("/v1/docs").status_code == 200
