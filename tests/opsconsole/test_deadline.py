"""A sender that stalls is told so in time and keeps no serving thread."""

from __future__ import annotations

import http.client
import io
import socket
import threading
import time
import urllib.request

import pytest

from operations import rejections
from opsconsole import deadline
from tests import make, stack

HEAD = (
    b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 1000\r\n\r\nlogin="
)


class Stalled:
    """A stream that brings nothing until it is let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def read(self, size: int = -1, /) -> bytes:
        self.let_go.wait()
        return b""


def test_a_body_that_does_not_come_is_refused_at_its_deadline() -> None:
    stalled = Stalled()
    body = deadline.Body(stalled, 10, until=time.monotonic() + 0.05)

    with pytest.raises(rejections.BodyTooSlow) as refusal:
        body.read()

    assert refusal.value.http_status == 408
    assert isinstance(refusal.value, OSError)
    stalled.let_go.set()


def test_a_body_in_time_is_read_in_any_way() -> None:
    def body() -> deadline.Body:
        return deadline.Body(io.BytesIO(b"one\ntwo\nthree"), 7, until=time.monotonic() + 60)

    assert body().read() == b"one\ntwo"
    assert list(body()) == [b"one\n", b"two"]
    assert body().readlines() == [b"one\n", b"two"]
    whole = body()
    assert (whole.readline(), whole.read(1), whole.read(), whole.read()) == (b"one\n", b"t", b"wo", b"")


def test_a_body_larger_than_any_address_takes_is_refused_before_it_is_read() -> None:
    body = deadline.Body(Stalled(), deadline.BODY_BYTES_MOST + 1, until=time.monotonic() + 60)

    with pytest.raises(rejections.BodyTooLarge):
        body.read(1)


def test_a_sender_who_goes_away_breaks_the_body_off() -> None:
    class Gone:
        def read(self, size: int = -1, /) -> bytes:
            raise ConnectionResetError

    with pytest.raises(OSError, match="went away"):
        deadline.Body(Gone(), 10, until=time.monotonic() + 60).read()


def test_readers_are_used_again_and_bounded() -> None:
    readers = deadline.Readers(1)
    until = time.monotonic() + 60
    threads = threading.active_count()
    for _ in range(20):
        assert readers.read(io.BytesIO(b"abc"), 3, until=until) == b"abc"
    stalled = Stalled()
    with pytest.raises(deadline.BodyTooSlow):
        readers.read(stalled, 1, until=time.monotonic() + 0.05)

    with pytest.raises(deadline.BodyTooSlow):
        readers.read(io.BytesIO(b"abc"), 3, until=time.monotonic() + 0.05)

    assert threading.active_count() <= threads + 1
    stalled.let_go.set()


def test_a_batch_that_stalls_is_answered_with_a_problem(live_stack: stack.Stack) -> None:
    line = http.client.HTTPConnection("localhost", live_stack.port, timeout=60)
    line.putrequest("POST", "/v1/operations")
    line.putheader("Authorization", f"Bearer {make.key().token}")
    line.putheader("Content-Type", "application/json")
    line.putheader("Content-Length", "1000")
    line.endheaders(b"[")

    answer = line.getresponse()

    assert (answer.status, answer.getheader("Content-Type")) == (408, "application/problem+json")
    assert b"body_too_slow" in answer.read()
    line.close()


def test_more_stalled_senders_than_threads_do_not_keep_others_from_being_served(
    live_stack: stack.Stack,
) -> None:
    began = time.monotonic()
    lines = [socket.create_connection(("localhost", live_stack.port), timeout=60) for _ in range(40)]
    for line in lines:
        line.sendall(HEAD)

    answers = {line.recv(12) for line in lines}
    with urllib.request.urlopen(f"{live_stack.address}/livez", timeout=60) as answer:
        assert answer.status == 200

    assert answers <= {b"HTTP/1.1 403", b"HTTP/1.1 408"}
    # Two processes of eight threads: without the deadline the first sixteen would have held them for ever.
    assert time.monotonic() - began < 30 + 6 * stack.BODY_DEADLINE_SECONDS
    for line in lines:
        line.close()
