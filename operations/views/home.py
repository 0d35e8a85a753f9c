"""Where the bare address leads, and the making of projects."""

from __future__ import annotations

from django import http, shortcuts
from django.core import exceptions
from django.views.decorators import http as methods

from operations import access, forms, middleware, projects, rejections


@methods.require_safe
def home(request: http.HttpRequest) -> http.HttpResponse:
    """Lead to the project that was looked at last, else to the first one."""
    slugs = [membership.project.slug for membership in access.memberships_of(request.user)]
    if not slugs:
        return shortcuts.render(request, "operations/home/page.html")
    last = request.COOKIES.get(middleware.LAST_PROJECT_COOKIE, "")
    return shortcuts.redirect(f"/p/{last if last in slugs else slugs[0]}/")


@methods.require_http_methods(["GET", "HEAD", "POST"])
def new_project(request: http.HttpRequest) -> http.HttpResponse:
    """Make a project, with whoever asks as its admin."""
    if not access.may_create_projects(request.user, access.memberships_of(request.user)):
        raise exceptions.PermissionDenied
    form = forms.ProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            project = projects.create(
                name=form.cleaned_data["name"], slug=form.address(), by=access.person(request.user)
            )
        except rejections.AddressTaken as refusal:
            form.add_error("slug", refusal.detail)
        else:
            return shortcuts.redirect(f"/p/{project.slug}/connect")
    return shortcuts.render(request, "operations/home/new_project.html", {"form": form})
