"""Send records in a test and be told what became of each, refusals included."""

from __future__ import annotations

import datetime
import json
from typing import Any

from operations import decoding, ingest
from operations.models import projects
from tests import make, traffic

Record = dict[str, Any]


def send(*records: Record, now: datetime.datetime, to: projects.Project | None = None) -> list[str]:
    """Ingest `records` for Acme, or the project given; returns the result or reason of each."""
    entries = decoding.decode(json.dumps(records).encode(), is_ndjson=False)
    receipt = ingest.ingest(credential=traffic.credential(to or make.acme()), entries=entries, now=now)
    return [result.reason or result.result for result in receipt.results]
