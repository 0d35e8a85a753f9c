"""What OpenTelemetry exporters send, read as records of the wire format. Only this package names an emitter.

    bytes -> decode -> calls (detect) -> records (fields, values, results, verdicts) -> entries

Nothing in here touches a database, and nothing logs: values are redacted later, where every record is.
"""

from __future__ import annotations

from typing import NamedTuple

from operations import decoding
from operations.otlp import calls, decode, fields, records


class Traces(NamedTuple):
    """What a trace request tells: an entry for each tool call, and what the rest of its spans were."""

    entries: list[decoding.Entry]
    spans_of: list[int]  # how many spans tell each entry
    ignored: int  # spans that are no tool calls
    rejected: int  # spans that could not be read at all


def read_traces(body: bytes, *, is_json: bool) -> Traces:
    """Return the tool calls that an ExportTraceServiceRequest tells.

    Raises `BodyNotOtlp` when it cannot be decoded; a broken span is counted and leaves the others alone.
    """
    decoded = decode.read(body, is_json=is_json, wanted=fields.WANTED)
    found = list(calls.find(decoded.spans))
    senders: dict[int, fields.Sender] = {}
    entries = []
    for index, call in enumerate(found):
        origin = call.spans[0].origin
        sender = senders.get(id(origin)) or senders.setdefault(id(origin), fields.sender(origin))
        entries.append(records.entry(index, call, sender))
    spans_of = [len(call.spans) for call in found]
    return Traces(entries, spans_of, len(decoded.spans) - sum(spans_of), decoded.broken)
