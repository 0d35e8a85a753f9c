"""All addresses: probes here, the rest in the apps."""

from __future__ import annotations

from django.urls import include, path

from opsconsole import health

urlpatterns = [
    path("livez", health.livez, name="livez"),
    path("readyz", health.readyz, name="readyz"),
    path("accounts/", include("allauth.account.urls")),
    path("", include("analytics.urls")),
    path("", include("operations.urls")),
]
