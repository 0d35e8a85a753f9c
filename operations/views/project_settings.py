"""One project's name and its end."""

from __future__ import annotations

from django import http, shortcuts
from django.contrib import messages
from django.views.decorators import http as methods

from operations import access, forms, projects
from operations.models import projects as tenants


@methods.require_http_methods(["GET", "HEAD", "POST"])
def page(request: http.HttpRequest, slug: str) -> http.HttpResponse:
    """Show the project's settings; an admin's POST changes them."""
    role = tenants.Role.ADMIN if request.method == "POST" else None
    project = access.project_for(request.user, slug, role=role).project
    form = forms.ProjectSettingsForm(
        request.POST or None,
        initial={"name": project.name, "default_environment": project.default_environment},
    )
    if request.method == "POST" and form.is_valid():
        projects.rename(project, **form.cleaned_data)
        messages.success(request, "Saved.")
        return shortcuts.redirect("project_settings", slug=slug)
    return _page(request, project, form=form, delete_form=forms.DeleteProjectForm(project))


@methods.require_POST
def delete(request: http.HttpRequest, slug: str) -> http.HttpResponse:
    """Delete the project after its address was typed."""
    project = access.project_for(request.user, slug, role=tenants.Role.ADMIN).project
    delete_form = forms.DeleteProjectForm(project, request.POST)
    if delete_form.is_valid():
        projects.delete(project)
        messages.success(request, f"{project.name} was deleted. Its records are being removed.")
        return shortcuts.redirect("home")
    form = forms.ProjectSettingsForm(
        initial={"name": project.name, "default_environment": project.default_environment}
    )
    return _page(request, project, form=form, delete_form=delete_form)


def _page(
    request: http.HttpRequest,
    project: tenants.Project,
    *,
    form: forms.ProjectSettingsForm,
    delete_form: forms.DeleteProjectForm,
) -> http.HttpResponse:
    ctx = {"project": project, "form": form, "delete_form": delete_form}
    return shortcuts.render(request, "operations/project_settings/page.html", ctx)
