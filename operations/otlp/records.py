"""From a call and its spans to one record of the wire format: the one place where all emitters end."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

from operations import decoding, rejections, wire
from operations.otlp import calls, fields, issues, shapes, values, verdicts

_ENDED = frozenset({"done", "contract_error", "denied", "runtime_error", "timed_out", "cancelled"})


def entry(index: int, call: calls.Call, sender: fields.Sender) -> decoding.Entry:
    """Return the record that tells `call`, which came from `sender`, or why there is none."""
    outer = call.spans[0]
    told = outer.attributes if len(call.spans) == 1 else _together(call)
    call_id = fields.call_id(told)
    own_session = fields.identifier(told, fields.SESSION)
    operation_id = _identity(outer, sender.service, call_id, own_session)
    if operation_id is None:
        return decoding.Entry(index, None, rejections.SpanWithoutIds())
    tool = fields.text(told, fields.TOOL, 128) or fields.tool_in_name(outer.name)
    arguments = _value(call, told, fields.ARGUMENTS, fields.ARGUMENTS_IN_EVENTS)
    result = _value(call, told, fields.RESULT, fields.RESULT_IN_EVENTS)
    verdict = verdicts.of_call(call.spans, tool=tool, result=result.value if result else None)
    model_span = call.model_span
    record = wire.Operation(
        operation_id=operation_id,
        tool_call_id=call_id,
        tool=tool,
        environment=sender.environment,
        runtime=sender.runtime,
        instance=sender.instance,
        source=fields.text(told, fields.SOURCE, 64),
        provider=fields.provider(model_span) if model_span else None,
        model=fields.model(model_span) if model_span else None,
        session_id=own_session or call.ancestor_session or fields.identifier(told, fields.TRANSPORT_SESSION),
        turn_id=fields.identifier(told, fields.TURN),
        trace_id=outer.trace_id or None,
        span_id=outer.span_id or None,
        started_at=str(outer.start_ns) if outer.start_ns else None,
        ended_at=str(outer.end_ns) if verdict.status in _ENDED else None,
        status=verdict.status,
        outcome=verdict.outcome,
        code=verdict.code,
        contract=_contract(verdict, result),
        error=wire.Error(text=verdict.text) if verdict.text else None,
        input=values.payload(wire.Input, arguments) if arguments else None,
        output=values.payload(wire.Payload, result) if result else None,
    )
    inferred = _inferred(verdict.is_inferred, own_session is not None)
    return decoding.Entry(index, record, None, operation_id, (), inferred)


def _together(call: calls.Call) -> dict[str, Any]:
    """Return what the spans of a call say together; where several speak, the outermost counts."""
    told: dict[str, Any] = {}
    for span in reversed(call.spans):
        told |= {name: value for name, value in span.attributes.items() if not fields.is_placeholder(value)}
    return told


def _identity(outer: shapes.Span, service: str, call_id: str | None, session: str | None) -> str | None:
    """Return the operation's id, made only of what its own spans tell: relatives may come in another request.

    Call ids repeat: between sessions, and between services that share a session's name. A call without one is
    known by its outermost span.
    """
    scope = session or outer.trace_id
    if call_id is not None and scope:
        parts = "\0".join(("session" if session else "trace", service, scope, call_id))
        return "call:" + hashlib.blake2b(parts.encode(), digest_size=16).hexdigest()
    if outer.trace_id and outer.span_id:
        return f"span:{outer.trace_id}:{outer.span_id}"
    return None


def _contract(verdict: verdicts.Verdict, result: values.Json | None) -> wire.Contract | None:
    if verdict.kind is None:
        return None
    if verdict.kind != "invalid_arguments":
        return wire.Contract(kind=verdict.kind)
    return wire.Contract(
        kind=verdict.kind, issues=issues.find(result.value if result else None, verdict.text)
    )


def _value(
    call: calls.Call,
    told: dict[str, Any],
    attributes: tuple[str, ...],
    events: tuple[tuple[str, str], ...],
) -> values.Json | None:
    """Return the first value in one of `attributes` or `events` that is no placeholder."""
    for name in attributes:
        if name in told:
            found = values.read(told[name])
            if found is not None:
                return found
    for span in call.spans:
        if span.events:
            in_event = fields.in_events(span, events)
            if in_event is not None:
                return values.read(in_event)
    return None


@functools.cache
def _inferred(is_verdict_inferred: bool, is_session_own: bool) -> frozenset[str]:
    """Name the fields that were worked out: from relatives, or from words."""
    names = {"provider", "model"}
    if is_verdict_inferred:
        names |= {"status", "outcome", "code", "contract"}
    return frozenset(names if is_session_own else names | {"session_id"})
