"""What the product tells about itself: log lines without payloads, and the seam for traces and metrics."""

from __future__ import annotations

import logging
import logging.config
import sys
import time
from collections.abc import Callable
from typing import Any

import structlog
from django.http import HttpRequest, HttpResponseBase
from opentelemetry import metrics, trace

Respond = Callable[[HttpRequest], HttpResponseBase]

# The API's no-op implementations answer until an SDK is set up.
tracer = trace.get_tracer("opsconsole")
meter = metrics.get_meter("opsconsole")

log = structlog.get_logger("opsconsole.request")


def log_requests(respond: Respond) -> Respond:
    """Write one line a request: its route, never its path, query or body."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        response = respond(request)
        match = request.resolver_match
        log.info(
            "request",
            method=request.method,
            route=match.route if match else None,
            project=match.kwargs.get("slug") if match else None,
            status=response.status_code,
            ms=round((time.perf_counter() - began) * 1000, 1),
        )
        return response

    return answer


def set_up_logs(wanted: dict[str, Any]) -> None:
    """Send every logger's lines to standard error as JSON."""
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(wanted["level"])
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
