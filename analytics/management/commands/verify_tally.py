"""Recount the facts and compare with the tally."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from django.core.management import base
from django.utils import timezone

from analytics import recount
from operations.models import projects


class Command(base.BaseCommand):
    help = "Recount the retained operations and compare with the tally; ends with 1 if anything differs."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--project", default="", help="the address of one project; left out, all")
        parser.add_argument("--days", type=int, default=None, help="only the last days, today included")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        """Recount, report, and end with 1 after a difference."""
        if options["days"] is not None and options["days"] < 1:
            raise base.CommandError("--days must be at least 1.")
        report = recount.verify(
            now=timezone.now(), project_id=_project_id(options["project"]), days=options["days"]
        )
        if options["as_json"]:
            self.stdout.write(json.dumps(_as_json(report)))
        else:
            self._write_lines(report)
        if report.differences_count:
            sys.exit(1)

    def _write_lines(self, report: recount.Report) -> None:
        for found in report.differences:
            keys = " ".join(f"{key}={value}" for key, value in found.keys.items() if value is not None)
            self.stdout.write(
                f"project {found.project_id} {found.table} {found.grain} "
                f"{found.bucket:%Y-%m-%dT%H:%MZ} {keys}: "
                f"facts {found.operations:+d} operations, {found.duration_us:+d} µs"
            )
        verdict = (
            "no difference" if not report.differences_count else f"{report.differences_count} differences"
        )
        self.stdout.write(
            f"{report.operations} operations in {report.hours} hours of {report.projects} projects: {verdict}"
        )


def _project_id(slug: str) -> int | None:
    if not slug:
        return None
    project = projects.Project.objects.filter(slug=slug, deleted_at__isnull=True).first()
    if project is None:
        raise base.CommandError(f"There is no project {slug!r}.")
    return project.pk


def _as_json(report: recount.Report) -> dict[str, Any]:
    differences = [{**found._asdict(), "bucket": found.bucket.isoformat()} for found in report.differences]
    return {**report._asdict(), "differences": differences}
