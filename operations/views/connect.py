"""Connect: paste-ready settings with this project's address, waiting until the first call is there."""

from __future__ import annotations

from typing import NamedTuple

from django import http, shortcuts
from django.utils import timezone
from django.views.decorators import http as methods

from operations import access, filters, find, links, moments
from operations.models import projects

KEY = "ops_YOUR_INGEST_KEY"


class Recipe(NamedTuple):
    """Something to paste, and where."""

    anchor: str
    heading: str
    hint: str
    text: str


@methods.require_safe
def page(request: http.HttpRequest, slug: str) -> http.HttpResponse:
    """Show how to send the first call."""
    membership = access.project_for(request.user, slug)
    project = membership.project
    base = links.absolute(request, "/").rstrip("/")
    keys = [key for key in project.keys.all() if key.is_live(timezone.now()) and "ingest" in key.scopes]
    context = {
        "project": project,
        "base": base,
        "recipes": _recipes(base, project.default_environment or "production"),
        "keys": keys,
        "may_make_keys": membership.has(projects.Role.ADMIN),
        "first": _newest(project),
    }
    return shortcuts.render(request, "operations/connect/page.html", context)


@methods.require_safe
def waiting(request: http.HttpRequest, slug: str) -> http.HttpResponse:
    """Say whether a call has come, with a link to it."""
    project = access.project_for(request.user, slug).project
    context = {"project": project, "first": _newest(project)}
    return shortcuts.render(request, "operations/connect/_waiting.html", context)


def _newest(project: projects.Project) -> find.Operation | None:
    now_us = moments.from_datetime(timezone.now())
    found = find.page(
        project_id=project.pk,
        query=filters.EMPTY,
        since=now_us - (project.retention_days + 1) * moments.DAY_US,
        until=now_us + 2 * moments.DAY_US,
        limit=1,
    )
    return found.rows[0] if found.rows else None


def _recipes(base: str, environment: str) -> list[Recipe]:
    return [
        Recipe(
            "curl",
            "curl",
            "One call, told in one record. It is here within a second.",
            f"""curl {base}/v1/operations \\
  -H "Authorization: Bearer $OPSCONSOLE_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{
    "operation_id": "first-call-1",
    "tool": "search_orders",
    "environment": "{environment}",
    "runtime": "my-agent@1.0",
    "started_at": "'"$(date -u +%Y-%m-%dT%H:%M:%SZ)"'",
    "status": "done",
    "outcome": "failure",
    "code": "not_found",
    "input": {{"compact": {{"order": "81331"}}}}
  }}'""",
        ),
        Recipe(
            "env",
            "An agent that speaks OpenTelemetry",
            "Its GenAI tool spans become tool calls. Set these where the agent runs; no code changes.",
            f"""export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT={base}/v1/traces
export OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_TRACES_HEADERS="Authorization=Bearer%20$OPSCONSOLE_KEY"
export OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name={environment}""",
        ),
        Recipe(
            "python",
            "Python, with OpenTelemetry",
            "pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http",
            f"""import os
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider(resource=Resource({{
    "service.name": "my-agent",
    "deployment.environment.name": "{environment}",
}}))
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(
    endpoint="{base}/v1/traces",
    headers={{"Authorization": "Bearer " + os.environ["OPSCONSOLE_KEY"]}},
)))
trace.set_tracer_provider(provider)

with trace.get_tracer("my-agent").start_as_current_span("execute_tool search_orders") as span:
    span.set_attribute("gen_ai.operation.name", "execute_tool")
    span.set_attribute("gen_ai.tool.name", "search_orders")
    span.set_attribute("gen_ai.tool.call.id", "call_81331")
provider.shutdown()""",
        ),
    ]
