"""Every piece of the design on one page, served to a browser without a server, for tests that look at it."""

from __future__ import annotations

import datetime
import mimetypes
import pathlib
import random
import types
from typing import Any

from django.conf import settings
from django.contrib.staticfiles import finders
from django.template import Context, Template, loader
from django.test import RequestFactory

from analytics import buckets, charts
from operations import display, endings

ORIGIN = "http://console.test"
NOW = display.microseconds(datetime.datetime(2026, 3, 1, 9, 37, 12, tzinfo=datetime.UTC))
HOSTILE = (
    "refund\u202etxt.exe\u200b <script>alert(1)</script> {{ 7|add:7 }} \"onmouseover='x' \x1b[31m  two  "
)

TOOLS = (
    "refund_order",
    "search_catalogue",
    "send_mail",
    "read_file",
    "mcp__crm__update_contact_with_a_long_name",
)
ENDINGS: tuple[tuple[str, str | None, str | None, str | None], ...] = (
    ("done", "success", None, None),
    ("done", "failure", "quota_exceeded", None),
    ("runtime_error", None, "upstream_unavailable", None),
    ("contract_error", None, None, "invalid_arguments"),
    ("contract_error", None, None, "unknown_tool"),
    ("timed_out", None, "upstream_slow", None),
    ("denied", None, "policy", None),
    ("cancelled", None, None, None),
    ("running", None, None, None),
    ("awaiting_approval", None, None, None),
)


def timeline(seed: int = 7) -> charts.Chart:
    """Draw a day of traffic with one incident."""
    chance = random.Random(seed)
    stretch = buckets.read_range({"range": "24h"}, now_us=NOW)
    bins = buckets.bins(stretch)
    counts: dict[str, list[int]] = {}
    for key, share in (("success", 90), ("failed", 5), ("never_ran", 2), ("timed_out", 1), ("cancelled", 1)):
        counts[key] = [
            round(share * chance.uniform(0.5, 1.2) * (1 + abs(place - 50) / 60))
            for place in range(bins.number)
        ]
    counts["exception"] = [chance.randint(30, 60) if 60 <= place < 68 else 0 for place in range(bins.number)]
    counts["denied"] = [1 if place == 20 else 0 for place in range(bins.number)]
    links = [f"/p/acme/operations?from={display.iso(start)}&q=a" for start in bins.starts]
    return charts.stacked_timeline(
        label="Tool calls by ending, last 24 hours",
        bins=bins,
        counts=counts,
        links=links,
        legend_links={"failed": "/p/acme/operations?q=outcome:failure"},
        now_us=NOW,
    )


def spread() -> charts.Chart:
    """Draw a distribution with two humps."""
    edges = [round(1000 * 1.1**place) for place in range(61)]
    counts = [
        round(400 * 2.7 ** (-((place - 22) ** 2) / 60) + 60 * 2.7 ** (-((place - 48) ** 2) / 20))
        for place in range(60)
    ]
    return charts.histogram(
        label="Duration of refund_order",
        edges=edges,
        counts=counts,
        markers=[charts.Marker("p50", 8600), charts.Marker("p95", 104000)],
    )


def worst() -> charts.Chart:
    """Draw tools by failing share, one of them from a thin sample and one with a hostile name."""
    rows = [
        charts.Bar(
            "refund_order",
            0.31,
            display.percent(373, 1204),
            "/p/acme/operations?q=a",
            "373 of 1,204",
            "exception",
        ),
        charts.Bar(
            "send_mail", 0.12, display.percent(120, 1000), "/p/acme/operations?q=b", "120 of 1,000", "failed"
        ),
        charts.Bar(
            HOSTILE, 0.04, display.percent(40, 1000), "/p/acme/operations?q=c", "40 of 1,000", "failed"
        ),
        charts.Bar("rare_tool", 0.5, display.percent(2, 4), "/p/acme/operations?q=d", "2 of 4", is_thin=True),
    ]
    return charts.bars(
        label="Tools by failing share", heading="Tool", value_heading="Failing", rows=rows, largest=1
    )


def session() -> charts.Chart:
    """Draw a session of two turns with a repeat, a late answer and a running call."""
    second = display.SECOND
    start = NOW - 60 * second

    def lane(
        name: str, first: float, last: float | None, ending: tuple[Any, ...], turn: str, **more: Any
    ) -> charts.Lane:
        return charts.Lane(
            label=name,
            ending=endings.of(*ending),
            started_us=start + round(first * second),
            ended_us=None if last is None else start + round(last * second),
            href=f"/p/acme/operation?id={name}",
            turn=turn,
            **more,
        )

    rows = [
        lane("search_catalogue", 0, 1.2, ENDINGS[0], "1"),
        lane("search_catalogue", 1.4, 2.3, ENDINGS[0], "1", notes=("Repeated call",)),
        lane("serch_catalog", 2.4, 2.4, ENDINGS[4], "1"),
        lane("refund_order", 20, 30, ENDINGS[5], "2", is_current=True, answered_us=start + 34 * second),
        lane("refund_order", 31, 31.2, ENDINGS[1], "2", depth=1),
        lane(HOSTILE, 40, None, ENDINGS[8], "2"),
    ]
    return charts.waterfall(label="Session s-4411", rows=rows, now_us=NOW)


