"""Which spans are one call, how it is known again, and what its relatives tell."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from operations import decoding, otlp, wire
from tests.operations.otlp import sample

A, B, C, D, E = (f"{number:016x}" for number in range(1, 6))


def entries(*spans: Any, **more: Any) -> list[decoding.Entry]:
    return otlp.read_traces(sample.body(*spans, **more), is_json=False).entries


def records(*spans: Any, **more: Any) -> list[wire.Operation]:
    return [entry.record for entry in entries(*spans, **more) if entry.record is not None]


def mcp(name: str, span_id: str, **more: Any) -> Any:
    """A leg of the protocol."""
    return sample.span(
        name, span_id, attributes={"mcp.method.name": "tools/call", **more.pop("attributes", {})}, **more
    )


def client(span_id: str = A, parent: str = "", **more: Any) -> Any:
    told = {"gen_ai.tool.name": "refund", "gen_ai.operation.name": "execute_tool"}
    return mcp("tools/call refund", span_id, parent=parent, kind=sample.CLIENT, attributes=told, **more)


def sent(span_id: str = B, parent: str = A, **more: Any) -> Any:
    return mcp("MCP send tools/call refund", span_id, parent=parent, kind=sample.CLIENT, **more)


def server(span_id: str = C, parent: str = B, **more: Any) -> Any:
    told = {"gen_ai.tool.name": "refund", "mcp.session.id": "transport-1", **more.pop("attributes", {})}
    return mcp("tools/call refund", span_id, parent=parent, kind=sample.SERVER, attributes=told, **more)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_client_transport_and_server_are_one_call_in_any_order(order: tuple[int, ...]) -> None:
    spans = [
        client(status=sample.ERROR, message="no", start_ns=10**18),
        sent(start_ns=10**18 + 1),
        server(
            status=sample.ERROR,
            start_ns=10**18 + 2,
            events=[sample.exception("fastmcp.exceptions.NotFoundError", "no")],
        ),
    ]

    (record,) = records(*(spans[place] for place in order))

    assert record.operation_id == f"span:{sample.TRACE}:{A}"
    assert (record.tool, record.started_at, record.session_id) == ("refund", str(10**18), "transport-1")
    assert record.contract == wire.Contract(kind="unknown_tool")


def test_a_transport_span_alone_names_its_tool() -> None:
    (record,) = records(sent())

    assert (record.tool, record.operation_id) == ("refund", f"span:{sample.TRACE}:{B}")


def test_a_timeout_at_the_client_counts_before_a_server_that_says_nothing() -> None:
    (record,) = records(
        client(status=sample.ERROR, message="Request 'tools/call' timed out"), sent(), server()
    )

    assert record.status == "timed_out"


def test_the_agents_own_span_and_the_protocols_are_one_call_under_the_agents_id() -> None:
    own = sample.tool_span("crm__refund", A, gen_ai__tool__call__id="call_1", gen_ai__conversation__id="s")

    (record,) = records(client(B, A), sent(C, B), server(D, C), own)

    assert (record.tool, record.tool_call_id, record.session_id) == ("crm__refund", "call_1", "s")
    assert record.operation_id == records(own)[0].operation_id


def test_a_tool_that_calls_another_over_the_protocol_makes_two_calls() -> None:
    own = sample.tool_span("close_account", A)

    assert sorted(record.tool or "" for record in records(own, client(B, A), sent(C, B))) == [
        "close_account",
        "refund",
    ]


def test_a_tool_that_calls_its_namesake_over_the_protocol_twice_makes_three_calls() -> None:
    own = sample.tool_span("refund", A, gen_ai__tool__call__id="call_1")

    assert len(records(own, client(B, A), client(C, A))) == 3


def test_a_client_that_sends_twice_makes_one_call() -> None:
    assert len(records(client(A), sent(B, A), sent(C, A), server(D, C))) == 1


def test_a_tool_inside_itself_makes_two_calls() -> None:
    outer = sample.tool_span("ask", A, gen_ai__tool__call__id="call_1")
    inner = sample.tool_span("ask", B, parent=A, gen_ai__tool__call__id="call_2")

    assert len(records(outer, inner)) == 2


def test_two_calls_under_one_parent_stay_two() -> None:
    assert len(records(server(B, A), server(C, A))) == 2


def test_parents_in_a_circle_end() -> None:
    assert {record.tool for record in records(client(A, B), sent(B, A))} == {"refund"}
    chat = sample.span("chat", C, parent=D, gen_ai__operation__name="chat", gen_ai__request__model="m")
    assert [r.model for r in records(chat, sample.tool_span("x", D, parent=C))] == ["m"]


def test_a_call_id_is_known_by_service_session_and_id() -> None:
    def identity(service: str = "shop", **told: Any) -> str | None:
        span = sample.tool_span("refund", told.pop("span_id", A), attributes=told)
        return records(span, resource={"service.name": service})[0].operation_id

    call = {"gen_ai.tool.call.id": "call_1", "gen_ai.conversation.id": "s"}
    same = identity(**call)

    assert identity(**call, span_id=B) == same
    assert identity("other", **call) != same
    assert identity(**{**call, "gen_ai.conversation.id": "t"}) != same
    assert identity(**{**call, "gen_ai.tool.call.id": "call_2"}) != same
    assert identity(**{"gen_ai.tool.call.id": "call_1"}) not in {same, None}


def test_the_identity_does_not_depend_on_what_relatives_tell() -> None:
    agent = sample.span("invoke_agent", A, gen_ai__conversation__id="s")
    call = sample.tool_span("refund", B, parent=A, gen_ai__tool__call__id="call_1")

    alone, together = records(call)[0], records(agent, call)[0]

    assert (alone.session_id, together.session_id) == (None, "s")
    assert alone.operation_id == together.operation_id


@pytest.mark.parametrize("placeholder", ["<not specified>", "unknown", "", "None"])
def test_a_placeholder_is_no_call_id(placeholder: str) -> None:
    (record,) = records(sample.tool_span("refund", A, gen_ai__tool__call__id=placeholder))

    assert (record.tool_call_id, record.operation_id) == (None, f"span:{sample.TRACE}:{A}")


def test_a_span_without_valid_ids_is_refused_unless_its_session_and_call_are_known() -> None:
    nameless = "00" * 8
    refused, kept = entries(
        sample.tool_span("refund", nameless),
        sample.tool_span("refund", nameless, gen_ai__tool__call__id="call_1", gen_ai__conversation__id="s"),
    )

    assert refused.rejection is not None
    assert refused.rejection.reason == "span_without_ids"
    assert kept.record is not None


def model(span_id: str, parent: str, name: str, start_ns: int, **told: Any) -> Any:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": name, **told}
    return sample.span(f"chat {name}", span_id, parent=parent, start_ns=start_ns, attributes=attributes)


def test_the_model_is_that_of_the_last_request_before_the_call() -> None:
    at = 10**18
    spans = [
        model(B, A, "first", at, **{"gen_ai.provider.name": "anthropic"}),
        model(C, A, "second", at + 10, **{"gen_ai.provider.name": "openai"}),
        model(D, A, "third", at + 30, **{"gen_ai.provider.name": "mistral"}),
    ]

    (entry,) = entries(*spans, sample.tool_span("refund", E, parent=A, start_ns=at + 20))

    assert entry.record is not None
    assert (entry.record.provider, entry.record.model) == ("openai", "second")
    assert {"provider", "model"} <= entry.inferred


def test_a_model_of_another_trace_or_branch_is_not_this_calls() -> None:
    elsewhere = model(B, A, "m", 1, **{"gen_ai.provider.name": "openai"})
    other = sample.tool_span("refund", D, parent=C)

    assert records(elsewhere, other)[0].model is None


def test_a_framework_is_no_provider() -> None:
    inside = sample.span(
        "generate_content",
        C,
        parent=B,
        start_ns=2,
        attributes={
            "gen_ai.operation.name": "generate_content",
            "gen_ai.system": "gemini",
            "gen_ai.request.model": "g",
        },
    )
    around = sample.span(
        "call_llm",
        B,
        parent=A,
        start_ns=1,
        attributes={"gen_ai.system": "gcp.vertex.agent", "gen_ai.request.model": "g"},
    )
    call = sample.tool_span("refund", D, parent=A, start_ns=3, gen_ai__system="strands-agents")

    assert [record.provider for record in records(around, inside, call)] == ["gemini"]
    assert [record.provider for record in records(around, call)] == [None]


def test_other_spans_are_no_tool_calls() -> None:
    spans = [
        sample.span("execute_event_loop_cycle", A, gen_ai__operation__name="execute_event_loop_cycle"),
        sample.tool_span("(merged tools)", B),
        sample.span(
            "tools/list",
            C,
            attributes={"mcp.method.name": "tools/list", "gen_ai.operation.name": "execute_tool"},
        ),
        sample.tool_span("final_result", D, logfire__msg="running output function: final_result"),
        sample.span("tools", E),
    ]

    found = otlp.read_traces(sample.body(*spans), is_json=False)

    assert (found.entries, found.ignored) == ([], 5)
