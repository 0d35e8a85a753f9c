"""Migrate as the owner, and let the app role in."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core import management
from django.core.management.commands import migrate
from django.db import connections
from psycopg import sql

# What the app role gets on every table made later. Migrations take back what it must not have.
GRANTS = (
    "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {app}",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO {app}",
)


class Command(migrate.Command):
    """Django's `migrate`, on the owner's connection unless told otherwise."""

    def add_arguments(self, parser: management.CommandParser) -> None:
        """Make the owner's connection the default."""
        super().add_arguments(parser)
        parser.set_defaults(database="owner")

    def handle(self, *args: Any, **options: Any) -> None:
        """Grant first, so that new tables are open to the app role; then migrate; then make the cache."""
        database = options["database"]
        app, owner = settings.DATABASES["default"]["USER"], settings.DATABASES[database]["USER"]
        if app and app != owner:
            with connections[database].cursor() as cursor:
                for grant in GRANTS:
                    cursor.execute(sql.SQL(grant).format(app=sql.Identifier(app)))
        super().handle(*args, **options)
        management.call_command("createcachetable", database=database, verbosity=0)
