"""Which attribute tells which fact: for every field its candidates, in order; the first that says something
counts.

This table is where emitters differ. A new emitter is most often a few more candidates here; only what a table
cannot say becomes a module of its own under `dialects/`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from operations.otlp import shapes

# --- On the span ----------------------------------------------------------------------------------

OPERATION = ("gen_ai.operation.name",)
METHOD = ("mcp.method.name",)
TOOL = ("gen_ai.tool.name", "tool.name")
CALL_ID = ("gen_ai.tool.call.id", "gen_ai.tool.call_id", "tool_call.id")
ARGUMENTS = ("gen_ai.tool.call.arguments", "tool_arguments", "gcp.vertex.agent.tool_call_args")
RESULT = ("gen_ai.tool.call.result", "tool_response", "gcp.vertex.agent.tool_response")
SESSION = ("gen_ai.conversation.id", "session.id", "gcp.vertex.agent.session_id")
TRANSPORT_SESSION = ("mcp.session.id",)
TURN = ("gen_ai.agent.call.id", "gcp.vertex.agent.invocation_id")
SOURCE = ("mcp.server.name", "fastmcp.server.name")
ERROR_TYPE = ("error.type",)
ERROR_TEXT = ("error.message",)

# --- On model spans -------------------------------------------------------------------------------

PROVIDER = ("gen_ai.provider.name", "gen_ai.system")
MODEL = ("gen_ai.request.model", "gen_ai.response.model")

# --- On the resource ------------------------------------------------------------------------------

SERVICE = ("service.name",)
SERVICE_VERSION = ("service.version",)
INSTANCE = ("service.instance.id",)
ENVIRONMENT = ("deployment.environment.name", "deployment.environment")

# --- In events: (event, attribute) ----------------------------------------------------------------

ARGUMENTS_IN_EVENTS = (("gen_ai.tool.message", "content"),)
RESULT_IN_EVENTS = (("gen_ai.choice", "message"),)
EXCEPTION = "exception"
EXCEPTION_TYPE = "exception.type"
EXCEPTION_MESSAGE = "exception.message"

#: What the rules of `detect` and `verdicts` look at beyond the fields.
EVIDENCE = (
    "gen_ai.tool.description",
    "gen_ai.tool.status",
    "logfire.msg",
    "pydantic_ai.tool.failure_stage",
    "rpc.response.status_code",
    EXCEPTION_TYPE,
    EXCEPTION_MESSAGE,
)

_ON_SPANS = (OPERATION, METHOD, TOOL, CALL_ID, ARGUMENTS, RESULT, SESSION, TRANSPORT_SESSION, TURN, SOURCE)
_ON_OTHERS = (ERROR_TYPE, ERROR_TEXT, PROVIDER, MODEL, SERVICE, SERVICE_VERSION, INSTANCE, ENVIRONMENT)

#: Every attribute that decoding keeps.
WANTED = frozenset(
    {
        *(name for names in (*_ON_SPANS, *_ON_OTHERS) for name in names),
        *(name for _, name in (*ARGUMENTS_IN_EVENTS, *RESULT_IN_EVENTS)),
        *EVIDENCE,
    }
)

#: What stands before the tool's name in the names of spans that tell no tool.
TOOL_PREFIXES = ("MCP send tools/call ", "tools/call ", "execute_tool ")

#: Call ids that are none.
NO_CALL_IDS = frozenset({"<not specified>", "unknown", "none", "null", "undefined", "n/a"})

#: Providers that are frameworks: what runs the agent, not who serves the model.
FRAMEWORKS = re.compile(
    r"(?:strands-agents|autogen|lang(?:graph|chain)|gcp\.vertex\.agent|microsoft\.agent_framework"
    r"|semantic[_-]kernel|pydantic[_-]ai|openai[_-]agents|crewai|_OTHER|unknown)\Z",
    re.IGNORECASE,
)

#: Service names that SDKs make up when nobody named the service.
UNNAMED_SERVICE = "unknown_service"


def text(attributes: Mapping[str, Any], candidates: tuple[str, ...], chars_max: int) -> str | None:
    """Return the first candidate that says something, shortened to `chars_max`."""
    for name in candidates:
        told = attributes.get(name)
        if told is None or told.__class__ is list or told.__class__ is dict:
            continue
        found = storable(str(told).strip())
        if found:
            return found if len(found) <= chars_max else found[:chars_max]
    return None


def identifier(attributes: Mapping[str, Any], candidates: tuple[str, ...]) -> str | None:
    """Return the first candidate as an id; one that is too long ends in its hash."""
    told = text(attributes, candidates, 1 << 20)
    if told is None or len(told) <= 128:
        return told
    return told[:95] + "~" + hashlib.blake2b(told.encode(), digest_size=16).hexdigest()


def in_events(span: shapes.Span, candidates: tuple[tuple[str, str], ...]) -> Any:
    """Return the first event's attribute that says something, else None."""
    for name, attribute in candidates:
        for event in span.events:
            if event.name == name and event.attributes.get(attribute) is not None:
                return event.attributes[attribute]
    return None


def tool(span: shapes.Span) -> str | None:
    """Return the tool's name as the span tells it: an attribute, else what its own name says."""
    return text(span.attributes, TOOL, 128) or tool_in_name(span.name)


def tool_in_name(name: str) -> str | None:
    """Return the tool that a span's name names."""
    for prefix in TOOL_PREFIXES:
        if name.startswith(prefix):
            return storable(name[len(prefix) :].strip())[:128] or None
    return None


def call_id(attributes: Mapping[str, Any]) -> str | None:
    """Return the model provider's id of the call, unless it is a placeholder."""
    told = identifier(attributes, CALL_ID)
    return None if told is None or told.lower() in NO_CALL_IDS else told


def is_placeholder(told: Any) -> bool:
    """Tell whether a value stands for nothing, so that another span's counts."""
    return told == "" or (isinstance(told, str) and told.lower() in NO_CALL_IDS)


def provider(span: shapes.Span) -> str | None:
    """Return who serves the model that a model span names; a framework's own name is nobody."""
    for name in PROVIDER:
        told = text(span.attributes, (name,), 64)
        if told is not None and not FRAMEWORKS.match(told):
            return told
    return None


def model(span: shapes.Span) -> str | None:
    """Return the model that a model span names."""
    told = text(span.attributes, MODEL, 128)
    return None if told is None or is_placeholder(told) else told


class Sender(NamedTuple):
    """What the resource and the instrumentation tell, the same for all their spans."""

    service: str
    environment: str | None
    runtime: str | None
    instance: str | None


def sender(origin: shapes.Origin) -> Sender:
    """Return who sends: as runtime the service's `name@version`, else the instrumentation's."""
    resource = origin.attributes
    service = text(resource, SERVICE, 128) or ""
    name, version = service, text(resource, SERVICE_VERSION, 64)
    if not name or name.startswith(UNNAMED_SERVICE):
        name, version = storable(origin.scope_name), storable(origin.scope_version)
    return Sender(
        service,
        text(resource, ENVIRONMENT, 64),
        (f"{name}@{version}" if version else name)[:128] or None,
        text(resource, INSTANCE, 128),
    )


def storable(text: str) -> str:
    """Return `text` without what PostgreSQL's text cannot hold."""
    return text.replace("\0", "\u2400") if "\0" in text else text
