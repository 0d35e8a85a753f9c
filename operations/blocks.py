"""How a record says the call ended: the answer block, the caller's verdict, and the digests beside them.

Both blocks move as one. Each gets a rank, the bytes by which the least of two blocks is found: told before
inferred, then the earlier time, then the least digest of the block. Equal ranks are equal blocks.
"""

from __future__ import annotations

import functools
import hashlib
import re
import struct
from collections.abc import Callable
from typing import NamedTuple

import msgspec
from msgspec import structs

from operations import digests, facts, limits, redaction, rejections, wire

UNLISTED = "unlisted"
_PLAIN_DIGEST_LENGTH = 64
_NO_ANSWER = wire.Answer()

#: Redacts and bounds words of a kind (the flag: they were cut already), keeps them and returns their hash.
Keep = Callable[[str, bytes, bool], int]

_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}\Z", re.ASCII)
_VERDICTS = frozenset({"timed_out", "cancelled"})
_ANSWERS = frozenset({"done", "contract_error", "denied", "runtime_error"})
_CONTRACT_KINDS = frozenset({"invalid_arguments", "unknown_tool", "unsupported_protocol"})
_encode = msgspec.json.Encoder().encode
_pack = msgspec.msgpack.Encoder().encode


class Times(NamedTuple):
    """The told times of one record, in Unix microseconds."""

    started_at: int | None
    ended_at: int | None
    answered_at: int | None
    #: The record's own time: its start, else its end, else its answer.
    first: int | None
    #: The earliest of them; the end of time when none was told.
    least: int
    #: The latest of them; 0 when none was told.
    greatest: int


def times(started_at: int | None, ended_at: int | None, answered_at: int | None) -> Times:
    """Return told times with what is asked of them together, worked out once."""
    told = [moment for moment in (started_at, ended_at, answered_at) if moment is not None]
    if not told:
        return Times(None, None, None, None, 2**62, 0)
    return Times(started_at, ended_at, answered_at, told[0], min(told), max(0, *told))


def tell(
    known: facts.Facts,
    record: wire.Operation,
    *,
    times: Times,
    key: bytes,
    keep: Keep,
    inferred: frozenset[str] = frozenset(),
) -> None:
    """Fill in what `record` tells of the ending, and refuse what contradicts itself."""
    status, is_inferred = _status(record)
    _refuse_contradictions(record, status)
    is_inferred = is_inferred or "status" in inferred
    if status in _VERDICTS:
        _tell_verdict(known, record, status or "", times, keep)
        if record.answer is None and times.answered_at is None:
            return
        status = "done"
    if status in _ANSWERS:
        _tell_answer(known, record, status or "", times, key, keep, is_inferred)


def _status(record: wire.Operation) -> tuple[str | None, bool]:
    """Return the told status, else the one that follows from what else was told; whether it was inferred."""
    if record.status in {None, "running", "awaiting_approval"} and (
        record.answer is not None or record.answered_at is not None
    ):
        return "done", False
    if record.status is not None:
        return record.status, False
    if record.contract is not None:
        return "contract_error", True
    if record.error is not None and record.outcome is None:
        return "runtime_error", True
    if record.outcome is not None or record.ended_at is not None or record.output is not None:
        return "done", record.outcome is None
    return ("done", True) if record.conflict is not None else (None, True)


def _refuse_contradictions(record: wire.Operation, status: str | None) -> None:
    if record.outcome is not None and status != "done":
        raise rejections.OutcomeWithoutDone(pointer="/outcome")
    if record.answer is not None and status not in _VERDICTS | {"done"}:
        raise rejections.AnswerWithOtherEnding(pointer="/answer")


def _tell_verdict(known: facts.Facts, record: wire.Operation, status: str, times: Times, keep: Keep) -> None:
    known.verdict_status = status
    known.verdict_at = times.ended_at
    known.verdict_code, words = _code(record.code)
    known.verdict_category, known.verdict_flags = _error(record.error)
    known.verdict_excerpt = _error_excerpt(record, words, keep)
    block = (known.verdict_code, known.verdict_category, known.verdict_flags, known.verdict_excerpt)
    # `cancelled` and `timed_out` at the same moment: the byte order of the words decides.
    known.verdict_rank = _rank(times.ended_at, status.encode()[:1], block)


def _tell_answer(
    known: facts.Facts,
    record: wire.Operation,
    status: str,
    times: Times,
    key: bytes,
    keep: Keep,
    is_inferred: bool,
) -> None:
    known.answer_status = status
    apart = record.answer if record.answer is not None else _NO_ANSWER
    answer_told = record.status not in _VERDICTS
    code, words = _code(apart.code or (record.code if answer_told else None))
    if status == "done":
        outcome = apart.outcome or (record.outcome if answer_told else None)
        if outcome is None:
            is_inferred = True
        known.answer_outcome = outcome or "success"
    known.answer_code = code
    known.answer_ended_at = times.ended_at if answer_told else None
    known.answered_at = times.answered_at if times.answered_at is not None else known.answer_ended_at
    known.verified = record.verified
    if answer_told:
        known.answer_category, known.answer_flags = _error(record.error)
        known.error_excerpt = _error_excerpt(record, words, keep)
    elif words is not None:
        known.error_excerpt = keep("error", _encode({"code": words}), False)
    _tell_contract(known, record, status)
    _tell_output(known, record, apart, key, keep)
    block = structs.astuple(known)[_ANSWER_BLOCK]
    known.answer_rank = _rank(known.answered_at, b"\1" if is_inferred else b"\0", block, flag_first=True)
    if not is_inferred:
        known.ending_least = known.ending_greatest = _ending(status, known.answer_outcome, known.answer_code)
        if known.output_digest is not None:
            known.output_least = known.output_greatest = _signed(known.output_digest)


