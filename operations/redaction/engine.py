"""Redaction: the one place where secrets and personal data leave a value, before anything is written.

The danger is silence: a value that passes although a rule names something in it. So everything here fails closed:
what errs is replaced as a whole. A value is first searched, as it came, for one pattern that contains all rules; most
values end there. The others are walked: names of members, texts, texts inside of texts. What is removed becomes
`[REDACTED:rule]`, and redacting once more changes nothing.
"""

from __future__ import annotations

import functools

from operations import compact
from operations.redaction import rules, walking
from operations.redaction.walking import Remark

_ERROR = "[REDACTED:error]"
_LONGEST_REMEMBERED = 256


def is_clean(joined: bytes) -> bool:
    """Tell whether no rule can change any of the pieces, texts and JSON values, joined by line ends in `joined`.

    One search instead of many: the gates have no anchors, so what they would find in a piece they find in the whole.
    """
    try:
        return not rules.json_gate.search(joined) and _is_utf8(joined)
    except Exception:
        return False


def redact_json(raw: bytes) -> tuple[bytes, tuple[Remark, ...]]:
    """Return one JSON value without what the rules name; the very same object when nothing was found."""
    try:
        if not rules.json_gate.search(raw) and _is_utf8(raw):
            return raw, ()
        walk = walking.Walk()
        return walk.json(raw), walk.remarks()
    except Exception:
        return f'"{_ERROR}"'.encode(), (_error(len(raw)),)


def redact_text(text: str) -> tuple[str, tuple[Remark, ...]]:
    """Return a text without what the rules name; the very same object when nothing was found."""
    try:
        walk = walking.Walk()
        return walk.text(compact.storable_text(text), "", 0), walk.remarks()
    except Exception:
        return _ERROR, (_error(len(text)),)


def redact_label(text: str) -> str:
    """Return a short name, code or id without what the rules name; labels repeat, so answers are remembered."""
    return _remembered(text) if len(text) <= _LONGEST_REMEMBERED else redact_text(text)[0]


@functools.lru_cache(maxsize=16384)
def _remembered(text: str) -> str:
    return redact_text(text)[0]


def _is_utf8(raw: bytes) -> bool:
    # A stray byte would end a match of the gate where the repaired text goes on.
    if raw.isascii():
        return True
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _error(length: int) -> Remark:
    return Remark("", "error", walking.length_class(length))


rules.check_gates()
