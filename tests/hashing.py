"""Passwords hashed a thousand times rather than a million, still readable by the real server."""

from __future__ import annotations

from django.contrib.auth import hashers


class QuickHasher(hashers.PBKDF2PasswordHasher):
    """Django's hasher with few rounds."""

    iterations = 1000
