"""How a made-up call ends: well, or in one of the ways that calls do not."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any, Literal, NamedTuple

from operations import moments
from operations.simulation import catalogue, incidents, payloads

How = Literal["success", "failure", "exception", "never_ran", "denied", "timed_out", "cancelled", "silence"]

TIMEOUT_MS = 10_000
_UPSTREAM = (
    ("upstream_unavailable", "The service answered 503 three times in a row."),
    ("connection_reset", "Connection reset by peer while reading the answer."),
    ("internal_error", "KeyError: 'revision' in handlers/orders.py, line 88"),
)
_ADVICE = {
    "currency_unsupported": ["refund in the currency of the order", "hand over to a person"],
    "stale_revision": ["read the order again", "apply the change to the new revision"],
    "not_found": ["check the number", "search by e-mail"],
    "out_of_stock": ["offer another site"],
}


class Ending(NamedTuple):
    """How a call ended, how long it took, and what is told of it beyond the times."""

    how: How
    took_ms: float
    told: dict[str, Any]
    late_ms: float | None = None  # an answer after a timeout, by so much later


def choose(
    dice: random.Random,
    tool: catalogue.Tool,
    runtime: catalogue.Runtime,
    *,
    model: str,
    at_us: int,
    case: int,
) -> Ending:
    """Return how a call of `tool` at this moment ends."""
    took_ms = round(tool.median_ms * dice.lognormvariate(0, 0.45), 1)
    scripted = _scripted(dice, tool, runtime, at_us, took_ms, case)
    if scripted is not None:
        return scripted
    if dice.random() < catalogue.BAD_ARGUMENTS[model]:
        return _bad_arguments(dice, tool)
    luck = dice.random()
    if tool.effect == "consequential" and luck < 0.006:
        return _told(
            "denied", 12, status="denied", code="policy_denied", error=_error("policy", "Not for this role.")
        )
    if luck < 0.010:
        return _exception(dice, took_ms)
    if luck < 0.0125:
        return _told("cancelled", took_ms / 2, status="cancelled")
    if luck < 0.0155:
        return Ending("timed_out", TIMEOUT_MS, {"status": "timed_out"}, late_ms=dice.choice((None, 800.0)))
    if luck < 0.0170:
        return _told("silence", 0)
    for code, share in tool.failures:
        if dice.random() < share:
            return _failure(dice, code, took_ms, case)
    return _success(dice, tool, took_ms, case)


def _scripted(
    dice: random.Random,
    tool: catalogue.Tool,
    runtime: catalogue.Runtime,
    at_us: int,
    took_ms: float,
    case: int,
) -> Ending | None:
    """Return what an incident makes of the call, if one does."""
    if runtime.environment != "production":
        return None
    if tool.name == "refund_create" and incidents.BAD_RELEASE.is_on(at_us) and dice.random() < 0.7:
        return _failure(dice, "currency_unsupported", took_ms, case)
    if is_cut(tool.name, runtime, at_us):
        return _told("never_ran", 3, status="contract_error", contract={"kind": "unknown_tool"})
    if tool.name == "shipment_create" and incidents.SLOW_CARRIER.is_on(at_us) and dice.random() < 0.5:
        late_ms = dice.uniform(1_500, 90_000) if dice.random() < 0.8 else None
        return Ending("timed_out", TIMEOUT_MS, {"status": "timed_out"}, late_ms)
    if tool.name == "order_update" and incidents.STALE_REVISIONS.is_on(at_us) and dice.random() < 0.8:
        return _failure(dice, "stale_revision", took_ms, case)
    if tool.source == "billing" and incidents.OUTAGE.is_on(at_us) and dice.random() < 0.6:
        return _exception(dice, 3 * took_ms, _UPSTREAM[0])
    return None


def is_cut(tool: str, runtime: catalogue.Runtime, at_us: int) -> bool:
    """Tell whether the tool is missing from the runtime's manifest at this moment."""
    is_concerned = tool == "shipment_track" and runtime.name.startswith("support-agent")
    return is_concerned and incidents.CAPPED_MANIFEST.is_on(at_us)


