"""What every field of the record means, in a sentence: for the JSON Schema, the API's description and its page."""

from __future__ import annotations

RECORD: dict[str, str] = {
    "operation_id": "The runtime's own id of the operation, unique in the project. Left out, it is derived from "
    "session_id and tool_call_id, else from session_id, turn_id, iteration, tool and started_at.",
    "attempt": "The number of the runtime's own retry of the same operation; part of its identity.",
    "tool_call_id": "The model provider's id of the call. It may repeat, so it is no identity by itself.",
    "tool": "The tool's name as the model said it.",
    "tool_version": "The version of the tool's contract.",
    "effect": "What the tool does to the world: it reads, it writes, or what it does cannot be taken back.",
    "mode": "How the session runs, as in interactive or isolated.",
    "environment": "Where it ran, as in production or staging.",
    "runtime": "What ran the tool and reports it, as name@version.",
    "instance": "Which device or worker it ran on. Never counted by.",
    "subject": "Whose data this is, by a label of the runtime's own. Stored keyed.",
    "source": "Who declared the tool: server, a kind of device, an MCP server.",
    "provider": "The provider of the model that made the call.",
    "model": "The model that made the call.",
    "session_id": "The session in which the call was made.",
    "turn_id": "The user's turn in that session.",
    "iteration": "Which call of the model inside the turn asked for the tool, from 0.",
    "parent_id": "The operation_id of the operation that made this one.",
    "trace_id": "The trace, in hexadecimal, for the link to a tracing tool.",
    "span_id": "The span, in hexadecimal.",
    "started_at": "When the attempt began: RFC 3339 with an offset, or Unix nanoseconds as a string.",
    "ended_at": "When the caller was told how it ended; in the same form.",
    "status": "How the attempt went, as the caller was told.",
    "outcome": "What the returned value meant. Only done has one; done without one is an inferred success.",
    "code": "A stable machine code: a lower-case letter, then at most 63 of a-z, 0-9 and _. Anything else is kept as "
    "words and counted as unlisted.",
    "error": "The error contract of the ending.",
    "contract": "Why the call never ran.",
    "conflict": "A write refused because the revision had moved.",
    "timeout_ms": "What the runtime allowed, in milliseconds.",
    "legs": "What each serial leg of the call took.",
    "answered_at": "When the answer came back, where that differs from ended_at: an answer told apart means done.",
    "answer": "The answer, told apart from the ending: after a time-out, for instance.",
    "idempotency_key": "The key under which the tool runs at most once.",
    "approval_id": "The approval that let it run.",
    "input": "The arguments.",
    "output": "The returned value.",
    "manifest": "The list of tools that the model saw.",
    "verified": "Whether the tool checked its own postcondition.",
    "attributes": "The runtime's own labels; redacted like every other word.",
}

PARTS: dict[str, dict[str, str]] = {
    "Error": {
        "category": "A coarse kind, as in quota or network.",
        "retryable": "Whether trying again can help.",
        "safe_for_model": "Whether the text may be shown to the model.",
        "told_model": "Whether the text reached the model.",
        "suggested_actions": "What the tool suggests to do next.",
        "text": "The error's words; redacted and kept as an excerpt.",
    },
    "ContractIssue": {
        "path": "A JSON pointer into the arguments.",
        "keyword": "The keyword of the schema that failed.",
    },
    "Contract": {
        "kind": "What did not fit.",
        "issues": "Where the arguments did not fit.",
    },
    "Conflict": {
        "resource": "What was to be changed.",
        "expected_revision": "The revision that the writer had seen.",
        "actual_revision": "The revision that was there.",
    },
    "Leg": {"name": "The leg, as in network or queue.", "ms": "How long it took, in milliseconds."},
    "Answer": {
        "outcome": "What the answer meant.",
        "code": "The code that the answer carried.",
        "bytes": "Its size.",
        "digest": "Its digest.",
    },
    "Payload": {
        "digest": "SHA-256 of the canonical bytes. It is stored keyed, so it can be compared and not guessed back.",
        "bytes": "The size of the canonical bytes.",
        "compact": "A short form, any JSON of at most 4 KiB; redacted and kept as an excerpt.",
        "truncated": "Whether the short form leaves something out.",
        "value": "The whole value, any JSON of at most 256 KiB: its digest, size and short form are computed, the "
        "rest is forgotten.",
    },
    "ManifestSeen": {
        "sequence": "The manifest's number in its session.",
        "digest": "Its digest.",
    },
}
PARTS["Input"] = {
    **PARTS["Payload"],
    "sent_digest": "The digest of the arguments as the model's provider handed them over; when it differs from digest "
    "they were altered in transit.",
    "altered": "What was altered, if the runtime knows.",
}
