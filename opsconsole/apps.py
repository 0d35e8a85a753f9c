"""The wiring as a Django app, for its checks and commands."""

from __future__ import annotations

from django import apps


class Wiring(apps.AppConfig):
    """Settings, addresses, health and start."""

    name = "opsconsole"

    def ready(self) -> None:
        """Register the checks."""
        from opsconsole import checks  # noqa: F401
