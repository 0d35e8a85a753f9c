from __future__ import annotations

import pytest

from operations import endings, marks


@pytest.mark.parametrize(
    ("status", "outcome", "code", "kind", "key", "words"),
    [
        ("done", "success", None, None, "success", "Success"),
        ("done", None, None, None, "success", "Success"),
        ("done", "failure", "quota_exceeded", None, "failed", "Failed: quota_exceeded"),
        ("done", "failure", None, None, "failed", "Failed"),
        ("runtime_error", None, "upstream_down", None, "exception", "Exception: upstream_down"),
        ("contract_error", None, None, "invalid_arguments", "never_ran", "Never ran: bad arguments"),
        ("contract_error", None, None, "unknown_tool", "never_ran", "Never ran: unknown tool"),
        ("contract_error", None, "odd", None, "never_ran", "Never ran: odd"),
        ("timed_out", None, "slow", None, "timed_out", "Timed out: slow"),
        ("denied", None, None, None, "denied", "Denied"),
        ("cancelled", None, None, None, "cancelled", "Cancelled"),
        ("running", None, None, None, "running", "Running"),
        ("awaiting_approval", None, None, None, "awaiting_approval", "Awaiting approval"),
    ],
)
def test_an_ending_has_the_words_of_the_screen(
    status: str, outcome: str | None, code: str | None, kind: str | None, key: str, words: str
) -> None:
    found = endings.of(status, outcome, code, kind)

    assert (found.key, found.words) == (key, words)


def test_marks_leave_out_what_the_ending_says_and_begin_with_the_gravest() -> None:
    bits = marks.Mark.TIMED_OUT | marks.Mark.LATE_ANSWER | marks.Mark.PHANTOM_FAILURE | marks.Mark.CLOCK_AHEAD

    assert [mark.word for mark in endings.mark_words(bits)] == [
        "Told “failed”, but it happened",
        "Clock ahead",
    ]


def test_every_mark_has_a_word_for_its_signal() -> None:
    assert set(endings.SIGNAL_WORDS) == set(marks.BY_NAME)
