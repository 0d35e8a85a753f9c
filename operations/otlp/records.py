"""From a call and its spans to one record of the wire format: the one place where all emitters end."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable

from operations import decoding, rejections, wire
from operations.otlp import calls, decode, fields, values, verdicts

_ENDED = frozenset({"done", "contract_error", "denied", "runtime_error", "timed_out", "cancelled"})


def entry(index: int, call: calls.Call) -> decoding.Entry:
    """Return the record that tells `call`, or why there is none."""
    outer = call.spans[0]
    call_id = _first(call, fields.call_id)
    own_session = _first(call, _session)
    operation_id = _identity(call, call_id=call_id, session=own_session)
    if operation_id is None:
        return decoding.Entry(index, None, rejections.SpanWithoutIds())
    tool = fields.tool(outer) or _first(call, fields.tool)
    arguments = _told(call, fields.ARGUMENTS, fields.ARGUMENTS_IN_EVENTS)
    result = _told(call, fields.RESULT, fields.RESULT_IN_EVENTS)
    verdict = verdicts.of_call(call.spans, tool=tool, result=result.value if result else None)
    session = own_session or call.ancestor_session or _first(call, _transport_session)
    model_span = call.model_span
    resource = outer.origin.attributes
    record = wire.Operation(
        operation_id=operation_id,
        tool_call_id=call_id,
        tool=tool,
        environment=fields.first_text(resource, fields.ENVIRONMENT, 64),
        runtime=_runtime(outer),
        instance=fields.first_text(resource, fields.INSTANCE, 128),
        source=_first(call, _source),
        provider=fields.provider(model_span) if model_span else None,
        model=fields.first_text(model_span.attributes, fields.MODEL, 128) if model_span else None,
        session_id=session,
        turn_id=_first(call, _turn),
        trace_id=outer.trace_id or None,
        span_id=outer.span_id or None,
        started_at=str(outer.start_ns) if outer.start_ns else None,
        ended_at=str(outer.end_ns) if verdict.status in _ENDED else None,
        status=verdict.status,
        outcome=verdict.outcome,
        code=verdict.code,
        contract=wire.Contract(kind=verdict.kind) if verdict.kind else None,
        error=wire.Error(text=verdict.text) if verdict.text else None,
        input=values.payload(wire.Input, arguments) if arguments else None,
        output=values.payload(wire.Payload, result) if result else None,
    )
    inferred = _inferred(is_verdict_inferred=verdict.is_inferred, is_session_own=own_session is not None)
    return decoding.Entry(index, record, None, operation_id, (), inferred)


def _first(call: calls.Call, read: Callable[[decode.Span], str | None]) -> str | None:
    """Return what the outermost span says that says anything."""
    for span in call.spans:
        told = read(span)
        if told is not None:
            return told
    return None


def _identity(call: calls.Call, *, call_id: str | None, session: str | None) -> str | None:
    """Return the operation's id, made only of what its own spans tell: relatives may come in another request.

    Call ids repeat: between sessions, and between services that share a session's name. A call without one
    is known by its outermost span.
    """
    outer = call.spans[0]
    scope = session or outer.trace_id
    if call_id is not None and scope:
        service = str(outer.origin.attributes.get("service.name", ""))
        parts = "\0".join(("session" if session else "trace", service, scope, call_id))
        return "call:" + hashlib.blake2b(parts.encode(), digest_size=16).hexdigest()
    if outer.trace_id and outer.span_id:
        return f"span:{outer.trace_id}:{outer.span_id}"
    return None


def _runtime(span: decode.Span) -> str | None:
    resource, scope_name, scope_version = span.origin
    service = fields.first_text(resource, fields.SERVICE, 128)
    version = fields.first_text(resource, fields.SERVICE_VERSION, 64)
    return fields.runtime(service, version, scope_name, scope_version)


def _source(span: decode.Span) -> str | None:
    return fields.first_text(span.attributes, fields.SOURCE, 64)


def _session(span: decode.Span) -> str | None:
    return fields.identifier(span.attributes, fields.SESSION)


def _transport_session(span: decode.Span) -> str | None:
    return fields.identifier(span.attributes, fields.TRANSPORT_SESSION)


def _turn(span: decode.Span) -> str | None:
    return fields.identifier(span.attributes, fields.TURN)


def _told(
    call: calls.Call, attributes: tuple[str, ...], events: tuple[tuple[str, str], ...]
) -> values.Json | None:
    """Return the first value in one of `attributes` or `events` that is no placeholder."""
    for span in call.spans:
        for name in attributes:
            told = span.attributes.get(name)
            found = values.read(told) if told is not None else None
            if found is not None:
                return found
        told = fields.in_events(span, events) if span.events else None
        found = values.read(told) if told is not None else None
        if found is not None:
            return found
    return None


@functools.cache
def _inferred(*, is_verdict_inferred: bool, is_session_own: bool) -> frozenset[str]:
    """Name the fields that were worked out: from relatives, or from words."""
    names = {"provider", "model"}
    if is_verdict_inferred:
        names |= {"status", "outcome", "code", "contract"}
    return frozenset(names if is_session_own else names | {"session_id"})
