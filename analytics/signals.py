"""The declared table of signals: what each counts, over what, and which filter shows its rows.

Pages, alerts and the API read the definitions from here; the bits are set by `operation.marks`.
"""

from __future__ import annotations

from typing import NamedTuple

from operations import filters
from operations.marks import Mark

UNENDED = ("running", "awaiting_approval")
RAN = ("done", "runtime_error", "timed_out", "cancelled")
WRITES = ("write", "consequential")


class Key(NamedTuple):
    """The keys of the tally that signals are told from."""

    effect: str | None
    status: str | None
    outcome: str | None
    marks: int


class Base(NamedTuple):
    """What a rate is over."""

    words: str
    terms: tuple[filters.Term, ...]
    statuses: frozenset[str] | None = None
    is_writes: bool = False
    mark: int = 0

    @property
    def has_rows(self) -> bool:
        """Whether its terms show exactly its rows; no term of the grammar tells some marks."""
        return bool(self.terms) or not self.mark

    def counts(self, key: Key) -> bool:
        """Tell whether operations under this key belong to the base."""
        if self.statuses is not None and key.status not in self.statuses:
            return False
        if self.is_writes and key.effect not in WRITES:
            return False
        return not self.mark or bool(key.marks & self.mark)


_FINISHED = frozenset({"done", "contract_error", "denied", "runtime_error", "timed_out", "cancelled"})

ALL = Base("calls", ())
FINISHED = Base("finished calls", (filters.term("status", *UNENDED, is_negated=True),), _FINISHED)
RAN_BASE = Base("calls that ran", (filters.term("status", *RAN),), frozenset(RAN))
DONE = Base("calls that answered", (filters.term("status", "done"),), frozenset({"done"}))
WRITE_BASE = Base("writes", (filters.term("effect", *WRITES),), is_writes=True)
LEGS = Base(
    "calls with legs",
    (filters.term("has", "legs"), filters.term("has", "timeout")),
    mark=int(Mark.HAS_LEGS),
)


class Signal(NamedTuple):
    """One question the console answers."""

    name: str
    words: str
    mark: Mark
    base: Base
    meaning: str

    @property
    def terms(self) -> tuple[filters.Term, ...]:
        """The filter that shows its rows."""
        return (filters.term("signal", self.name),)


#: In the order that matters to whoever is on call.
SIGNALS: dict[str, Signal] = {
    signal.name: signal
    for signal in (
        Signal(
            "phantom_failure",
            "Told “failed”, but it happened",
            Mark.PHANTOM_FAILURE,
            RAN_BASE,
            "The caller was told it failed, then a write succeeded after all.",
        ),
        Signal(
            "runtime_error",
            "Exception",
            Mark.RUNTIME_ERROR,
            RAN_BASE,
            "The tool broke instead of answering.",
        ),
        Signal("timed_out", "Timed out", Mark.TIMED_OUT, RAN_BASE, "The caller stopped waiting."),
        Signal(
            "structured_failure",
            "Failed",
            Mark.STRUCTURED_FAILURE,
            DONE,
            "The tool answered, and the answer was a failure with a code.",
        ),
        Signal(
            "contract_error",
            "Never ran",
            Mark.CONTRACT_ERROR,
            FINISHED,
            "The call did not fit a contract: bad arguments, an unknown tool or protocol.",
        ),
        Signal(
            "unknown_tool",
            "Unknown tool",
            Mark.UNKNOWN_TOOL,
            FINISHED,
            "The model named a tool that is not there.",
        ),
        Signal(
            "late_answer",
            "Late answer",
            Mark.LATE_ANSWER,
            RAN_BASE,
            "An answer came after the caller had been told otherwise.",
        ),
        Signal(
            "stale_revision",
            "Stale revision",
            Mark.STALE_REVISION,
            WRITE_BASE,
            "A write was refused because the revision had moved.",
        ),
        Signal(
            "unfinished",
            "Unfinished",
            Mark.UNFINISHED,
            ALL,
            "Still running past its timeout, or after 15 minutes without one.",
        ),
        Signal(
            "altered_in_transit",
            "Altered in transit",
            Mark.ALTERED_IN_TRANSIT,
            Base(
                "calls with both digests",
                (filters.term("has", "digest"), filters.term("has", "sent_digest")),
                mark=int(Mark.HAS_SENT_DIGEST),
            ),
            "The arguments that arrived are not those the model sent.",
        ),
        Signal(
            "unverified_success",
            "Unverified success",
            Mark.UNVERIFIED_SUCCESS,
            Base(
                "successes that say",
                (filters.term("outcome", "success"), filters.term("has", "verified")),
                mark=int(Mark.HAS_VERIFIED),
            ),
            "The tool reports success without having checked it.",
        ),
        Signal(
            "unbounded_output",
            "Output over its bound",
            Mark.UNBOUNDED_OUTPUT,
            DONE,
            "More bytes than the tool declares.",
        ),
        Signal(
            "unsafe_error_told",
            "Unsafe error told",
            Mark.UNSAFE_ERROR_TOLD,
            Base("errors that say", (), mark=int(Mark.HAS_ERROR_TOLD)),
            "An error not safe for the model reached it.",
        ),
        Signal(
            "over_budget",
            "Over budget",
            Mark.OVER_BUDGET,
            Base(
                "calls with legs",
                (filters.term("has", "legs"), filters.term("has", "timeout")),
                mark=int(Mark.HAS_LEGS),
            ),
            "The legs leave less than a tenth of the outer limit free.",
        ),
        Signal(
            "contradicted",
            "Contradicted",
            Mark.CONTRADICTED,
            ALL,
            "Two records tell different endings of the same call.",
        ),
        Signal("id_reused", "Id reused", Mark.ID_REUSED, ALL, "One id names more than one call."),
        Signal("clock_ahead", "Clock ahead", Mark.CLOCK_AHEAD, ALL, "The sender's clock is ahead of ours."),
    )
}

#: Those that Overview always shows; the others appear when there is something to say.
HEADLINES = (
    "phantom_failure",
    "runtime_error",
    "timed_out",
    "structured_failure",
    "contract_error",
    "late_answer",
    "stale_revision",
    "unfinished",
)

#: An ending that somebody has to look into.
FAILING = int(Mark.STRUCTURED_FAILURE | Mark.RUNTIME_ERROR | Mark.TIMED_OUT | Mark.CONTRACT_ERROR)
FAILING_TERM = filters.term("signal", "structured_failure", "runtime_error", "timed_out", "contract_error")
