"""Addresses of this app: the pages and the API that answer questions about a project."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from analytics.views import freshness, ingest_health, operation, operations, overview, read_api, sessions

# /p/<slug>/
project_urls: list[URLPattern | URLResolver] = [
    path("", overview.page, name="overview"),
    path("operations", operations.page, name="operations"),
    path("operations/facets", operations.facets_part, name="operations_facets"),
    path("operations/newer", operations.newer_part, name="operations_newer"),
    path("operations/export", operations.export, name="operations_export"),
    path("operation", operation.page, name="operation"),
    path("operation/peek", operation.peek, name="operation_peek"),
    path("session", sessions.page, name="session"),
    path("settings/ingest", ingest_health.page, name="ingest_health"),
    path("freshness", freshness.part, name="freshness"),
]

# /v1/
api_urls: list[URLPattern | URLResolver] = [
    path("tally", read_api.counts, name="api_tally"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("p/<slug:slug>/", include(project_urls)),
    path("v1/", include(api_urls)),
]
