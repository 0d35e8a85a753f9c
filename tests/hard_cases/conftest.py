from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def full_buckets() -> None:
    """No test pays for what another one sent."""
    from operations import ratelimits

    ratelimits.forget()
