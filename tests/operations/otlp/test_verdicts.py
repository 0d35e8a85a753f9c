"""How a call ended, from what its spans say."""

from __future__ import annotations

from typing import Any

import pytest

from operations import otlp, wire
from tests.operations.otlp import sample


def told(*spans: Any, **more: Any) -> wire.Operation:
    """The one record that `spans` tell."""
    (entry,) = otlp.read_traces(sample.body(*spans, **more), is_json=False).entries
    assert entry.record is not None
    return entry.record


def ending(record: wire.Operation) -> tuple[str | None, ...]:
    """What a record says about how it ended."""
    return record.status, record.outcome, record.code, record.contract and record.contract.kind


def result(value: Any, **more: Any) -> wire.Operation:
    """The record of a call that returned `value`."""
    return told(sample.tool_span(gen_ai__tool__call__result=value, **more))


DONE = ("done", None, None, None)
SUCCESS = ("done", "success", None, None)
UNKNOWN_TOOL = ("contract_error", None, None, "unknown_tool")
INVALID_ARGUMENTS = ("contract_error", None, None, "invalid_arguments")
TIMED_OUT = ("timed_out", None, "timeout", None)


def failure(code: str) -> tuple[str | None, ...]:
    return ("done", "failure", code, None)


def raised(code: str) -> tuple[str | None, ...]:
    return ("runtime_error", None, code, None)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain words", DONE),
        ('{"city": "Oslo"}', DONE),
        ({"ok": True, "error": {"code": "ignored"}}, SUCCESS),
        ('{"success": "true"}', SUCCESS),
        ('{"ok":false,"error":{"code":"INSUFFICIENT_FUNDS","message":"low"}}', failure("insufficient_funds")),
        ({"ok": False, "error": {"code": "NotFound"}}, failure("not_found")),
        ({"success": False}, failure("tool_error")),
        ({"success": False, "error_code": "card.declined"}, failure("card_declined")),
        ({"success": False, "code": 404}, failure("status_404")),
        ({"success": False, "error": "it did not work out"}, failure("tool_error")),
        ({"error": "not_found"}, failure("not_found")),
        ({"error": "NOT_FOUND: no such order"}, failure("not_found")),
        ({"error": None}, DONE),
        ({"status": "error", "message": "no"}, failure("tool_error")),
        ({"status": "failed", "job": 7}, DONE),
        ({"status": "failed", "message": "no"}, failure("tool_error")),
        ({"isError": True, "content": [{"type": "text", "text": "no"}]}, failure("tool_error")),
        ({"isError": False, "content": []}, SUCCESS),
        ({"exit_code": 3}, failure("nonzero_exit")),
        ({"exit_code": 0}, SUCCESS),
        ([{"json": {"ok": False, "code": "taken"}}], failure("taken")),
        ('"{\\"ok\\": false, \\"code\\": \\"taken\\"}"', failure("taken")),
        ([], DONE),
        ([{"ok": False}, {"ok": True}], DONE),
    ],
)
def test_a_returned_value_says_whether_it_is_a_failure_and_which(value: Any, expected: Any) -> None:
    assert ending(result(value)) == expected


def test_an_unset_status_and_silence_are_a_success_that_nobody_told() -> None:
    assert ending(told(sample.tool_span())) == DONE


def test_a_status_of_the_tool_is_told() -> None:
    assert ending(told(sample.tool_span(gen_ai__tool__status="success"))) == SUCCESS


