"""The tour of the demo: one incident from where it shows to what caused it, and four more to find alone. Pure."""

from __future__ import annotations

import urllib.parse
from typing import NamedTuple

from operations import moments
from operations.simulation import incidents
from operations.simulation.incidents import Incident

_BEFORE_US = 60 * 60 * moments.SECOND_US
# An incident that only just began shows nothing yet.
_SETTLED_US = 20 * 60 * moments.SECOND_US


class Step(NamedTuple):
    """One stop: what to look at and what it says; `path` is inside the project, with its query."""

    title: str
    sentence: str
    link: str
    path: str


class Tour(NamedTuple):
    """The incident of the tour, from when until when, and the stops."""

    began_us: int
    ended_us: int
    steps: list[Step]
    others: list[Step]


#: What a failing call of the incident is found by.
FAILING = "tool:refund_create code:currency_unsupported"


def tour(now_us: int) -> Tour:
    """Return the tour of the latest bad release before this moment, and the latest of the other incidents."""
    began_us, ended_us = incidents.BAD_RELEASE.latest(now_us - _SETTLED_US)
    version = incidents.version_of("refund_create", "", began_us)
    around = {"from": _moment(began_us - _BEFORE_US), "to": _moment(min(ended_us + _BEFORE_US, now_us))}
    steps = [
        Step(
            "Something fails",
            "The overview marks one number as worse than before: Failed. No exception, no time-out: the tools "
            "answered, and the answer was no. A console that counts errors shows nothing here.",
            "Open the overview of these hours",
            _path("", around),
        ),
        Step(
            "It is one code",
            "List only the failures. The facets beside the list count every code: currency_unsupported leads, "
            "and it is one that these hours alone know.",
            "List the failures",
            _path("operations", {"q": "outcome:failure", **around}),
        ),
        Step(
            "It is one tool",
            "Filter by that code: one tool is left, refund_create. Its effect is consequential, so each of these "
            "is money that a customer was promised.",
            "List what refund_create refused",
            _path("operations", {"q": FAILING, **around}),
        ),
        Step(
            "It is one version",
            f"Look at the tool version: {version} went out when the failures began, and they ended when it "
            "was taken back. The other version refunds in every currency, before and after.",
            "Compare: the same tool without this version",
            _path("operations", {"q": f"tool:refund_create -version:{version}", **around}),
        ),
    ]
    others = [_other(incident, now_us, *words) for incident, words in _OTHERS]
    return Tour(began_us, ended_us, steps, others)


def _other(incident: Incident, now_us: int, title: str, sentence: str, query: str) -> Step:
    began_us, ended_us = incident.latest(now_us - _SETTLED_US)
    around = {"from": _moment(began_us), "to": _moment(min(ended_us, now_us))}
    return Step(title, sentence, "Look", _path("operations", {"q": query, **around}))


_OTHERS: tuple[tuple[Incident, tuple[str, str, str]], ...] = (
    (
        incidents.SLOW_CARRIER,
        (
            "Told as failed, and it happened",
            "shipment_create was told as timed out; the parcels went out all the same.",
            "signal:phantom_failure",
        ),
    ),
    (
        incidents.CAPPED_MANIFEST,
        (
            "A tool that was cut, and called",
            "The support agent's tool list outgrew its cap: shipment_track fell out, and the model went on calling it.",
            "tool:shipment_track kind:unknown_tool",
        ),
    ),
    (
        incidents.STALE_REVISIONS,
        (
            "Revisions that moved",
            "A bulk import changed orders while agents held older revisions of them.",
            "signal:stale_revision",
        ),
    ),
    (
        incidents.LOOP,
        (
            "Asked sixty times",
            "One kiosk asked docs_search the same question again and again, and was told the same.",
            "tool:docs_search model:qwen3-32b",
        ),
    ),
)


def _moment(at_us: int) -> str:
    return moments.to_datetime(at_us).strftime("%Y-%m-%dT%H:%M:%SZ")


def _path(page: str, query: dict[str, str]) -> str:
    return f"{page}?{urllib.parse.urlencode(query)}"
