"""Every address of the console, and who gets which answer there. `tests/test_tenancy.py` asks them all.

A new route needs a row here: `page` and `change` for what belongs to a project, `for_people` and `for_all` for
what belongs to none, `Door` for the API. In a path and a body, `{slug}`, `{member}`, `{invitation}`, `{token}`,
`{keyid}`, `{operation}`, `{session}` and `{now}` stand for what the asked tenant has.
"""

from __future__ import annotations

import dataclasses
import itertools


@dataclasses.dataclass(frozen=True)
class Row:
    """One way of asking for one route, and the status that each kind of asker gets."""

    path: str
    anonymous: int
    stranger: int
    viewer: int
    admin: int
    method: str = "GET"
    body: dict[str, object] | None = None
    # Acme's own people are shown Acme's operation here.
    shows: bool = False


@dataclasses.dataclass(frozen=True)
class Door:
    """One way of asking for one route of the API, which looks at keys and never at cookies."""

    path: str
    scope: str | None
    method: str = "GET"
    foreign: int = 200
    body: dict[str, object] | None = None
    # Acme's own key is shown Acme's operation here.
    shows: bool = False


def page(path: str, *, ok: int = 200, shows: bool = False) -> Row:
    """A page of a project, for its members."""
    return Row(path, anonymous=302, stranger=404, viewer=ok, admin=ok, shows=shows)


def change(path: str, *, admin: int = 302, **body: object) -> Row:
    """A change of a project, for its admins."""
    return Row(path, anonymous=302, stranger=404, viewer=403, admin=admin, method="POST", body=body)


def for_people(path: str, *, viewer: int = 200, admin: int = 200, method: str = "GET", **body: object) -> Row:
    """A page that belongs to no project, for whoever is signed in."""
    return Row(path, anonymous=302, stranger=admin, viewer=viewer, admin=admin, method=method, body=body)


def for_all(path: str, anonymous: int = 200, signed_in: int = 200) -> Row:
    """A page for everybody."""
    return Row(path, anonymous=anonymous, stranger=signed_in, viewer=signed_in, admin=signed_in)


P, SETTINGS = "p/<slug:slug>/", "p/<slug:slug>/settings"
RESET = "accounts/^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$"

# The same id in every project: an id is no way in either.
RECORD = {
    "operation_id": "{operation}",
    "tool": "forged",
    "session_id": "{session}",
    "environment": "production",
    "started_at": "{now}",
    "status": "running",
}

