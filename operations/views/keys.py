"""The ingest keys of a project."""

from __future__ import annotations

from django import http, shortcuts
from django.contrib import messages
from django.db.models import functions
from django.utils import timezone
from django.views.decorators import http as methods

from operations import access, forms, keys, rejections
from operations.models import projects as tenants


@methods.require_http_methods(["GET", "HEAD", "POST"])
def page(request: http.HttpRequest, slug: str) -> http.HttpResponse:
    """List the keys; an admin's POST makes one, and shows its token this once."""
    if request.method != "POST":
        return _page(request, access.project_for(request.user, slug).project, form=forms.KeyForm())
    project = access.project_for(request.user, slug, role=tenants.Role.ADMIN).project
    form = forms.KeyForm(request.POST)
    if not form.is_valid():
        return _page(request, project, form=form)
    issued = keys.issue(
        project,
        name=form.cleaned_data["name"],
        scopes=form.cleaned_data["scopes"],
        by=access.person(request.user),
        expires_at=form.expires_at(),
        binding=form.binding(),
    )
    return _page(request, project, form=forms.KeyForm(), issued=issued)


@methods.require_POST
def rotate(request: http.HttpRequest, slug: str, keyid: str) -> http.HttpResponse:
    """Make a successor of a key and show its token this once, next to the offer to revoke the first."""
    project = access.project_for(request.user, slug, role=tenants.Role.ADMIN).project
    key = access.key_in(project, keyid)
    try:
        issued = keys.rotate(key, by=access.person(request.user))
    except (rejections.KeyNotLive, rejections.KeyBeingRotated) as refusal:
        messages.error(request, refusal.detail)
        return shortcuts.redirect("keys", slug=slug)
    return _page(request, project, form=forms.KeyForm(), issued=issued, replaced=key)


@methods.require_POST
def revoke(request: http.HttpRequest, slug: str, keyid: str) -> http.HttpResponse:
    """End a key at once."""
    project = access.project_for(request.user, slug, role=tenants.Role.ADMIN).project
    key = access.key_in(project, keyid)
    keys.revoke(key)
    messages.success(request, f"{key.name} was revoked and opens nothing any more.")
    return shortcuts.redirect("keys", slug=slug)


def _page(
    request: http.HttpRequest,
    project: tenants.Project,
    *,
    form: forms.KeyForm,
    issued: keys.Issued | None = None,
    replaced: tenants.IngestKey | None = None,
) -> http.HttpResponse:
    now = timezone.now()
    listed = project.keys.select_related("created_by").order_by(functions.Lower("name"), "id")
    live = [key for key in listed if key.is_live(now)]
    ctx = {
        "project": project,
        "live": live,
        # The query string says which key is being changed.
        "chosen": next((key for key in live if key.keyid == request.GET.get("key")), None),
        "dead": [key for key in listed if not key.is_live(now)],
        "form": form,
        "issued": issued,
        "replaced": replaced,
    }
    return shortcuts.render(request, "operations/keys/page.html", ctx)
