"""Records for tests to send, through the same pipeline as those that come over HTTP."""

from __future__ import annotations

import datetime
import json

from operations import access, decoding, ingest, moments
from operations.models import projects
from tests import make

#: When tests' records happen, unless they say otherwise.
NOON = datetime.datetime(2026, 3, 10, 12, 0, tzinfo=datetime.UTC)
NOON_US = moments.from_datetime(NOON)


def at(minutes: float = 0) -> str:
    """A told time so many minutes after noon."""
    return (NOON + datetime.timedelta(minutes=minutes)).isoformat()


def call(operation_id: str, minutes: float = 0, **told: object) -> dict[str, object]:
    """A record of a call that succeeded after one second, but for what is told otherwise; None leaves out."""
    record: dict[str, object] = {
        "operation_id": operation_id,
        "tool": "refund",
        "environment": "production",
        "started_at": at(minutes),
        "ended_at": at(minutes + 1 / 60),
        "status": "done",
        "outcome": "success",
        **told,
    }
    if record["status"] != "done" and "outcome" not in told:
        record["outcome"] = None
    return {name: value for name, value in record.items() if value is not None}


def send(
    *records: dict[str, object], to: projects.Project | None = None, now: datetime.datetime = NOON
) -> ingest.Receipt:
    """Ingest records as one request of Acme's, or of the project given; none may be refused."""
    entries = decoding.decode(json.dumps(records).encode(), is_ndjson=False)
    receipt = ingest.ingest(credential=credential(to or make.acme()), entries=entries, now=now)
    refused = [result for result in receipt.results if result.result == "rejected"]
    assert not refused, refused
    return receipt


def credential(project: projects.Project) -> access.Credential:
    """What a good ingest key of `project` opens."""
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
