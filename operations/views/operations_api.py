"""`/v1/operations`: POST tells, GET asks."""

from __future__ import annotations

from django import http

from operations import problems
from operations.views import ingest_api, read_api


@problems.door("GET", "POST")
def operations(request: http.HttpRequest) -> http.HttpResponse:
    """Store records, or list operations."""
    return ingest_api.tell(request) if request.method == "POST" else read_api.page(request)
