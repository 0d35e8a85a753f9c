"""What people type, checked for shape. Rules live in the actions."""

from __future__ import annotations

import datetime
from typing import Any

from django import forms
from django.contrib.auth import password_validation
from django.core import validators
from django.utils import timezone

from operations import keys, projects
from operations.models import people
from operations.models import projects as tenants

LASTS = {
    "": "Does not expire",
    "30": "30 days",
    "90": "90 days",
    "365": "One year",
}

_one_line = validators.RegexValidator(tenants.NAME_PATTERN, "Leave out control characters.")


class ProjectForm(forms.Form):
    """A new project."""

    name = forms.CharField(max_length=80, validators=[_one_line])
    slug = forms.CharField(
        label="Address",
        required=False,
        max_length=40,
        validators=[
            validators.RegexValidator(
                tenants.SLUG_PATTERN, "Use lower-case letters and digits, with hyphens between."
            )
        ],
        help_text="Part of every link to the project; it never changes. Left empty, it comes from the name.",
    )

    def address(self) -> str:
        """The address that was asked for, or the one that the name proposes."""
        return str(self.cleaned_data["slug"] or projects.address_from(self.cleaned_data["name"]))


class ProjectSettingsForm(forms.Form):
    """What may change about a project."""

    name = forms.CharField(max_length=80, validators=[_one_line])
    default_environment = forms.CharField(
        max_length=64,
        required=False,
        validators=[_one_line],
        help_text="The environment that pages start at. Empty: all of them.",
    )


class DeleteProjectForm(forms.Form):
    """A deletion, confirmed by the project's address."""

    confirmation = forms.CharField(
        label="Type the project's address to confirm",
        max_length=40,
        widget=forms.TextInput({"autocomplete": "off"}),
    )

    def __init__(self, project: tenants.Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project

    def clean_confirmation(self) -> str:
        typed = str(self.cleaned_data["confirmation"])
        if typed != self.project.slug:
            raise forms.ValidationError(f"That is not “{self.project.slug}”. Nothing was deleted.")
        return typed


class RolesForm(forms.Form):
    """A member's roles."""

    roles = forms.MultipleChoiceField(choices=tenants.Role.choices, widget=forms.CheckboxSelectMultiple)


class InviteForm(RolesForm):
    """An invitation."""

    email = forms.EmailField(label="E-mail", max_length=254, widget=forms.EmailInput({"autocomplete": "off"}))
    field_order = ["email", "roles"]


class NewPersonForm(forms.Form):
    """An invited person's account."""

    name = forms.CharField(
        max_length=100,
        required=False,
        validators=[_one_line],
        widget=forms.TextInput({"autocomplete": "name"}),
    )
    password = forms.CharField(
        widget=forms.PasswordInput({"autocomplete": "new-password"}), strip=False, max_length=1024
    )

    def __init__(self, email: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.email = email
        self.fields["password"].help_text = " ".join(password_validation.password_validators_help_texts())

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if password := cleaned.get("password"):
            person = people.User(email=self.email, name=cleaned.get("name", ""))
            try:
                password_validation.validate_password(password, person)
            except forms.ValidationError as error:
                self.add_error("password", error)
        return cleaned


class KeyForm(forms.Form):
    """A new ingest key."""

    name = forms.CharField(
        max_length=80, validators=[_one_line], help_text="Where it will be used, for example “refund worker”."
    )
    scopes = forms.MultipleChoiceField(
        choices=tenants.Scope.choices, widget=forms.CheckboxSelectMultiple, initial=[tenants.Scope.INGEST]
    )
    lasts_days = forms.ChoiceField(label="Expires", choices=list(LASTS.items()), required=False)
    environment = forms.CharField(
        label="Only this environment", max_length=64, required=False, validators=[_one_line]
    )
    runtime = forms.CharField(
        label="Only this runtime", max_length=128, required=False, validators=[_one_line]
    )
    tool_prefix = forms.CharField(
        label="Only tools that begin with", max_length=128, required=False, validators=[_one_line]
    )

    def expires_at(self) -> datetime.datetime | None:
        """The moment after which the key opens nothing."""
        days = self.cleaned_data["lasts_days"]
        return timezone.now() + datetime.timedelta(days=int(days)) if days else None

    def binding(self) -> keys.Binding:
        """What the key's records are bound to."""
        return keys.Binding(
            environment=self.cleaned_data["environment"] or None,
            runtime=self.cleaned_data["runtime"] or None,
            tool_prefix=self.cleaned_data["tool_prefix"] or None,
        )
