"""Send records in a test, as one request of a project's key, through the whole pipeline but HTTP."""

from __future__ import annotations

import datetime
import json
from typing import Any

from operations import access, decoding, ingest
from operations.models import projects
from tests import make

Record = dict[str, Any]


def send(*records: Record, now: datetime.datetime, to: projects.Project | None = None) -> list[str]:
    """Ingest `records` for Acme, or the project given; returns the result or reason of each."""
    project = to or make.acme()
    entries = decoding.decode(json.dumps(records).encode(), is_ndjson=False)
    receipt = ingest.ingest(credential=credential(project), entries=entries, now=now)
    return [result.reason or result.result for result in receipt.results]


def credential(project: projects.Project) -> access.Credential:
    """What a new ingest key of `project` opens."""
    issued = make.key(project)
    return access.Credential(
        project_id=project.pk,
        project_slug=project.slug,
        key_id=issued.key.pk,
        keyid=issued.key.keyid,
        scopes=frozenset({"ingest"}),
        environment=None,
        runtime=None,
        tool_prefix=None,
        digest_key=bytes(project.digest_key),
        retention_days=project.retention_days,
        excerpt_days=project.excerpt_days,
    )
