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


class AlreadyMember(Rejection):
    """This person belongs to the project already; change their roles instead."""

    http_status = 409


class LastAdmin(Rejection):
    """A project keeps at least one admin; make somebody else an admin first."""

    http_status = 409


class InvitationGone(Rejection):
    """This invitation was used, withdrawn or has expired; ask an admin of the project for a new link."""

    http_status = 404


class InvitedAsSomebodyElse(Rejection):
    """This invitation is for another e-mail address; sign in with that one."""

    http_status = 403


class AddressTaken(Rejection):
    """Another project has this address already."""

    http_status = 409


# --- Records: each refuses one record and leaves the rest of its batch alone -------------------------------


class NotJson(Rejection):
    """The record is not one JSON object."""


class Truncated(Rejection):
    """The last line was cut short."""


class WrongType(Rejection):
    """A field has the wrong type."""


class WrongValue(Rejection):
    """A field has a value that is not allowed."""


class TooLong(Rejection):
    """A field is longer than its limit."""


class RecordTooLarge(Rejection):
    """The record is larger than 1 MiB."""


class TooDeep(Rejection):
    """The record is nested more than 64 levels deep."""


class RepeatedKey(Rejection):
    """An object names the same key twice, so two readers could see different values."""


class IdentityMissing(Rejection):
    """Name the operation: operation_id, or session_id with tool_call_id, or session_id, tool and started_at."""


class BadTime(Rejection):
    """A time must be RFC 3339 with an offset, or Unix nanoseconds as a string of digits."""


class TooFarAhead(Rejection):
    """A time lies more than 24 hours in the future."""


class OlderThanRetention(Rejection):
    """The operation is older than what this project keeps."""


class OutcomeWithoutDone(Rejection):
    """Only an operation with the status "done" has an outcome."""


class AnswerWithOtherEnding(Rejection):
    """An answer told apart means "done"; this record tells another ending."""


class BadDigest(Rejection):
    """A digest is 64 hexadecimal digits, or "algorithm:" and hexadecimal digits."""


class EnvironmentNotAllowed(Rejection):
    """This key may send for one environment only, and the record names another."""


class RuntimeNotAllowed(Rejection):
    """This key may send for one runtime only, and the record names another."""


class ToolNotAllowed(Rejection):
    """This key may send only tools whose names begin with its prefix."""


class Unstorable(Rejection):
    """The database refused the record, and only this one."""


# --- Requests: nothing of the body was stored ----------------------------------------------------------------


class BodyTooLarge(Rejection):
    """The body is larger than the limit, before or after decompression."""

    http_status = 413


class TooManyRecords(Rejection):
    """The body has more records than one request may carry."""

    http_status = 413


class UnsupportedMediaType(Rejection):
    """Send application/json or application/x-ndjson in UTF-8."""

    http_status = 415


class UnsupportedEncoding(Rejection):
    """Send the body plain, or with one Content-Encoding: gzip or zstd."""

    http_status = 415


class BodyDamaged(Rejection):
    """The body ended early or could not be decompressed."""


class NotUtf8(Rejection):
    """The body is not UTF-8."""


class BodyNotJson(Rejection):
    """The body is not JSON."""


class TooManyRequests(Rejection):
    """This project or key sends faster than its limit; try again after the time given."""

    http_status = 429

    def __init__(self, detail: str = "", *, retry_after_s: int = 1, quota: str = "") -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s
        #: What is left, in the form of the RateLimit header.
        self.quota = quota


class StoreUnavailable(Rejection):
    """The database is away, full or too slow; try again: what was stored already is known and not counted twice."""

    http_status = 503


class BadParameter(Rejection):
    """A parameter of the query string is not understood."""

    http_status = 422


class NoSuchOperation(Rejection):
    """There is no such operation."""

    http_status = 404


# --- Values that need one exact form: approvals and digests ----------------------------------------------------


class ValueNotJson(Rejection):
    """The value is not JSON."""


class ValueTooLarge(Rejection):
    """The value is larger than 256 KiB."""

    http_status = 413


class NumberNotFinite(Rejection):
    """A number is not finite; JSON has no NaN and no Infinity."""


class NumberNotExact(Rejection):
    """A number cannot be kept exactly as a double; send it as a string."""


class BrokenText(Rejection):
    """A text holds half of a surrogate pair, which is no character."""


# --- Questions: filters and time ranges ------------------------------------------------------------------------


class BadFilter(Rejection):
    """The filter is not understood."""

    http_status = 422

    def __init__(self, detail: str = "", *, pointer: str = "", suggestion: str = "") -> None:
        super().__init__(detail, pointer=pointer)
        #: The whole filter as it was probably meant; empty when nothing is near.
        self.suggestion = suggestion


# --- The API's doors --------------------------------------------------------------------------------------------


class ByteOrderMark(Rejection):
    """The body begins with a byte order mark; send UTF-8 without one."""


class MethodNotAllowed(Rejection):
    """This address does not answer to this method."""

    http_status = 405


class NoSuchAddress(Rejection):
    """There is nothing at this address; the API is described at /v1/docs."""

    http_status = 404


class TooManyAtOnce(TooManyRequests):
    """This project has as many requests in work as one project may; try again in a second."""


class UnknownParameter(Rejection):
    """The query string has a parameter that this address does not know."""

    http_status = 422


class BadCursor(Rejection):
    """The cursor is not one that this project's API gave."""

    http_status = 422


class InternalFault(Rejection):
    """Something broke on our side, and it was logged; the request itself may be fine."""

    http_status = 500


class BodyTooSlow(Rejection):
    """The body did not arrive in time."""

    http_status = 408


class BodyNotOtlp(Rejection):
    """The body is not an OTLP export request of the media type that it claims."""


class SpanWithoutIds(Rejection):
    """The span has no valid trace and span id, nor a session and call id, so a repeat could not be told."""


class TooManyExports(Rejection):
    """Two exports are running already; try again when one of them has ended."""

    http_status = 429
