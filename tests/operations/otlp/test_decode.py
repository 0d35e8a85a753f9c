"""Protobuf and JSON, as exporters really send them, come to the same records."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1 import trace_pb2

from operations import limits, otlp, rejections, wire
from tests.operations.otlp import sample

encode = msgspec.json.Encoder().encode


def from_json(span: dict[str, Any], **resource: Any) -> otlp.Traces:
    """What one span of OTLP/JSON tells."""
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
        {"key": "gen_ai.tool.name", "value": {"stringValue": "refund"}},
        *span.pop("attributes", []),
    ]
    told = {"traceId": sample.TRACE, "spanId": "b7ad6b7169203331", "attributes": attributes, **span}
    body = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {}, "spans": [told]}]}]}
    return otlp.read_traces(json.dumps(body).encode(), is_json=True)


def one(found: otlp.Traces) -> wire.Operation:
    (entry,) = found.entries
    assert entry.record is not None
    return entry.record


def test_both_types_tell_the_same() -> None:
    spans = [
        sample.tool_span(
            "refund",
            gen_ai__tool__call__id="call_1",
            gen_ai__tool__call__arguments={"order": 9, "tags": ["a", None, 1.5, True], "raw": b"\0\1"},
            gen_ai__tool__call__result='{"ok": false, "code": "taken"}',
            status=sample.ERROR,
            message="taken",
            events=[sample.exception("RuntimeError", "taken")],
        ),
        sample.span("chat", "00000000000000aa", gen_ai__operation__name="chat"),
    ]

    assert otlp.read_traces(sample.body(*spans), is_json=False) == otlp.read_traces(
        sample.json_body(*spans), is_json=True
    )


def test_structured_arguments_and_text_that_holds_json_are_the_same_value() -> None:
    structured = sample.tool_span(gen_ai__tool__call__arguments={"city": "Oslo", "days": 2})
    texts = ['{"city":"Oslo","days":2}', json.dumps('{"city":"Oslo","days":2}')]

    told = [
        one(otlp.read_traces(sample.body(span), is_json=False)).input
        for span in (structured, *(sample.tool_span(gen_ai__tool__call__arguments=text) for text in texts))
    ]

    assert [bytes(part.value) for part in told if part is not None] == [b'{"city":"Oslo","days":2}'] * 3


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("Oslo", b'"Oslo"'),
        ('"deleted /a"', b'"deleted /a"'),
        ('"\\"twice\\""', b'"\\"twice\\""'),
        ("{'city': 'Oslo'}", b"\"{'city': 'Oslo'}\""),
        ('{"n": 123456789012345678901234567890}', b'{"n": 123456789012345678901234567890}'),
        ("[1, 2", b'"[1, 2"'),
        (7, b"7"),
        (True, b"true"),
    ],
)
def test_a_result_is_kept_as_the_json_it_is_or_as_text(sent: Any, kept: bytes) -> None:
    record = one(
        otlp.read_traces(sample.body(sample.tool_span(gen_ai__tool__call__result=sent)), is_json=False)
    )

    assert record.output is not None
    assert bytes(record.output.value) == kept


@pytest.mark.parametrize("sent", ["", "None", "<not specified>", '{"result": "<not specified>"}', None])
def test_a_placeholder_is_no_result(sent: Any) -> None:
    record = one(
        otlp.read_traces(sample.body(sample.tool_span(gen_ai__tool__call__result=sent)), is_json=False)
    )

    assert record.output is None


def test_a_value_beyond_the_limit_becomes_its_redacted_compact_form() -> None:
    secret = "sk-ant-" + "a1" * 20
    long = json.dumps({"text": "x" * limits.VALUE_BYTES_MAX, "key": f"Bearer {secret}"})

    record = one(
        otlp.read_traces(sample.body(sample.tool_span(gen_ai__tool__call__result=long)), is_json=False)
    )

    assert record.output is not None
    assert (record.output.bytes, record.output.truncated, record.output.value) == (
        len(long),
        True,
        wire.ABSENT,
    )
    assert len(record.output.compact) <= limits.COMPACT_BYTES_MAX
    assert json.loads(bytes(record.output.compact))["text"].startswith("xxx")
    assert secret.encode() not in bytes(record.output.compact)


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"status": {}},
        {"status": {"code": 0}},
        {"status": {"message": "", "code": 0}},
        {"status": None},
        {"parentSpanId": ""},
        {"parentSpanId": None},
        {"kind": "SPAN_KIND_INTERNAL"},
        {"traceId": sample.TRACE.upper()},
        {"events": None, "links": [], "traceState": "", "flags": 257, "droppedAttributesCount": 0},
        {"newField": {"any": ["thing"]}},
        {"attributes": [{"key": "gen_ai.tool.call.id", "value": {}}]},
        {"attributes": [{"key": "gen_ai.tool.call.id"}]},
    ],
)
def test_every_shape_of_json_that_is_really_sent_is_read(shape: dict[str, Any]) -> None:
    record = one(from_json({"startTimeUnixNano": "1000", "endTimeUnixNano": "2000", **shape}))

    assert (record.tool, record.status, record.trace_id) == ("refund", "done", sample.TRACE)
    assert (record.started_at, record.ended_at) == ("1000", "2000")


@pytest.mark.parametrize("number", [1_700_000_000_000_000_000, "1700000000000000000"])
def test_times_are_numbers_or_texts(number: object) -> None:
    assert one(from_json({"startTimeUnixNano": number})).started_at == "1700000000000000000"


@pytest.mark.parametrize("value", [{"intValue": "9"}, {"intValue": 9}])
def test_integers_are_numbers_or_texts(value: dict[str, object]) -> None:
    record = one(from_json({"attributes": [{"key": "gen_ai.tool.call.arguments", "value": value}]}))

    assert record.input is not None
    assert bytes(record.input.value) == b"9"


@pytest.mark.parametrize("status", [{"code": 2}, {"code": "STATUS_CODE_ERROR"}])
def test_a_status_is_a_number_or_a_name(status: dict[str, object]) -> None:
    record = one(from_json({"startTimeUnixNano": 1, "endTimeUnixNano": 2, "status": status}))

    assert record.status == "runtime_error"


@pytest.mark.parametrize(
    "broken",
    [{"attributes": 7}, {"startTimeUnixNano": "soon"}, {"traceId": 7}, {"status": "bad"}, {"name": ["x"]}],
)
def test_a_broken_span_is_counted_and_leaves_the_others_alone(broken: dict[str, Any]) -> None:
    body = json.loads(sample.json_body(sample.tool_span("refund")))
    spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans.insert(0, {**spans[0], **broken})

    found = otlp.read_traces(json.dumps(body).encode(), is_json=True)

    assert (len(found.entries), found.rejected) == (1, 1)


def test_half_a_surrogate_pair_and_nul_do_no_harm() -> None:
    record = one(
        from_json({"attributes": [{"key": "gen_ai.tool.call.id", "value": {"stringValue": "a\ud800\0b"}}]})
    )

    assert record.tool_call_id == "a\ufffd\u2400b"


@pytest.mark.parametrize("is_json", [False, True])
def test_nothing_is_an_empty_request(is_json: bool) -> None:
    assert otlp.read_traces(b"", is_json=is_json) == otlp.Traces([], [], 0, 0)


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"resourceSpans": {}}', b"\xff", b"[" * 200_000])
def test_what_is_no_request_is_refused(body: bytes) -> None:
    with pytest.raises(rejections.BodyNotOtlp):
        otlp.read_traces(body, is_json=True)


def test_protobuf_that_nests_without_end_is_refused() -> None:
    def field(number: int, content: bytes) -> bytes:
        size, left = b"", len(content)
        while left > 0x7F:
            size, left = size + bytes([left & 0x7F | 0x80]), left >> 7
        return bytes([number << 3 | 2]) + size + bytes([left]) + content

    def body_with(levels: int) -> bytes:
        value = field(1, b"x")
        for _ in range(levels):
            value = field(5, field(1, value))
        pair = field(1, b"gen_ai.tool.call.arguments") + field(2, value)
        return field(1, field(2, field(2, field(9, pair))))

    assert otlp.read_traces(body_with(10), is_json=False).ignored == 1
    body = body_with(2000)

    with pytest.raises(rejections.BodyNotOtlp):
        otlp.read_traces(body, is_json=False)


def test_long_names_and_ids_stay_within_the_limits_of_a_record() -> None:
    long = "n" * 300
    record = one(
        otlp.read_traces(
            sample.body(
                sample.tool_span(long, gen_ai__tool__call__id=long, gen_ai__conversation__id=long),
                resource={"service.name": long, "service.version": long, "deployment.environment": long},
            ),
            is_json=False,
        )
    )

    assert valid(record)
    other = sample.tool_span(long, gen_ai__tool__call__id=long + "x")
    assert one(otlp.read_traces(sample.body(other), is_json=False)).tool_call_id != record.tool_call_id


def valid(record: wire.Operation) -> bool:
    """Tell whether a record would also be accepted as JSON."""
    encoded = encode(record)
    return encode(msgspec.json.decode(encoded, type=wire.Operation)) == encoded


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(sorted(otlp.fields.WANTED | {"gen_ai.operation.name", "custom", "service.name"}))


@st.composite
def any_span(draw: st.DrawFn) -> trace_pb2.Span:
    """A tool call's span with anything in it."""
    attributes = draw(st.dictionaries(keys, values, max_size=6))
    told = {"gen_ai.operation.name": "execute_tool", **attributes}
    events = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["exception", "gen_ai.choice", "gen_ai.tool.message", "other"]),
                st.dictionaries(keys, values, max_size=3),
            ),
            max_size=2,
        )
    )
    start = draw(st.integers(0, 2**64 - 1))
    return sample.span(
        draw(st.text(max_size=20)),
        draw(st.sampled_from(["00" * 8, "01" * 8, "02" * 8])),
        parent=draw(st.sampled_from(["", "01" * 8, "02" * 8])),
        start_ns=start,
        duration_ns=draw(st.integers(-start, 2**64 - 1 - start)),
        status=draw(st.integers(0, 3)),
        message=draw(st.text(max_size=40)),
        events=events,
        attributes=told,
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(any_span(), max_size=5), st.dictionaries(keys, values, max_size=3))
def test_whatever_a_span_holds_becomes_a_valid_record_the_same_in_both_types(
    spans: list[trace_pb2.Span], resource: dict[str, Any]
) -> None:
    found = otlp.read_traces(sample.body(*spans, resource=resource), is_json=False)

    told = [entry.record for entry in found.entries if entry.record is not None]
    assert found.ignored + sum(found.spans_of) == len(spans)
    assert all(valid(record) for record in told)
    again = otlp.read_traces(sample.json_body(*spans, resource=resource), is_json=True)
    assert encode(told) == encode([entry.record for entry in again.entries if entry.record is not None])
