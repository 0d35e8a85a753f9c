from __future__ import annotations

import datetime
import json
import re
from collections import Counter
from typing import Any

import pytest

from operations import decoding, moments, records
from operations.simulation import calls, catalogue, incidents, scenario

HOUR_US = 3600 * moments.SECOND_US
NOW_US = moments.from_datetime(datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.UTC))
SECRET = re.compile(r"sk-live-[a-z0-9]{40}")


@pytest.fixture(scope="module")
def day() -> list[calls.Said]:
    """Everything that was said in the last day."""
    return scenario.between(NOW_US - 24 * HOUR_US, NOW_US, hourly=500)


def operations(said: list[calls.Said]) -> dict[tuple[str, int], dict[str, Any]]:
    """What was told of each operation, all its records together; a verdict keeps its status."""
    told: dict[tuple[str, int], dict[str, Any]] = {}
    for one in said:
        known = told.setdefault((one.record["operation_id"], one.record["attempt"]), {})
        known.update(
            (name, value) for name, value in one.record.items() if name != "status" or value != "running"
        )
    return told


def of(said: list[calls.Said], incident: incidents.Incident) -> dict[tuple[str, int], dict[str, Any]]:
    """The operations that began while the incident was on."""
    return {
        key: told
        for key, told in operations(said).items()
        if "started_at" in told and incident.is_on(moments.parse(told["started_at"], pointer=""))
    }


def test_the_same_seed_tells_the_same() -> None:
    one, again, other = (scenario.between(NOW_US - HOUR_US, NOW_US, seed=seed) for seed in (7, 7, 8))

    assert one == again
    assert {o.record["operation_id"] for o in one}.isdisjoint(o.record["operation_id"] for o in other)


def test_a_stretch_told_in_pieces_is_the_same_as_at_once() -> None:
    at_once = scenario.between(NOW_US - HOUR_US, NOW_US)
    world = scenario.World(NOW_US - HOUR_US)
    pieces = [one for minute in range(61) for one in world.until(NOW_US - HOUR_US + minute * HOUR_US // 60)]
    halves = [
        *scenario.between(NOW_US - HOUR_US, NOW_US - HOUR_US // 2),
        *scenario.between(NOW_US - HOUR_US // 2, NOW_US),
    ]

    assert pieces == at_once == halves


def test_the_rate_is_what_was_asked_for(day: list[calls.Said]) -> None:
    assert 24 * 500 * 0.85 < len(operations(day)) < 24 * 500 * 1.2


def test_every_record_is_one_that_the_console_takes(day: list[calls.Said]) -> None:
    entries = [
        entry
        for n in range(0, len(day), 5000)
        for entry in decoding.decode(
            json.dumps([one.record for one in day[n : n + 5000]]).encode(), is_ndjson=False
        )
    ]
    refused = [entry.rejection for entry in entries if entry.record is None]
    sender = records.Sender(b"k" * 32)
    for entry in entries:
        if entry.record is not None:
            records.tell(entry.record, sender=sender, now_us=NOW_US)

    assert refused == []
    assert [name for entry in entries for name in entry.unknown] == []


def test_records_are_sent_in_order_and_some_endings_overtake_their_start(day: list[calls.Said]) -> None:
    assert [one.at_us for one in day] == sorted(one.at_us for one in day)
    first = {}
    for one in day:
        first.setdefault((one.record["operation_id"], one.record["attempt"]), one.record)
    overtaken = [record for record in first.values() if "started_at" not in record]
    assert 20 < len(overtaken) < 0.05 * len(first)


def test_all_that_can_happen_happens(day: list[calls.Said]) -> None:
    told = operations(day).values()
    assert {one.get("status") for one in told} >= {
        "done",
        "contract_error",
        "denied",
        "runtime_error",
        "timed_out",
        "cancelled",
        None,
    }
    assert any(one.record.get("status") == "awaiting_approval" for one in day)
    assert {one["runtime"] for one in told if "runtime" in one} == {r.name for r in catalogue.RUNTIMES}
    assert {one["environment"] for one in told if "environment" in one} == {"production", "staging"}
    assert catalogue.TOOLS.keys() <= {one["tool"] for one in told if "tool" in one}
    assert any(attempt == 2 for _, attempt in operations(day))
    for name in ("verified", "legs", "conflict", "approval_id", "idempotency_key", "instance"):
        assert any(name in one for one in told), name


def test_a_bad_release_fails_with_one_code_under_one_version(day: list[calls.Said]) -> None:
    failing = [o for o in operations(day).values() if o.get("code") == "currency_unsupported"]
    during = [o for o in of(day, incidents.BAD_RELEASE).values() if o.get("tool") == "refund_create"]

    assert {o["tool_version"] for o in during} == {"4.2.0-1130"}
    assert {o["tool_version"] for o in failing} == {"4.2.0-1130"}
    assert len(failing) > 20


def test_a_capped_manifest_makes_a_known_tool_unknown(day: list[calls.Said]) -> None:
    cut = [
        o
        for o in operations(day).values()
        if o.get("tool") == "shipment_track" and o.get("contract") == {"kind": "unknown_tool"}
    ]
    assert len(cut) > 10
    assert {o["runtime"] for o in cut} == {"support-agent@2.14.0"}
    assert {o["manifest"]["sequence"] for o in cut} == {1}


def test_a_slow_carrier_answers_after_it_was_given_up(day: list[calls.Said]) -> None:
    late = [o for o in of(day, incidents.SLOW_CARRIER).values() if "answered_at" in o]
    assert len(late) >= 5
    assert {(o["status"], o["effect"]) for o in late if o["tool"] == "shipment_create"} == {
        ("timed_out", "consequential")
    }


def test_an_import_makes_a_burst_of_stale_revisions(day: list[calls.Said]) -> None:
    stale = [o for o in of(day, incidents.STALE_REVISIONS).values() if o.get("code") == "stale_revision"]
    assert len(stale) >= 8
    assert all(o["conflict"]["expected_revision"] != o["conflict"]["actual_revision"] for o in stale)


def test_a_loop_asks_the_same_and_is_told_the_same(day: list[calls.Said]) -> None:
    sessions = Counter(o.get("session_id") for o in of(day, incidents.LOOP).values())
    session, count = sessions.most_common(1)[0]
    looping = [o for o in operations(day).values() if o.get("session_id") == session]

    assert count > 40
    assert len({json.dumps([o["input"], o["output"]]) for o in looping}) == 1


def test_most_failures_are_followed_by_another_try_in_the_same_turn(day: list[calls.Said]) -> None:
    told = operations(day)
    last = Counter({})
    for one in told.values():
        if "turn_id" in one:
            last[one["turn_id"]] = max(last[one["turn_id"]], one["iteration"])
    failed = [o for o in told.values() if o.get("outcome") == "failure" and "turn_id" in o]
    recovered = [o for o in failed if last[o["turn_id"]] > o["iteration"]]

    assert len(recovered) > 0.6 * len(failed)


def test_what_is_secret_is_there_to_be_kept_out(day: list[calls.Said]) -> None:
    said = json.dumps([one.record for one in day])
    assert len(SECRET.findall(said)) > 20
