"""Walk a value and wipe what the rules name."""

from __future__ import annotations

import functools
from decimal import Decimal

import msgspec
import re2

from operations.redaction import keywords

RULES_VERSION = 1

_decoder = msgspec.json.Decoder(float_hook=Decimal)
_encoder = msgspec.json.Encoder(decimal_format="number")
_options = re2.Options()
_options.max_mem = 256 << 20
_options.log_errors = False
_SHAPES = re2.compile(
    r"\b(?:sk-ant-[\w-]{20,}|sk-[A-Za-z0-9]{32,}|sk-proj-[\w-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|AKIA[A-Z0-9]{16}\b"
    r"|ops_[a-z0-9]{12}_[A-Za-z0-9_-]{20,}|xox[a-z]-[\w-]{10,}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*"
    r"|[sr]k_(?:live|test)_[A-Za-z0-9]{10,})",
    _options,
)


class Remark(msgspec.Struct, frozen=True):
    """One removal: where, by which rule, and how long about the removed text was; never what it was."""

    path: str
    rule: str
    length: int


def redact_json(raw: bytes) -> tuple[bytes, tuple[Remark, ...]]:
    """Return one JSON value without what the rules name; the same object when nothing was found."""
    try:
        remarks: list[Remark] = []
        value = _walk(_decoder.decode(raw), "", remarks)
        return (_encoder.encode(value), tuple(remarks)) if remarks else (raw, ())
    except Exception:
        return b'"[REDACTED:error]"', (Remark("", "error", len(raw)),)


def redact_text(text: str) -> tuple[str, tuple[Remark, ...]]:
    """Return a text without what the rules name."""
    try:
        remarks: list[Remark] = []
        return _text(text, "", remarks), tuple(remarks)
    except Exception:
        return "[REDACTED:error]", (Remark("", "error", len(text)),)


@functools.lru_cache(maxsize=16384)
def redact_label(text: str) -> str:
    """Return a short name or id without what the rules name."""
    return redact_text(text)[0]


def _text(text: str, path: str, remarks: list[Remark]) -> str:
    if not _SHAPES.search(text):
        return text
    remarks.append(Remark(path, "shape", len(text)))
    return str(_SHAPES.sub("[REDACTED:shape]", text))


def _walk(value: object, path: str, remarks: list[Remark]) -> object:
    if isinstance(value, str):
        return _text(value, path, remarks)
    if isinstance(value, list):
        return [_walk(member, f"{path}/{at}", remarks) for at, member in enumerate(value)]
    if isinstance(value, dict):
        return {key: _member(key, member, f"{path}/{key}", remarks) for key, member in value.items()}
    return value


def _member(key: str, value: object, path: str, remarks: list[Remark]) -> object:
    if value and not isinstance(value, bool) and keywords.verdict(key) == "secret" and value != "[REDACTED:key]":
        remarks.append(Remark(path, "key", len(str(value))))
        return "[REDACTED:key]"
    return _walk(value, path, remarks)
