from __future__ import annotations

import datetime
import json

import pytest
from django.db import connection

from operations import access, decoding, excerpts, ingest
from tests import make

pytestmark = pytest.mark.django_db(transaction=True)

NOON = datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.UTC)


def send(*records: dict[str, object], now: datetime.datetime = NOON) -> list[str]:
    """Ingest records as one request of Acme's; returns the result or reason of each."""
    entries = decoding.decode(json.dumps(records).encode(), is_ndjson=False)
    receipt = ingest.ingest(credential=credential(), entries=entries, now=now)
    return [result.reason or result.result for result in receipt.results]


def credential() -> access.Credential:
    project = make.acme()
    issued = make.key(project)
    return access.Credential(
        project_id=project.pk,
        project_slug=project.slug,
        key_id=issued.key.pk,
        keyid=issued.key.keyid,
        scopes=frozenset({"ingest"}),
        environment=None,
        runtime=None,
        tool_prefix=None,
        digest_key=bytes(project.digest_key),
        retention_days=90,
        excerpt_days=14,
    )


def rows(columns: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns} FROM operation ORDER BY operation_id, attempt")
        return list(cursor.fetchall())


def tally(columns: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {columns}, sum(operations), sum(duration_us) FROM tally GROUP BY {columns} "
            f"HAVING sum(operations) <> 0 ORDER BY {columns}"
        )
        return list(cursor.fetchall())


def record(**told: object) -> dict[str, object]:
    return {"operation_id": "op-1", "tool": "refund", "started_at": "2026-11-30T11:59:00Z", **told}


def test_a_finished_call_is_stored_and_counted_once() -> None:
    told = record(ended_at="2026-11-30T11:59:01.5Z", status="done", outcome="failure", code="quota")

    assert send(told) == ["accepted"]
    assert send(told) == ["duplicate"]
    assert send(told, told) == ["duplicate", "duplicate"]

    assert rows("status, outcome, code, duration_us, marks") == [("done", "failure", "quota", 1_500_000, 4)]
    assert tally("tool, status, outcome, code") == [("refund", "done", "failure", "quota", 1, 1_500_000)]


def test_start_and_end_in_one_batch_are_accepted_and_merged() -> None:
    assert send(record(), record(status="done", outcome="success", ended_at="2026-11-30T12:00:00Z")) == [
        "accepted",
        "merged",
    ]
    assert tally("status") == [("done", 1, 60_000_000)]


def test_a_resent_start_with_its_new_end_is_a_duplicate_and_a_merge() -> None:
    send(record())

    assert send(record(), record(status="done", ended_at="2026-11-30T12:00:00Z")) == ["duplicate", "merged"]


def test_an_ending_without_a_start_waits_and_joins_when_its_call_comes() -> None:
    ending = {"operation_id": "op-1", "status": "done", "ended_at": "2026-11-30T12:00:00Z"}

    assert send(ending) == ["accepted"]
    assert send(ending) == ["duplicate"]
    assert rows("status") == []
    assert send(record()) == ["accepted"]

    assert rows("status, outcome") == [("done", "success")]
    assert tally("status") == [("done", 1, 60_000_000)]


def test_an_ending_without_a_start_joins_the_call_that_is_stored() -> None:
    send(record())

    assert send({"operation_id": "op-1", "status": "denied", "ended_at": "2026-11-30T12:00:00Z"}) == [
        "merged"
    ]
    assert rows("status") == [("denied",)]


def test_a_late_answer_leaves_the_verdict_and_marks_a_phantom_failure() -> None:
    verdict = record(effect="write", status="timed_out", ended_at="2026-11-30T11:59:30Z")
    answer = {
        "operation_id": "op-1",
        "answered_at": "2026-11-30T11:59:40Z",
        "answer": {"outcome": "success", "bytes": 12},
    }
    send(verdict)

    assert send(answer) == ["merged"]

    assert rows("status, outcome, answer_outcome, late_by_us, marks & 448") == [
        ("timed_out", None, "success", 10_000_000, 64 + 128 + 256)
    ]


@pytest.mark.parametrize("first", ["2026-11-29T23:59:30Z", "2026-11-30T00:00:30Z"])
def test_two_starts_around_midnight_make_one_row(first: str) -> None:
    other = {"2026-11-29T23:59:30Z": "2026-11-30T00:00:30Z"}.get(first, "2026-11-29T23:59:30Z")

    assert send(record(started_at=first)) == ["accepted"]
    assert send(record(started_at=other, status="done", ended_at="2026-11-30T00:01:00Z")) == ["merged"]

    assert len(rows("day")) == 1
    assert tally("status") == [("done", 1, 90_000_000)]


def test_one_bad_record_leaves_the_rest_of_its_batch_alone() -> None:
    results = send(record(), {"operation_id": "op 2", "tool": 1}, record(operation_id="op-3", attempt=0))

    assert results == ["accepted", "wrong_value", "wrong_value"]
    assert len(rows("operation_id")) == 1


def test_words_are_kept_apart_and_redacted() -> None:
    secret = "sk-ant-" + "api03-" + "a1B2" * 24
    send(
        record(
            input={"value": {"to": "a@b.example", "api_key": secret}},
            status="runtime_error",
            error={"text": f"bad key {secret}", "category": "auth"},
        )
    )

    kept = excerpts.of_operation(project_id=make.acme().pk, operation_id="op-1", attempt=1)
    assert {row.kind for row in kept} == {"input", "error"}
    assert not any(secret in row.content for row in kept)
    assert all(row.remarks for row in kept)


def test_a_record_that_only_the_database_refuses_is_named_and_the_rest_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from operations import store

    honest = store.upsert

    def refuse(**given: object) -> object:
        if any(placed.facts.operation_id == "op-7" for placed in given["batch"]):  # type: ignore[attr-defined]
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 / 0")
        return honest(**given)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "upsert", refuse)

    results = send(*(record(operation_id=f"op-{n}") for n in range(10)))

    assert results.count("accepted") == 9
    assert results[7] == "unstorable"
