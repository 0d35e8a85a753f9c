"""All addresses: probes here, the rest in the apps."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.urls import include, path

from opsconsole import health

urlpatterns = [
    path("livez", login_not_required(health.livez), name="livez"),
    path("readyz", login_not_required(health.readyz), name="readyz"),
    path("", include("analytics.urls")),
    path("", include("operations.urls")),
]
