"""Redaction fails closed, is stable, sees with its gates what its rules see, and tells no secrets about secrets."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from typing import NoReturn

import hypothesis
import pytest
from hypothesis import strategies

from operations import redaction
from operations.redaction import patterns, rules, walking
from tests.operations.redaction import cases

SIGNS = [
    *":=,;&?#/@%.-_<>(){}[]\"'` \n\t\\",
    ": ",
    " = ",
    "://",
    "\\n",
    '\\"',
    "\\u0070",
    "%40",
    "%3D",
    "\u200b",
    "：",
    "“",
    "\0",
    "é",
    "🙂",
]
WORDS = patterns.words("""
    password Password apiKey api_key token tokens secret pin otp auth pass cookie Authorization name value
    key data kind Secret client_ip phone Bearer Basic credentials --password -u -p curl mysql login is the
    12 null true **** <TOKEN> ${X} hunter22 Zx9kk2pQ8rT5 admin:pw12 [REDACTED: [REDACTED:key] [REDACTED:email]
    """)
SECRETS = [
    *cases.TOKENS.values(),
    cases.VISA,
    cases.ACCOUNT,
    cases.MAIL,
    cases.SECRET,
    cases.BEGIN,
    cases.END,
]
PARTS = strategies.sampled_from(
    [*SIGNS, *WORDS, *SECRETS, *(case.text for case in cases.WRITTEN if len(case.text) < 99)]
)
TEXTS = strategies.lists(PARTS, max_size=12).map("".join) | strategies.text(max_size=20)
SCALARS = TEXTS | strategies.sampled_from([None, True, 0, 7, 717040, 1.5, int(cases.VISA)])
VALUES = strategies.recursive(
    SCALARS,
    lambda inner: (
        strategies.lists(inner, max_size=4)
        | strategies.dictionaries(TEXTS | strategies.sampled_from(WORDS), inner, max_size=4)
        | inner.map(json.dumps)
    ),
    max_leaves=8,
)


class AlwaysOpen:
    """A gate that lets everything through to the rules."""

    def search(self, text: object) -> bool:
        return True


@contextlib.contextmanager
def without_gates(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the rules look at everything, whatever the gates say."""
    every_family = tuple(rules.Family(AlwaysOpen(), family.rules) for family in rules.FAMILIES)
    monkeypatch.setattr(rules, "FAMILIES", every_family)
    for rule in (rule for family in every_family for rule in family.rules):
        monkeypatch.setattr(rule, "gate", AlwaysOpen())
    monkeypatch.setattr(rules, "json_gate", AlwaysOpen())
    monkeypatch.setattr(rules, "text_gate", AlwaysOpen())
    walking.forget_names()
    yield
    walking.forget_names()


@hypothesis.given(VALUES, strategies.booleans())
@hypothesis.settings(max_examples=150, deadline=None)
def test_the_gates_see_all_that_the_rules_see(value: object, is_ascii: bool) -> None:
    raw = json.dumps(value, ensure_ascii=is_ascii).encode()
    gated = redaction.redact_json(raw)

    with pytest.MonkeyPatch.context() as patch, without_gates(patch):
        assert redaction.redact_json(raw) == gated


@hypothesis.given(VALUES)
@hypothesis.settings(max_examples=150, deadline=None)
def test_redacting_any_value_twice_equals_redacting_it_once(value: object) -> None:
    once, _ = redaction.redact_json(json.dumps(value).encode())

    assert redaction.redact_json(once) == (once, ())


@hypothesis.given(TEXTS)
@hypothesis.settings(max_examples=150, deadline=None)
def test_redacting_any_text_twice_equals_redacting_it_once(text: str) -> None:
    once, _ = redaction.redact_text(text)

    assert redaction.redact_text(once) == (once, ())


@hypothesis.given(strategies.binary(max_size=60))
def test_no_bytes_make_it_raise(raw: bytes) -> None:
    redacted, _ = redaction.redact_json(raw)

    assert redacted is raw or json.loads(redacted) is not NotImplemented


def test_a_rule_that_errs_wipes_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "FAMILIES", (rules.Family(AlwaysOpen(), (rules.Rule("x", erring),)),))
    raw = json.dumps({"note": f"my mail is {cases.MAIL}"}).encode()

    assert redaction.redact_json(raw) == (b'"[REDACTED:error]"', (redaction.Remark("", "error", 64),))
    assert redaction.redact_text(f"mail {cases.MAIL}") == (
        "[REDACTED:error]",
        (redaction.Remark("", "error", 64),),
    )
    assert redaction.redact_label(f"label {cases.MAIL}") == "[REDACTED:error]"


