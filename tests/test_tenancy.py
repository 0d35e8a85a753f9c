"""Every address of the console, asked by everybody who must not see what is Acme's.

`addresses.TABLE` has a row for each route and the walk fails when one is missing, so no page can be forgotten.
Each row is also asked by Acme's own admin or key: a 404 proves nothing about what everybody is refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from operations import members
from operations.models import projects as tenants
from tests import addresses, make

pytestmark = pytest.mark.django_db

LOGIN = "/accounts/login/?next="
EVERY_SCOPE = ("ingest", "read", "approvals")


@dataclasses.dataclass(frozen=True)
class Place:
    """What one tenant has, as the parts of addresses."""

    parts: dict[str, object]
    key: str

    def ask(self, client: Client, row: addresses.Row | addresses.Door, *, key: str = "") -> HttpResponse:
        """Send what `row` says with this tenant's parts in its address and body."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        path = row.path.format(**self.parts)
        if row.method == "GET":
            return client.get(path, headers=headers)
        body = {
            name: value.format(**self.parts) if isinstance(value, str) else value
            for name, value in (row.body or {}).items()
        }
        if isinstance(row, addresses.Row):
            return client.post(path, body)
        return client.post(path, body, headers=headers, content_type="application/json")


def place_of(project: tenants.Project, member_email: str) -> Place:
    admin = tenants.Membership.objects.get(project=project, roles__contains=["admin"]).user
    issued = make.key(project, scopes=EVERY_SCOPE)
    invited = members.invite(project, email=f"erin@{project.slug}.example", roles=["viewer"], by=admin)
    member = make.join(make.person(member_email), project, ["viewer"])
    parts = {
        "slug": project.slug,
        "member": member.pk,
        "invitation": invited.invitation.pk,
        "token": invited.token,
        "keyid": issued.key.keyid,
        "operation": f"{project.slug}/operation",
        "session": f"{project.slug}-session",
        "now": timezone.now().isoformat(),
    }
    place = Place(parts, issued.token)
    told = addresses.Door(
        "/v1/operations", "ingest", "POST", body={**addresses.RECORD, "tool": f"{project.slug}_tool"}
    )
    assert place.ask(Client(), told, key=place.key).status_code == 200
    return place


NOWHERE = Place(
    {
        "slug": "nowhere",
        "member": 10**9,
        "invitation": 10**9,
        "token": "none",
        "keyid": "zzzzzzzzzzzz",
        "operation": "nowhere/operation",
        "session": "nowhere-session",
        "now": timezone.now().isoformat(),
    },
    "",
)


@pytest.fixture
def acme() -> Place:
    make.alice(), make.bob()
    return place_of(make.acme(), "member@acme.example")


@pytest.fixture
def globex() -> Place:
    make.charlie()
    return place_of(make.globex(), "member@globex.example")


def test_every_route_has_a_row_and_every_row_a_route():
    assert sorted(routes(get_resolver().url_patterns)) == sorted(addresses.TABLE)


@pytest.mark.parametrize("row", addresses.ROWS, ids=addresses.named)
def test_an_anonymous_visitor_is_sent_to_sign_in_or_sees_what_is_for_all(row, acme):
    response = acme.ask(make.browser(), row)

    assert response.status_code == row.anonymous
    if row.anonymous == 302 and row.admin != 302 and not row.path.startswith("/accounts/logout"):
        assert response["Location"].startswith(LOGIN)


@pytest.mark.parametrize("row", addresses.ROWS, ids=addresses.named)
def test_a_stranger_sees_nothing(row, acme, globex):
    assert acme.ask(make.browser(make.charlie()), row).status_code == row.stranger


@pytest.mark.parametrize("row", addresses.ROWS, ids=addresses.named)
def test_a_viewer_looks_and_changes_nothing(row, acme):
    assert acme.ask(make.browser(make.bob()), row).status_code == row.viewer


@pytest.mark.parametrize("row", addresses.ROWS, ids=addresses.named)
def test_what_a_stranger_does_not_see_is_there(row, acme):
    response = acme.ask(make.browser(make.alice()), row)

    assert response.status_code == row.admin
    assert (b"acme_tool" in response.getvalue()) is row.shows


