"""Where a list goes on, as a word that only this installation can make and only one project can use."""

from __future__ import annotations

from django.core import signing

from operations import find, rejections

#: A cursor is a place, not a promise: after a day the list is better asked for anew.
AGE_MAX_S = 24 * 3600
LENGTH_MAX = 1024


def write(place: find.Cursor, *, project_id: int) -> str:
    """Return the cursor that leads `project_id`'s readers on from `place`."""
    return signing.dumps(list(place), salt=_salt(project_id))


def read(told: str, *, project_id: int) -> find.Cursor:
    """Return the place that a cursor of `project_id` names, or raise `BadCursor`."""
    if len(told) > LENGTH_MAX:
        raise rejections.BadCursor
    try:
        started_at, operation_id, attempt = signing.loads(told, salt=_salt(project_id), max_age=AGE_MAX_S)
    except signing.BadSignature:
        raise rejections.BadCursor from None
    return find.Cursor(started_at, operation_id, attempt)


def _salt(project_id: int) -> str:
    return f"operations.cursors:{project_id}"
