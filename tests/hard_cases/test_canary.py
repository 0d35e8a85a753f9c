"""A unique secret is sent through every door and in every field, refused and failed: then it is found nowhere."""

from __future__ import annotations

import base64
import http.client
import json
import urllib.parse
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from operations import wire
from tests.chaos import console
from tests.hard_cases import canary
from tests.operations.otlp import sample

#: Fields whose values are no free text: words of a list, digits, and digests.
NO_TEXT = {
    "attempt",
    "effect",
    "iteration",
    "trace_id",
    "span_id",
    "status",
    "outcome",
    "timeout_ms",
    "manifest",
}
NO_TEXT |= {"verified", "answer", "answered_at"}

# What PostgreSQL says of a refused row holds the whole row.
CHECK = "ALTER TABLE excerpt ADD CONSTRAINT no_words CHECK (strpos(words, '{words}') = 0) NOT VALID"


@pytest.fixture(scope="module")
def watched() -> Iterator[console.Console]:
    """A console that tells as much as it ever may."""
    with console.running("canary", LOG_LEVEL="DEBUG") as running:
        yield running


def ask(of: console.Console, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    """Send one request; returns the status and the body of the answer."""
    line = http.client.HTTPConnection("localhost", of.parts.port, timeout=60)
    told = {"Authorization": f"Bearer {of.ingest_key if body is not None else of.read_key}"}
    told |= {name.replace("_", "-"): value for name, value in headers.items()}
    line.request("GET" if body is None else "POST", path, body, told)
    answer = line.getresponse()
    found = answer.read()
    line.close()
    return answer.status, found


def lines(records: list[canary.Record]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def spans(of: canary.Canary) -> list[Any]:
    """Spans that carry the secrets in every place that is read, and in some that are not."""
    hidden = json.dumps({"password": of.password, "note": of.token})
    told = {"gen_ai.tool.call.arguments": hidden, "gen_ai.tool.call.result": hidden, "enduser.id": of.token}
    told |= dict.fromkeys(("gen_ai.tool.call.id", "gen_ai.conversation.id", "gen_ai.agent.name"), of.token)
    told |= {
        "error.type": of.token,
        "gen_ai.request.model": of.token,
        "gen_ai.system": of.token,
        of.token: of.token,
    }
    events = [sample.exception(of.token, f"{of.words} refused {of.token}"), (of.token, {of.token: of.token})]
    whole = {
        "attributes": told,
        "events": events,
        "status": sample.ERROR,
        "message": f"{of.token} {of.words}",
    }
    return [
        sample.tool_span(of.token, "b7ad6b7169203331", **whole),
        sample.tool_span("search", "b7ad6b7169203332", **whole),
        sample.span(of.token, "b7ad6b7169203333", **whole),
    ]


def send_everything(to: console.Console, of: canary.Canary) -> None:
    """Send the secrets in records, lines and spans, accepted and refused."""
    good, bad = list(canary.records(of)), list(canary.refused(of))
    as_json, as_lines = {"Content_Type": "application/json"}, {"Content_Type": "application/x-ndjson"}

    assert ask(to, "/v1/operations", json.dumps(good).encode(), **as_json)[0] == 200
    for record in good:
        assert ask(to, "/v1/operations", json.dumps(record).encode(), **as_json)[0] == 200
    status, told = ask(to, "/v1/operations?results=1", lines([*good, *bad]), **as_lines)
    assert status == 207
    assert [one["result"] == "rejected" for one in json.loads(told)["results"]] == [False] * len(good) + [
        True
    ] * len(bad)
    resource = {"service.name": of.token, "service.version": of.short, "secret": of.password}
    protobuf = sample.body(*spans(of), resource=resource, scope=(of.token, of.token))
    assert ask(to, "/v1/traces", protobuf, Content_Type="application/x-protobuf")[0] == 200
    as_text = sample.json_body(*spans(of), resource=resource, scope=(of.token, of.token))
    assert ask(to, "/v1/traces", as_text, **as_json)[0] == 200


def knock_wrongly(at: console.Console, of: canary.Canary) -> None:
    """Put the secrets where they are not looked for: keys, addresses, headers, questions, forms, broken bodies."""
    quoted = urllib.parse.quote(of.token)
    as_json = {"Content_Type": "application/json"}
    broken = f'[{{"tool": "{of.token} {of.words}'.encode()
    answers = [
        ask(at, "/v1/operations", broken, **as_json),
        ask(at, "/v1/operations", broken, Content_Type=f"text/{of.words}"),
        ask(at, "/v1/operations", broken, Content_Encoding=of.words, **as_json),
        ask(at, "/v1/traces", broken, **as_json),
        ask(at, "/v1/traces", b"\x0a\xff" + of.token.encode(), Content_Type="application/x-protobuf"),
        ask(at, f"/v1/operations?{of.words}={quoted}", b"[]", **as_json),
        ask(at, "/v1/operations", b"[]", Authorization=f"Bearer ops_aaaaaaaaaaaa_{of.token}abc", **as_json),
        ask(at, "/v1/operations", b"[]", Authorization=f"Bearer {of.words}", **as_json),
        ask(at, f"/v1/operations/{quoted}-{of.words}"),
        ask(at, f"/v1/operations?q=tool:{quoted}&cursor={of.words}"),
        ask(at, f"/v1/tally?group_by={quoted}"),
        ask(at, f"/{quoted}/{of.words}"),
        ask(at, f"/invitations/{quoted}"),
        ask(at, "/livez", Cookie=f"opsconsole_session={of.words}", User_Agent=of.words, Referer=of.words),
        ask(at, "/livez", Host=of.words),
    ]
    form = urllib.parse.urlencode({"login": f"{of.words}@example.com", "password": of.password}).encode()
    answers.append(ask(at, "/accounts/login/", form, Content_Type="application/x-www-form-urlencoded"))

    assert not [status for status, _ in answers if status >= 500]


def fail_in_the_database(at: console.Console, of: canary.Canary) -> None:
    """Let PostgreSQL refuse, deny, cut off and time out what carries the secrets."""
    record = next(canary.records(of)) | {"operation_id": "fails"}
    body = json.dumps([record] * 30 + [record | {"operation_id": "fails-2"}]).encode()
    with at.connect() as owner:
        owner.execute(CHECK.format(words=of.words))
        assert ask(at, "/v1/operations", body, Content_Type="application/json")[0] == 503
        owner.execute("ALTER TABLE excerpt DROP CONSTRAINT no_words")
        for table, state, status in (
            ("operation", "22000", 400),
            ("operation", "40P01", 503),
            ("excerpt", "53100", 503),
        ):
            owner.execute(
                "CREATE OR REPLACE FUNCTION fail_by_hand() RETURNS trigger LANGUAGE plpgsql AS "
                f"$$ BEGIN RAISE 'failed by hand' USING ERRCODE = '{state}'; END $$"
            )
            owner.execute(
                f"CREATE TRIGGER by_hand BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION fail_by_hand()"
            )
            assert ask(at, "/v1/operations", body, Content_Type="application/json")[0] == status
            owner.execute(f"DROP TRIGGER by_hand ON {table}")


def test_the_records_carry_the_secret_in_every_field_of_the_wire_format() -> None:
    of = canary.hatch()
    carried = {name for record in canary.records(of) for name in record}

    assert carried | NO_TEXT == {field.name for field in msgspec.structs.fields(wire.Operation)}


def test_the_search_finds_a_secret_in_every_spelling() -> None:
    of = canary.hatch()
    for secret in of:
        for offset in range(4):
            assert canary.holds(b"ab" + base64.b64encode(b"." * offset + secret.encode() + b"tail"), secret)
        assert canary.holds(secret.encode().hex().encode(), secret)
    assert not canary.holds(canary.hatch().token.encode(), of.token)


def test_a_secret_sent_through_every_door_is_found_in_no_table_log_file_or_key(
    watched: console.Console,
) -> None:
    of = canary.hatch()
    send_everything(watched, of)
    knock_wrongly(watched, of)
    fail_in_the_database(watched, of)
    # The jobs have seen it too.
    with watched.connect() as connection:
        console.wait_for(lambda: connection.execute("SELECT FROM tally WHERE grain = 0").fetchone() is None)

    found = [
        (place, secret)
        for place, content in canary.everything(watched)
        for secret in of.secrets
        if canary.holds(content, secret)
    ]

    assert found == []


def test_words_that_show_by_nothing_stay_in_excerpts_alone(watched: console.Console) -> None:
    of = canary.hatch()
    send_everything(watched, of)
    knock_wrongly(watched, of)
    fail_in_the_database(watched, of)

    places = {
        place
        for source in (canary.tables, canary.said)
        for place, content in source(watched)
        if canary.holds(content, of.words)
    }

    assert places == {"table excerpt"}


def test_what_readers_are_shown_holds_no_secret(watched: console.Console) -> None:
    of = canary.hatch()
    send_everything(watched, of)

    listed = ask(watched, "/v1/operations?limit=200")
    names = [urllib.parse.quote(one["operation_id"], safe="") for one in json.loads(listed[1])["operations"]]
    answers = [
        listed,
        ask(watched, "/v1/tally?group_by=tool"),
        *(ask(watched, f"/v1/operations/{name}") for name in names),
    ]

    assert {status for status, _ in answers} == {200}
    assert len(names) >= 6
    assert not [secret for _, content in answers for secret in of.secrets if canary.holds(content, secret)]
