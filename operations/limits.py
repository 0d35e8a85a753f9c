"""Every limit a sender can meet, in one place; `GET /v1/whoami` tells them."""

from __future__ import annotations

REQUEST_BYTES_MAX = 5 * 1024 * 1024  # of a body, before and after decompression
OTLP_BYTES_MAX = 20 * 1024 * 1024  # the same of an OTLP request, as its specification recommends
RECORDS_MAX = 10_000  # records in one request
RECORD_BYTES_MAX = 1024 * 1024  # one record as sent
VALUE_BYTES_MAX = 256 * 1024  # `input.value`, `output.value`
COMPACT_BYTES_MAX = 4 * 1024  # `compact` as sent, and every excerpt as stored
DEPTH_MAX = 64  # nesting of any JSON that is read
AHEAD_MAX_US = 24 * 3600 * 1_000_000  # how far a told time may lie in the future
CLOCK_TOLERANCE_US = 5 * 60 * 1_000_000  # ahead by less is ordinary skew and not marked
ERROR_TEXT_CHARS_MAX = 16 * 1024  # `error.text` as sent; it is stored compact
