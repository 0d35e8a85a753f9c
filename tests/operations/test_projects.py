from __future__ import annotations

import pytest
from django.core import exceptions
from django.db import connection

from operations import projects, rejections
from operations.models import projects as tenants
from tests import make

pytestmark = pytest.mark.django_db


def test_whoever_makes_a_project_is_its_admin_and_no_approver():
    dora = make.dora()
    project = projects.create(name="Dora's Shop", by=dora)

    assert project.slug == "doras-shop"
    assert tenants.Membership.objects.get(project=project).roles == ["admin"]
    assert len(project.digest_key) == 32


@pytest.mark.parametrize(
    ("name", "slug"),
    [("Ünïcode", "unicode"), ("  --  ", "project"), ("a" * 80, "a" * 40), ("退款", "project")],
)
def test_an_address_comes_from_the_name(name, slug):
    assert projects.address_from(name) == slug


@pytest.mark.parametrize("slug", ["Acme", "a_b", "-a", "a-", "a b", "a\n", "a" * 41, "ä"])
def test_a_malformed_address_is_refused(slug):
    with pytest.raises(exceptions.ValidationError):
        projects.create(name="x", slug=slug)


def test_an_address_is_taken_until_its_project_is_deleted():
    first = projects.create(name="Acme")
    with pytest.raises(rejections.AddressTaken):
        projects.create(name="Acme")
    projects.delete(first)

    second = projects.create(name="Acme")

    assert second.pk != first.pk
    assert bytes(second.digest_key) != bytes(first.digest_key)


def test_purging_leaves_no_row_of_a_deleted_project_and_all_of_another():
    make.alice(), make.charlie(), make.key(), make.key(make.globex())
    doomed, kept = make.acme().pk, make.globex().pk
    fill(doomed, kept)
    projects.delete(make.acme())

    assert projects.purge() is False

    assert rows_of(doomed) == 0
    assert not tenants.Project.objects.filter(pk=doomed).exists()
    assert rows_of(kept) > 0
    assert tenants.IngestKey.objects.filter(project_id=kept).count() == 1


def test_purging_touches_nothing_while_no_project_is_deleted():
    make.alice(), make.key()
    before = rows_of(make.acme().pk)

    assert projects.purge() is False
    assert rows_of(make.acme().pk) == before


def test_purging_stops_after_its_step_and_goes_on_later(monkeypatch):
    make.alice()
    fill(make.acme().pk)
    projects.delete(make.acme())
    monkeypatch.setattr(projects, "PURGE_STEP_S", -1.0)
    monkeypatch.setattr(projects, "PURGE_ROWS_AT_ONCE", 1)

    steps = 1
    while projects.purge():
        steps += 1
        assert steps < 100

    assert steps > 1
    assert tenants.Project.objects.count() == 0


def rows_of(project_id: int) -> int:
    names = [*projects.tenant_tables(), "membership", "invitation", "ingest_key"]
    total = 0
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute(f'SELECT count(*) FROM "{name}" WHERE project_id = %s', [project_id])
            total += cursor.fetchone()[0]
    return total


def fill(*project_ids: int) -> None:
    """Give each project rows in an ordinary table and, at the same places, in two partitions of another."""
    with connection.cursor() as cursor:
        for day in ("2026-03-10", "2026-03-11"):
            cursor.execute("SELECT opsconsole_make_partition('excerpt', %s)", [day])
        for project_id in project_ids:
            for number in range(3):
                cursor.execute(
                    "INSERT INTO code_entry (project_id, code) VALUES (%s, %s)",
                    [project_id, f"code_{number}"],
                )
                for day in ("2026-03-10", "2026-03-11"):
                    cursor.execute(EXCERPT_SQL, [project_id, number, day])


EXCERPT_SQL = """
INSERT INTO excerpt
  (project_id, operation_id, attempt, hash, gone_on, rules_version, words)
VALUES (%s, 'op', 1, %s, %s, 1, '[]')
"""
