"""The test databases themselves: who is who, and that nothing is left over."""

from __future__ import annotations

import psycopg
import pytest
from django.contrib.sessions.models import Session
from django.db import connection, transaction, utils
from django.utils import timezone


@pytest.mark.django_db
def test_requests_are_served_by_the_app_role_and_tables_belong_to_the_owner() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, tableowner FROM pg_tables WHERE tablename = 'operation'")

        assert cursor.fetchone() == ("opsconsole_app", "opsconsole_owner")


@pytest.mark.django_db
def test_the_app_role_cannot_alter_or_empty_a_table() -> None:
    for statement in ("ALTER TABLE operation ADD x int", "TRUNCATE operation", "CREATE TABLE mine (x int)"):
        with pytest.raises(utils.ProgrammingError), transaction.atomic():
            connection.cursor().execute(statement)


@pytest.mark.parametrize("_round", [1, 2])
def test_what_a_test_commits_is_gone_for_the_next(
    clean_database: None, owner_connection: psycopg.Connection[tuple[object, ...]], _round: int
) -> None:
    assert Session.objects.count() == 0

    Session.objects.create(session_key=f"key{_round}", session_data="", expire_date=timezone.now())

    assert owner_connection.execute("SELECT count(*) FROM django_session").fetchone() == (1,)
