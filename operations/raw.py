"""The driver's own cursors for the way in, kept with their connection.

Making a cursor costs as much as a small statement, and Django's checks of each statement as much again; a request
that brings one record makes eight. Pages use Django's cursors.
"""

from __future__ import annotations

import weakref
from typing import Any, cast

import psycopg
from django.db import connection

# Only what asks for it with `prepare=True` is prepared: a plan made once is wrong for a batch of another size.
_NEVER_BY_COUNT = 2**31

_kept: weakref.WeakKeyDictionary[psycopg.Connection[Any], dict[str, psycopg.Cursor[Any]]] = (
    weakref.WeakKeyDictionary()
)


def cursor(purpose: str = "") -> psycopg.Cursor[Any]:
    """Return this connection's cursor for statements with `%s`; another `purpose` is another cursor."""
    return _cursor(purpose, psycopg.Cursor)


def by_number() -> psycopg.Cursor[Any]:
    """Return this connection's cursor for long statements with `$1`, whose text is not read for placeholders."""
    return _cursor("by number", psycopg.RawCursor)


def _cursor(purpose: str, kind: type[psycopg.Cursor[Any]]) -> psycopg.Cursor[Any]:
    connection.ensure_connection()
    driver = cast("psycopg.Connection[Any]", connection.connection)
    kept = _kept.get(driver)
    if kept is None:
        driver.prepare_threshold = _NEVER_BY_COUNT
        kept = _kept[driver] = {}
    found = kept.get(purpose)
    if found is None:
        found = kept[purpose] = kind(driver)
    return found
