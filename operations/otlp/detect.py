"""What a span is: a tool call, a model call, or neither; the first rule that fits decides.

Values may be of any type, lists among them, so they are looked up in tuples.
"""

from __future__ import annotations

from operations.otlp import shapes

#: A span is a tool call when one of these attributes has one of these values.
TOOL_CALLS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("gen_ai.operation.name", ("execute_tool",)),
    ("mcp.method.name", ("tools/call",)),
)

#: Names that stand for several calls at once; the calls have spans of their own.
NOT_TOOLS = ("(merged tools)",)

#: What a span says that runs the model's final answer through a function: no tool was called.
OUTPUT_FUNCTION = "running output function"

#: Operations of model spans; a span without an operation that names a requested model is one too.
MODEL_CALLS = ("chat", "generate_content", "text_completion")


def is_tool_call(span: shapes.Span) -> bool:
    """Tell whether `span` is one attempt to run one tool."""
    attributes = span.attributes
    for name, values in TOOL_CALLS:
        if attributes.get(name) in values:
            return not _is_excepted(span)
    return False


def is_mcp(span: shapes.Span) -> bool:
    """Tell whether a tool call's span is a leg of the Model Context Protocol, on either side."""
    return "mcp.method.name" in span.attributes


def is_model_call(span: shapes.Span) -> bool:
    """Tell whether `span` is one request to a model."""
    operation = span.attributes.get("gen_ai.operation.name")
    if operation is None:
        return "gen_ai.request.model" in span.attributes
    return operation in MODEL_CALLS


def _is_excepted(span: shapes.Span) -> bool:
    attributes = span.attributes
    if attributes.get("mcp.method.name", "tools/call") != "tools/call":
        return True
    if attributes.get("gen_ai.tool.name") in NOT_TOOLS:
        return True
    message = attributes.get("logfire.msg")
    return isinstance(message, str) and message.startswith(OUTPUT_FUNCTION)
