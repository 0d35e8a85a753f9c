from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from operations import digests, rejections

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**54), 2**54) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(values, st.booleans())
@example({"b": '\x7f/\b\f\n\r\t"\\', "a": [1, -1, True, None]}, True)
@example({"aa": 1, "a": 2, "A": 3, "": 4}, True)
def test_the_quick_way_writes_what_the_careful_way_writes(value: object, ensure_ascii: bool) -> None:
    raw = json.dumps(value, ensure_ascii=ensure_ascii, indent=1).encode("utf-8", "replace")
    quick = digests._canonical_if_plain(raw)
    if quick is None:
        return

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digests, "_canonical_if_plain", lambda raw: None)
        assert digests.canonical(raw) == quick


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1,"b":2}', '{ "b": 2, "a": 1 }'),
        ('{"a":1.0}', '{"a":1}'),
        (r'"\u0041"', '"A"'),
        ('"a\\/b"', '"a/b"'),
        ("-0", "0"),
        ("1e2", "100"),
    ],
)
def test_two_writings_of_one_value_have_one_digest(one: str, other: str) -> None:
    assert digests.value_digest(one.encode()) == digests.value_digest(other.encode())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1}', '{"a":"1"}'),
        ('"\u00e9"', '"e\u0301"'),
        ('"\'"', '"’"'),
        ('"a"', '"a "'),
        ("123456789012345678901234567890", "123456789012345678901234567891"),
        ("0.1", "0.1000000000000000055"),
        ('{"to":"a","to":"b"}', '{"to":"b"}'),
    ],
)
def test_two_values_never_have_one_digest(one: str, other: str) -> None:
    assert digests.value_digest(one.encode()) != digests.value_digest(other.encode())


@pytest.mark.parametrize(
    "raw",
    [
        '{"a":1,"a":1}',
        "NaN",
        "1e400",
        "9007199254740993",
        "0.1000000000000000055",
        '"\\ud800"',
        "[" * 65 + "]" * 65,
        "",
        "[1,]",
    ],
)
def test_what_two_readers_could_read_differently_has_no_canonical_form(raw: str) -> None:
    with pytest.raises(rejections.Rejection):
        digests.canonical(raw.encode())
    assert digests.value_digest(raw.encode()).startswith("raw-sha256:")


def test_the_published_vector_of_the_canonical_form() -> None:
    raw = b'{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}'  # noqa: E501

    with pytest.raises(rejections.Rejection):
        digests.canonical(raw)  # its first number is not exact as a double
    assert digests.canonical(raw.replace(b"333333333.33333329", b"1")) == (
        '{"literals":[null,true,false],"numbers":[1,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'.encode()
    )


@pytest.mark.parametrize(
    ("digest", "is_well_formed"),
    [
        ("ab" * 32, True),
        ("sha256:" + "AB" * 32, True),
        ("jcs1-sha256:00", True),
        ("ab" * 31, False),
        ("SHA:00", False),
        ("", False),
    ],
)
def test_which_digests_senders_may_send(digest: str, is_well_formed: bool) -> None:
    assert digests.well_formed(digest) is is_well_formed


def test_a_keyed_digest_compares_inside_one_project_only() -> None:
    assert digests.keyed(b"k" * 32, "a") == digests.keyed(b"k" * 32, "a")
    assert (
        len({digests.keyed(b"k" * 32, "a"), digests.keyed(b"k" * 32, "b"), digests.keyed(b"j" * 32, "a")})
        == 3
    )
    assert digests.short(b"k" * 32, b"a") != digests.short(b"j" * 32, b"a")
