"""The compact form is whole JSON within its limit, the same for the same value, and can be stored."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operations import compact

texts = st.text(max_size=40) | st.text(max_size=3).map(lambda text: text * 400)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(texts, inner, max_size=6),
    max_leaves=12,
).flatmap(lambda value: st.sampled_from([value, [value] * 200]))


@given(values, st.booleans(), st.sampled_from([64, 300, 4096]))
@settings(max_examples=200, deadline=None)
def test_it_is_whole_json_within_the_limit(value: object, ensure_ascii: bool, limit_bytes: int) -> None:
    raw = json.dumps(value, ensure_ascii=ensure_ascii).encode("utf-8", "surrogatepass")
    content, was_cut = compact.compact_value(raw, limit_bytes)

    msgspec.json.decode(content)
    assert len(content) <= limit_bytes
    assert b"\\u0000" not in content
    assert compact.compact_value(raw, limit_bytes) == (content, was_cut)
    assert compact.compact_value(content, limit_bytes) == (content, False)


@given(st.binary(max_size=80), st.sampled_from([64, 4096]))
def test_no_bytes_make_it_raise(raw: bytes, limit_bytes: int) -> None:
    content, _ = compact.compact_value(raw * 20, limit_bytes)

    assert len(content) <= max(limit_bytes, len(raw * 20))


def test_a_small_value_is_the_very_same_object() -> None:
    raw = b'{"a": [1, 2, 3], "b": "text"}'

    assert compact.compact_value(raw)[0] is raw


def test_white_space_alone_is_no_reason_to_cut() -> None:
    raw = json.dumps(list(range(100)), indent=80).encode()

    assert compact.compact_value(raw, 1000) == (
        json.dumps(list(range(100)), separators=(",", ":")).encode(),
        False,
    )


@pytest.mark.parametrize(
    ("value", "shortened"),
    [
        ("x" * 5000, "x" * 1024 + "…(+3976 chars)"),
        (list(range(3000)), [*range(64), "…(+2936 items)"]),
        ({"head": "y" * 5000, "n": 1}, {"head": "y" * 1024 + "…(+3976 chars)", "n": 1}),
    ],
)
def test_each_cut_says_how_much_is_left_out(value: object, shortened: object) -> None:
    content, was_cut = compact.compact_value(json.dumps(value).encode())

    assert (json.loads(content), was_cut) == (shortened, True)


def test_many_members_and_deep_levels_are_counted() -> None:
    deep: object = "x" * 3000
    for _ in range(20):
        deep = {"in": deep, "list": [1, 2]}
    wide = {f"key {at}": at for at in range(1000)}
    content, _ = compact.compact_value(json.dumps({"deep": deep, "wide": wide}).encode())
    told = json.loads(content)

    assert "…" in content.decode()
    assert told["wide"]["…"].endswith("members)")
    assert told["wide"]["key 0"] == 0


def test_long_names_with_one_beginning_stay_apart() -> None:
    raw = json.dumps({"k" * 3000 + "1": 1, "k" * 3000 + "2": 2}).encode()

    assert list(json.loads(compact.compact_value(raw)[0]).values()) == [1, 2]


def test_numbers_keep_their_writing() -> None:
    raw = b'{"a":1.10,"b":123456789012345678901234567890,"pad":"' + b"x" * 5000 + b'"}'

    assert compact.compact_value(raw)[0].startswith(b'{"a":1.10,"b":123456789012345678901234567890,')


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        (b'["\\u0000"]', '["␀"]'),
        (b'{"a\\u0000b":1}', '{"a␀b":1}'),
        (b'["\\ud800 x"]', '["� x"]'),
        (b'["\\udc00\\ud83d\\ude42"]', '["�🙂"]'),
        (b'["\xff"]', '["�"]'),
        ('["é🙂"]'.encode(), '["é🙂"]'),
        (b'["\\u00e9"]', '["\\u00e9"]'),
    ],
)
def test_what_postgresql_cannot_store_is_replaced(raw: bytes, stored: str) -> None:
    assert compact.compact_value(raw) == (stored.encode(), False)


@pytest.mark.parametrize("raw", [b"1" * 5000, b"[" * 3000 + b"]" * 3000, b"nonsense" * 1000, b"[" * 100_000])
def test_what_cannot_be_read_is_told_by_its_size(raw: bytes) -> None:
    assert compact.compact_value(raw) == (f'"…(+{len(raw)} bytes)"'.encode(), True)