TABLE: dict[str, list[Row | Door]] = {
    # Where one comes in.
    "": [for_people("/", viewer=302, admin=302)],
    "projects/new": [
        for_people("/projects/new", viewer=403),
        for_people("/projects/new", viewer=403, admin=302, method="POST", name="New one"),
    ],
    "invitations/<str:token>": [for_all("/invitations/{token}"), for_all("/invitations/none", 404, 404)],
    "livez": [for_all("/livez")],
    # No worker runs beside this test, and the probe says so.
    "readyz": [for_all("/readyz", 503, 503)],
    # Accounts.
    "accounts/login/": [for_all("/accounts/login/", 200, 302)],
    "accounts/logout/": [for_all("/accounts/logout/", 302, 200)],
    "accounts/signup/": [for_all("/accounts/signup/", 200, 302)],
    "accounts/inactive/": [for_all("/accounts/inactive/")],
    "accounts/reauthenticate/": [for_people("/accounts/reauthenticate/")],
    "accounts/password/change/": [for_people("/accounts/password/change/")],
    "accounts/password/set/": [for_people("/accounts/password/set/", viewer=302, admin=302)],
    "accounts/password/reset/": [for_all("/accounts/password/reset/")],
    "accounts/password/reset/done/": [for_all("/accounts/password/reset/done/")],
    "accounts/password/reset/key/done/": [for_all("/accounts/password/reset/key/done/")],
    RESET: [for_all("/accounts/password/reset/key/1-none/")],
    # A project's calls.
    P: [page("/p/{slug}/", shows=True)],
    f"{P}operations": [page("/p/{slug}/operations", shows=True)],
    f"{P}operations/facets": [page("/p/{slug}/operations/facets", shows=True)],
    f"{P}operations/newer": [page("/p/{slug}/operations/newer", ok=204)],
    f"{P}operations/export": [page("/p/{slug}/operations/export?format=csv", shows=True)],
    f"{P}operation": [page("/p/{slug}/operation?id={operation}", shows=True)],
    f"{P}operation/peek": [page("/p/{slug}/operation/peek?id={operation}", shows=True)],
    f"{P}session": [page("/p/{slug}/session?id={session}", shows=True)],
    f"{P}freshness": [page("/p/{slug}/freshness")],
    f"{P}connect": [page("/p/{slug}/connect", shows=True)],
    f"{P}connect/waiting": [page("/p/{slug}/connect/waiting", shows=True)],
    # Only a demo has a tour.
    f"{P}tour": [page("/p/{slug}/tour", ok=404)],
    # A project's settings.
    f"{SETTINGS}/ingest": [page("/p/{slug}/settings/ingest")],
    SETTINGS: [page("/p/{slug}/settings"), change("/p/{slug}/settings", name="Acme")],
    f"{SETTINGS}/delete": [change("/p/{slug}/settings/delete", confirmation="{slug}")],
    f"{SETTINGS}/members": [
        page("/p/{slug}/settings/members"),
        change("/p/{slug}/settings/members", admin=200, email="new@acme.example", roles=["viewer"]),
    ],
    f"{SETTINGS}/members/<int:member_id>/roles": [
        change("/p/{slug}/settings/members/{member}/roles", roles=["responder"])
    ],
    f"{SETTINGS}/members/<int:member_id>/remove": [change("/p/{slug}/settings/members/{member}/remove")],
    f"{SETTINGS}/invitations/<int:invitation_id>/withdraw": [
        change("/p/{slug}/settings/invitations/{invitation}/withdraw")
    ],
    f"{SETTINGS}/keys": [
        page("/p/{slug}/settings/keys"),
        change("/p/{slug}/settings/keys", admin=200, name="new", scopes=["ingest"]),
    ],
    f"{SETTINGS}/keys/<slug:keyid>/rotate": [change("/p/{slug}/settings/keys/{keyid}/rotate", admin=200)],
    f"{SETTINGS}/keys/<slug:keyid>/revoke": [change("/p/{slug}/settings/keys/{keyid}/revoke")],
    # The API.
    "v1/traces": [Door("/v1/traces", "ingest", "POST", body={})],
    "v1/metrics": [Door("/v1/metrics", "ingest", "POST", body={})],
    "v1/whoami": [Door("/v1/whoami", None)],
    "v1/tally": [Door("/v1/tally?group_by=tool", "read", shows=True)],
    "v1/openapi.json": [for_all("/v1/openapi.json")],
    "v1/schema/operation.json": [for_all("/v1/schema/operation.json")],
    "v1/docs": [for_all("/v1/docs")],
    "v1/<path:rest>": [for_all("/v1/nothing", 404, 404)],
    "v1/operations": [
        Door("/v1/operations", "read", shows=True),
        Door("/v1/operations", "ingest", "POST", body=RECORD),
    ],
    "v1/operations/<path:operation_id>": [
        Door("/v1/operations/{operation}", "read", foreign=404, shows=True),
    ],
}

OBJECT_PARTS = ("{member}", "{invitation}", "{keyid}", "{operation}", "{session}")
ROWS = [row for row in itertools.chain.from_iterable(TABLE.values()) if isinstance(row, Row)]
DOORS = [row for row in itertools.chain.from_iterable(TABLE.values()) if isinstance(row, Door)]
CHANGES = [row for row in ROWS if row.method == "POST"]
INSIDE = [row for row in ROWS if row.stranger == 404 and "{slug}" in row.path]
OBJECTS = [row for row in INSIDE if any(name in row.path for name in OBJECT_PARTS)]


def named(row: Row | Door) -> str:
    return f"{row.method} {row.path}"
