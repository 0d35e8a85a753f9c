"""`make bench`: one run against a floor on the same machine, printed as a table with ratios.

The console runs as `make up` runs it, on its own servers, with authentication, redaction, merging, the tally and the
workers on. The floor copies the same rows into the same tables and does nothing else. Sender and server share the
machine, so every figure is a lower bound. `--quick` takes a tenth of the records and leaves the million out.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import os
import platform
import time

from tests.bench import console, floor, pages, processes, sending, traffic

JSON, PROTOBUF = "application/json", "application/x-protobuf"
Bodies = list[tuple[int, bytes]]
SETTLED_WITHIN_S = 300.0
SPREAD = datetime.timedelta(minutes=5)
# The floor's rows stand under a project that does not exist.
FLOOR_PROJECT = 1_000_000
NEWEST = (
    f"SELECT operation_id FROM operation WHERE project_id < {FLOOR_PROJECT} ORDER BY started_at DESC LIMIT 1"
)


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(prog="make bench", description=__doc__)
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("--no-pages", action="store_true", help="measure ingest only")
    options = arguments.parse_args()
    with console.running() as running:
        print(
            f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
        )
        memory = processes.Peak(running.pids)
        memory.start()
        measure_ingest(running, 4_000 if options.quick else 40_000)
        if not options.no_pages:
            measure_pages(running, [20_000] if options.quick else [100_000, 1_000_000])
        measure_disk(running)
        shared, most = _one(running, "SHOW shared_buffers"), memory.end()
        print(
            f"peak memory of all processes  {sum(most.values()):.0f} MiB PSS (shared_buffers {shared})  ",
            end="",
        )
        print(", ".join(f"{name} {mib:.0f}" for name, mib in sorted(most.items(), key=lambda item: -item[1])))


def measure_ingest(running: console.Console, count: int) -> None:
    """Print the floor and every way of sending, as ratios to the floor of as many connections."""
    now = datetime.datetime.now(datetime.UTC)
    make = functools.partial(traffic.records, begin=_begin(now), spread=SPREAD)
    send = functools.partial(sending.post, running)
    # Warm: every connection has planned its statements, and the partitions exist.
    send("/v1/operations", JSON, traffic.json_bodies(make(6_400, seed=1), 100), 16)
    send("/v1/operations", JSON, traffic.json_bodies(make(200, seed=2), 1), 16)
    floors = {}
    print(f"\n{'':44} {'records/s':>10} {'of floor':>9} {'CPU s/1000':>11} {'p50 ms':>7} {'p95 ms':>7}")
    for connections, seed in ((1, 90), (4, 91)):
        parts = [
            floor.rows_of(
                make(count // connections, seed=seed * 10 + part), project_id=FLOOR_PROJECT, now=now
            )
            for part in range(connections)
        ]
        floors[connections] = floor.measure(running, parts)
        print(f"{f'floor: COPY BINARY, {connections} connections':44} {floors[connections]:10,.0f}")

    def row(name: str, path: str, kind: str, bodies: Bodies, connections: int) -> None:
        got = send(path, kind, bodies, connections)
        ratio = f"{got.per_second / floors[connections]:9.2f}"
        print(
            f"{name + f', {connections} conn.':44} {got.per_second:10,.0f} {ratio} {got.cpu_s_per_1000:11.3f} "
            f"{got.p50_ms:7.1f} {got.p95_ms:7.1f}" + (f"  {got.retries} retries" if got.retries else "")
        )

    for connections in (1, 4):
        told = make(count, seed=100 + connections)
        single = traffic.json_bodies(told, 500)
        row("JSON, one record a call, batches of 500", "/v1/operations", JSON, single, connections)
        row("the same again: all duplicates", "/v1/operations", JSON, single, connections)
        phased = traffic.json_bodies(traffic.two_phase(make(count // 2, seed=200 + connections)), 500)
        row("JSON, two records a call, batches of 500", "/v1/operations", JSON, phased, connections)
        spans = traffic.otlp_bodies(make(count, seed=300 + connections), 500)
        row("OTLP protobuf, batches of 500", "/v1/traces", PROTOBUF, spans, connections)
    midnight = now.replace(hour=0, minute=0, second=0) - datetime.timedelta(minutes=2)
    late = traffic.records(count, seed=500, begin=midnight, spread=SPREAD)
    row("JSON around midnight, batches of 500", "/v1/operations", JSON, traffic.json_bodies(late, 500), 4)
    row("JSON, batches of 10", "/v1/operations", JSON, traffic.json_bodies(make(count // 4, seed=400), 10), 4)
    row("JSON, singly", "/v1/operations", JSON, traffic.json_bodies(make(count // 20, seed=401), 1), 4)


def _begin(now: datetime.datetime) -> datetime.datetime:
    """Return when the calls began: just now, but not around midnight, where writers take turns (a row of its own)."""
    begin = now - 2 * SPREAD
    near = any((begin + hours).hour in {23, 0} for hours in (datetime.timedelta(), SPREAD))
    return begin - datetime.timedelta(hours=3) if near else begin


def measure_pages(running: console.Console, sizes: list[int]) -> None:
    """Print how long pages and queries take as the store grows, over a week that ends now."""
    signed_in = pages.visitor(running)
    now, filled = datetime.datetime.now(datetime.UTC), 0
    for size in sizes:
        _fill(running, size - filled, seed=size, now=now)
        filled = size
        _settle(running)
        operation_id = str(_one(running, NEWEST))
        print(f"\nwith {size:,} operations over 7 days{'':14} {'p50 ms':>7} {'p95 ms':>7} {'KiB':>6}")
        for timed in pages.measure(running, signed_in, operation_id):
            print(f"{timed.name:44} {timed.p50_ms:7.1f} {timed.p95_ms:7.1f} {timed.kib:6.0f}")


def _fill(running: console.Console, count: int, *, seed: int, now: datetime.datetime) -> None:
    """Send `count` calls spread over the last seven days."""
    piece, week = 20_000, datetime.timedelta(days=7)
    for first in range(0, count, piece):
        begin = now - week + week * (first / count)
        told = traffic.records(
            min(piece, count - first), seed=seed + first, begin=begin, spread=week * (piece / count)
        )
        sending.post(running, "/v1/operations", JSON, traffic.json_bodies(told, 1_000), 3)


def _settle(running: console.Console) -> None:
    """Wait until the workers have folded the tally, and let PostgreSQL know its tables."""
    until = time.monotonic() + SETTLED_WITHIN_S
    while _one(running, "SELECT count(*) FROM tally WHERE grain = 0") != 0:
        if time.monotonic() > until:
            raise RuntimeError("the workers do not fold the tally")
        time.sleep(1)
    running.analyse()


def measure_disk(running: console.Console) -> None:
    """Print bytes on disk an operation, everything that belongs to it included."""
    count = int(str(_one(running, "SELECT count(*) FROM operation")))
    rows = {
        name: int(str(_one(running, f"SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0) FROM pg_inherits "
                           f"WHERE inhparent = '{name}'::regclass AND inhrelid::regclass::text LIKE '{name}_2%'")))
        for name in ("operation", "excerpt")
    }  # fmt: skip
    for name in ("tally", "tally_histogram", "first_seen"):
        rows[name] = int(str(_one(running, f"SELECT pg_total_relation_size('{name}')")))
    print(f"\nbytes on disk an operation  {sum(rows.values()) / count:,.0f}  ", end="")
    print(", ".join(f"{name} {size / count:,.0f}" for name, size in rows.items()))


def _one(running: console.Console, query: str) -> object:
    with running.connect() as connection:
        row = connection.execute(query.encode()).fetchone()
        return row[0] if row else None


if __name__ == "__main__":
    main()
