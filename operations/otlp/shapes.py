"""The one frozen form of a span, whichever way it came."""

from __future__ import annotations

from typing import Any, NamedTuple

#: An attribute's value: text, number, boolean, list or mapping of these.
Value = Any

ERROR = 2  # StatusCode


class Event(NamedTuple):
    """Something that happened during a span."""

    name: str
    attributes: dict[str, Value]


class Origin(NamedTuple):
    """Who sent a span: its resource's attributes and the instrumentation's name and version."""

    attributes: dict[str, Value]
    scope_name: str
    scope_version: str


class Span(NamedTuple):
    """One span, with the wanted ones of its attributes; what was not told is empty or 0."""

    trace_id: str
    span_id: str
    parent_span_id: str
    name: str
    start_ns: int
    end_ns: int
    status_code: int
    status_message: str
    attributes: dict[str, Value]
    events: tuple[Event, ...]
    origin: Origin
