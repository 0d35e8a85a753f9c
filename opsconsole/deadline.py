"""A request brings its whole body in time, or its thread is set free.

The web server has no deadline for bodies, and a thread that waits in its `read` cannot be interrupted. So
another thread waits, and the one that serves gives up on it: a sender that stalls costs a sleeping thread
until it hangs up, never one of the few that serve. The body is read whole at the first need, which is after
the key was checked.
"""

from __future__ import annotations

import io
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from operations import rejections

# More than any address takes: each has a cap of its own, which it checks before it reads.
BODY_BYTES_MOST = 20 * 1024 * 1024
# More senders than this that stall at once are a fault of the network in front; their requests are refused.
READERS_MOST = 512

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Stream(Protocol):
    """What a web server gives to read from."""

    def read(self, size: int = ..., /) -> bytes:
        """Return up to `size` bytes, waiting for them."""
        ...


class BodyTooSlow(rejections.BodyTooSlow, OSError):
    """The body did not arrive in time; an OSError too, so that Django's forms see a body they cannot read."""


class BodyTooLarge(rejections.BodyTooLarge, OSError):
    """The body is larger than any address takes."""


class Readers:
    """Threads that wait for bodies, each used again once its body came."""

    def __init__(self, most: int) -> None:
        self.jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.idle = threading.Semaphore(0)
        self.free = threading.Semaphore(most)

    def read(self, stream: Stream, size: int, *, until: float) -> bytes:
        """Return what `stream` brings, up to `size` bytes, or raise when it is not there at `until`."""
        box: queue.SimpleQueue[bytes | BaseException] = queue.SimpleQueue()

        def fetch() -> None:
            try:
                box.put(stream.read(size))
            except BaseException as error:
                box.put(error)

        if not self.idle.acquire(blocking=False):
            if self.free.acquire(blocking=False):
                threading.Thread(target=self._work, daemon=True, name="body-reader").start()
            elif not self.idle.acquire(timeout=max(0.0, until - time.monotonic())):
                raise BodyTooSlow
        self.jobs.put(fetch)
        try:
            found = box.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            raise BodyTooSlow from None
        if isinstance(found, BaseException):
            raise OSError("The sender went away.") from found
        return found

    def _work(self) -> None:
        while True:
            self.jobs.get()()
            self.idle.release()


readers = Readers(READERS_MOST)


class Body:
    """The body of one request, fetched whole at the first read."""

    def __init__(self, stream: Stream, length: int | None, *, until: float) -> None:
        self.stream, self.length, self.until = stream, length, until
        self.fetched: io.BytesIO | None = None

    def whole(self) -> io.BytesIO:
        """Return the body as a file in memory."""
        if self.fetched is None:
            if self.length is not None and self.length > BODY_BYTES_MOST:
                raise BodyTooLarge
            size = BODY_BYTES_MOST + 1 if self.length is None else self.length
            self.fetched = io.BytesIO(readers.read(self.stream, size, until=self.until) if size else b"")
        return self.fetched

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes."""
        return self.whole().read(size)

    def readline(self, size: int = -1) -> bytes:
        """Return up to a line's end."""
        return self.whole().readline(size)

    def readlines(self, hint: int = -1) -> list[bytes]:
        """Return all lines."""
        return self.whole().readlines(hint)

    def __iter__(self) -> Iterator[bytes]:
        """Go through the lines."""
        return iter(self.whole())


def keep(application: Application, *, seconds: float) -> Application:
    """Return `application` with bodies that keep the deadline."""

    def within(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        given = environ.get("CONTENT_LENGTH") or ""
        is_chunked = bool(environ.get("HTTP_TRANSFER_ENCODING"))
        length = int(given) if given.isdigit() else None if is_chunked else 0
        environ["wsgi.input"] = Body(environ["wsgi.input"], length, until=time.monotonic() + seconds)
        return application(environ, start_response)

    return within
