"""How a call ended: what a span's status, error type, exceptions and result say together.

A span's status alone is no verdict: it is unset for most successes, and set for failures that the tool
returned as data. Structural evidence decides first and is told; texts decide last, by a short declared
list, and are inferred. Of several spans of one call the one with the most specific verdict speaks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from operations import limits, wire
from operations.otlp import fields, results, shapes


class Verdict(NamedTuple):
    """How a call ended; `weight` orders the verdicts of spans that tell the same call."""

    status: wire.Status
    outcome: wire.Outcome | None = None
    code: str | None = None
    kind: wire.ContractKind | None = None
    text: str | None = None
    is_inferred: bool = False
    weight: int = 0


SUCCESS = Verdict("done", "success", weight=1)
#: Nothing was said about success, so it is concluded and not told.
SILENCE = Verdict("done", weight=1)


class Meaning(NamedTuple):
    """What one piece of evidence means."""

    status: wire.Status
    code: str | None = None
    kind: wire.ContractKind | None = None


UNKNOWN_TOOL = Meaning("contract_error", None, "unknown_tool")
INVALID_ARGUMENTS = Meaning("contract_error", None, "invalid_arguments")
UNSUPPORTED_PROTOCOL = Meaning("contract_error", None, "unsupported_protocol")
TIMED_OUT = Meaning("timed_out", "timeout")
CANCELLED = Meaning("cancelled")
AWAITING_APPROVAL = Meaning("awaiting_approval")
DENIED = Meaning("denied")

#: Attributes that settle the verdict of a failed span by themselves.
FLAGS: tuple[tuple[str, str, Meaning], ...] = (
    ("pydantic_ai.tool.failure_stage", "validation", INVALID_ARGUMENTS),
    ("gen_ai.tool.description", "Tool not found", UNKNOWN_TOOL),
)

#: Error and exception types, by their full name or its last part.
TYPES: dict[str, Meaning] = {
    "fastmcp.exceptions.NotFoundError": UNKNOWN_TOOL,
    "fastmcp.exceptions.ValidationError": INVALID_ARGUMENTS,
    "-32700": Meaning("runtime_error", "jsonrpc_parse_error"),
    "-32600": UNSUPPORTED_PROTOCOL,
    "-32601": UNSUPPORTED_PROTOCOL,
    "-32602": INVALID_ARGUMENTS,
    "-32603": Meaning("runtime_error", "jsonrpc_internal_error"),
    "-32000": Meaning("runtime_error", "connection_closed"),
    "-32001": TIMED_OUT,
    "timeout": TIMED_OUT,
    "TimeoutError": TIMED_OUT,
    "CancelledError": CANCELLED,
    "AbortError": CANCELLED,
    "cancelled": CANCELLED,
}

#: Error types that only say that the result is an error; which error, the result says.
RETURNED_ERRORS = frozenset({"tool_error", "TOOL_ERROR"})

#: Error types that say nothing at all.
NO_TYPES = frozenset({"_OTHER", "Exception", "Error"})

#: The code of a failure that was returned, and of one that was raised, when nobody named it.
TOOL_ERROR = "tool_error"
UNSPECIFIED_ERROR = "unspecified_error"

#: Texts, tried in this order against what a failed call was answered. Each is a sentence of a released
#: library.
TEXTS: tuple[tuple[re.Pattern[str], Meaning], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), meaning)
    for pattern, meaning in (
        (r"\bunknown tool\b", UNKNOWN_TOOL),
        (r"\bno tool with that name\b", UNKNOWN_TOOL),
        (r"^(?:error: )?tool ['\"`]?[\w./-]{1,128}['\"`]? (?:was )?not found\b", UNKNOWN_TOOL),
        (r"^(?:error: )?validation failed for input parameters\b", INVALID_ARGUMENTS),
        (r"\bmandatory input parameters are not present\b", INVALID_ARGUMENTS),
        (r"^(?:error: )?(?:input validation error|invalid (?:tool )?arguments)\b", INVALID_ARGUMENTS),
        (r"^timed out after [\d.]+ ?(?:s|ms|sec|seconds)\b", TIMED_OUT),
        (r"^request '[\w/]+' timed out\b", TIMED_OUT),
        (r"\brequires (?:confirmation|approval)\b", AWAITING_APPROVAL),
        (r"\b(?:denied|rejected) by (?:the )?(?:user|operator|policy)\b", DENIED),
    )
)

#: `2 validation errors for get_weather`: the arguments were bad when the schema named is the tool's own.
_VALIDATION = re.compile(r"\bvalidation errors? for (?:call\[)?(\w{1,128})", re.IGNORECASE)

_TRACEBACK = "Traceback (most recent call last)"
_TYPE_IN_TEXT = re.compile(r"(?:\w+\.)*(\w+(?:Error|Exception))\b")
_TEXT_LOOKED_AT = 2000


def of_call(spans: Sequence[shapes.Span], *, tool: str | None, result: object) -> Verdict:
    """Return how the call ended that `spans` tell, the outermost first."""
    said = results.said(result)
    if len(spans) == 1:
        return _of_span(spans[0], tool, said, result)
    verdicts = [_of_span(span, tool, said, result) for span in spans]
    best = max(verdicts, key=lambda verdict: verdict.weight)
    text = best.text or next((verdict.text for verdict in verdicts if verdict.text), None)
    return best._replace(text=text)


def _of_span(span: shapes.Span, tool: str | None, said: results.Said | None, result: object) -> Verdict:
    if not span.end_ns:
        return Verdict("running")
    attributes = span.attributes
    exception = _exception(span) if span.events else None
    told = attributes.get("gen_ai.tool.status")
    error_type = fields.text(attributes, fields.ERROR_TYPE, 4096)
    is_raised = exception is not None and (span.status_code == shapes.ERROR or result is None)
    has_failed = bool(span.status_code == shapes.ERROR or error_type or is_raised or told == "error")
    if not has_failed and said is None:
        return SUCCESS if told == "success" else SILENCE
    if said is not None and said.is_success and not has_failed:
        return SUCCESS
    failure = _Failure(span, tool, said, result, exception if is_raised else None, error_type)
    return failure.verdict()


class _Exception(NamedTuple):
    type: str
    message: str


class _Failure(NamedTuple):
    """The evidence of one span that did not simply succeed."""

    span: shapes.Span
    tool: str | None
    said: results.Said | None
    result: object
    exception: _Exception | None
    error_type: str | None

    def verdict(self) -> Verdict:
        text = self._text()
        meaning = self._flagged()
        if meaning is not None:
            return _verdict(meaning, text)
        worded = self._worded(text)
        if worded is not None:
            return _verdict(worded, text, is_inferred=True)
        if self._is_returned():
            code = self.said.code if self.said is not None else None
            code = code or results.code_in_text(text)
            weight = 3 if code else 2
            return Verdict("done", "failure", code or TOOL_ERROR, None, text, True, weight)
        return Verdict("runtime_error", code=self._code(text), text=text, weight=4)

    def _flagged(self) -> Meaning | None:
        """Return what structural evidence means."""
        for name, value, meaning in FLAGS:
            if self.span.attributes.get(name) == value:
                return meaning
        types = [self.exception.type] if self.exception else []
        types += [self.error_type] if self.error_type else []
        types += [str(self.span.attributes.get("rpc.response.status_code", ""))]
        for told in types:
            found = TYPES.get(told) or TYPES.get(told.rpartition(".")[2])
            if found is not None:
                return found
        return None

    def _worded(self, text: str | None) -> Meaning | None:
        """Return what the words mean that the call was answered with."""
        for words in (text, self.said.text if self.said else None, results.words(self.result)):
            if words is None:
                continue
            looked_at = words[:_TEXT_LOOKED_AT]
            for pattern, meaning in TEXTS:
                if pattern.search(looked_at):
                    return meaning
            schema = _VALIDATION.search(looked_at)
            if schema and self.tool and _folded(schema.group(1)).startswith(_folded(self.tool)):
                return INVALID_ARGUMENTS
        return None

    def _is_returned(self) -> bool:
        """Tell whether the failure was returned as a result rather than raised."""
        if self.exception is not None:
            return False
        if self.error_type in RETURNED_ERRORS or self.span.attributes.get("gen_ai.tool.status") == "error":
            return True
        return self.said is not None and not self.said.is_success

    def _code(self, text: str | None) -> str:
        """Return a stable code for what was raised: from its type, wherever it is told."""
        types = [self.error_type, self.exception.type if self.exception else None]
        named = [told for told in types if told and told not in NO_TYPES]
        in_text = _TYPE_IN_TEXT.match(text) if text else None
        if in_text:
            named.append(in_text.group(1))
        for told in named:
            code = results.code(told.rpartition(".")[2])
            if code:
                return code
        return UNSPECIFIED_ERROR

    def _text(self) -> str | None:
        """Return the words for the failure, without the traceback that some put behind them."""
        candidates = (
            self.exception.message if self.exception else None,
            self.span.status_message,
            fields.text(self.span.attributes, fields.ERROR_TEXT, limits.ERROR_TEXT_CHARS_MAX),
            self.said.text if self.said else None,
            self.exception.type if self.exception else None,
        )
        for told in candidates:
            if told and told != self.error_type:
                head = told.partition(_TRACEBACK)[0].strip() or told
                return fields.storable(head)[: limits.ERROR_TEXT_CHARS_MAX]
        return None


def _verdict(meaning: Meaning, text: str | None, *, is_inferred: bool = False) -> Verdict:
    weight = 7 if meaning.status in {"timed_out", "cancelled", "denied"} else 5
    return Verdict(
        meaning.status, None, meaning.code, meaning.kind, text, is_inferred, weight + (not is_inferred)
    )


def _exception(span: shapes.Span) -> _Exception | None:
    """Return the first exception that the span recorded; some record it twice."""
    for event in span.events:
        if event.name == fields.EXCEPTION:
            told = event.attributes
            kind, message = told.get(fields.EXCEPTION_TYPE), told.get(fields.EXCEPTION_MESSAGE)
            return _Exception(str(kind or ""), str(message or ""))
    return None


def _folded(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
