"""What one record tells: check it, redact it, and turn it into facts and excerpts.

This is the choke point: `tell` returns nothing that has not passed redaction, and whatever stores, logs or
queues a record gets it from here. A rule of redaction that errs wipes the field it was looking at.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec import structs

from operations import blocks, digests, facts, limits, moments, redaction, rejections, wire, words

_DESCRIPTIVE = slice(facts.NAMES.index("started_at"), facts.NAMES.index("legs") + 1)
_LABELS = (
    "tool",
    "tool_version",
    "mode",
    "environment",
    "runtime",
    "instance",
    "source",
    "provider",
    "model",
)
_IDENTIFIERS = (
    "operation_id",
    "tool_call_id",
    "session_id",
    "turn_id",
    "parent_id",
    "idempotency_key",
    "approval_id",
)
_get_labels = operator.attrgetter(*_LABELS, *_IDENTIFIERS)
_NO_PAYLOAD = wire.Payload()
_SEARCHED_TOGETHER = 16
_BITS = tuple(facts.TOLD_BIT[name] for name in facts.NAMES[_DESCRIPTIVE])
_NOTHING = (None,) * len(_BITS)
_SHAPES_MAX = 10_000
_masks: dict[tuple[bool, ...], int] = {}
_encode = msgspec.json.Encoder().encode


class Sender(NamedTuple):
    """Whose record it is, and what its key binds it to."""

    digest_key: bytes
    retention_days: int = 90
    environment: str | None = None
    runtime: str | None = None
    tool_prefix: str | None = None


class Firsts(NamedTuple):
    """The values that a record names, whose first appearance is kept."""

    tool: str | None
    tool_version: str | None
    model: str | None
    runtime: str | None
    environment: str | None
    provider: str | None
    code: str | None
    verdict_code: str | None


class Told(msgspec.Struct, frozen=True, gc=False):
    """What one record tells, ready to be stored."""

    facts: facts.Facts
    excerpts: list[words.Excerpt]
    firsts: Firsts
    told_at: int  # the record's own time, for `first_seen`
    latest: int  # the latest time it tells, 0 if none, for the skew of clocks


def are_clean(batch: Sequence[wire.Operation]) -> list[bool]:
    """Tell of each record whether redaction would change nothing of its names, ids, input and output.

    Several are searched together, since beginning a search costs as much as searching one; only where something
    is found are they searched singly.
    """
    found: list[bool] = []
    for first in range(0, len(batch), _SEARCHED_TOGETHER):
        pieces = [_pieces(record) for record in batch[first : first + _SEARCHED_TOGETHER]]
        if _is_clean(b"\n".join(pieces)):
            found += [True] * len(pieces)
        else:
            found += [_is_clean(piece) for piece in pieces]
    return found


def _pieces(record: wire.Operation) -> bytes:
    """Return the names, ids, input and output of a record, a line each."""
    labels = "\n".join(filter(None, _get_labels(record))).encode("utf-8", "surrogatepass")
    told, returned = record.input or _NO_PAYLOAD, record.output or _NO_PAYLOAD
    return b"\n".join((labels, told.compact, told.value, returned.compact, returned.value))


def _is_clean(pieces: bytes) -> bool:
    # NUL and half surrogate pairs (which begin with ED in UTF-8) are for the careful way, which replaces them.
    return b"\0" not in pieces and b"\xed" not in pieces and redaction.is_clean(pieces)


def tell(
    record: wire.Operation,
    *,
    sender: Sender,
    now_us: int,
    inferred: frozenset[str] = frozenset(),
    is_clean: bool | None = None,
) -> Told:
    """Return what `record` tells; `inferred` names the fields that were worked out rather than told.

    `is_clean` is what `are_clean` said of it, if it was asked. Raises the `Rejection` that names what is wrong
    with the record, with a JSON pointer.
    """
    times = _times(record, sender=sender, now_us=now_us)
    excerpts: list[words.Excerpt] = []
    known = _describe(record, sender, times)
    known.environment, known.runtime = _bind(record, sender)
    if is_clean is None:
        is_clean = _is_clean(_pieces(record))
    if not is_clean:
        _redact(known, sender.digest_key)
    keep = words.keeper(sender.digest_key, excerpts, is_clean=is_clean)
    _describe_parts(known, record, sender, keep)
    known.told = _told(known, inferred)
    if "tool" not in inferred:
        known.greatest_tool = known.tool
    known.awaits_approval = record.status == "awaiting_approval"
    known.clock_is_ahead = times.greatest > now_us + limits.CLOCK_TOLERANCE_US
    blocks.tell(known, record, times=times, key=sender.digest_key, keep=keep, inferred=inferred)
    firsts = Firsts(
        known.tool,
        known.tool_version,
        known.model,
        known.runtime,
        known.environment,
        known.provider,
        known.answer_code,
        known.verdict_code,
    )
    return Told(known, excerpts, firsts, now_us if times.first is None else times.first, times.greatest)


def _times(record: wire.Operation, *, sender: Sender, now_us: int) -> blocks.Times:
    """Parse the told times and refuse what cannot be kept."""
    started_at = (
        None if record.started_at is None else moments.parse(record.started_at, pointer="/started_at")
    )
    ended_at = None if record.ended_at is None else moments.parse(record.ended_at, pointer="/ended_at")
    answered_at = (
        None if record.answered_at is None else moments.parse(record.answered_at, pointer="/answered_at")
    )
    times = blocks.times(started_at, ended_at, answered_at)
    latest, oldest = now_us + limits.AHEAD_MAX_US, now_us - sender.retention_days * moments.DAY_US
    if times.greatest > latest or times.least < oldest:
        _refuse_time(times, latest=latest, oldest=oldest)
    return times


def _refuse_time(times: blocks.Times, *, latest: int, oldest: int) -> None:
    for name in ("started_at", "ended_at", "answered_at"):
        moment = getattr(times, name)
        if moment is not None and not oldest <= moment <= latest:
            refusal = rejections.TooFarAhead if moment > latest else rejections.OlderThanRetention
            raise refusal(pointer=f"/{name}")


def _bind(record: wire.Operation, sender: Sender) -> tuple[str | None, str | None]:
    """Apply what the key is bound to: fill in what the record leaves out, refuse what it contradicts."""
    environment, runtime = record.environment, record.runtime
    if sender.environment is not None:
        environment = environment or sender.environment
        if environment != sender.environment:
            raise rejections.EnvironmentNotAllowed(pointer="/environment")
    if sender.runtime is not None:
        runtime = runtime or sender.runtime
        if runtime != sender.runtime and not runtime.startswith(sender.runtime + "@"):
            raise rejections.RuntimeNotAllowed(pointer="/runtime")
    if sender.tool_prefix and not (record.tool or "").startswith(sender.tool_prefix):
        raise rejections.ToolNotAllowed(pointer="/tool")
    return environment, runtime


def _derive_identity(record: wire.Operation, times: blocks.Times) -> str:
    """Derive the identity of a record without `operation_id`, the same for every record of the call."""
    if record.session_id and record.tool_call_id:
        parts: tuple[str, ...] = ("call", record.session_id, record.tool_call_id)
    elif record.session_id and record.tool and times.started_at is not None:
        place = (record.turn_id or "", str(record.iteration or 0), record.tool, str(times.started_at))
        parts = ("place", record.session_id, *place)
    else:
        raise rejections.IdentityMissing(pointer="/operation_id")
    return "derived:" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _describe(record: wire.Operation, sender: Sender, times: blocks.Times) -> facts.Facts:
    """Return the descriptive facts that are single values, as told; `_redact` is still to come."""
    return facts.Facts(
        operation_id=record.operation_id or _derive_identity(record, times),
        attempt=record.attempt,
        started_at=times.started_at,
        tool=record.tool or None,
        tool_version=record.tool_version or None,
        effect=record.effect,
        mode=record.mode or None,
        instance=record.instance or None,
        subject=digests.keyed(sender.digest_key, record.subject) if record.subject else None,
        source=record.source or None,
        provider=record.provider or None,
        model=record.model or None,
        tool_call_id=record.tool_call_id or None,
        session_id=record.session_id or None,
        turn_id=record.turn_id or None,
        iteration=record.iteration,
        parent_id=record.parent_id or None,
        trace_id=record.trace_id.lower() if record.trace_id else None,
        span_id=record.span_id.lower() if record.span_id else None,
        timeout_ms=None if record.timeout_ms is None else round(record.timeout_ms),
        idempotency_key=record.idempotency_key or None,
        approval_id=record.approval_id or None,
    )


def _redact(known: facts.Facts, key: bytes) -> None:
    """Redact the names and ids of `known`."""
    for name in _LABELS:
        value = getattr(known, name)
        if value is not None:
            setattr(known, name, redaction.redact_label(value))
    for name in _IDENTIFIERS:
        value = getattr(known, name)
        if value is not None:
            setattr(known, name, _identifier(value, key))


def _describe_parts(known: facts.Facts, record: wire.Operation, sender: Sender, keep: blocks.Keep) -> None:
    """Fill in what the nested parts of the record describe: input, attributes, manifest and legs."""
    key = sender.digest_key
    if record.input is not None:
        known.input_digest, known.input_bytes, known.input_excerpt = blocks.payload(
            record.input, key=key, kind="input", keep=keep
        )
        known.altered = record.input.altered
        if record.input.sent_digest is not None:
            known.sent_digest = blocks.keyed_digest(key, record.input.sent_digest, "/input/sent_digest")
    if record.attributes:
        known.attributes_excerpt = keep("attributes", _encode(record.attributes), False)
    if record.manifest is not None:
        known.manifest_sequence = record.manifest.sequence
        if record.manifest.digest is not None:
            known.manifest_digest = blocks.keyed_digest(key, record.manifest.digest, "/manifest/digest")
    if record.legs:
        legs = tuple(wire.Leg(name=redaction.redact_label(leg.name), ms=leg.ms) for leg in record.legs)
        known.legs = _encode(legs).decode()


def _told(known: facts.Facts, inferred: frozenset[str]) -> int:
    """Return the mask of the descriptive facts that are there and were told rather than inferred."""
    presence = tuple(map(operator.is_not, structs.astuple(known)[_DESCRIPTIVE], _NOTHING))
    mask = _masks.get(presence)
    if mask is None:
        # Records of one sender have few shapes: each is worked out once.
        mask = sum(bit for bit, is_there in zip(_BITS, presence, strict=True) if is_there)
        if len(_masks) < _SHAPES_MAX:
            _masks[presence] = mask
    for name in inferred:
        mask &= ~facts.TOLD_BIT.get(name, 0)
    return mask


def _identifier(text: str, key: bytes) -> str:
    """Return an id as it is; one that holds a secret becomes its keyed hash, so that equal stays equal."""
    if redaction.redact_label(text) == text:
        return text
    return "redacted:" + digests.keyed(key, text).hex()