#: The answer's columns after its rank; `answered_at` stands in the rank itself.
_ANSWER_BLOCK = slice(facts.NAMES.index("answer_rank") + 1, facts.NAMES.index("verified") + 1)


def _tell_contract(known: facts.Facts, record: wire.Operation, status: str) -> None:
    if record.contract is not None:
        known.answer_contract_kind = record.contract.kind
        if record.contract.issues:
            issues = [
                {"path": redaction.redact_label(issue.path), "keyword": redaction.redact_label(issue.keyword)}
                for issue in record.contract.issues
            ]
            known.contract_issues = _encode(issues).decode()
    elif status == "contract_error" and known.answer_code in _CONTRACT_KINDS:
        known.answer_contract_kind = known.answer_code
    if status == "contract_error" and known.answer_code is None:
        known.answer_code = known.answer_contract_kind
    if record.conflict is not None:
        known.conflict_resource = _label(record.conflict.resource)
        known.expected_revision = _label(record.conflict.expected_revision)
        known.actual_revision = _label(record.conflict.actual_revision)


def _tell_output(
    known: facts.Facts, record: wire.Operation, apart: wire.Answer, key: bytes, keep: Keep
) -> None:
    if record.output is not None:
        known.output_digest, known.output_bytes, known.output_excerpt = payload(
            record.output, key=key, kind="output", keep=keep
        )
    if apart.digest is not None:
        known.output_digest = keyed_digest(key, apart.digest, "/answer/digest")
    if apart.bytes is not None:
        known.output_bytes = apart.bytes


def payload(
    part: wire.Payload, *, key: bytes, kind: str, keep: Keep
) -> tuple[bytes | None, int | None, int | None]:
    """Return the keyed digest, size and excerpt hash of an input or output; a whole value is then forgotten."""
    digest, size, excerpt = part.digest, part.bytes, None
    if len(part.value):
        raw = bytes(part.value)
        if len(raw) > limits.VALUE_BYTES_MAX:
            raise rejections.TooLong(
                f"/{kind}/value is longer than {limits.VALUE_BYTES_MAX} bytes.", pointer=f"/{kind}/value"
            )
        digest, size = digests.value_digest(raw), len(raw)
        excerpt = keep(kind, raw, False)
    elif len(part.compact):
        if len(part.compact) > limits.COMPACT_BYTES_MAX:
            raise rejections.TooLong(
                f"/{kind}/compact is longer than {limits.COMPACT_BYTES_MAX} bytes.",
                pointer=f"/{kind}/compact",
            )
        excerpt = keep(kind, bytes(part.compact), bool(part.truncated))
    keyed = keyed_digest(key, digest, f"/{kind}/digest") if digest is not None else None
    return keyed, size, excerpt


def keyed_digest(key: bytes, digest: str, pointer: str) -> bytes:
    """Return what is stored of a digest: a hash of it under the project's key. Refuses one without a name or length."""
    if ":" not in digest and len(digest) != _PLAIN_DIGEST_LENGTH:  # the rest the wire's type has checked
        raise rejections.BadDigest(pointer=pointer)
    return digests.keyed(key, digest.lower())


def _code(told: str | None) -> tuple[str | None, str | None]:
    """Return a well-formed code as it is; prose becomes `unlisted`, with its words for the excerpt."""
    if not told:
        return None, None
    # A code is short snake case, yet a token can be too: what redaction would touch is not a code.
    if _CODE.match(told) and redaction.redact_label(told) == told:
        return told, None
    return UNLISTED, told


def _error(error: wire.Error | None) -> tuple[str | None, int | None]:
    """Return the category and the flags of the error contract."""
    if error is None:
        return None, None
    flags = 0
    for value, told, true in (
        (error.retryable, facts.RETRYABLE_TOLD, facts.RETRYABLE),
        (error.safe_for_model, facts.SAFE_TOLD, facts.SAFE),
        (error.told_model, facts.MODEL_TOLD, facts.MODEL),
    ):
        if value is not None:
            flags |= told | (true if value else 0)
    return _label(error.category), flags


def _error_excerpt(record: wire.Operation, words: str | None, keep: Keep) -> int | None:
    """Keep the words of the error: its text, its suggested actions, and a code that was prose."""
    told: dict[str, object] = {}
    if record.error is not None and record.error.text:
        told["text"] = record.error.text
    if record.error is not None and record.error.suggested_actions:
        told["suggested_actions"] = record.error.suggested_actions
    if words is not None:
        told["code"] = words
    return keep("error", _encode(told), False) if told else None


def _label(text: str | None) -> str | None:
    return redaction.redact_label(text) if text else None


def _digest(block: object) -> bytes:
    return hashlib.blake2b(_pack(block), digest_size=16).digest()


def _rank(moment: int | None, flag: bytes, block: object, *, flag_first: bool = False) -> bytes:
    """Return the bytes that order blocks: the flag, the time (none is last) and the digest of the block."""
    at = b"\xff" * 8 if moment is None else struct.pack(">Q", moment + 2**62)
    return (flag + at if flag_first else at + flag) + _digest(block)


@functools.lru_cache(maxsize=4096)
def _ending(status: str, outcome: str | None, code: str | None) -> int:
    return _signed(_digest((status, outcome, code)))


def _signed(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "big", signed=True)
