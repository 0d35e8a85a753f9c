from __future__ import annotations

import gzip
import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from django.core import management
from django.core.management import base

from operations.simulation import catalogue, sending
from operations.simulation.calls import Said


class Console(http.server.BaseHTTPRequestHandler):
    """Answers what it is told to, and remembers what it was sent."""

    answers: ClassVar[list[int]] = []
    heard: ClassVar[list[tuple[dict[str, str], bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.heard.append((dict(self.headers), body))
        status = self.answers.pop(0) if self.answers else 200
        told = json.dumps({"accepted": 1, "merged": 0, "duplicate": 0, "rejected": 0}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    """The address of a console that remembers."""
    Console.answers, Console.heard = [], []
    server = http.server.HTTPServer(("127.0.0.1", 0), Console)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def said(runtime: int, number: int) -> Said:
    return Said(number, catalogue.RUNTIMES[runtime], {"operation_id": str(number)})


def test_each_runtime_sends_in_its_own_manner(url: str) -> None:
    client = sending.Client(url, "ops_key")
    client.send([said(0, 1), said(1, 2), said(0, 3), said(2, 4)])
    client.close()

    (one, packed), (two, lines), (three, plain) = Console.heard
    assert json.loads(gzip.decompress(packed)) == [{"operation_id": "1"}, {"operation_id": "3"}]
    assert (one["Content-Type"], one["Content-Encoding"]) == ("application/json", "gzip")
    assert gzip.decompress(lines) == b'{"operation_id": "2"}\n'
    assert two["Content-Type"] == "application/x-ndjson"
    assert json.loads(plain) == [{"operation_id": "4"}]
    assert {headers["Authorization"] for headers in (one, two, three)} == {"Bearer ops_key"}
    assert client.counts == {
        "records": 4,
        "requests": 3,
        "accepted": 3,
        "merged": 0,
        "duplicate": 0,
        "rejected": 0,
    }


def test_what_was_not_answered_is_sent_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending.time, "sleep", lambda seconds: None)
    Console.answers = [503, 429, 200]
    client = sending.Client(url, "ops_key")
    client.send([said(2, 1)])
    client.close()

    assert [body for _, body in Console.heard] == [b'[{"operation_id": "1"}]'] * 3
    assert (client.counts["retries"], client.counts["accepted"]) == (2, 1)


def test_what_is_refused_for_good_is_told(url: str) -> None:
    Console.answers = [401]
    client = sending.Client(url, "ops_key")
    with pytest.raises(sending.Refused, match="401"):
        client.send([said(0, 1)])
    client.close()


def test_the_command_tells_the_past_and_ends(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    management.call_command(
        "simulate", "--url", url, "--key", "k", "--past", "30m", "--rate", "900", "--json"
    )
    told = json.loads(capsys.readouterr().out)

    heard = sum(_count(headers, body) for headers, body in Console.heard)
    assert told["records"] == heard > 100
    assert told["requests"] == len(Console.heard)


def _count(headers: dict[str, str], body: bytes) -> int:
    plain = gzip.decompress(body) if "Content-Encoding" in headers else body
    return plain.count(b'"attempt"')


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--url", "http://localhost:1"], "Give an ingest key"),
        (["--key", "k", "--url", "nonsense"], "is not the address of a console"),
        (["--key", "k", "--past", "soon"], "is no span"),
        (["--key", "k", "--rate", "0"], "must be above 0"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(
    arguments: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPSCONSOLE_KEY", raising=False)
    with pytest.raises(base.CommandError, match=sentence):
        management.call_command("simulate", *arguments)