def context() -> dict[str, Any]:
    """Return what the kitchen's template needs."""
    chance = random.Random(3)
    project = types.SimpleNamespace(slug="acme", name="Acme production", is_demo=True)
    other = types.SimpleNamespace(slug="globex", name="Globex", is_demo=False)
    nav = [
        types.SimpleNamespace(
            key={"overview": "h"}.get(key, key[0]),
            label=label,
            url=f"/p/acme/{key}",
            icon=icon,
            current=key == "overview",
        )
        for key, label, icon in (
            ("overview", "Overview", "layout-dashboard"),
            ("operations", "Tool calls", "list"),
            ("connect", "Connect", "plug"),
            ("ingest", "Ingest health", "activity"),
            ("settings", "Settings", "settings"),
        )
    ]
    tiles = [
        ("Never ran", "2.6", "31 of 1,204", "up", "+12 %", "plain", False),
        ("Failed", "4.1", "49 of 1,193", "down", "−8 %", "plain", False),
        ("Exception", "31.2", "373 of 1,193", "up", "×3.4", "bad", True),
        ("Timed out", "0.8", "9 of 1,193", "same", "same", "plain", False),
        ("Late answers", "33.3", "3 of 9: too few to judge", "up", "new", "plain", False),
        ("Tool calls", "1,204", "from 84 sessions", "up", "+3 %", "plain", False),
    ]
    rows = []
    for place in range(14):
        status, outcome, code, kind = ENDINGS[place % len(ENDINGS)]
        rows.append(
            {
                "at": NOW - place * 37 * display.SECOND,
                "tool": HOSTILE if place == 3 else TOOLS[place % len(TOOLS)],
                "status": status,
                "outcome": outcome,
                "code": code,
                "kind": kind,
                "marks": (0, 0, 256, 0, 0, 384)[place % 6],
                "model": "claude-sonnet-x",
                "session": f"s-{4411 + place}",
                "took": None if status == "running" else chance.randint(900, 40_000_000),
                "bytes": chance.randint(20, 400_000),
                "current": place == 5,
            }
        )
    return {
        "request": RequestFactory().get("/p/acme/", {"range": "24h", "q": "tool:refund"}),
        "csrf_token": "x" * 64,
        "user": types.SimpleNamespace(is_authenticated=True, email="alice@example.com"),
        "current_project": project,
        "memberships": [types.SimpleNamespace(project=project), types.SimpleNamespace(project=other)],
        "may_create_projects": True,
        "environment": "production",
        "nav": nav,
        "presets": list(buckets.PRESETS),
        "tiles": [
            {
                "label": label,
                "value": value if "," in value else f"{value}\u202f%",
                "sample": sample,
                "direction": direction,
                "moved": moved,
                "tone": tone,
                "alarm": alarm,
                "thin": "few" in sample,
                "values": [chance.uniform(1, 3) + (4 if alarm and place > 16 else 0) for place in range(24)],
                "spark": f"{label}, hour by hour",
            }
            for label, value, sample, direction, moved, tone, alarm in tiles
        ],
        "timeline": timeline(),
        "worst": worst(),
        "spread": spread(),
        "session": session(),
        "facets": [
            {
                "name": "Tool",
                "values": [(tool, 9000 // (place + 1)) for place, tool in enumerate((*TOOLS, HOSTILE))],
            },
            {"name": "Environment", "values": [("production", 11_932), ("staging", 402)]},
        ],
        "rows": rows,
        "at": NOW,
        "endings": ENDINGS,
        "hostile": HOSTILE,
    }


def render() -> str:
    """Return the page."""
    source = pathlib.Path(__file__).with_suffix(".html").read_text()
    return Template(source).render(Context(context()))


def serve(page: Any, html: str) -> None:
    """Answer a browser page's requests with `html` and the static files, under the site's own policy."""
    policy = "; ".join(f"{name} {' '.join(sources)}" for name, sources in settings.SECURE_CSP.items())

    def answer(route: Any) -> None:
        path = route.request.url.removeprefix(ORIGIN).split("?")[0]
        if path.endswith("/freshness"):
            body = loader.render_to_string("_shell/_freshness.html", {"newest_at": NOW})
            route.fulfill(body=body, content_type="text/html")
        elif path.startswith("/static/"):
            found = finders.find(path.removeprefix("/static/"))
            if found is None:
                route.fulfill(status=404, body="")
                return
            kind = mimetypes.guess_type(path)[0] or "text/plain"
            route.fulfill(body=pathlib.Path(str(found)).read_bytes(), content_type=kind)
        else:
            route.fulfill(
                body=html,
                content_type="text/html; charset=utf-8",
                headers={"Content-Security-Policy": policy},
            )

    page.route(f"{ORIGIN}/**", answer)
