"""`GET /v1/tally`: counts for programs, with a `read` key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import http
from django.utils import timezone

from analytics import buckets, ranges, tally
from operations import (
    display,
    filters,
    find,
    marks,
    moments,
    parameters,
    problems,
    ratelimits,
    rejections,
    replies,
)
from operations.views import read_api

GROUPS_MAX = 10_000
SIGNAL = "signal"

# How far back the steps reach that are not kept for good; an hour less, for a start is rounded down.
_KEPT = {"minute": buckets.MINUTES_KEPT - buckets.HOUR, "hour": buckets.HOURS_KEPT - buckets.HOUR}

Told = dict[str, str | int | float | None]


@problems.door("GET")
def counts(request: http.HttpRequest) -> http.HttpResponse:
    """Count the operations of a range that pass a filter, by any keys of the tally."""
    credential, quota = read_api.admit(request)
    told = parameters.read(request, "q", "from", "to", "group_by")
    query = find.parse(told.get("q", ""))
    keys, step = _keys(told.get("group_by", ""))
    since, until = read_api.span(told, credential)
    now_us = moments.from_datetime(timezone.now())
    if "from" not in told:
        since = max(since, now_us - _KEPT.get(step, now_us))
    span = ranges.span(since, max(until, since + 1), now_us=now_us)
    _refuse_what_the_tally_lacks(query, span, step)
    with ratelimits.at_once(credential):
        sums = tally.sums(
            project_id=credential.project_id,
            query=query,
            span=span,
            by=["marks" if key == SIGNAL else key for key in keys],
            step_us=replies.TALLY_STEPS.get(step, 0),
        )
    groups = _groups(sums, keys, step)
    reply = replies.Tally(
        since=display.iso(span.from_us),
        until=display.iso(span.to_us),
        count=sum(one.operations for one in sums),
        duration_ms=sum(one.duration_us for one in sums) / 1000,
        groups=groups[:GROUPS_MAX],
        left_out=sum(int(group["count"] or 0) for group in groups[GROUPS_MAX:]),
    )
    return read_api.answer(reply, quota)


def _keys(told: str) -> tuple[list[str], str]:
    """Return the asked keys, and the stretch of time among them."""
    names = [name.strip() for name in told.split(",")] if told else []
    steps = [name for name in names if name in replies.TALLY_STEPS]
    keys = [name for name in names if name in replies.TALLY_KEYS]
    if len(steps) > 1 or len({*keys, *steps}) != len(names):
        known = ", ".join((*replies.TALLY_KEYS, *replies.TALLY_STEPS))
        raise rejections.BadParameter(
            f"group_by names keys of {known}: each once, and one stretch of time at most.",
            pointer="/group_by",
        )
    return keys, steps[0] if steps else ""


def _refuse_what_the_tally_lacks(query: filters.Query, span: ranges.Span, step: str) -> None:
    if not query.is_tallied:
        fields = ", ".join(sorted({term.field for term in query.untallied}))
        raise rejections.BadParameter(
            f"The tally does not count by {fields}; list the operations instead.", pointer="/q"
        )
    if step and replies.TALLY_STEPS[step] < span.finest_us:
        raise rejections.BadParameter(
            "Minutes are kept for 48 hours and hours for 90 days; ask for a later start or a longer stretch.",
            pointer="/group_by",
        )


def _groups(sums: Iterable[tally.Sum], keys: list[str], step: str) -> list[Told]:
    """Return the groups, the largest first; an operation counts under each of its signals."""
    names = [*([step] if step else []), *keys]
    added: dict[tuple[Any, ...], list[int]] = {}
    for one in sums:
        for values in _spread(one.keys, names):
            group = added.setdefault(values, [0, 0])
            group[0] += one.operations
            group[1] += one.duration_us
    groups: list[Told] = []
    for values, (count, duration_us) in added.items():
        group_keys: Told = dict(zip(names, values, strict=True))
        if step:
            group_keys[step] = display.iso(values[0])
        groups.append({**group_keys, "count": count, "duration_ms": duration_us / 1000})
    groups = [group for group in groups if group["count"] or group["duration_ms"]]
    return sorted(groups, key=lambda group: (-int(group["count"] or 0), [str(group[name]) for name in names]))


def _spread(values: tuple[Any, ...], names: list[str]) -> Iterable[tuple[Any, ...]]:
    if not names:
        return [()]
    if SIGNAL not in names:
        return [values]
    place = names.index(SIGNAL)
    signals: list[str | None] = [name for name, mark in marks.BY_NAME.items() if values[place] & mark]
    return [(*values[:place], signal, *values[place + 1 :]) for signal in signals or [None]]