@pytest.mark.parametrize("row", addresses.INSIDE, ids=addresses.named)
def test_ones_own_pages_show_nothing_of_another_project(row, acme, globex):
    assert b"globex" not in acme.ask(make.browser(make.alice()), row).getvalue().lower()


@pytest.mark.parametrize("row", addresses.INSIDE, ids=addresses.named)
def test_somebody_elses_project_is_the_same_404_as_a_missing_one(row, acme, globex):
    browser = make.browser(make.charlie())
    theirs, missing = acme.ask(browser, row), NOWHERE.ask(browser, row)

    assert (theirs.status_code, missing.status_code) == (404, 404)
    assert theirs.content == missing.content
    assert told(theirs) == told(missing)


@pytest.mark.parametrize("row", addresses.OBJECTS, ids=addresses.named)
def test_somebody_elses_object_inside_ones_own_project_is_the_same_404_as_a_missing_one(row, acme, globex):
    browser = make.browser(make.alice())
    theirs, missing = (
        Place({**place.parts, "slug": "acme"}, "").ask(browser, row) for place in (globex, NOWHERE)
    )

    assert (theirs.status_code, missing.status_code) == (404, 404)
    assert theirs.content == missing.content
    assert told(theirs) == told(missing)


@pytest.mark.parametrize("row", addresses.CHANGES, ids=addresses.named)
def test_a_change_without_a_csrf_token_is_refused(row, acme):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(make.alice(), backend="allauth.account.auth_backends.AuthenticationBackend")

    assert acme.ask(browser, row).status_code == 403


@pytest.mark.parametrize(
    "row",
    [row for row in addresses.CHANGES if row.admin == 302 and row in addresses.INSIDE],
    ids=addresses.named,
)
def test_looking_at_an_address_that_changes_something_changes_nothing(row, acme):
    path = row.path.format(**acme.parts)
    is_page_too = any(other.path == row.path and other.method == "GET" for other in addresses.ROWS)

    assert make.browser(make.alice()).get(path).status_code == (200 if is_page_too else 405)


@pytest.mark.parametrize("door", addresses.DOORS, ids=addresses.named)
def test_the_api_opens_to_no_cookie(door, acme):
    for browser in (make.browser(), make.browser(make.alice())):
        response = acme.ask(browser, door)

        assert response.status_code == 401
        assert response["Content-Type"] in {"application/problem+json", "application/json"}


@pytest.mark.parametrize("door", addresses.DOORS, ids=addresses.named)
def test_the_api_opens_to_a_key_with_the_scope_and_to_none_without(door, acme):
    response = acme.ask(make.browser(), door, key=acme.key)

    assert response.status_code == 200
    assert (b"acme_tool" in response.content) is door.shows
    if door.scope is not None:
        others = make.key(make.acme(), scopes=[scope for scope in EVERY_SCOPE if scope != door.scope])
        assert acme.ask(make.browser(), door, key=others.token).status_code == 403


@pytest.mark.parametrize("door", addresses.DOORS, ids=addresses.named)
def test_a_key_of_another_project_reaches_nothing_of_acmes(door, acme, globex):
    before = rows_of(make.acme())
    theirs, missing = (place.ask(make.browser(), door, key=globex.key) for place in (acme, NOWHERE))

    assert theirs.status_code == door.foreign
    assert b"acme" not in theirs.content
    assert theirs.content == missing.content
    assert rows_of(make.acme()) == before


@pytest.mark.parametrize("door", addresses.DOORS, ids=addresses.named)
def test_a_key_in_the_address_or_in_a_cookie_opens_nothing(door, acme):
    browser = make.browser()
    browser.cookies["key"] = acme.key
    path = door.path.format(**acme.parts)

    assert browser.get(path, {"key": acme.key, "api_key": acme.key}).status_code in {401, 405}


def routes(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        else:
            yield route


def rows_of(project: tenants.Project) -> list[object]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_jsonb(o) FROM operation o WHERE project_id = %s", [project.pk])
        return cursor.fetchall()


def told(response: HttpResponse) -> dict[str, str]:
    return dict(response.items())