def unknown(name: str) -> Ending:
    """Return the ending of a call of a tool that does not exist."""
    return _told(
        "never_ran",
        2,
        status="contract_error",
        contract={"kind": "unknown_tool"},
        error=_error("contract", f"There is no tool {name}.", retryable=False),
    )


def _success(dice: random.Random, tool: catalogue.Tool, took_ms: float, case: int) -> Ending:
    told: dict[str, Any] = {
        "status": "done",
        "outcome": "success",
        "output": {"value": payloads.result(dice, tool, case)},
    }
    if tool.effect == "write" and dice.random() < 0.5:
        told["verified"] = dice.random() > 0.03
    if tool.source == "warehouse":
        queued_ms = round(took_ms * dice.uniform(0.05, 0.3), 1)
        told["legs"] = [
            {"name": "queue", "ms": queued_ms},
            {"name": "wms", "ms": round(took_ms - queued_ms, 1)},
        ]
    return Ending("success", took_ms, told)


def _failure(dice: random.Random, code: str, took_ms: float, case: int) -> Ending:
    told: dict[str, Any] = {
        "status": "done",
        "outcome": "failure",
        "code": code,
        "error": _error("business", f"{code.replace('_', ' ').capitalize()}.", actions=_ADVICE.get(code)),
        "output": {"value": {"ok": False, "code": code}},
    }
    if code == "stale_revision":
        known = case % 40 + 2
        told["conflict"] = {
            "resource": payloads.order(case),
            "expected_revision": f"r{known}",
            "actual_revision": f"r{known + dice.randint(1, 3)}",
        }
    return Ending("failure", took_ms, told)


def _exception(dice: random.Random, took_ms: float, what: tuple[str, str] | None = None) -> Ending:
    code, words = what or dice.choice(_UPSTREAM)
    if dice.random() < 0.1:
        words += " Sent with Authorization: Bearer " + payloads.secret(dice)
    error = _error("upstream", words, retryable=True)
    # Some of these texts are not fit for a model, and now and then one reaches it.
    error |= {"safe_for_model": code != "internal_error", "told_model": dice.random() < 0.5}
    return _told("exception", took_ms, status="runtime_error", code=code, error=error)


def _bad_arguments(dice: random.Random, tool: catalogue.Tool) -> Ending:
    path, keyword = dice.choice((("/" + tool.argument, "pattern"), ("/amount", "type"), ("", "required")))
    return _told(
        "never_ran",
        2,
        status="contract_error",
        contract={"kind": "invalid_arguments", "issues": [{"path": path, "keyword": keyword}]},
        error=_error("contract", f"The arguments of {tool.name} do not fit its schema.", retryable=True),
    )


def _error(
    category: str, text: str, *, retryable: bool = False, actions: list[str] | None = None
) -> dict[str, Any]:
    error = {"category": category, "retryable": retryable, "text": text}
    error |= {"safe_for_model": True, "told_model": True}
    return {**error, "suggested_actions": actions} if actions else error


def _told(how: How, took_ms: float, **told: Any) -> Ending:
    return Ending(how, took_ms, told)


def late_answer(dice: random.Random, tool: catalogue.Tool, case: int) -> dict[str, Any]:
    """Return what comes back after the caller was told that it took too long."""
    content = json.dumps(payloads.result(dice, tool, case)).encode()
    digest = "sha256:" + hashlib.sha256(content).hexdigest()
    return {"answer": {"outcome": "success", "bytes": len(content), "digest": digest}}


def moment(at_us: int) -> str:
    """Return a moment as a record tells it."""
    return moments.to_datetime(at_us).isoformat(timespec="microseconds").replace("+00:00", "Z")
