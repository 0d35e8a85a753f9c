"""Make a person who can sign in."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from typing import Any

from django.contrib.auth import password_validation
from django.core import exceptions, validators
from django.core.management import base
from django.db import transaction

from operations import projects as projects_actions
from operations.models import people, projects


class Command(base.BaseCommand):
    help = "Make a person who can sign in. Without --password-stdin a password is made up and printed once."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--name", default="")
        parser.add_argument("--staff", action="store_true", help="may make projects")
        parser.add_argument(
            "--password-stdin", action="store_true", help="read the password from standard input"
        )
        parser.add_argument("--project", default="", help="the address of a project to join")
        parser.add_argument("--roles", default="viewer", help="roles in that project, split at commas")
        parser.add_argument("--json", action="store_true", dest="as_json")

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        """Make the person, and the membership if a project was named."""
        email = options["email"].strip().lower()
        password = _given_password() if options["password_stdin"] else secrets.token_urlsafe(15)
        user = people.User(email=email, name=options["name"], is_staff=options["staff"])
        try:
            validators.validate_email(email)
            password_validation.validate_password(password, user)
        except exceptions.ValidationError as error:
            raise base.CommandError(" ".join(error.messages)) from None
        if people.User.objects.filter(email=email).exists():
            raise base.CommandError(f"{email} exists already.")
        user.set_password(password)
        user.save(force_insert=True)
        if options["project"]:
            _join(user, slug=options["project"], roles=options["roles"].split(","))
        told = {"email": email, "project": options["project"] or None}
        if not options["password_stdin"]:
            told["password"] = password
        if options["as_json"]:
            self.stdout.write(json.dumps(told))
        else:
            self.stdout.write("\n".join(f"{key}: {value}" for key, value in told.items() if value))


def _given_password() -> str:
    return sys.stdin.readline().rstrip("\r\n")


def _join(user: people.User, *, slug: str, roles: list[str]) -> None:
    unknown = sorted(set(roles) - set(projects.Role.values))
    if unknown:
        raise base.CommandError(
            f"There is no role {unknown[0]!r}; there are {', '.join(projects.Role.values)}."
        )
    try:
        project = projects_actions.at(slug)
    except LookupError as error:
        raise base.CommandError(str(error)) from None
    projects.Membership.objects.create(project=project, user=user, roles=roles)
