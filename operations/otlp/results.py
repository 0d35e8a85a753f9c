"""What a returned value says about itself: whether the tool succeeded, and if not, with which code.

Nothing here knows a tool. The keys are those that tools commonly use to say that they failed without
raising; a flag decides before a mere error object, and where nothing is said nothing is concluded.
"""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

FLAGS = ("ok", "success", "succeeded")
NEGATED_FLAGS = ("isError", "is_error")
EXIT_CODES = ("exit_code", "exitCode", "returncode")
CODES = ("code", "error_code", "errorCode", "type", "reason")
TEXTS = ("message", "error_message", "detail", "error", "reason")

#: A result with none of these keys says nothing.
_TELLING = frozenset({*FLAGS, *NEGATED_FLAGS, *EXIT_CODES, "error", "status"})

#: How many envelopes one result may stand in.
ENVELOPES_MAX = 3

#: The code of a process that ended badly.
NONZERO_EXIT = "nonzero_exit"

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_.:/-][A-Za-z0-9]+)*\Z")
_PREFIX = re.compile(r"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+): ")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_IN_CODES = re.compile(r"[^a-z0-9]+")


class Said(NamedTuple):
    """What a result says: did it succeed, its own code for a failure, and its words for it."""

    is_success: bool
    code: str | None = None
    text: str | None = None


def said(result: Any) -> Said | None:
    """Return what `result` says of its own success; None when it says nothing."""
    inner = _unwrap(result)
    if not isinstance(inner, dict) or _TELLING.isdisjoint(inner):
        return None
    return _said_by(inner)


def words(result: Any) -> str | None:
    """Return the text that `result` is, or wraps."""
    inner = _unwrap(result)
    return inner if isinstance(inner, str) else None


def code_in_text(text: str | None) -> str | None:
    """Return the code that stands before a text, as in `NOT_FOUND: no such order`."""
    found = _PREFIX.match(text) if text else None
    return code(found.group(1)) if found else None


@functools.lru_cache(maxsize=4096)
def code(name: str) -> str | None:
    """Return a name or number as a code (`InsufficientFunds` is `insufficient_funds`); prose is none."""
    if name.isascii() and name.isdigit() and len(name) <= 6:
        return f"status_{int(name)}" if int(name) else None
    if len(name) > 64 or not _WORD.match(name):
        return None
    return _NOT_IN_CODES.sub("_", _CAMEL.sub("_", name).lower())[:64].strip("_")


def _unwrap(result: Any) -> Any:
    """Return the value inside the envelopes that protocols put around a result."""
    for _ in range(ENVELOPES_MAX):
        if isinstance(result, list) and len(result) == 1 and isinstance(result[0], dict):
            inner = result[0].get("json", result[0].get("text"))
        elif isinstance(result, dict) and "structuredContent" in result and not result.get("isError"):
            inner = result["structuredContent"]
        else:
            break
        if inner is None:
            break
        result = inner
    return result


def _said_by(result: dict[str, Any]) -> Said | None:
    verdict = _flag(result)
    error = result.get("error")
    has_error = bool(error) and error is not True
    if verdict is True:
        return Said(True)
    if verdict is None and not has_error and not _is_status_of_failure(result):
        exit_code = next((result[name] for name in EXIT_CODES if isinstance(result.get(name), int)), None)
        if exit_code is None or isinstance(exit_code, bool):
            return None
        return Said(False, NONZERO_EXIT) if exit_code else Said(True)
    return Said(False, _code_of(result), _text_of(result))


def _flag(result: dict[str, Any]) -> bool | None:
    for name in FLAGS:
        told = _boolean(result.get(name))
        if told is not None:
            return told
    for name in NEGATED_FLAGS:
        told = _boolean(result.get(name))
        if told is not None:
            return not told
    return None


def _boolean(told: Any) -> bool | None:
    if isinstance(told, bool):
        return told
    return {"true": True, "false": False}.get(told.lower()) if isinstance(told, str) else None


def _is_status_of_failure(result: dict[str, Any]) -> bool:
    """Tell whether `status` says that this result is a failure: a word about a job looked up is not that."""
    status = result.get("status")
    return isinstance(status, str) and (
        status.lower() == "error"
        or (status.lower() in {"failed", "failure"} and any(result.get(name) for name in TEXTS))
    )


def _code_of(result: dict[str, Any]) -> str | None:
    error = result.get("error")
    places = [error] if isinstance(error, dict) else []
    for place in (*places, result):
        for name in CODES:
            found = _as_code(place.get(name))
            if found is not None:
                return found
    return _as_code(error) or code_in_text(_text_of(result))


def _as_code(told: Any) -> str | None:
    return code(str(told)) if isinstance(told, (str, int)) and not isinstance(told, bool) else None


def _text_of(result: dict[str, Any]) -> str | None:
    error = result.get("error")
    places = [error] if isinstance(error, dict) else []
    for place in (*places, result):
        for name in TEXTS:
            if isinstance(place.get(name), str):
                return str(place[name])
    return words(result.get("content"))
