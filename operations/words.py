"""Words from the outside on their way into an excerpt: redacted, then bounded, then addressed by their content."""

from __future__ import annotations

import datetime

import msgspec

from operations import blocks, compact, digests, limits, redaction

#: The kinds of excerpt that `records.are_clean` looks at.
SEARCHED = frozenset({"input", "output"})

_NONE = msgspec.Raw()
_encode = msgspec.json.Encoder().encode


class Excerpt(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Words from the outside, redacted and bounded; `content` and `remarks` are JSON."""

    kind: str
    hash: int
    content: msgspec.Raw
    remarks: msgspec.Raw = _NONE
    is_truncated: bool = False


def keeper(key: bytes, excerpts: list[Excerpt], *, is_clean: bool) -> blocks.Keep:
    """Return the function that redacts and bounds words, keeps them once in `excerpts`, and returns their hash.

    `key` is the one of the project's digests. With `is_clean`, input and output were searched already.
    """

    def keep(kind: str, raw: bytes, is_truncated: bool) -> int:
        clean, remarks = (raw, ()) if is_clean and kind in SEARCHED else redaction.redact_json(raw)
        content, was_cut = compact.compact_value(clean, limits.COMPACT_BYTES_MAX)
        found = digests.short(key, content, kind.encode())
        noted = msgspec.Raw(_encode(remarks)) if remarks else _NONE
        # The same words twice, as of a verdict and an answer, are kept once, whatever was taken out of them.
        if not any(one.hash == found for one in excerpts):
            excerpts.append(Excerpt(kind, found, msgspec.Raw(content), noted, is_truncated or was_cut))
        return found

    return keep


def gone_on(now: datetime.datetime, excerpt_days: int) -> datetime.date:
    """Return the day by which an excerpt received `now` must be gone."""
    return now.date() + datetime.timedelta(days=excerpt_days)
