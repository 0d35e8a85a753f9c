"""Every reason for refusing, one class each; the docstring is the message that the sender reads."""

from __future__ import annotations

import re
from typing import ClassVar

_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Rejection(Exception):
    """The input was refused."""

    #: The stable machine code of this refusal: the class name in snake case.
    reason: ClassVar[str] = "rejection"
    #: Set on refusals of a whole request.
    http_status: ClassVar[int] = 400

    def __init__(self, detail: str = "", *, pointer: str = "") -> None:
        self.detail = detail or type(self).sentence()
        self.pointer = pointer
        super().__init__(self.detail)

    def __init_subclass__(cls) -> None:
        cls.reason = _CAPITAL.sub("_", cls.__name__).lower()

    @classmethod
    def sentence(cls) -> str:
        """Return the message of this refusal: its docstring on one line."""
        return " ".join((cls.__doc__ or "").split())


# --- Credentials ------------------------------------------------------------


class MissingCredential(Rejection):
    """Send an ingest key as "Authorization: Bearer ops_…"."""

    http_status = 401


class UnknownKey(Rejection):
    """This key does not exist."""

    http_status = 401


class KeyRevoked(Rejection):
    """This key was revoked."""

    http_status = 401


class KeyExpired(Rejection):
    """This key has expired."""

    http_status = 401


class ScopeMissing(Rejection):
    """The scopes of this key do not allow this."""

    http_status = 403


# --- Keys, people and projects ----------------------------------------------


class KeyNotLive(Rejection):
    """Only a key that still works can be rotated."""

    http_status = 409


class KeyBeingRotated(Rejection):
    """This key has a successor that works already; revoke one of the two first."""

    http_status = 409
