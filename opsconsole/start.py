"""The one way in for every kind of process: set Django up, or end with one sentence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import django
from django.core import exceptions


def set_up() -> None:
    """Set Django up; a setting that is missing, nonsense or contradicts another ends the process plainly."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "opsconsole.settings")
    with plainly():
        django.setup()
        from opsconsole import checks

        checks.refuse_contradictions()


@contextmanager
def plainly() -> Iterator[None]:
    """Turn what is wrong with the configuration into the one sentence that ends the process."""
    try:
        yield
    except exceptions.ImproperlyConfigured as error:
        raise SystemExit(f"opsconsole cannot start: {error}") from None
