from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operations import decoding, limits, rejections


def reasons(body: bytes, *, is_ndjson: bool = False) -> list[str]:
    return [
        entry.rejection.reason if entry.rejection else "decoded"
        for entry in decoding.decode(body, is_ndjson=is_ndjson)
    ]


def one(raw: str) -> decoding.Entry:
    (entry,) = decoding.decode(f"[{raw}]".encode(), is_ndjson=False)
    return entry


def test_an_object_an_array_and_lines_are_read_alike() -> None:
    record = b'{"operation_id": "a"}'

    assert reasons(record) == reasons(b"[" + record + b"]") == ["decoded"]
    assert reasons(record + b"\n\n" + record + b"\n", is_ndjson=True) == ["decoded", "decoded"]
    assert reasons(b"[]") == reasons(b"", is_ndjson=True) == []


def test_a_line_cut_short_is_refused_and_the_lines_before_it_are_kept() -> None:
    body = b'{"operation_id":"a"}\n{"operation_id":"b","to'

    assert reasons(body, is_ndjson=True) == ["decoded", "truncated"]
    assert reasons(body + b"\n", is_ndjson=True) == ["decoded", "not_json"]


@pytest.mark.parametrize(
    ("raw", "reason", "pointer"),
    [
        ("1", "not_json", ""),
        ("null", "not_json", ""),
        ('{"tool": 1}', "wrong_type", "/tool"),
        ('{"tool": ""}', "too_long", "/tool"),
        ('{"tool": "%s"}' % ("x" * 129), "too_long", "/tool"),
        ('{"operation_id": "a b"}', "wrong_value", "/operation_id"),
        ('{"operation_id": "a\\n"}', "wrong_value", "/operation_id"),
        ('{"operation_id": ""}', "wrong_value", "/operation_id"),
        ('{"operation_id": "%s"}' % ("x" * 10_240), "wrong_value", "/operation_id"),
        ('{"attempt": 0}', "wrong_value", "/attempt"),
        ('{"attempt": 1001}', "wrong_value", "/attempt"),
        ('{"attempt": true}', "wrong_type", "/attempt"),
        ('{"status": "finished"}', "wrong_value", "/status"),
        ('{"error": {"category": 5}}', "wrong_type", "/error/category"),
        ('{"legs": [{"name": "a", "ms": -1}]}', "wrong_value", "/legs/0/ms"),
        (json.dumps({"legs": [{"name": "a", "ms": 1}] * 9}), "too_long", "/legs"),
        ('{"tool": "a", "tool": "b"}', "repeated_key", ""),
        ('{"input": {"value": {"to": "a", "to": "b"}}}', "repeated_key", ""),
        ('{"input": {"compact": [{"x": 1, "x": 1}]}}', "repeated_key", ""),
        ('{"timeout_ms": NaN}', "wrong_value", ""),
        ('{"input": {"value": -Infinity}}', "wrong_value", ""),
        ('{"timeout_ms": 1e400}', "wrong_value", "/timeout_ms"),
        ('{"input": {"value": %s}}' % ("[" * 70 + "]" * 70), "too_deep", ""),
    ],
)
def test_what_is_wrong_is_refused_by_name_and_place(raw: str, reason: str, pointer: str) -> None:
    body = f'[{{"operation_id": "good"}}, {raw}, {{"operation_id": "good-2"}}]'.encode()

    first, entry, last = decoding.decode(body, is_ndjson=False)

    assert entry.rejection is not None
    assert (entry.rejection.reason, entry.rejection.pointer) == (reason, pointer)
    assert first.record is not None
    assert last.record is not None


def test_a_refusal_repeats_no_value() -> None:
    entry = one('{"tool": 1, "status": "sk-live-secret", "operation_id": "sk live secret"}')

    assert entry.rejection is not None
    assert "secret" not in entry.rejection.detail


def test_unknown_fields_are_left_out_and_named() -> None:
    entry = one(
        '{"operation_id":"a","later":{"x":1},"error":{"text":"t","blame":"me"},"legs":[{"name":"a","ms":1,"of":2}]}'
    )

    assert entry.rejection is None
    assert entry.record is not None
    assert entry.record.error is not None
    assert entry.record.error.text == "t"
    assert sorted(entry.unknown) == ["error.blame", "later", "legs.of"]


def test_nul_and_lone_surrogates_become_characters_that_can_be_stored() -> None:
    entry = one(r'{"tool":"a\u0000b\ud800c\udc00\ud83d\ude00\\u0000\ud83d"}')

    assert entry.record is not None
    assert entry.record.tool == "a␀b�c�😀\\u0000�"


def test_invalid_utf8_is_refused_with_its_place() -> None:
    with pytest.raises(rejections.NotUtf8, match="at byte 10"):
        decoding.decode(b'[{"tool":"\xff"}]', is_ndjson=False)


@pytest.mark.parametrize(
    "body", [b"", b"[", b'[{"a":1}', b"[1,]", b"[] []", b"hello", b"\xef\xbb\xbf[]", b'"a"', b"{"]
)
def test_a_body_that_is_not_json_is_refused_whole_or_record_by_record(body: bytes) -> None:
    try:
        entries = decoding.decode(body, is_ndjson=False)
    except rejections.BodyNotJson:
        return
    assert all(entry.rejection for entry in entries)


def test_a_body_nested_100_000_deep_is_refused() -> None:
    with pytest.raises(rejections.Rejection):
        decoding.decode(b"[" * 100_000, is_ndjson=False)
    deep = b'{"input":{"value":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
    assert reasons(deep) == ["too_deep"]


def test_more_records_than_allowed_are_refused_together() -> None:
    body = json.dumps([{"operation_id": "a"}] * (limits.RECORDS_MAX + 1)).encode()

    with pytest.raises(rejections.TooManyRecords):
        decoding.decode(body, is_ndjson=False)


def test_a_record_over_one_mebibyte_is_refused_alone() -> None:
    large = json.dumps({"operation_id": "b", "output": {"value": "x" * limits.RECORD_BYTES_MAX}})

    assert reasons(f'[{{"operation_id":"a"}},{large}]'.encode()) == ["decoded", "record_too_large"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
fields = st.sampled_from(
    ["operation_id", "tool", "status", "error", "input", "legs", "contract", "attributes", "attempt", "x"]
)


@given(st.lists(st.dictionaries(fields, json_values, max_size=5), max_size=4))
def test_any_json_is_decoded_or_refused_by_name(records: list[dict[str, object]]) -> None:
    entries = decoding.decode(json.dumps(records).encode(), is_ndjson=False)

    assert [entry.index for entry in entries] == list(range(len(records)))
    assert all((entry.record is None) != (entry.rejection is None) for entry in entries)


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused(body: bytes) -> None:
    for is_ndjson in (False, True):
        with contextlib.suppress(rejections.NotUtf8, rejections.BodyNotJson, rejections.TooDeep):
            decoding.decode(body, is_ndjson=is_ndjson)
