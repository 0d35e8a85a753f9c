"""What one record tells: check it, redact it, and turn it into facts and excerpts.

This is the choke point: `tell` returns nothing that has not passed redaction, and whatever stores, logs or
queues a record gets it from here. A rule of redaction that errs wipes the field it was looking at.
"""

from __future__ import annotations

import datetime
import hashlib
from typing import NamedTuple

import msgspec
from msgspec import structs

from operations import blocks, compact, digests, facts, limits, moments, redaction, rejections, wire

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
_SEARCHED = frozenset({"input", "output"})  # the kinds of excerpt that `_is_clean` looks at
_BITS = tuple(facts.TOLD_BIT[name] for name in facts.NAMES[_DESCRIPTIVE])
_encode = msgspec.json.Encoder().encode


class Sender(NamedTuple):
    """Whose record it is, and what its key binds it to."""

    digest_key: bytes
    retention_days: int = 90
    environment: str | None = None
    runtime: str | None = None
    tool_prefix: str | None = None


class Excerpt(NamedTuple):
    """Words from the outside, redacted and bounded."""

    kind: str
    hash: int
    content: bytes
    remarks: bytes | None
    is_truncated: bool


class Told(NamedTuple):
    """What one record tells, ready to be stored."""

    facts: facts.Facts
    excerpts: tuple[Excerpt, ...]
    firsts: tuple[tuple[str, str], ...]  # (dimension, value) that this record names
    told_at: int  # the record's own time, for `first_seen`


def tell(
    record: wire.Operation, *, sender: Sender, now_us: int, inferred: frozenset[str] = frozenset()
) -> Told:
    """Return what `record` tells; `inferred` names the fields that were worked out rather than told.

    Raises the `Rejection` that names what is wrong with it, with a JSON pointer.
    """
    times = _times(record, sender=sender, now_us=now_us)
    excerpts: list[Excerpt] = []
    known = _describe(record, sender, times)
    known.environment, known.runtime = _bind(record, sender)
    is_clean = _is_clean(known, record)
    if not is_clean:
        _redact(known, sender.digest_key)
    keep = _keeper(sender, excerpts, is_clean=is_clean)
    _describe_parts(known, record, sender, keep)
    known.told = _told(known, inferred)
    if "tool" not in inferred:
        known.greatest_tool = known.tool
    known.awaits_approval = record.status == "awaiting_approval"
    known.clock_is_ahead = times.greatest > now_us + limits.CLOCK_TOLERANCE_US
    blocks.tell(known, record, times=times, key=sender.digest_key, keep=keep, inferred=inferred)
    return Told(known, tuple(excerpts), _firsts(known), now_us if times.first is None else times.first)


def _times(record: wire.Operation, *, sender: Sender, now_us: int) -> blocks.Times:
    """Parse the told times and refuse what cannot be kept."""
    started_at = ended_at = answered_at = None
    if record.started_at is not None:
        started_at = moments.parse(record.started_at, pointer="/started_at")
    if record.ended_at is not None:
        ended_at = moments.parse(record.ended_at, pointer="/ended_at")
    if record.answered_at is not None:
        answered_at = moments.parse(record.answered_at, pointer="/answered_at")
    latest, oldest = now_us + limits.AHEAD_MAX_US, now_us - sender.retention_days * moments.DAY_US
    for name, moment in (("started_at", started_at), ("ended_at", ended_at), ("answered_at", answered_at)):
        if moment is None:
            continue
        if moment > latest:
            raise rejections.TooFarAhead(pointer=f"/{name}")
        if moment < oldest:
            raise rejections.OlderThanRetention(pointer=f"/{name}")
    return blocks.Times(started_at, ended_at, answered_at)


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


def _is_clean(known: facts.Facts, record: wire.Operation) -> bool:
    """Tell by one search that redaction would change nothing of the names, ids, input and output of a record."""
    pieces = [value for value in structs.astuple(known) if type(value) is str]
    joined = "\n".join(pieces).encode("utf-8", "surrogatepass")
    for part in (record.input, record.output):
        if part is not None:
            joined += b"\n%b\n%b" % (part.compact, part.value)
    return b"\0" not in joined and b"\xed" not in joined and redaction.is_clean(joined)


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
    mask = 0
    for bit, value in zip(_BITS, structs.astuple(known)[_DESCRIPTIVE], strict=True):
        if value is not None:
            mask |= bit
    for name in inferred:
        mask &= ~facts.TOLD_BIT.get(name, 0)
    return mask


def _identifier(text: str, key: bytes) -> str:
    """Return an id as it is; one that holds a secret becomes its keyed hash, so that equal stays equal."""
    if redaction.redact_label(text) == text:
        return text
    return "redacted:" + digests.keyed(key, text).hex()


def _keeper(sender: Sender, excerpts: list[Excerpt], *, is_clean: bool) -> blocks.Keep:
    """Return the function that redacts and bounds words, keeps them in `excerpts`, and returns their hash.

    With `is_clean`, input and output were searched already.
    """

    def keep(kind: str, raw: bytes, is_truncated: bool) -> int:
        clean, remarks = (raw, ()) if is_clean and kind in _SEARCHED else redaction.redact_json(raw)
        content, was_cut = compact.compact_value(clean, limits.COMPACT_BYTES_MAX)
        found = digests.short(sender.digest_key, b"%b\0%b" % (kind.encode(), content))
        noted = _encode(remarks) if remarks else None
        excerpts.append(Excerpt(kind, found, content, noted, is_truncated or was_cut))
        return found

    return keep


def _firsts(known: facts.Facts) -> tuple[tuple[str, str], ...]:
    named = []
    if known.tool:
        named.append(("tool", known.tool))
        if known.tool_version:
            named.append(("tool_version", f"{known.tool}@{known.tool_version}"))
    for dimension in ("model", "runtime", "environment", "provider"):
        value = getattr(known, dimension)
        if value:
            named.append((dimension, value))
    for code in (known.answer_code, known.verdict_code):
        if code:
            named.append(("code", code))
    return tuple(named)


def excerpt_gone_on(now: datetime.datetime, excerpt_days: int) -> datetime.date:
    """Return the day by which an excerpt received `now` must be gone."""
    return now.date() + datetime.timedelta(days=excerpt_days)
