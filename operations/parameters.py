"""Read the query string of an API request: each parameter known, told once and understood, or refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django import http

from operations import moments, rejections

#: The first moment of the year 10000, which neither Python nor a page can show.
LATEST_US = 253_402_300_800 * moments.SECOND_US

_YES_OR_NO = {"1": True, "true": True, "0": False, "false": False}


def read(request: http.HttpRequest, *known: str) -> dict[str, str]:
    """Return the parameters that were told; one that is not `known`, or is told twice, is refused."""
    if not request.META.get("QUERY_STRING"):
        return {}
    told: dict[str, str] = {}
    for name, values in request.GET.lists():
        if name not in known:
            raise rejections.UnknownParameter(f"This address knows only {_listed(known)}.")
        if len(values) != 1:
            raise rejections.BadParameter(f"{name} is told more than once.", pointer=f"/{name}")
        if "\0" in values[0]:
            raise rejections.BadParameter(f"{name} holds a character that is not text.", pointer=f"/{name}")
        told[name] = values[0]
    return told


def flag(told: Mapping[str, str], name: str) -> bool:
    """Return a yes or no, which is no when it is not told."""
    word = told.get(name, "0")
    if word not in _YES_OR_NO:
        raise rejections.BadParameter(f"{name} is 1 or 0.", pointer=f"/{name}")
    return _YES_OR_NO[word]


def whole(told: Mapping[str, str], name: str, default: int, *, least: int, most: int) -> int:
    """Return a whole number between `least` and `most`."""
    if name not in told:
        return default
    word = told[name]
    if not (word.isascii() and word.isdigit() and len(word) < 12 and least <= int(word) <= most):
        raise rejections.BadParameter(f"{name} is a whole number from {least} to {most}.", pointer=f"/{name}")
    return int(word)


def moment_us(told: Mapping[str, str], name: str, default: int) -> int:
    """Return a time as Unix microseconds."""
    if name not in told:
        return default
    try:
        found = moments.parse(told[name], pointer=f"/{name}")
    except rejections.BadTime as refused:
        # A plus sign that was not escaped arrives as a space.
        raise rejections.BadParameter(
            f"{name} is RFC 3339 with an offset (escape its plus sign as %2B), or Unix nanoseconds.",
            pointer=refused.pointer,
        ) from None
    if not 0 <= found < LATEST_US:
        raise rejections.BadParameter(f"{name} lies outside the years 1970 to 9999.", pointer=f"/{name}")
    return found


def _listed(known: Collection[str]) -> str:
    return ", ".join(known) if known else "no parameters"
