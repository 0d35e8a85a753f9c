"""How allauth behaves here."""

from __future__ import annotations

from allauth.account import adapter
from django import http
from django.conf import settings


class AccountAdapter(adapter.DefaultAccountAdapter):
    """Accounts are made by invitation or by command, never by signing up."""

    def is_open_for_signup(self, request: http.HttpRequest) -> bool:
        """Refuse every sign-up."""
        return False

    def get_reset_password_from_key_url(self, key: str) -> str:
        """Build the link of a reset mail on the configured address, whatever host the request named."""
        link = str(super().get_reset_password_from_key_url(key))
        if not settings.PUBLIC_URL:
            return link
        return settings.PUBLIC_URL + "/" + link.split("/", 3)[3]
