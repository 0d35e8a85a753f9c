"""Facts for programs: the list, one operation, and the counts."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from operations import cursors, find, keys, ratelimits
from tests import make, sending

pytestmark = pytest.mark.django_db

START = timezone.now().replace(microsecond=0) - datetime.timedelta(hours=1)


@pytest.fixture(autouse=True)
def full_buckets():
    """No test pays for what another one asked."""
    ratelimits.forget()


@pytest.fixture
def reader() -> keys.Issued:
    """A key of Acme that may read."""
    return make.key(scopes=["read"])


def at(seconds: float) -> str:
    return (START + datetime.timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def call(operation_id: str, seconds: float = 0, **facts: Any) -> dict[str, Any]:
    """A call that succeeded after two seconds."""
    told = {
        "operation_id": operation_id,
        "tool": "refund",
        "started_at": at(seconds),
        "ended_at": at(seconds + 2),
        "status": "done",
        "outcome": "success",
        **facts,
    }
    return {name: value for name, value in told.items() if value is not None}


def send(*records: dict[str, Any], to: Any = None) -> None:
    results = sending.send(*records, now=timezone.now(), to=to)
    assert set(results) <= {"accepted", "merged", "duplicate"}


def get(path: str, by: keys.Issued, **query: Any) -> Any:
    query = {name.rstrip("_"): value for name, value in query.items()}
    return Client().get(f"/v1/{path}", query, headers=make.bearer(by))


def reason(response: Any) -> str:
    assert response["Content-Type"] == "application/problem+json", response.content
    return response.json()["reason"]


def ids(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    return [told["operation_id"] for told in response.json()["operations"]]


def test_the_list_is_newest_first_and_pages_to_its_end_without_a_gap(reader):
    send(*(call(f"op-{number}", number) for number in range(7)))
    pages, cursor = [], None
    while True:
        page = get("operations", reader, limit=3, **({"cursor": cursor} if cursor else {}))
        pages.append(ids(page))
        cursor = page.json()["next"]
        if cursor is None:
            break

    assert pages == [["op-6", "op-5", "op-4"], ["op-3", "op-2", "op-1"], ["op-0"]]


def test_a_full_last_page_has_no_next(reader):
    send(call("op-1"), call("op-2", 1))

    assert get("operations", reader, limit=2).json()["next"] is None


def test_an_empty_project_has_an_empty_list(reader):
    assert get("operations", reader).json() == {"operations": [], "next": None}


def test_the_list_is_held_to_its_filter_and_range(reader):
    send(call("op-1", 0), call("op-2", 10, tool="search"), call("op-3", 20))

    assert ids(get("operations", reader, q="tool:refund")) == ["op-3", "op-1"]
    assert ids(get("operations", reader, from_=at(10))) == ["op-3", "op-2"]
    assert ids(get("operations", reader, to=at(10))) == ["op-1"]
    nanoseconds = str(int(START.timestamp()) * 10**9)
    assert ids(get("operations", reader, from_=nanoseconds, to=at(1))) == ["op-1"]


def test_what_lies_a_little_ahead_of_our_clock_is_listed(reader):
    ahead = (timezone.now() + datetime.timedelta(hours=3)).isoformat()
    send(call("op-1", started_at=ahead, ended_at=None, status="running", outcome=None))

    told = get("operations", reader).json()["operations"]

    assert [(one["operation_id"], one["marks"]) for one in told] == [("op-1", ["clock_ahead"])]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ({"q": "tol:refund"}, "bad_filter"),
        ({"q": "refund"}, "bad_filter"),
        ({"q": "tool:\0"}, "bad_parameter"),
        ({"limit": "0"}, "bad_parameter"),
        ({"limit": "501"}, "bad_parameter"),
        ({"limit": "-1"}, "bad_parameter"),
        ({"limit": "ten"}, "bad_parameter"),
        ({"limit": "٣"}, "bad_parameter"),
        ({"from_": "yesterday"}, "bad_parameter"),
        ({"from_": "2026-01-01T00:00:00"}, "bad_parameter"),
        ({"from_": "-1"}, "bad_parameter"),
        ({"to": "9999999999999999999"}, None),
        ({"from_": "2026-11-30T10:00:10Z", "to": "2026-11-30T10:00:00Z"}, "bad_parameter"),
        ({"cursor": "nonsense"}, "bad_cursor"),
        ({"cursor": "x" * 5000}, "bad_cursor"),
        ({"page": "2"}, "unknown_parameter"),
        ({"limit": ["1", "2"]}, "bad_parameter"),
    ],
    ids=str,
)
def test_a_parameter_that_is_nonsense_is_refused_by_name(query, name, reader):
    response = get("operations", reader, **query)

    if name is None:
        assert response.status_code == 200
    else:
        assert (response.status_code, reason(response)) == (422, name)


def test_a_misspelt_field_says_which_one_was_probably_meant(reader):
    assert get("operations", reader, q="tol:refund").json()["suggestion"] == "tool:refund"


def test_a_cursor_leads_nobody_into_another_project(reader):
    place = find.Cursor(1, "op-1", 1)
    foreign = cursors.write(place, project_id=make.globex().pk)

    assert reason(get("operations", reader, cursor=foreign)) == "bad_cursor"
    assert cursors.read(foreign, project_id=make.globex().pk) == place


def test_a_cursor_that_was_changed_is_refused(reader):
    send(call("op-1"), call("op-2", 1))
    cursor = get("operations", reader, limit=1).json()["next"]

    assert reason(get("operations", reader, cursor=cursor[:-1] + "-")) == "bad_cursor"


def test_one_project_never_reads_another(reader):
    send(call("theirs"), to=make.globex())

    assert ids(get("operations", reader)) == []
    missing, theirs = (get(f"operations/{name}", reader) for name in ("nothing", "theirs"))
    assert (missing.status_code, missing.content) == (theirs.status_code, theirs.content)
    assert reason(theirs) == "no_such_operation"


def test_everything_that_was_told_is_read_again_under_the_same_name(reader):
    told = call(
        "run/7:call=1+a",
        tool_version="1.2",
        effect="write",
        mode="interactive",
        environment="production",
        runtime="agent@3",
        instance="worker-1",
        source="server",
        provider="anthropic",
        model="opus",
        tool_call_id="toolu_1",
        session_id="s-1",
        turn_id="t-1",
        iteration=2,
        parent_id="op-0",
        trace_id="ab" * 16,
        span_id="cd" * 8,
        timeout_ms=5000,
        legs=[{"name": "network", "ms": 12.5}],
        outcome="failure",
        code="stale_revision",
        error={"category": "conflict", "retryable": True, "safe_for_model": False, "text": "moved on"},
        conflict={"resource": "order/7", "expected_revision": "3", "actual_revision": "4"},
        idempotency_key="k-1",
        approval_id="a-1",
        input={"value": {"amount": 5, "password": "hunter2"}},
        output={"value": [1, 2]},
        manifest={"sequence": 4},
        verified=True,
        attributes={"team": "billing"},
    )
    send(told)

    got = get("operations/run/7:call=1+a", reader).json()

    same = set(told) - {"input", "output", "error", "manifest", "attributes"}
    assert {name: got[name] for name in same} == {name: told[name] for name in same}
    assert got["error"] == {
        "category": "conflict",
        "retryable": True,
        "safe_for_model": False,
        "told_model": None,
    }
    assert (got["attempt"], got["attempts"], got["duration_ms"], got["late_by_ms"]) == (1, [1], 2000.0, None)
    assert got["marks"] == ["structured_failure", "stale_revision"]
    assert got["manifest"] == {"sequence": 4, "digest": None}
    assert got["input"]["bytes"] > 0
    assert len(got["input"]["digest"]) == 32
    words = got["excerpts"]
    assert sorted(words) == ["attributes", "error", "input", "output"]
    assert words["output"] == {"content": [1, 2], "truncated": False, "remarks": [], "rules_version": 1} | {
        "rules_version": words["output"]["rules_version"]
    }
    assert words["error"]["content"] == {"text": "moved on"}
    assert words["attributes"]["content"] == {"team": "billing"}
    assert words["input"]["content"]["amount"] == 5
    assert "hunter2" not in str(got)
    assert [remark["path"] for remark in words["input"]["remarks"]] == ["/password"]


def test_a_late_answer_is_read_beside_the_verdict(reader):
    send(
        call("op-1", status="timed_out", outcome=None, effect="write", error={"text": "gave up"}),
        call(
            "op-1", status=None, outcome=None, ended_at=None, answered_at=at(5), answer={"outcome": "success"}
        ),
    )

    got = get("operations/op-1", reader).json()

    assert (got["status"], got["outcome"], got["answered_at"], got["late_by_ms"]) == (
        "timed_out",
        None,
        at(5),
        3000.0,
    )
    assert got["answer"] == {"status": "done", "outcome": "success", "code": None, "error": None}
    assert got["marks"] == ["timed_out", "late_answer", "phantom_failure"]
    assert got["excerpts"]["error"]["content"] == {"text": "gave up"}


def test_the_highest_attempt_is_read_unless_another_is_asked_for(reader):
    send(*(call("op-1", number, attempt=number) for number in (2, 1, 3)))

    assert get("operations/op-1", reader).json()["attempt"] == 3
    assert get("operations/op-1", reader).json()["attempts"] == [1, 2, 3]
    assert get("operations/op-1", reader, attempt=2).json()["attempt"] == 2
    assert reason(get("operations/op-1", reader, attempt=4)) == "no_such_operation"
    assert reason(get("operations/op-1", reader, attempt="all")) == "bad_parameter"
    assert reason(get("operations/op-1", reader, atempt=1)) == "unknown_parameter"


@pytest.mark.parametrize("odd", ["%00", "a%20b", "%F0%9F%92%A5", "x" * 129])
def test_an_id_that_nothing_can_have_is_missing_like_any_other(odd, reader):
    response = get(f"operations/{odd}", reader)

    assert (response.status_code, reason(response)) == (404, "no_such_operation")


def test_a_key_that_may_only_send_reads_nothing():
    sender = make.key(scopes=["ingest"])
    refused = [get(path, sender) for path in ("operations", "operations/op-1", "tally")]

    assert [(response.status_code, reason(response)) for response in refused] == [(403, "scope_missing")] * 3


def test_a_signed_in_person_reads_no_api_with_a_cookie():
    assert make.browser(make.alice()).get("/v1/operations").status_code == 401


def test_what_is_nowhere_is_a_problem_too():
    assert reason(Client().get("/v1/nothing/here")) == "no_such_address"


def test_a_reader_in_a_hurry_is_told_when_to_come_back(reader, settings):
    settings.RATES = {"read": (0.1, 0.1)}
    settings.RATE_BURST_SECONDS = 20

    answers = [get("operations", reader).status_code for _ in range(3)]

    assert answers == [200, 200, 429]
