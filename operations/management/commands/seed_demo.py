"""Fill the demo projects with a day of made-up traffic."""

from __future__ import annotations

import argparse
import json
from typing import Any

from django.core.management import base
from django.utils import timezone

from operations import demo, projects


class Command(base.BaseCommand):
    help = "Fill the demo project, made if there is none, with the last day of made-up traffic. Safe to run again."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        """Fill what is missing up to now."""
        for project in demo.demos() or [projects.create(name="Demo", is_demo=True)]:
            filled = demo.fill(project, now=timezone.now())
            if options["as_json"]:
                self.stdout.write(json.dumps({"project": project.slug, **filled.counts}))
            else:
                told = ", ".join(f"{count} {name}" for name, count in sorted(filled.counts.items()))
                self.stdout.write(f"{project.slug}: {told or 'nothing new'}")
