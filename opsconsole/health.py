"""Whether this process lives, and whether the whole product is ready."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse


def livez(request: HttpRequest) -> JsonResponse:
    """Answer that this process can answer."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """Answer that this process can answer."""
    return JsonResponse({"status": "ok"})