@pytest.mark.parametrize(
    ("error_type", "exception", "expected"),
    [
        ("RuntimeError", None, raised("runtime_error")),
        (None, ("RuntimeError", "no"), raised("runtime_error")),
        ("pkg.errors.HTTPStatusError", None, raised("http_status_error")),
        ("_OTHER", ("app.MCPError", "no"), raised("mcp_error")),
        ("_OTHER", None, raised("unspecified_error")),
        ("500", None, raised("status_500")),
        ("something went wrong in prose", None, raised("unspecified_error")),
        ("TimeoutError", None, TIMED_OUT),
        ("-32001", ("MCPError", "Request 'tools/call' timed out"), TIMED_OUT),
        (None, ("asyncio.exceptions.CancelledError", ""), ("cancelled", None, None, None)),
        ("-32602", None, INVALID_ARGUMENTS),
        ("-32601", None, ("contract_error", None, None, "unsupported_protocol")),
        ("-32000", None, raised("connection_closed")),
        ("ValueError", ("ValueError", "Unknown tool: refnud"), UNKNOWN_TOOL),
        ("ValueError", ("ValueError", "unknown toolbox"), raised("value_error")),
        (None, ("ValidationError", "1 validation error for get_weather\ncity"), INVALID_ARGUMENTS),
        (None, ("ValidationError", "2 validation errors for call[get_weather]\ncity"), INVALID_ARGUMENTS),
        (None, ("ValidationError", "1 validation error for Order\nid"), raised("validation_error")),
        (None, ("ToolRetryError", "Timed out after 0.2 seconds."), TIMED_OUT),
        ("tool_error", None, failure("tool_error")),
        ("tool_error", ("ToolError", "backend exploded"), raised("tool_error")),
    ],
)
def test_an_error_has_a_stable_code_or_is_one_of_the_contract(
    error_type: str | None, exception: tuple[str, str] | None, expected: Any
) -> None:
    events = [sample.exception(*exception)] if exception else []
    attributes = {"error.type": error_type} if error_type else {}

    span = sample.tool_span(status=sample.ERROR, events=events, attributes=attributes)

    assert ending(told(span)) == expected


def test_an_error_without_type_takes_the_one_that_its_words_begin_with() -> None:
    span = sample.tool_span(status=sample.ERROR, message="KeyError: 'city'")

    assert ending(told(span)) == raised("key_error")


def test_an_exception_counts_although_the_status_is_fine() -> None:
    span = sample.tool_span(status=sample.OK, events=[sample.exception("RuntimeError", "no")])

    assert ending(told(span)) == raised("runtime_error")


def test_an_exception_that_was_handled_does_not_count_when_there_is_a_result() -> None:
    span = sample.tool_span(
        events=[sample.exception("RuntimeError", "retried")], gen_ai__tool__call__result="fine"
    )

    assert ending(told(span)) == DONE


def test_a_failure_returned_as_data_is_no_exception_although_the_status_says_error() -> None:
    record = result(
        '{"status":"error","error":{"code":"INSUFFICIENT_FUNDS","message":"balance too low"}}',
        status=sample.ERROR,
        error__type="TOOL_ERROR",
    )

    assert ending(record) == failure("insufficient_funds")
    assert record.error == wire.Error(text="balance too low")


def test_a_call_that_asks_for_confirmation_has_not_ended() -> None:
    record = result('{"error": "This tool call requires confirmation, please approve or reject."}')

    assert ending(record) == ("awaiting_approval", None, None, None)
    assert record.ended_at is None


def test_a_validation_flag_is_a_contract_error_whatever_the_words_are() -> None:
    span = sample.tool_span(
        status=sample.ERROR,
        events=[sample.exception("x.ValidationError", "1 validation error for Args")],
        attributes={"pydantic_ai.tool.failure_stage": "validation"},
    )

    assert ending(told(span)) == INVALID_ARGUMENTS


def test_a_span_that_is_still_open_is_running() -> None:
    record = told(sample.tool_span(duration_ns=0))

    assert (record.status, record.ended_at) == ("running", None)


def test_a_traceback_is_left_out_of_the_words() -> None:
    message = "ValueError('no')Traceback (most recent call last):\n  File x"

    record = told(sample.tool_span(status=sample.ERROR, message=message))

    assert record.error == wire.Error(text="ValueError('no')")


def test_verdicts_from_words_are_inferred_and_those_from_types_are_not() -> None:
    worded = sample.tool_span(status=sample.ERROR, message="Unknown tool: x")
    typed = sample.tool_span(status=sample.ERROR, error__type="-32602")

    inferred = [
        otlp.read_traces(sample.body(span), is_json=False).entries[0].inferred for span in (worded, typed)
    ]

    assert ["status" in names for names in inferred] == [True, False]
