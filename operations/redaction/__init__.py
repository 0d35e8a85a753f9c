"""The one place where secrets and personal data leave a value, before anything is written."""

from __future__ import annotations

from operations.redaction.engine import is_clean, redact_json, redact_label, redact_text
from operations.redaction.rules import VERSION as RULES_VERSION
from operations.redaction.walking import Remark

__all__ = ["RULES_VERSION", "Remark", "is_clean", "redact_json", "redact_label", "redact_text"]
