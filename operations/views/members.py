"""Who belongs to a project, and who was invited."""

from __future__ import annotations

from django import http, shortcuts
from django.contrib import messages
from django.views.decorators import http as methods

from operations import access, forms, links, members, rejections
from operations.models import projects as tenants


@methods.require_http_methods(["GET", "HEAD", "POST"])
def page(request: http.HttpRequest, slug: str) -> http.HttpResponse:
    """List members and open invitations; an admin's POST invites, and shows the link this once."""
    if request.method != "POST":
        project = access.project_for(request.user, slug).project
        return _page(request, project, form=_blank())
    project = access.project_for(request.user, slug, role=tenants.Role.ADMIN).project
    form = forms.InviteForm(request.POST)
    if form.is_valid():
        try:
            invited = members.invite(
                project,
                email=form.cleaned_data["email"],
                roles=form.cleaned_data["roles"],
                by=access.person(request.user),
            )
        except rejections.AlreadyMember as refusal:
            form.add_error("email", refusal.detail)
        else:
            link = links.absolute(request, shortcuts.resolve_url("invitation", token=invited.token))
            return _page(request, project, form=_blank(), invited=invited.invitation, link=link)
    return _page(request, project, form=form)


@methods.require_POST
def change_roles(request: http.HttpRequest, slug: str, member_id: int) -> http.HttpResponse:
    """Give a member other roles."""
    project = access.project_for(request.user, slug, role=tenants.Role.ADMIN).project
    member = access.member_in(project, member_id)
    form = forms.RolesForm(request.POST)
    if not form.is_valid():
        messages.error(request, "A member has at least one role; remove them instead.")
        return shortcuts.redirect("members", slug=slug)
    try:
        members.change_roles(member, roles=form.cleaned_data["roles"])
    except rejections.LastAdmin as refusal:
        messages.error(request, refusal.detail)
    else:
        messages.success(request, f"{member.user} has other roles now.")
    return shortcuts.redirect("members", slug=slug)


@methods.require_POST
def remove(request: http.HttpRequest, slug: str, member_id: int) -> http.HttpResponse:
    """End a membership."""
    project = access.project_for(request.user, slug, role=tenants.Role.ADMIN).project
    member = access.member_in(project, member_id)
    try:
        members.remove(member)
    except rejections.LastAdmin as refusal:
        messages.error(request, refusal.detail)
        return shortcuts.redirect("members", slug=slug)
    messages.success(request, f"{member.user} no longer belongs to {project}.")
    if member.user_id == request.user.pk:
        return shortcuts.redirect("home")
    return shortcuts.redirect("members", slug=slug)


@methods.require_POST
def withdraw(request: http.HttpRequest, slug: str, invitation_id: int) -> http.HttpResponse:
    """End an invitation."""
    project = access.project_for(request.user, slug, role=tenants.Role.ADMIN).project
    members.withdraw(access.invitation_in(project, invitation_id))
    messages.success(request, "The invitation was withdrawn; its link no longer works.")
    return shortcuts.redirect("members", slug=slug)


def _page(
    request: http.HttpRequest,
    project: tenants.Project,
    *,
    form: forms.InviteForm,
    invited: tenants.Invitation | None = None,
    link: str = "",
) -> http.HttpResponse:
    listed = list(project.memberships.select_related("user").order_by("user__email"))
    ctx = {
        "project": project,
        "members": listed,
        # The query string says whose roles are being changed.
        "chosen": next((found for found in listed if str(found.pk) == request.GET.get("member")), None),
        "invitations": members.open_invitations(project),
        "roles": tenants.Role.choices,
        "form": form,
        "invited": invited,
        "link": link,
    }
    return shortcuts.render(request, "operations/members/page.html", ctx)


def _blank() -> forms.InviteForm:
    return forms.InviteForm(initial={"roles": [tenants.Role.VIEWER]})
