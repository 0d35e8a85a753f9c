from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operations import visible


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("refund_order", "refund_order"),
        ("ab\u202ecd", "ab\\u202Ecd"),
        ("pay\u200bpal", "pay\\u200Bpal"),
        ("a\x00b\x1b[31m", "a\\0b\\e[31m"),
        ("a\tb\nc", "a\\tb\\nc"),
        ("a\u00a0b", "a\\xa0b"),
        ("soft\u00adhyphen", "soft\\xadhyphen"),
        ("\ud800", "\\uD800"),
        ("tag\U000e0041", "tag\\u{E0041}"),
        ("hangul\u3164", "hangul\\u3164"),
        (" lead", "·lead"),
        ("trail ", "trail·"),
        ("two  spaces", "two ·spaces"),
        ("one space", "one space"),
        ("naïve café — “ü”", "naïve café — “ü”"),
        ("日本語 नमस्ते עברית", "日本語 नमस्ते עברית"),
    ],
)
def test_what_would_hide_is_written_out_and_the_rest_left_alone(text: str, plain: str) -> None:
    assert visible.plain(text) == plain


def test_an_escape_says_what_it_stands_for() -> None:
    assert visible.runs("a\u202eb") == (
        visible.Run("a"),
        visible.Run("\\u202E", "right-to-left override"),
        visible.Run("b"),
    )


def test_several_lines_keep_their_breaks_and_indentation_and_nothing_else_that_hides() -> None:
    shown = "".join(run.text for run in visible.block('{\n  "a": "\u202e",\n\t"b": 1 \n}'))

    assert shown == '{\n  "a": "\\u202E",\n\t"b": 1·\n}'


def test_a_pile_of_marks_is_cut_off_after_a_few() -> None:
    assert visible.plain("a" + "\u0300" * 9) == "a" + "\u0300" * 4 + "\\u0300" * 5


def test_long_text_is_cut_and_says_how_much_is_missing() -> None:
    found = visible.runs("x" * 500, 100)

    assert found == (visible.Run("x" * 100), visible.Run("…", "400 more characters"))


@given(st.text(st.characters(exclude_categories=()), max_size=80))
def test_nothing_that_hides_or_reorders_is_ever_left(text: str) -> None:
    shown = "".join(run.text for run in visible.runs(text))

    assert not {unicodedata.category(character) for character in shown} & {
        "Cc",
        "Cf",
        "Cs",
        "Co",
        "Cn",
        "Zl",
        "Zp",
    }
    assert shown == shown.strip()
