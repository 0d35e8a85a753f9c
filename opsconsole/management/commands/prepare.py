"""Bring a fresh or an older data folder to where the console can be used: tables, files, an admin, a demo."""

from __future__ import annotations

import json
import pathlib
import secrets
import sys
from typing import Any

from django.core import management
from django.utils import timezone

from operations import keys, projects, rejections
from operations.models import people
from operations.models import projects as project_models
from opsconsole import start
from opsconsole.local import processes

ADMIN_EMAIL = "admin@localhost"
OWN_NAME, DEMO_NAME = "My project", "Demo"
DEMO_KEYS = {"ingest_key": ["ingest"], "read_key": ["read"]}


class Command(management.BaseCommand):
    """`manage.py prepare`, which `make up` runs; safe to run again."""

    help = "Migrate, collect static files and make the first admin and the two projects; tells them as JSON."
    requires_system_checks = ()

    def add_arguments(self, parser: management.CommandParser) -> None:
        """Take the file that keeps the demo's keys, and whether the demo is filled."""
        parser.add_argument(
            "--keys", type=pathlib.Path, required=True, help="keeps the demo's keys, mode 600"
        )
        parser.add_argument("--no-demo", action="store_true", help="leave the demo project empty")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do all steps in order, and print what a person needs to sign in."""
        with start.plainly():
            # Standard output is for the answer alone.
            management.call_command("migrate", verbosity=0, interactive=False, stdout=sys.stderr)
        management.call_command("collectstatic", verbosity=0, interactive=False, stdout=sys.stderr)
        admin, password = first_admin()
        demo = two_projects(admin)
        if not options["no_demo"]:
            management.call_command("seed_demo", stdout=sys.stderr)
        told = {"email": admin.email, "password": password, "project": demo.slug}
        self.stdout.write(json.dumps({**told, **demo_keys(options["keys"], demo, admin)}))


def first_admin() -> tuple[people.User, str | None]:
    """Return the first person, made if there is nobody, with the password if it was made just now."""
    found = people.User.objects.order_by("pk").first()
    if found is not None:
        return found, None
    password = secrets.token_urlsafe(12)
    return people.User.objects.create_superuser(ADMIN_EMAIL, password, name="Admin"), password


def two_projects(admin: people.User) -> project_models.Project:
    """Make the admin's own project and the demo unless they were made before; returns the demo."""
    every = project_models.Project.objects.order_by("pk")
    demo = every.filter(is_demo=True, deleted_at__isnull=True).first()
    if not every.filter(is_demo=False).exists():
        projects.create(name=OWN_NAME, by=admin)
    return demo or projects.create(name=DEMO_NAME, by=admin, is_demo=True)


def demo_keys(path: pathlib.Path, demo: project_models.Project, admin: people.User) -> dict[str, str]:
    """Return the demo's keys as kept in `path`; one that no longer works is made anew."""
    try:
        kept: dict[str, str] = json.loads(path.read_text())
    except FileNotFoundError:
        kept = {}
    for name, scopes in DEMO_KEYS.items():
        if not works(kept.get(name, ""), demo):
            kept[name] = keys.issue(demo, name="make up", scopes=scopes, by=admin).token
    processes.write_private(path, json.dumps(kept))
    return kept


def works(token: str, demo: project_models.Project) -> bool:
    """Tell whether `token` is a live key of `demo`."""
    try:
        keyid, secret = keys.parse(token)
    except rejections.UnknownKey:
        return False
    key = project_models.IngestKey.objects.filter(keyid=keyid, project=demo).first()
    return key is not None and keys.matches(secret, bytes(key.secret_hmac)) and key.is_live(timezone.now())