def test_a_gate_that_errs_wipes_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "json_gate", None)

    assert redaction.redact_json(b'{"ok":true}')[0] == b'"[REDACTED:error]"'


def test_it_does_not_start_when_the_gates_find_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "json_gate", patterns.compiled("never-there"))

    with pytest.raises(RuntimeError, match="canary"):
        rules.check_gates()


def test_it_does_not_start_when_the_gates_find_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "text_gate", patterns.compiled(""))

    with pytest.raises(RuntimeError, match="harmless"):
        rules.check_gates()


def test_remarks_tell_where_and_which_rule_and_a_class_of_length() -> None:
    raw = json.dumps({"a/b": [{"password": "hunter222"}], "text": f"by {cases.MAIL}"}).encode()

    assert redaction.redact_json(raw)[1] == (
        redaction.Remark("/a~1b/0/password", "key", 16),
        redaction.Remark("/text", "email", 64),
    )


def test_half_a_mark_is_a_text_like_any_other() -> None:
    assert redaction.redact_text(f"[REDACTED: {cases.MAIL}")[0] == "[REDACTED: [REDACTED:email]"


def test_remarks_never_hold_a_secret_that_was_a_name() -> None:
    token = cases.TOKENS["github"]
    _, remarks = redaction.redact_json(json.dumps({token: {"password": "hunter22"}}).encode())

    assert remarks == (
        redaction.Remark("", "github-token", 64),
        redaction.Remark("/[REDACTED:github-token]/password", "key", 8),
    )


def test_too_many_remarks_end_in_a_count() -> None:
    raw = json.dumps([{"password": f"hunter{at}"} for at in range(100)]).encode()
    _, remarks = redaction.redact_json(raw)

    assert len(remarks) == walking.MOST_REMARKS + 1
    assert remarks[-1] == redaction.Remark("", "more", 36)


def test_two_secrets_as_names_stay_two_members() -> None:
    raw = json.dumps({cases.TOKENS["github"]: 1, "ghp_" + cases.some("other", cases.MIXED, 36): 2}).encode()

    assert json.loads(redaction.redact_json(raw)[0]) == {
        "[REDACTED:github-token]": 1,
        "[REDACTED:github-token]'": 2,
    }


def test_numbers_keep_every_digit() -> None:
    raw = b'{"password":"hunter22","a":1.10,"b":123456789012345678901234567890,"c":1e400,"d":0.1000000000000000055}'

    assert redaction.redact_json(raw)[0] == (
        b'{"password":"[REDACTED:key]","a":1.10,"b":123456789012345678901234567890,"c":1E+400,"d":0.1000000000000000055}'
    )


@pytest.mark.parametrize("broken", ["\\ud800", "\\u0000", "\\udc00\\ud800"])
def test_half_characters_do_not_hide_a_secret(broken: str) -> None:
    raw = f'{{"a":"{broken}","password":"hunter22","b":"{broken} {cases.MAIL}"}}'.encode()
    redacted, _ = redaction.redact_json(raw)

    assert b"hunter22" not in redacted
    assert cases.MAIL.encode() not in redacted
    assert json.loads(redacted).keys() == {"a", "password", "b"}


def test_what_is_nested_too_deep_is_replaced_when_something_is_in_it() -> None:
    raw = b"[" * 100 + b'"password=hunter22"' + b"]" * 100

    assert redaction.redact_json(raw)[0] == b"[" * 64 + b'"[REDACTED:depth]"' + b"]" * 64


def test_an_abyss_is_wiped() -> None:
    redacted, _ = redaction.redact_json(b"[" * 90_000 + b'"password=hunter22"' + b"]" * 90_000)

    assert redacted == b'"[REDACTED:error]"'


@pytest.mark.parametrize(
    "part",
    [
        "password:",
        "secret: {",
        "cookie: a=b; ",
        "password='",
        "a@",
        "-u a:b ",
        "://a:",
        "[REDACTED:key]",
        "password=a;",
        "password=a&",
        "password=a,b=",
    ],
)
def test_the_work_grows_with_the_length_only(part: str) -> None:
    counts = [calls_for(part * (size // len(part))) for size in (20_000, 80_000)]

    assert counts[1] <= 5 * counts[0] + 1000


def calls_for(text: str) -> int:
    """Return how many Python calls it takes to redact `text`: a measure of work that no other process disturbs."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        redaction.redact_text(text)
    finally:
        sys.setprofile(None)
    return calls


def erring(text: str) -> NoReturn:
    raise ZeroDivisionError(text)
