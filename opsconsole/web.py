"""The web server: processes that share one loaded copy of the code, each with a few threads that serve."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.urls import get_resolver
from granian import constants, log, server

from opsconsole import start

# In-flight work is finished at a stop, within this.
STOP_WITHIN_S = 10
# From glibc's malloc.h.
_M_ARENA_MAX = -8


def main() -> None:
    """Serve until a signal comes: `python -m opsconsole.web`."""
    start.set_up()
    load()
    gc.freeze()
    serve(host=os.environ.get("HOST") or "127.0.0.1", port=int(os.environ.get("PORT") or 8000))


def load() -> None:
    """Load everything that a request needs, before the processes part."""
    application("")
    # Importing the views is most of the work of a first request.
    _ = get_resolver().url_patterns
    gc.collect()
    # A batch makes thousands of objects that are free of cycles; the default of 700 spends a third of its time looking.
    gc.set_threshold(10_000, 20, 20)
    share_arenas()


def share_arenas() -> None:
    """Let the threads share two arenas: glibc gives each its own, where what batches leave behind adds up."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 2)


def serve(*, host: str, port: int) -> None:
    """Serve on `host` and `port` until a signal comes; ends the process when one of its own dies."""
    server.Server(
        "opsconsole.wsgi:application",
        address=host,
        port=port,
        interface=constants.Interfaces.WSGI,
        http=constants.HTTPModes.http1,
        websockets=False,
        workers=settings.WEB_WORKERS,
        blocking_threads=settings.WEB_THREADS,
        workers_kill_timeout=STOP_WITHIN_S,
        log_level=log.LogLevels.error,
    ).serve(target_loader=application, wrap_loader=False)


def application(*_: object) -> Callable[..., Any]:
    """Return the WSGI application, loaded at most once."""
    from opsconsole import wsgi

    return wsgi.application


if __name__ == "__main__":
    main()
