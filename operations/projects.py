"""Make, change and delete projects.

Deleting is the dangerous part. `delete` makes a project unreachable in one statement: every loader in
`access` names `deleted_at IS NULL`. Its rows then go in bounded steps, from every table that has a
`project_id`, so that a table added later cannot be forgotten. A step only names a project that is marked.
"""

from __future__ import annotations

import time

from django.db import connection, transaction, utils
from django.utils import text, timezone
from psycopg import sql

from operations import rejections
from operations.models import people, projects

PURGE_ROWS_AT_ONCE = 2000
PURGE_STEP_S = 4.0

# Partitions are reached through their parent, which is where the app role has its rights.
TENANT_TABLES_SQL = """
SELECT c.relname
  FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'project_id' AND NOT a.attisdropped
 WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> ALL(%s)
   AND c.relnamespace = current_schema()::regnamespace AND c.relpersistence <> 't'
 ORDER BY c.relname
"""

# A ctid repeats from partition to partition; whatever else it hits is this project's too, and goes as well.
PURGE_SQL = """
DELETE FROM {table} WHERE project_id = %(project_id)s AND ctid = ANY(ARRAY(
    SELECT ctid FROM {table} WHERE project_id = %(project_id)s LIMIT %(rows)s))
"""

# Few rows with foreign keys among them; Django's own cascade knows the order.
_GO_WITH_THE_PROJECT = (projects.Membership, projects.Invitation, projects.IngestKey)


def create(
    *, name: str, slug: str = "", by: people.User | None = None, is_demo: bool = False
) -> projects.Project:
    """Make a project, with `by` as its first admin; without `slug` the address comes from the name."""
    project = projects.Project(name=name, slug=slug or address_from(name), is_demo=is_demo)
    project.clean_fields()
    try:
        with transaction.atomic():
            project.save(force_insert=True)
            if by is not None:
                projects.Membership.objects.create(project=project, user=by, roles=[projects.Role.ADMIN])
    except utils.IntegrityError as error:
        if "project_slug_is_unique" in str(error):
            raise rejections.AddressTaken from None
        raise
    return project


def at(slug: str) -> projects.Project:
    """Return the project whose address is `slug`; raises `LookupError` that names those there are."""
    there = projects.Project.objects.filter(deleted_at__isnull=True).order_by("slug")
    found = there.filter(slug=slug).first()
    if found is None:
        named = ", ".join(there.values_list("slug", flat=True)[:10]) or "none yet"
        raise LookupError(f"There is no project {slug!r}. There are: {named}.")
    return found


def address_from(name: str) -> str:
    """Propose an address for a project of this name."""
    return text.slugify(name)[:40].strip("-_").replace("_", "-") or "project"


def rename(project: projects.Project, *, name: str, default_environment: str) -> None:
    """Change what a project is called and the environment its pages start at. Its address never changes."""
    projects.Project.objects.filter(pk=project.pk).update(name=name, default_environment=default_environment)


def delete(project: projects.Project) -> None:
    """Make a project unreachable at once; `purge` removes its rows."""
    projects.Project.objects.filter(pk=project.pk, deleted_at__isnull=True).update(deleted_at=timezone.now())


def purge() -> bool:
    """Remove rows of deleted projects for one bounded step; tells whether more are left. Safe twice."""
    until = time.monotonic() + PURGE_STEP_S
    for project_id in projects.Project.objects.filter(deleted_at__isnull=False).values_list("pk", flat=True):
        for table in tenant_tables():
            while _purge_some(table, project_id):
                if time.monotonic() > until:
                    return True
        projects.Project.objects.filter(pk=project_id, deleted_at__isnull=False).delete()
    return False


def tenant_tables() -> list[str]:
    """List the tables that `purge` empties."""
    with connection.cursor() as cursor:
        cursor.execute(TENANT_TABLES_SQL, [[model._meta.db_table for model in _GO_WITH_THE_PROJECT]])
        return [row[0] for row in cursor.fetchall()]


def _purge_some(table: str, project_id: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL(PURGE_SQL).format(table=sql.Identifier(table)),
            {"project_id": project_id, "rows": PURGE_ROWS_AT_ONCE},
        )
        return int(cursor.rowcount)
