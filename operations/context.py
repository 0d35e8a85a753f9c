"""What every page's frame shows: where one is, where one can go."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from django import http
from django.conf import settings
from django.utils import functional

from operations import access
from operations.models import projects


@dataclasses.dataclass(frozen=True, slots=True)
class NavItem:
    """One link of the navigation; `key` follows `g` on the keyboard, `apart` begins a group."""

    label: str
    url: str
    icon: str
    current: bool
    key: str = ""
    apart: bool = False


# Label, path inside the project, icon, key, apart. The longest path that a page's begins with is current.
NAV = (
    ("Overview", "", "layout-dashboard", "h", False),
    ("Tool calls", "operations", "list", "o", False),
    ("Connect", "connect", "plug", "n", False),
    ("Ingest health", "settings/ingest", "activity", "i", True),
    ("Settings", "settings", "settings", "s", False),
)
SETTINGS_NAV = (
    ("Project", "settings", "settings", "", False),
    ("Members", "settings/members", "users", "", False),
    ("Ingest keys", "settings/keys", "key-round", "", False),
)
# One call and one session are read under the list that leads to them.
_UNDER = {"operation": "operations", "session": "operations"}


def shell(request: http.HttpRequest) -> dict[str, Any]:
    """Give templates the person's projects, the current one and its navigation, each read only when shown."""
    lazy: Callable[[Callable[[], Any]], Any] = functional.SimpleLazyObject
    memberships = functools.cache(lambda: access.memberships_of(request.user))
    slug = _slug_of(request)

    def membership() -> projects.Membership | None:
        return next((found for found in memberships() if found.project.slug == slug), None)

    def current_project() -> projects.Project | None:
        found = membership()
        return found.project if found else None

    return {
        "memberships": lazy(memberships),
        "membership": lazy(membership),
        "current_project": lazy(current_project),
        "nav": lazy(lambda: _links(request, NAV, slug) if membership() else []),
        "settings_nav": lazy(lambda: _links(request, SETTINGS_NAV, slug) if membership() else []),
        "may_create_projects": lazy(lambda: access.may_create_projects(request.user, memberships())),
        "mail_is_set_up": "dummy" not in settings.EMAIL_BACKEND,
    }


def _slug_of(request: http.HttpRequest) -> str:
    match = request.resolver_match
    return str(match.kwargs.get("slug", "")) if match else ""


def _links(
    request: http.HttpRequest, items: tuple[tuple[str, str, str, str, bool], ...], slug: str
) -> list[NavItem]:
    inside = request.path.removeprefix(f"/p/{slug}/")
    inside = _UNDER.get(inside.split("/")[0], inside)
    within = [path for _, path, *_ in items if path and (inside == path or inside.startswith(f"{path}/"))]
    current = max(within, key=len) if within else inside
    return [
        NavItem(
            label=label, url=f"/p/{slug}/{path}", icon=icon, current=path == current, key=key, apart=apart
        )
        for label, path, icon, key, apart in items
    ]
