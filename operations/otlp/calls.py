"""Which spans of a request are one call, and what their relatives tell about it.

One call can be told by several spans: the agent's own, the client's, the transport's and the server's.
Inside one request they are joined by their parents. Model, provider and session stand on siblings and
ancestors.
"""

from __future__ import annotations

import bisect
import collections
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from operations.otlp import detect, fields, shapes

#: How far up ancestors are looked at. Real trees are less than 20 deep; a cycle of parents ends here.
ANCESTORS_MAX = 32

#: What may stand between the name of a server and the tool's own name.
_SEPARATORS = re.compile(r"[_.:/-]")

#: How many spans may stand around one request to a model: the framework's and the client library's.
MODEL_SPANS_MAX = 3

#: How many legs one call may have: the agent, then client, transport and server, and the same behind a gateway.
LEGS_MAX = 8

_Key = tuple[str, str]


class Call(NamedTuple):
    """One attempt to run one tool, told by one or more spans, the outermost first."""

    spans: tuple[shapes.Span, ...]
    model_span: shapes.Span | None
    ancestor_session: str | None


def find(spans: Sequence[shapes.Span]) -> Iterator[Call]:
    """Yield the tool calls among `spans`, in the order of their first spans."""
    tool_spans = [span for span in spans if detect.is_tool_call(span)]
    if not tool_spans:
        return
    family = _Family(spans, tool_spans)
    groups: dict[_Key, list[shapes.Span]] = {}
    for span in tool_spans:
        outer = family.outermost(span)
        # Spans without an id cannot be told apart by it.
        key = (outer.trace_id, outer.span_id) if outer.span_id else (outer.trace_id, f"#{len(groups)}")
        groups.setdefault(key, []).append(span)
    for group in groups.values():
        members = sorted(group, key=family.depth) if len(group) > 1 else group
        outer = members[0]
        yield Call(tuple(members), family.model_span(outer), family.ancestor_session(outer))


class _Family:
    """The relatives of tool spans within one request."""

    def __init__(self, spans: Iterable[shapes.Span], tool_spans: Sequence[shapes.Span]) -> None:
        self._by_key: dict[_Key, shapes.Span] = {(span.trace_id, span.span_id): span for span in spans}
        self._tool_keys = {(span.trace_id, span.span_id) for span in tool_spans}
        self._legs = collections.Counter(_place(span) for span in tool_spans if detect.is_mcp(span))
        self._model_spans: dict[_Key, list[shapes.Span]] = {}
        for span in self._by_key.values():
            if detect.is_model_call(span):
                for key in self._ancestor_keys(span):
                    self._model_spans.setdefault(key, []).append(span)
        for found in self._model_spans.values():
            found.sort(key=_start)

    def outermost(self, span: shapes.Span) -> shapes.Span:
        """Return the outermost span of the call that `span` is a leg of."""
        outer = span
        for _ in range(LEGS_MAX):
            key = (outer.trace_id, outer.parent_span_id)
            parent = self._by_key.get(key)
            if parent is None or key not in self._tool_keys or not self._is_one_call(parent, outer):
                break
            outer = parent
        return outer

    def _is_one_call(self, outer: shapes.Span, inner: shapes.Span) -> bool:
        """Tell whether a tool call's span and the one inside it are legs of one call.

        A tool may call itself through an agent of its own: that is another call, and its spans are not the
        protocol's. It may also call its namesake behind the protocol, several times: those are calls too.
        """
        if not detect.is_mcp(inner) or (not detect.is_mcp(outer) and self._legs[_place(inner)] > 1):
            return False
        ids = {fields.call_id(outer.attributes), fields.call_id(inner.attributes)} - {None}
        return len(ids) < 2 and _same_tool(fields.tool(outer), fields.tool(inner))

    def depth(self, span: shapes.Span) -> tuple[int, int]:
        """Return what orders the spans of one call: how many ancestors are known, then the start."""
        return sum(1 for _ in self._ancestors(span)), span.start_ns

    def model_span(self, span: shapes.Span) -> shapes.Span | None:
        """Return the newest model call before `span` under its nearest ancestor that has any."""
        if not self._model_spans:
            return None
        for key in self._ancestor_keys(span):
            found = self._model_spans.get(key)
            if found:
                place = bisect.bisect_right(found, span.start_ns, key=_start)
                newest = found[max(0, place - MODEL_SPANS_MAX) : place] or found[:1]
                # Of the spans around one request, the inner one knows who serves the model.
                return max(newest, key=lambda other: (fields.provider(other) is not None, other.start_ns))
        return None

    def ancestor_session(self, span: shapes.Span) -> str | None:
        """Return the session that the nearest ancestor names."""
        for ancestor in self._ancestors(span):
            session = fields.identifier(ancestor.attributes, fields.SESSION)
            if session is not None:
                return session
        return None

    def _ancestors(self, span: shapes.Span) -> Iterator[shapes.Span]:
        for key in self._ancestor_keys(span):
            ancestor = self._by_key.get(key)
            if ancestor is not None:
                yield ancestor

    def _ancestor_keys(self, span: shapes.Span) -> Iterator[_Key]:
        """Yield the keys of the parent and its parents; the last may belong to a span that is not here."""
        known: shapes.Span | None = span
        for _ in range(ANCESTORS_MAX):
            if known is None or not known.parent_span_id:
                return
            key = (known.trace_id, known.parent_span_id)
            yield key
            known = self._by_key.get(key)


def _start(span: shapes.Span) -> int:
    return span.start_ns


def _place(span: shapes.Span) -> tuple[str, str, str | None]:
    """Return what the legs of several calls to one tool would share."""
    return span.trace_id, span.parent_span_id, fields.tool(span)


def _same_tool(outer: str | None, inner: str | None) -> bool:
    """Tell whether two names are one tool's: equal, or the outer one with its server before it."""
    if not outer or not inner or outer == inner:
        return True
    return outer.endswith(inner) and _SEPARATORS.match(outer[-len(inner) - 1]) is not None
