"""Make an ingest key."""

from __future__ import annotations

import argparse
import datetime
import json
from typing import Any

from django.core.management import base
from django.utils import timezone

from operations import keys
from operations import projects as projects_actions
from operations.models import projects


class Command(base.BaseCommand):
    help = "Make a key of PROJECT and print it once, alone on its line."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="the project's address")
        parser.add_argument("--scopes", required=True, help=f"of {', '.join(projects.Scope.values)}")
        parser.add_argument("--name", default="from the command line")
        parser.add_argument("--days", type=int, default=None, help="after how many days it ends")
        parser.add_argument("--environment", default="", help="take records of this environment only")
        parser.add_argument("--runtime", default="", help="take records of this runtime only")
        parser.add_argument("--tool-prefix", default="", help="take records of tools that begin so only")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the key; the printed line is the only copy."""
        scopes = [scope.strip() for scope in options["scopes"].replace(",", " ").split()]
        unknown = sorted(set(scopes) - set(projects.Scope.values))
        if unknown or not scopes:
            wrong = f"There is no scope {unknown[0]!r}" if unknown else "Name a scope"
            raise base.CommandError(f"{wrong}; there are {', '.join(projects.Scope.values)}.")
        try:
            project = projects_actions.at(options["project"])
        except LookupError as error:
            raise base.CommandError(str(error)) from None
        issued = keys.issue(
            project,
            name=options["name"],
            scopes=scopes,
            expires_at=_ends_at(options["days"]),
            binding=keys.Binding(
                environment=options["environment"] or None,
                runtime=options["runtime"] or None,
                tool_prefix=options["tool_prefix"] or None,
            ),
        )
        if options["as_json"]:
            told = {"key": issued.token, "keyid": issued.key.keyid, "project": project.slug}
            self.stdout.write(json.dumps({**told, "scopes": issued.key.scopes}))
        else:
            self.stdout.write(issued.token)


def _ends_at(days: int | None) -> datetime.datetime | None:
    if days is None:
        return None
    if not 1 <= days <= 3650:
        raise base.CommandError("--days must be from 1 to 3650.")
    return timezone.now() + datetime.timedelta(days=days)
