from __future__ import annotations

import pytest

from operations import keys
from tests import make

pytestmark = pytest.mark.django_db


def test_a_key_is_told_its_project_scopes_and_limits():
    issued = make.key(scopes=["read", "ingest"], tool_prefix="refund_")
    response = make.browser().get("/v1/whoami", headers=make.bearer(issued))

    assert response.status_code == 200
    assert response.json() == {
        "project": "acme",
        "key": issued.key.keyid,
        "scopes": ["ingest", "read"],
        "bound": {"environment": None, "runtime": None, "tool_prefix": "refund_"},
        "limits": {
            "request_bytes": 5 * 1024 * 1024,
            "records": 10_000,
            "record_bytes": 1024 * 1024,
            "value_bytes": 256 * 1024,
            "compact_bytes": 4096,
            "error_text_characters": 16 * 1024,
            "depth": 64,
            "seconds_ahead": 86_400,
            "days_back": 90,
        },
    }


def test_a_signed_in_browser_without_a_key_is_nobody():
    response = make.browser(make.alice()).get("/v1/whoami")

    assert (response.status_code, response["Content-Type"]) == (401, "application/problem+json")
    assert response.json()["reason"] == "missing_credential"
    assert "Set-Cookie" not in response


def test_a_revoked_key_is_named_as_such():
    issued = make.key()
    keys.revoke(issued.key)
    response = make.browser().get("/v1/whoami", headers=make.bearer(issued))

    assert (response.status_code, response.json()["reason"]) == (401, "key_revoked")


def test_only_get_is_answered():
    assert make.browser().post("/v1/whoami").status_code == 405
