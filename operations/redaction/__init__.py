"""The one place where secrets and personal data leave a value, before anything is written."""

from __future__ import annotations

from operations.redaction.engine import (
    RULES_VERSION,
    Remark,
    redact_json,
    redact_label,
    redact_text,
)

__all__ = ["RULES_VERSION", "Remark", "redact_json", "redact_label", "redact_text"]
