"""Ingest health: what came in, what was refused and why, what waits, whose clock is off."""

from __future__ import annotations

from django import http, shortcuts
from django.views.decorators import http as methods

from analytics import arrivals, asked
from operations import display, rejections

#: Clocks that differ by less are as good as equal.
SKEW_WORTH_SAYING_US = 5 * display.SECOND


@methods.require_safe
def page(request: http.HttpRequest, slug: str) -> http.HttpResponse:
    """Show what ingest answered in the asked range."""
    question = asked.read(request, slug)
    project, span = question.project, question.span
    answered = arrivals.answered(project_id=project.pk, span=span)
    names = dict(project.keys.values_list("keyid", "name"))
    context = {
        "asked": question,
        "project": project,
        "answered": answered,
        "results": [(name, words, answered.results[name]) for name, words in _RESULTS.items()],
        "refused": display.share(answered.results["rejected"], answered.records),
        "reasons": _reasons(answered),
        "keys": [(names.get(keyid, ""), keyid, counts) for keyid, counts in answered.keys],
        "skews": arrivals.skews(project_id=project.pk, span=span),
        "skew_worth_saying_us": SKEW_WORTH_SAYING_US,
        "waiting": arrivals.waiting(project_id=project.pk, now_us=question.now_us),
        "freshness": arrivals.freshness(project_id=project.pk, now_us=question.now_us),
    }
    status = 422 if question.problem else 200
    return shortcuts.render(request, "analytics/ingest_health/page.html", context, status=status)


_RESULTS = {
    "accepted": "New calls",
    "merged": "Added to known calls",
    "duplicate": "Told before",
    "rejected": "Refused",
}


def _reasons(answered: arrivals.Answered) -> list[tuple[str, str, int]]:
    sentences = {cls.reason: cls.sentence() for cls in _subclasses(rejections.Rejection)}
    return [(reason, sentences.get(reason, ""), number) for reason, number in answered.reasons]


def _subclasses(cls: type[rejections.Rejection]) -> list[type[rejections.Rejection]]:
    found = []
    for sub in cls.__subclasses__():
        found += [sub, *_subclasses(sub)]
    return found
