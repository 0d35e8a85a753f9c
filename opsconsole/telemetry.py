"""What the product tells about itself: log lines without payloads, and the seam for traces and metrics.

Nothing that a sender or a visitor wrote may reach a log: no bodies, no query strings, no paths (an invitation's
path is its secret), and no messages of exceptions, which like to quote the value that offended them.
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from collections.abc import Callable, MutableMapping
from typing import Any

import structlog
from django import http
from opentelemetry import metrics, trace

Respond = Callable[[http.HttpRequest], http.HttpResponseBase]
Line = MutableMapping[str, Any]

# The seam: these do nothing until an SDK is set up in front of them.
tracer = trace.get_tracer("opsconsole")
meter = metrics.get_meter("opsconsole")

log = structlog.get_logger("opsconsole.request")

# Asked every few seconds by machines; told only when something is wrong.
PROBES = {"livez", "readyz"}


def log_requests(respond: Respond) -> Respond:
    """Write one line a request: its route, project, status and time."""

    def answer(request: http.HttpRequest) -> http.HttpResponseBase:
        began = time.perf_counter()
        response = respond(request)
        match = request.resolver_match
        if match is None or match.route not in PROBES or response.status_code >= 400:
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
        tell_exceptions_without_values,
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(wanted["level"])
    for name in ("django.request", "django.security"):
        # A filter on a logger does not see its children's lines, so this is on the handler's way.
        handler.addFilter(_PathsLeftOut(name))
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


def tell_exceptions_without_values(logger: object, method: str, line: Line) -> Line:
    """Replace an exception by the names of its kind and causes, and the places it passed."""
    told = line.pop("exc_info", None)
    error = sys.exc_info()[1] if told is True else told[1] if isinstance(told, tuple) else told
    if isinstance(error, BaseException):
        line["exception"] = [_kind(one) for one in _chain(error)]
        frames = traceback.extract_tb(error.__traceback__)
        line["at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return line


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    step: BaseException | None = error
    while step is not None and step not in found:
        found.append(step)
        step = step.__cause__ or step.__context__
    return found


def _kind(error: BaseException) -> str:
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    state = getattr(error, "sqlstate", None)
    return f"{name} ({state})" if state else name


class _PathsLeftOut(logging.Filter):
    """Leave out what Django says of refused requests, and the paths of those that failed."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.logger_name = name

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.split(".")[:2] != self.logger_name.split("."):
            return True
        if record.exc_info is None:
            return False
        record.msg, record.args = "request_failed", ()
        return True
