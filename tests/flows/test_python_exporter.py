"""OpenTelemetry's own Python exporter sends to a running server, as an agent would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult, SpanProcessor
from pytest_django.live_server_helper import LiveServer

from operations import ingest, problems, rejections
from tests import make

pytestmark = pytest.mark.usefixtures("clean_database")

SUCCESS, FAILURE = SpanExportResult.SUCCESS, SpanExportResult.FAILURE


class Kept(SpanProcessor):
    """Keeps what ended, to be exported when the test wants."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        """Keep it."""
        self.spans.append(span)


@pytest.fixture
def spans() -> Iterator[list[ReadableSpan]]:
    """The spans of an agent's turn: a request to a model, a call that works and one that raises."""
    provider = TracerProvider(
        resource=Resource.create(
            {"service.name": "shop-agent", "service.version": "1.2", "deployment.environment.name": "staging"}
        )
    )
    kept = Kept()
    provider.add_span_processor(kept)
    tracer = provider.get_tracer("agent-sdk", "7.0")
    with tracer.start_as_current_span("invoke_agent shop", attributes={"gen_ai.conversation.id": "talk-1"}):
        model = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "m-1",
        }
        with tracer.start_as_current_span("chat m-1", attributes=model):
            pass
        with call(tracer, "get_weather", "call_1") as span:
            span.set_attribute("gen_ai.tool.call.arguments", '{"city": "Oslo"}')
            span.set_attribute("gen_ai.tool.call.result", '{"temp_c": 21}')
        with pytest.raises(RuntimeError), call(tracer, "explode", "call_2"):
            raise RuntimeError("backend exploded")
    yield kept.spans
    provider.shutdown()


def call(tracer: trace.Tracer, tool: str, call_id: str) -> Any:
    return tracer.start_as_current_span(
        f"execute_tool {tool}",
        attributes={
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": call_id,
        },
    )


def exporter(server: LiveServer, **more: Any) -> OTLPSpanExporter:
    headers = more.pop("headers", None) or make.bearer(make.key())
    return OTLPSpanExporter(endpoint=f"{server.url}/v1/traces", headers=headers, **more)


def stored() -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tool, tool_call_id, status, outcome, code, session_id, provider, model, runtime, environment"
            " FROM operation ORDER BY tool"
        )
        return cursor.fetchall()


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
def test_a_turn_arrives_once_however_often_it_is_sent(
    live_server: LiveServer, spans: list[ReadableSpan], compression: Compression
) -> None:
    sender = exporter(live_server, compression=compression)

    assert [sender.export(spans), sender.export(spans)] == [SUCCESS, SUCCESS]

    common = ("talk-1", "openai", "m-1", "shop-agent@1.2", "staging")
    assert stored() == [
        ("explode", "call_2", "runtime_error", None, "runtime_error", *common),
        ("get_weather", "call_1", "done", "success", None, *common),
    ]


def test_what_arrived_is_read_back_with_its_words(live_server: LiveServer, spans: list[ReadableSpan]) -> None:
    exporter(live_server).export(spans)

    headers = make.bearer(make.key(scopes=["read"]))
    found = Client().get("/v1/operations?q=tool:explode", headers=headers).json()["operations"]

    assert [operation["code"] for operation in found] == ["runtime_error"]


def test_spans_that_come_one_by_one_and_backwards_are_the_same_operations(
    live_server: LiveServer, spans: list[ReadableSpan]
) -> None:
    sender = exporter(live_server)

    for span in reversed(spans):
        assert sender.export([span]) == SUCCESS

    assert [row[:5] for row in stored()] == [
        ("explode", "call_2", "runtime_error", None, "runtime_error"),
        ("get_weather", "call_1", "done", "success", None),
    ]


def test_a_wrong_key_is_refused_and_not_tried_again(
    live_server: LiveServer, spans: list[ReadableSpan]
) -> None:
    sender = exporter(live_server, headers={"Authorization": "Bearer ops_0123456789ab_wrong"})

    assert sender.export(spans) == FAILURE
    assert stored() == []


def test_a_database_that_was_away_gets_everything_when_it_is_back(
    live_server: LiveServer, spans: list[ReadableSpan], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, asked = ingest.ingest, []

    def refuse_once(**told: Any) -> ingest.Receipt:
        asked.append(len(told["entries"]))
        if len(asked) == 1:
            raise rejections.StoreUnavailable
        return store(**told)

    monkeypatch.setattr(ingest, "ingest", refuse_once)
    monkeypatch.setattr(problems, "RETRY_AFTER_S", 0)

    assert exporter(live_server).export(spans) == SUCCESS

    assert asked == [2, 2]
    assert [row[0] for row in stored()] == ["explode", "get_weather"]
