"""Bodies and values of every odd shape, through the real door."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from typing import Any

import pytest
from django.db import connection

from operations import limits
from tests.hard_cases import door

pytestmark = pytest.mark.django_db

BOMB = gzip.compress(b"\0" * (200 * 1024 * 1024))


def raw(**facts: str) -> bytes:
    """A batch of one call in which some facts are written as given, letter by letter."""
    told = {name: json.dumps(value) for name, value in door.call().items()} | facts
    return f"[{{{', '.join(f'{json.dumps(name)}: {value}' for name, value in told.items())}}}]".encode()


def excerpt(kind: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (one -> 'content')::text FROM excerpt, json_array_elements(words::json) AS one "
            "WHERE one ->> 'kind' = %s",
            [kind],
        )
        return cursor.fetchone()[0]


def test_a_record_of_ten_megabytes_is_a_413_that_tells_the_limit() -> None:
    response = door.post([door.call(output={"value": "x" * 10_000_000})])

    assert (response.status_code, response.json()["reason"]) == (413, "body_too_large")
    assert str(limits.REQUEST_BYTES_MAX) in response.json()["detail"]


def test_a_record_over_one_mebibyte_is_refused_alone() -> None:
    large = door.call("large", output={"value": "x" * limits.RECORD_BYTES_MAX})

    assert door.tell(door.call("a"), large, door.call("b")) == ["accepted", "record_too_large", "accepted"]


@pytest.mark.parametrize("copies", [1, 3])
def test_a_bomb_is_a_413_and_costs_no_memory(copies: int) -> None:
    tracemalloc.start()
    try:
        response = door.post(BOMB * copies, Content_Encoding="gzip")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert (response.status_code, response.json()["reason"]) == (413, "body_too_large")
    assert peak < 4 * limits.REQUEST_BYTES_MAX


def test_every_member_of_a_gzip_body_is_stored() -> None:
    lines = [json.dumps(door.call(f"op-{n}")).encode() + b"\n" for n in range(3)]

    response = door.post(b"".join(map(gzip.compress, lines)), kind=door.NDJSON, Content_Encoding="gzip")

    assert door.results(response) == ["accepted"] * 3


def test_a_truncated_last_line_is_refused_and_the_whole_lines_are_stored() -> None:
    body = b"".join(json.dumps(door.call(f"op-{n}")).encode() + b"\n" for n in range(3))

    response = door.post(body[:-30], kind=door.NDJSON)

    assert response.status_code == 207
    assert door.results(response) == ["accepted", "accepted", "truncated"]


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("field", ["input", "output"])
def test_a_value_nested_a_hundred_thousand_deep_is_refused_alone(field: str, opening: str) -> None:
    closing = {"[": "]", '{"a":': "}"}[opening]
    deep = f'{{"value": {opening * 100_000}1{closing * 100_000}}}'
    body = raw(**{field: deep})[:-1] + b"," + json.dumps(door.call("op-2")).encode() + b"]"

    assert door.results(door.post(body)) == ["too_deep", "accepted"]


@pytest.mark.parametrize(("depth", "result"), [(60, "accepted"), (65, "too_deep"), (1100, "too_deep")])
def test_nesting_is_kept_up_to_its_limit(depth: int, result: str) -> None:
    assert door.results(door.post(raw(input=f'{{"value": {"[" * depth}{"]" * depth}}}'))) == [result]


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "01", "1.", ".5", "+1", "0x1"]
)
@pytest.mark.parametrize(
    "place",
    ['{{"value": {{"a": {}}}}}', '{{"compact": [{}]}}', '{{"bytes": {}}}'],
    ids=["value", "compact", "field"],
)
def test_a_number_that_json_has_not_is_refused_and_the_rest_of_the_batch_is_not(
    place: str, number: str
) -> None:
    body = raw(input=place.format(number))

    response = door.post(body)

    assert response.status_code == 400
    if "results" in response.json():
        assert door.results(response)[0] in {"wrong_value", "not_json", "wrong_type"}
    else:
        assert response.json()["reason"] == "body_not_json"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_a_number_that_is_not_finite_refuses_its_record_alone(number: str) -> None:
    body = raw(timeout_ms=number)[:-1] + b"," + json.dumps(door.call("op-2")).encode() + b"]"

    found = door.results(door.post(body))

    assert found[1] == "accepted"
    assert found[0] in {"wrong_value", "not_json", "wrong_type"}


@pytest.mark.parametrize("part", ["value", "compact"])
@pytest.mark.parametrize(
    "number",
    ["123456789012345678901234567890", "9007199254740993", "-9007199254740993", "18446744073709551616"],
)
def test_a_large_whole_number_is_kept_digit_by_digit(part: str, number: str) -> None:
    assert door.results(door.post(raw(input=f'{{"{part}": {{"amount": {number}}}}}'))) == ["accepted"]

    assert number in excerpt("input")


@pytest.mark.parametrize(
    "number", ["123456789012345678901234567890", "-1", "1.5", "1e2", "9007199254740993", "true"]
)
def test_a_count_that_is_no_safe_whole_number_is_refused(number: str) -> None:
    assert door.results(door.post(raw(output=f'{{"bytes": {number}}}'))) in (["wrong_type"], ["wrong_value"])


@pytest.mark.parametrize(
    "twice",
    [
        '"tool": "a"',
        r'"\u0074ool": "a"',
        '"input": {"value": {"to": "a", "to": "b"}}',
        r'"input": {"value": {"to": "a", "t\u006f": "b"}}',
        '"input": {"compact": [[{"x": {"y": 1, "y": 1}}]]}',
        '"output": {"value": {"to": null, "to": "b"}}',
        '"error": {"text": "a", "text": "b"}',
        '"error": {"text": null, "text": "b"}',
        '"attributes": {"k": 1, "k": 2}',
        '"attributes": {"k": null, "k": 2}',
        '"legs": [{"name": "a", "ms": 1, "ms": 2}]',
        '"contract": {"kind": "unknown_tool", "issues": [{"path": "/", "path": "/a", "keyword": "k"}]}',
        '"later": {"a": 1, "a": 2}',
        '"later": 1, "later": 2',
        '"input": {"digest": ":::", "digest": "' + "a" * 64 + '"}',
    ],
)
def test_a_key_told_twice_is_refused_wherever_it_stands(twice: str) -> None:
    told = json.dumps(door.call())[:-1]

    for body in (f"[{told}, {twice}}}]", f"{told}, {twice}}}"):
        assert door.results(door.post(body.encode())) == ["repeated_key"]
    assert door.results(door.post(f"{told}, {twice}}}\n".encode(), kind=door.NDJSON)) == ["repeated_key"]


@pytest.mark.parametrize(
    ("sent", "kept"), [(r"a\u0000b", "a␀b"), (r"a\ud800b", "a\ufffdb"), (r"a\udc00\ud800b", "a\ufffd\ufffdb")]
)
def test_characters_that_no_text_can_hold_are_replaced_in_every_place(sent: str, kept: str) -> None:
    body = raw(
        model=f'"{sent}"',
        session_id=f'"{sent}"',
        input=f'{{"value": {{"{sent}": "{sent}"}}}}',
        attributes=f'{{"{sent}": "{sent}"}}',
        error=f'{{"text": "{sent}", "category": "{sent}"}}',
        code=f'"{sent}"',
    )

    assert door.results(door.post(body)) == ["accepted"]
    assert door.rows("model, session_id, answer_category") == [(kept, kept, kept)]
    assert json.loads(excerpt("input")) == json.loads(excerpt("attributes")) == {kept: kept}
    assert json.loads(excerpt("error"))["text"] == kept


@pytest.mark.parametrize(
    "name",
    [
        "refund\u202etxt",
        "re\u200bfund",
        "rеfund",
        "退款",
        "🧾",
        " refund ",
        "ﬁnd",
        "e\u0301",
        "\x1b[31m",
        "a\r\nb",
    ],
)
def test_a_strange_tool_name_is_stored_as_it_was_told(name: str) -> None:
    assert door.tell(door.call(tool=name)) == ["accepted"]

    assert door.rows("tool") == [(name,)]


@pytest.mark.parametrize("field", ["operation_id"])
@pytest.mark.parametrize(
    "told",
    [
        "x" * 10_240,
        "x" * 129,
        "",
        " ",
        "a b",
        "a\r\n",
        "a\n",
        "\n",
        "a\tb",
        "ïd",
        "🧾",
        "a\u0000",
        "a\u202eb",
        "a%b",
        "a?b",
    ],
)
def test_an_id_of_other_characters_or_length_is_refused_by_name(field: str, told: str) -> None:
    response = door.post([door.call() | {field: told}])

    assert door.results(response) in (["wrong_value"], ["too_long"])
    assert response.json()["results"][0]["pointer"] == f"/{field}"


def test_the_longest_id_of_every_allowed_character_is_stored() -> None:
    name = ("AZaz09._:/=+-" * 10)[:128]

    assert door.tell(door.call(name)) == ["accepted"]
    assert door.rows("operation_id") == [(name,)]


@pytest.mark.parametrize(
    "field", ["tool_call_id", "session_id", "turn_id", "parent_id", "idempotency_key", "subject"]
)
def test_another_id_of_ten_kilobytes_is_refused_by_name(field: str) -> None:
    response = door.post([door.call(**{field: "x" * 10_240})])

    assert door.results(response) == ["too_long"]
    assert response.json()["results"][0]["pointer"] == f"/{field}"


def test_fields_of_a_newer_version_are_left_out_and_counted_and_a_newer_word_is_refused() -> None:
    response = door.post(
        [door.call("a", version=2, mood="new"), door.call("b", version=2), door.call("c", effect="undo")]
    )

    assert door.results(response) == ["accepted", "accepted", "wrong_value"]
    assert response.json()["unknown_fields"] == {"version": 2, "mood": 1}


@pytest.mark.parametrize(
    "sent", [b"[\xff]", b'[{"tool": "\xc3"}]', b'{"tool": "\xed\xa0\x80"}', b'[{"tool": "\xc0\x80"}]']
)
def test_bytes_that_are_no_utf8_are_refused_with_their_place(sent: bytes) -> None:
    response = door.post(sent)

    assert (response.status_code, response.json()["reason"]) == (400, "not_utf8")
    assert any(letter.isdigit() for letter in response.json()["detail"])


@pytest.mark.parametrize("encoding", ["gzip, gzip", "gzip,zstd", "identity, gzip", "compress", "*"])
def test_a_body_packed_in_any_other_way_is_refused(encoding: str) -> None:
    response = door.post(gzip.compress(gzip.compress(b"[]")), Content_Encoding=encoding)

    assert response.status_code == 415
