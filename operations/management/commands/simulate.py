"""Send made-up traffic to a running console, as its clients would."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import threading
from types import FrameType
from typing import Any

from django.core.management import base
from django.utils import timezone

from operations import moments
from operations.simulation import scenario, sending

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_EVERY_S = 1.0
_AT_ONCE_US = 3600 * moments.SECOND_US  # of the past, so that memory stays flat


class Command(base.BaseCommand):
    help = "Send made-up traffic over HTTP: the past first, if any, then as it happens. The same for the same seed."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--url", default="http://localhost:8000", help="the console's address")
        parser.add_argument("--key", default="", help="an ingest key; left out, OPSCONSOLE_KEY")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--rate", type=float, default=500.0, help="operations in a middling hour")
        parser.add_argument("--past", type=seconds, default=0.0, help="how much of the past, as in 24h")
        parser.add_argument("--duration", type=seconds, default=None, help="how long to go on, as in 10m")
        parser.add_argument("--trickle", action="store_true", help="go on until a signal comes")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        """Send; ends with 1 when the console refused or any record was rejected."""
        key = options["key"] or os.environ.get("OPSCONSOLE_KEY", "")
        if not key:
            raise base.CommandError("Give an ingest key: --key, or OPSCONSOLE_KEY.")
        if not 0 < options["rate"] <= 1_000_000:
            raise base.CommandError("--rate must be above 0 and at most 1000000.")
        try:
            with contextlib.closing(sending.Client(options["url"], key)) as client:
                self._send(client, options)
        except sending.Refused as refusal:
            raise base.CommandError(str(refusal)) from None
        self._report(client, options["as_json"])
        if client.counts["rejected"]:
            raise SystemExit(1)

    def _send(self, client: sending.Client, options: dict[str, Any]) -> None:
        now_us = moments.from_datetime(timezone.now())
        told_us = now_us - int(options["past"] * moments.SECOND_US)
        world = scenario.World(told_us, seed=options["seed"], hourly=options["rate"])
        while told_us < now_us:
            told_us = min(told_us + _AT_ONCE_US, now_us)
            client.send(world.until(told_us))
        goes_on_s = options["duration"]
        if goes_on_s is None:
            goes_on_s = float("inf") if options["trickle"] or not options["past"] else 0
        until_us = now_us + goes_on_s * moments.SECOND_US
        is_over = _until_signal()
        while told_us < until_us and not is_over.wait(_EVERY_S):
            told_us = moments.from_datetime(timezone.now())
            client.send(world.until(told_us))

    def _report(self, client: sending.Client, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(client.counts))
            return
        told = ", ".join(f"{count} {name}" for name, count in client.counts.items() if count)
        self.stdout.write(told or "nothing to send")


def seconds(text: str) -> float:
    """Return a span as in 90s, 10m, 24h or 7d in seconds."""
    found = _SPAN.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no span; write 90s, 10m, 24h or 7d")
    return float(found[1]) * _SECONDS[found[2]]


def _until_signal() -> threading.Event:
    """Return what is set when the process is told to end."""
    is_over = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        is_over.set()

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)
    return is_over
