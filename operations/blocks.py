"""How a tool call went, in the words of the screen: its ending, and the marks it does not say. Pure."""

from __future__ import annotations

import dataclasses

from operations import marks


@dataclasses.dataclass(frozen=True)
class Ending:
    """How a tool call went: the word, its shape and its colour's name."""

    key: str
    word: str
    icon: str
    detail: str = ""

    @property
    def words(self) -> str:
        """Word and detail in one line: `Failed: quota_exceeded`."""
        return f"{self.word}: {self.detail}" if self.detail else self.word


#: In the order in which charts stack them, from the baseline up.
ENDINGS: dict[str, Ending] = {
    ending.key: ending
    for ending in (
        Ending("success", "Success", "check"),
        Ending("failed", "Failed", "x"),
        Ending("exception", "Exception", "zap"),
        Ending("never_ran", "Never ran", "circle-slash"),
        Ending("timed_out", "Timed out", "alarm-clock-off"),
        Ending("denied", "Denied", "shield-x"),
        Ending("cancelled", "Cancelled", "circle-minus"),
        Ending("running", "Running", "loader"),
        Ending("awaiting_approval", "Awaiting approval", "hourglass"),
    )
}

_OF_STATUS = {"runtime_error": "exception", "contract_error": "never_ran"}
_KINDS = {
    "invalid_arguments": "bad arguments",
    "unknown_tool": "unknown tool",
    "unsupported_protocol": "unsupported protocol",
}


def key_of(status: str, outcome: str | None = None) -> str:
    """Return which ending a status and an outcome make: a failure is never a green `done`."""
    if status == "done":
        return "failed" if outcome == "failure" else "success"
    return _OF_STATUS.get(status, status)


def of(status: str, outcome: str | None = None, code: str | None = None, kind: str | None = None) -> Ending:
    """Return the ending on screen: `Failed: quota`, `Exception: down`, `Never ran: bad arguments`."""
    base = ENDINGS[key_of(status, outcome)]
    if base.key == "never_ran":
        return dataclasses.replace(base, detail=_KINDS.get(kind or "", code or ""))
    if base.key in {"failed", "exception", "denied", "timed_out", "cancelled"} and code:
        return dataclasses.replace(base, detail=code)
    return base


@dataclasses.dataclass(frozen=True)
class MarkWord:
    """A mark on screen."""

    name: str
    word: str
    tone: str


_MARK_WORDS: dict[marks.Mark, tuple[str, str]] = {
    marks.Mark.UNFINISHED: ("Unfinished", "warn"),
    marks.Mark.STALE_REVISION: ("Stale revision", "warn"),
    marks.Mark.LATE_ANSWER: ("Late answer", "warn"),
    marks.Mark.PHANTOM_FAILURE: ("Told “failed”, but it happened", "bad"),
    marks.Mark.ALTERED_IN_TRANSIT: ("Altered in transit", "warn"),
    marks.Mark.UNVERIFIED_SUCCESS: ("Unverified", "plain"),
    marks.Mark.UNBOUNDED_OUTPUT: ("Output over its bound", "warn"),
    marks.Mark.UNSAFE_ERROR_TOLD: ("Unsafe error told", "bad"),
    marks.Mark.OVER_BUDGET: ("Over budget", "warn"),
    marks.Mark.CONTRADICTED: ("Contradicted", "bad"),
    marks.Mark.ID_REUSED: ("Id reused", "warn"),
    marks.Mark.CLOCK_AHEAD: ("Clock ahead", "plain"),
}

#: Every signal by its name, in words; those that an ending already says have no badge.
SIGNAL_WORDS: dict[str, str] = {
    "contract_error": "Never ran",
    "unknown_tool": "Unknown tool",
    "structured_failure": "Failed",
    "runtime_error": "Exception",
    "timed_out": "Timed out",
    **{str(mark.name).lower(): word for mark, (word, _) in _MARK_WORDS.items()},
}


def mark_words(bits: int) -> tuple[MarkWord, ...]:
    """Return the marks of a call that its ending does not already say, the gravest first."""
    found = [
        MarkWord(name=str(mark.name).lower(), word=word, tone=tone)
        for mark, (word, tone) in _MARK_WORDS.items()
        if bits & mark and not (mark is marks.Mark.LATE_ANSWER and bits & marks.Mark.PHANTOM_FAILURE)
    ]
    return tuple(sorted(found, key=lambda mark: ("bad", "warn", "plain").index(mark.tone)))
