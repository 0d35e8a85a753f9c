"""What was wrong with arguments, from the ways in which validators say it."""

from __future__ import annotations

from typing import Any

import pytest

from operations import wire
from operations.otlp import issues
from tests.operations.otlp import sample, test_verdicts

LIST = [
    {"type": "missing", "loc": ["city"], "msg": "Field required"},
    {"type": "int_parsing", "loc": ["days", 0, "a/b"], "msg": "no integer"},
    {"type": "extra_forbidden", "loc": ["town"], "msg": "not permitted"},
]
TEXT = """3 validation errors for get_weather
city
  Field required [type=missing, input_value={'town': 'Oslo'}, input_type=dict]
    For further information visit https://errors.example/missing
days.0
  Input should be a valid integer [type=int_type, input_value='x', input_type=str]
town
  Extra inputs are not permitted [type=extra_forbidden, input_value='Oslo', input_type=str]
"""
MISSING = (
    "Invoking `get_weather()` failed as the following mandatory input parameters are not present:\n"
    "city\ncountry\nYou could retry calling this tool."
)
BROKEN = "1 validation error for get_weather\n  Invalid JSON: EOF [type=json_invalid, input_value='{', input_type=str]"


@pytest.mark.parametrize(
    ("result", "text", "expected"),
    [
        (LIST, None, ["/city required", "/days/0/a~1b type", "/town additionalProperties"]),
        (None, TEXT, ["/city required", "/days/0 type", "/town additionalProperties"]),
        (None, MISSING, ["/city required", "/country required"]),
        (None, BROKEN, [" json"]),
        (LIST[:1], TEXT, ["/city required", "/days/0 type", "/town additionalProperties"]),
        (None, "the city is missing", []),
        ([{"type": "missing"}, 7, {"loc": "city", "type": "missing"}], None, []),
        ("missing", None, []),
    ],
)
def test_an_issue_has_its_place_and_the_rule_that_failed(
    result: Any, text: str | None, expected: list[str]
) -> None:
    found = issues.find(result, text)

    assert [f"{issue.path} {issue.keyword}" for issue in found] == expected


def test_a_record_carries_no_more_issues_than_it_may() -> None:
    many = [{"type": "t" * 100, "loc": ["n" * 300, number]} for number in range(50)]

    found = issues.find(many, None)

    assert len(found) <= issues.ISSUES_MAX
    assert all(len(issue.path) <= 256 and len(issue.keyword) <= 64 for issue in found)


def test_the_record_of_a_refused_call_names_its_issues() -> None:

    span = sample.tool_span(status=sample.ERROR, events=[sample.exception("ValidationError", TEXT)])

    assert test_verdicts.told(span).contract == wire.Contract(
        kind="invalid_arguments", issues=issues.find(None, TEXT)
    )
