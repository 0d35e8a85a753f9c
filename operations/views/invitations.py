"""The link that an invited person opens."""

from __future__ import annotations

from django import http, shortcuts
from django.contrib import auth, messages
from django.contrib.auth import decorators
from django.views.decorators import debug
from django.views.decorators import http as methods

from operations import forms, members, rejections
from operations.models import people
from operations.models import projects as tenants


@decorators.login_not_required
@debug.sensitive_post_parameters("password")
@methods.require_http_methods(["GET", "HEAD", "POST"])
def page(request: http.HttpRequest, token: str) -> http.HttpResponse:
    """Show what is offered; a POST accepts it. Looking never uses the link up."""
    try:
        invitation = members.invitation_for(token)
        if request.method != "POST":
            return _page(request, invitation, form=forms.NewPersonForm(invitation.email))
        if isinstance(request.user, people.User):
            return _welcome(request, members.accept(token, user=request.user))
        return _accept_as_new(request, invitation, token=token)
    except rejections.InvitationGone as refusal:
        ctx = {"refusal": refusal.detail}
        return shortcuts.render(request, "operations/invitations/gone.html", ctx, status=404)
    except rejections.InvitedAsSomebodyElse:
        return _page(request, invitation, form=forms.NewPersonForm(invitation.email), status=403)


def _accept_as_new(
    request: http.HttpRequest, invitation: tenants.Invitation, *, token: str
) -> http.HttpResponse:
    form = forms.NewPersonForm(invitation.email, request.POST)
    if not form.is_valid():
        return _page(request, invitation, form=form)
    membership = members.accept_as_new(
        token, name=form.cleaned_data["name"], password=form.cleaned_data["password"]
    )
    backend = "allauth.account.auth_backends.AuthenticationBackend"
    auth.login(request, membership.user, backend=backend)
    return _welcome(request, membership)


def _welcome(request: http.HttpRequest, membership: tenants.Membership) -> http.HttpResponse:
    messages.success(request, f"Welcome to {membership.project}.")
    return shortcuts.redirect(f"/p/{membership.project.slug}/")


def _page(
    request: http.HttpRequest, invitation: tenants.Invitation, *, form: forms.NewPersonForm, status: int = 200
) -> http.HttpResponse:
    user = request.user
    ctx = {
        "invitation": invitation,
        "is_for_me": isinstance(user, people.User) and user.email == invitation.email,
        "is_known": members.is_known(invitation.email),
        "form": form,
    }
    return shortcuts.render(request, "operations/invitations/page.html", ctx, status=status)
