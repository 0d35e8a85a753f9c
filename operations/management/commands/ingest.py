"""Ingest records from a file, without a server."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import pathlib
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import msgspec
from django.core.management import base
from django.utils import timezone

from operations import access, decoding, ingest, limits, problems, projects, rejections, replies

BATCH_RECORDS, BATCH_BYTES = 1000, 4 * 1024 * 1024
TOLD_MAX = 20
SOME_REFUSED, ALL_REFUSED = 3, 4


class Command(base.BaseCommand):
    help = (
        "Ingest the records in FILE, or standard input for -. Exit codes: 0 all stored, 3 some refused, "
        "4 all refused, 1 the input could not be read or the database is away (trying again is safe)."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="the file, or - for standard input")
        whose = parser.add_mutually_exclusive_group()
        whose.add_argument("--project", metavar="SLUG", help="the project's address")
        whose.add_argument("--key", help="an ingest key; safer in the variable OPSCONSOLE_KEY")
        parser.add_argument("--format", choices=("json", "ndjson"), help="by default seen from the content")
        parser.add_argument("--dry-run", action="store_true", help="check the records and store nothing")
        parser.add_argument("--results", action="store_true", help="with --json, tell of every record")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        """Store batch after batch; a refusal of one record leaves the others alone."""
        counts: Counter[str] = Counter()
        unknown: Counter[str] = Counter()
        told: list[replies.Result] = []
        try:
            credential = _credential(options["project"], options["key"] or os.environ.get("OPSCONSOLE_KEY"))
            for entries in _batches(options["file"], options["format"]):
                found = ingest.ingest(
                    credential=credential,
                    entries=entries,
                    now=timezone.now(),
                    is_dry_run=options["dry_run"],
                )
                counts.update(result.result for result in found.results)
                unknown.update(found.unknown)
                told += [
                    replies.Result(*result)
                    for result in found.results
                    if result.result == "rejected" or (options["as_json"] and options["results"])
                ]
        except rejections.Rejection as refusal:
            raise base.CommandError(f"{refusal.detail} ({refusal.reason})") from None
        except OSError as error:
            raise base.CommandError(f"The input could not be read: {error.strerror}.") from None
        except Exception as error:
            if not problems.is_store_away(error):
                raise
            raise base.CommandError(rejections.StoreUnavailable.sentence()) from None
        self._tell(counts, unknown, told, as_json=options["as_json"])
        if counts["rejected"]:
            is_all = counts["rejected"] == counts.total()
            raise base.CommandError(
                f"{counts['rejected']} of {counts.total()} records were refused.",
                returncode=ALL_REFUSED if is_all else SOME_REFUSED,
            )

    def _tell(
        self, counts: Counter[str], unknown: Counter[str], told: list[replies.Result], *, as_json: bool
    ) -> None:
        by_outcome = {name: counts[name] for name in ("accepted", "merged", "duplicate", "rejected")}
        if as_json:
            results = msgspec.to_builtins(told)
            self.stdout.write(json.dumps({**by_outcome, "unknown_fields": unknown, "results": results}))
            return
        for result in told[:TOLD_MAX]:
            place = f" at {result.pointer}" if result.pointer else ""
            self.stderr.write(f"record {result.index}: {result.reason}{place}: {result.detail}")
        if len(told) > TOLD_MAX:
            self.stderr.write(f"and {len(told) - TOLD_MAX} more; --json tells all")
        for name, times in unknown.most_common():
            self.stderr.write(f"left out a field that is not known: {name} ({times} times)")
        self.stdout.write(", ".join(f"{name} {count}" for name, count in by_outcome.items()))


def _credential(slug: str | None, key: str | None) -> access.Credential:
    if slug is not None:
        try:
            return access.credential_of(projects.at(slug))
        except LookupError as error:
            raise base.CommandError(str(error)) from None
    if key:
        return access.credential_by(key, scope="ingest")
    raise base.CommandError("Say whose records these are: --project SLUG, or a key.")


def _batches(name: str, asked: str | None) -> Iterator[list[decoding.Entry]]:
    """Yield the file's records, a bounded batch at a time, numbered through."""
    with _opened(name) as file:
        is_array = file.peek(1).lstrip().startswith(b"[")
        if asked == "json" or (asked is None and is_array):
            body = file.read(limits.REQUEST_BYTES_MAX + 1)
            if len(body) > limits.REQUEST_BYTES_MAX:
                raise rejections.BodyTooLarge(
                    f"JSON is read up to {limits.REQUEST_BYTES_MAX} bytes; send more as one record a line."
                )
            yield decoding.decode(body, is_ndjson=False)
            return
        first = 0
        for body in _bodies(file):
            entries = decoding.decode(body, is_ndjson=True)
            yield [entry._replace(index=first + entry.index) for entry in entries]
            first += len(entries)


def _bodies(file: BinaryIO) -> Iterator[bytes]:
    lines, size = [], 0
    while line := _line(file):
        lines.append(line)
        size += len(line)
        if len(lines) == BATCH_RECORDS or size > BATCH_BYTES:
            yield b"".join(lines)
            lines, size = [], 0
    if lines:
        yield b"".join(lines)


def _line(file: BinaryIO) -> bytes:
    """Return the next line; what is longer than any record is cut, and will be refused as too large."""
    line = kept = file.readline(limits.RECORD_BYTES_MAX + 2)
    while line and not line.endswith(b"\n"):
        line = file.readline(limits.RECORD_BYTES_MAX)
        if line.endswith(b"\n") and not kept.endswith(b"\n"):
            kept += b"\n"
    return kept


def _opened(name: str) -> contextlib.AbstractContextManager[io.BufferedReader]:
    if name == "-":
        return contextlib.nullcontext(cast("io.BufferedReader", sys.stdin.buffer))
    return pathlib.Path(name).open("rb")
