"""Addresses of this app."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from analytics.views import read_api

# /v1/
api_urls: list[URLPattern | URLResolver] = [
    path("v1/tally", read_api.counts, name="api_tally"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    *api_urls,
]
