"""What must go, in every place where it can stand, and what must stay."""

from __future__ import annotations

import json

import pytest

from operations import redaction
from tests.operations.redaction import cases

EVERY_CASE = pytest.mark.parametrize("case", cases.ALL, ids=[case.kind for case in cases.ALL])
EVERY_NEAR_MISS = pytest.mark.parametrize("text", cases.NEAR)


@EVERY_CASE
def test_a_secret_leaves_a_text(case: cases.Case) -> None:
    redacted, remarks = redaction.redact_text(case.text)

    assert_clean(case, redacted)
    assert remarks


@EVERY_CASE
def test_a_secret_leaves_a_text_inside_of_json(case: cases.Case) -> None:
    redacted, remarks = redaction.redact_json(json.dumps({"output": [case.text]}).encode())

    assert_clean(case, json.loads(redacted)["output"][0])
    assert all(remark.path.startswith("/output/0") for remark in remarks)


@EVERY_CASE
def test_a_secret_leaves_a_text_inside_of_a_json_text(case: cases.Case) -> None:
    redacted, _ = redaction.redact_json(
        json.dumps({"body": json.dumps([case.text], ensure_ascii=False)}).encode()
    )

    assert_clean(case, json.loads(json.loads(redacted)["body"])[0])


@EVERY_CASE
def test_a_secret_leaves_a_label(case: cases.Case) -> None:
    assert_clean(case, redaction.redact_label(case.text))


@pytest.mark.parametrize("case", cases.NAMED, ids=[case.kind for case in cases.NAMED])
def test_a_secret_leaves_a_value(case: cases.Case) -> None:
    redacted, remarks = redaction.redact_json(case.text.encode())

    assert_clean(case, redacted.decode())
    assert redaction.redact_json(redacted) == (redacted, ())
    assert remarks


@EVERY_CASE
def test_redacting_twice_changes_nothing_more(case: cases.Case) -> None:
    once, _ = redaction.redact_text(case.text)

    assert redaction.redact_text(once) == (once, ())


@EVERY_NEAR_MISS
def test_what_only_looks_like_a_secret_stays_in_a_text(text: str) -> None:
    redacted, remarks = redaction.redact_text(text)

    assert redacted is text
    assert remarks == ()


@EVERY_NEAR_MISS
def test_what_only_looks_like_a_secret_stays_in_json(text: str) -> None:
    for raw in (json.dumps(text).encode(), json.dumps({"text": [text]}, ensure_ascii=False).encode()):
        redacted, remarks = redaction.redact_json(raw)

        assert redacted is raw
        assert remarks == ()


@pytest.mark.parametrize("text", [text for text in cases.NEAR if text.startswith("{")])
def test_a_harmless_value_is_the_very_same_object_afterwards(text: str) -> None:
    raw = text.encode()

    assert redaction.redact_json(raw)[0] is raw


def assert_clean(case: cases.Case, redacted: str) -> None:
    """Fail when something survived that must not, raw or escaped, or something is lost that must stay."""
    survivors = [secret for secret in case.gone if secret in redacted or json.dumps(secret)[1:-1] in redacted]
    lost = [part for part in case.kept if part not in redacted and json.dumps(part)[1:-1] not in redacted]
    assert (survivors, lost) == ([], []), redacted
    assert "[REDACTED:error]" not in redacted
