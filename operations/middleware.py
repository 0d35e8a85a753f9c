"""What holds for every answer that shows a project's data."""

from __future__ import annotations

from collections.abc import Callable

from django import http, urls
from django.conf import settings
from django.contrib.auth import middleware as auth
from django.utils import cache

LAST_PROJECT_COOKIE = "opsconsole_project"


def answer_programs_first(
    get_response: Callable[[http.HttpRequest], http.HttpResponseBase],
) -> Callable[[http.HttpRequest], http.HttpResponseBase]:
    """Call the API's own doors at once: what stands further in is for people, and costs as much as a small record."""

    def middleware(request: http.HttpRequest) -> http.HttpResponseBase:
        match = _door_of(request)
        if match is None:
            return get_response(request)
        request.get_host()  # refuses a host that is not ours, as it does further in
        request.resolver_match = match
        response: http.HttpResponseBase = match.func(request, *match.args, **match.kwargs)
        response.headers.setdefault("X-Frame-Options", "DENY")
        if isinstance(response, http.HttpResponse):
            response.headers.setdefault("Content-Length", str(len(response.content)))
        if not response.has_header("Cache-Control"):
            cache.patch_cache_control(response, no_store=True, private=True)
        return response

    return middleware


def _door_of(request: http.HttpRequest) -> urls.ResolverMatch | None:
    if not request.path_info.startswith("/v1/"):
        return None
    try:
        match = urls.resolve(request.path_info)
    except urls.Resolver404:
        return None
    return match if getattr(match.func, "is_door", False) else None


class RequireSignIn(auth.LoginRequiredMiddleware):
    """Ask for a sign-in, unless the view does without; then not even the cookie is looked at.

    Django's own looks the person up first, which for the API would cost two queries and fail while the database
    is away.
    """

    def process_view(
        self,
        request: http.HttpRequest,
        view_func: Callable[..., http.HttpResponseBase],
        view_args: tuple[object, ...],
        view_kwargs: dict[str, object],
    ) -> http.HttpResponseBase | None:
        """Let the request through, or send it to the sign-in page."""
        if not getattr(view_func, "login_required", True):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)


def keep_pages_private(
    get_response: Callable[[http.HttpRequest], http.HttpResponseBase],
) -> Callable[[http.HttpRequest], http.HttpResponseBase]:
    """Forbid caches to keep what a view answered, unless the view says otherwise."""

    def middleware(request: http.HttpRequest) -> http.HttpResponseBase:
        response = get_response(request)
        if not response.has_header("Cache-Control"):
            cache.patch_cache_control(response, no_store=True, private=True)
        return response

    return middleware


def remember_project(
    get_response: Callable[[http.HttpRequest], http.HttpResponseBase],
) -> Callable[[http.HttpRequest], http.HttpResponseBase]:
    """Note the project that was looked at last in a cookie, which only says where `/` leads."""

    def middleware(request: http.HttpRequest) -> http.HttpResponseBase:
        response = get_response(request)
        match = request.resolver_match
        slug = str(match.kwargs.get("slug", "")) if match else ""
        if slug and response.status_code == 200 and request.COOKIES.get(LAST_PROJECT_COOKIE) != slug:
            response.set_cookie(
                LAST_PROJECT_COOKIE,
                slug,
                max_age=settings.SESSION_COOKIE_AGE,
                secure=settings.SESSION_COOKIE_SECURE,
                httponly=True,
                samesite="Lax",
            )
        return response

    return middleware
