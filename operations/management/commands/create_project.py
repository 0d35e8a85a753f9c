"""Make a project."""

from __future__ import annotations

import argparse
import json
from typing import Any

from django.core import exceptions
from django.core.management import base

from operations import projects, rejections
from operations.models import people


class Command(base.BaseCommand):
    help = "Make a project and print its address."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--slug", default="", help="the address; left out, it comes from the name")
        parser.add_argument("--admin", default="", help="the e-mail of its first admin, who has an account")
        parser.add_argument("--demo", action="store_true", help="mark it as a demonstration")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the project, with the named person as its admin."""
        admin = None
        if options["admin"]:
            admin = people.User.objects.filter(email=options["admin"].strip().lower()).first()
            if admin is None:
                raise base.CommandError(f"Nobody signs in as {options['admin']}.")
        try:
            project = projects.create(
                name=options["name"], slug=options["slug"], by=admin, is_demo=options["demo"]
            )
        except exceptions.ValidationError as error:
            raise base.CommandError(" ".join(error.messages)) from None
        except rejections.AddressTaken as refusal:
            raise base.CommandError(refusal.detail) from None
        if options["as_json"]:
            self.stdout.write(json.dumps({"project": project.slug, "name": project.name, "id": project.pk}))
        else:
            self.stdout.write(project.slug)
        if admin is None:
            self.stderr.write(
                "Nobody may open it yet: name its first admin with --admin, or add people by create_user."
            )
