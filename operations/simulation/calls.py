"""Turn a made-up call into the records that its runtime sends, and when it sends them."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any, NamedTuple

from operations import digests
from operations.simulation import catalogue, endings, incidents, payloads

_MS = 1000
_TIMEOUTS_MS = {"mail": 30_000, "calendar": 20_000}


class Said(NamedTuple):
    """One record, and the moment at which it is sent."""

    at_us: int
    runtime: catalogue.Runtime
    record: dict[str, Any]


class Session(NamedTuple):
    """Who talks to whom about what."""

    dice: random.Random
    name: str
    runtime: catalogue.Runtime
    provider: str
    model: str
    case: int
    instance: str | None

    @property
    def skew_us(self) -> int:
        """How far the clock of this instance is ahead of the world's."""
        return 95_000_000 if self.instance == "kiosk-clinic" else 0


class Place(NamedTuple):
    """Where in its session a call stands."""

    turn: int
    iteration: int
    number: int = 0


class Made(NamedTuple):
    """A call's records, and what its session goes on with."""

    said: list[Said]
    how: endings.How
    ended_us: int


def make(session: Session, place: Place, name: str, at_us: int, *, attempt: int = 1) -> Made:
    """Return one call of the tool `name` that starts at this moment."""
    dice, runtime = session.dice, session.runtime
    tool = catalogue.TOOLS.get(name)
    if tool is None:
        ending = endings.unknown(name)
        asked: dict[str, Any] = {"id": f"C-{session.case}"}
    else:
        asked = payloads.arguments(dice, tool, session.case)
        ending = endings.choose(dice, tool, runtime, model=session.model, at_us=at_us, case=session.case)
    approved_us = _approval(dice, tool, asked, ending)
    ended_us = at_us + approved_us + int(ending.took_ms * _MS)
    identity = {
        "operation_id": f"{session.name}.{place.turn}.{place.iteration}.{place.number}",
        "attempt": attempt,
    }
    start = {**identity, **_start(session, place, name, tool, at_us, asked)}
    start["status"] = "awaiting_approval" if approved_us else "running"
    said = []
    if ending.how == "silence":
        said.append(Said(_sent(dice, at_us), runtime, start))
    else:
        end = {**ending.told, "ended_at": endings.moment(ended_us + session.skew_us)}
        if approved_us:
            end["approval_id"] = f"apr-{dice.randrange(16**8):08x}"
        said += _phases(session, start, identity, end, at_us, ended_us)
    if ending.late_ms is not None and tool is not None:
        answered_us = ended_us + int(ending.late_ms * _MS)
        late = endings.late_answer(dice, tool, session.case)
        late["answered_at"] = endings.moment(answered_us + session.skew_us)
        said.append(Said(_sent(dice, answered_us), runtime, {**identity, **late}))
    return Made(said, ending.how, ended_us)


def _phases(
    session: Session,
    start: dict[str, Any],
    identity: dict[str, Any],
    end: dict[str, Any],
    at_us: int,
    ended_us: int,
) -> list[Said]:
    """Return the call in one record or two; now and then the second overtakes the first."""
    dice, runtime = session.dice, session.runtime
    if not runtime.is_two_phase:
        return [Said(_sent(dice, ended_us), runtime, {**start, **end})]
    told_us = _sent(dice, ended_us)
    started_us = told_us + 300 * _MS if dice.random() < 0.01 else min(_sent(dice, at_us), told_us)
    return [Said(started_us, runtime, start), Said(told_us, runtime, {**identity, **end})]


def _start(
    session: Session,
    place: Place,
    name: str,
    tool: catalogue.Tool | None,
    at_us: int,
    asked: dict[str, Any],
) -> dict[str, Any]:
    """Return what is known when the call begins."""
    dice, runtime = session.dice, session.runtime
    start: dict[str, Any] = {
        "tool": name,
        "tool_call_id": f"call_{dice.randrange(16**12):012x}",
        "runtime": runtime.name,
        "environment": runtime.environment,
        "mode": runtime.mode,
        "provider": session.provider,
        "model": session.model,
        "session_id": session.name,
        "turn_id": f"{session.name}.{place.turn}",
        "iteration": place.iteration,
        "subject": f"customer {session.case}",
        "started_at": endings.moment(at_us + session.skew_us),
        "trace_id": hashlib.md5(f"{session.name}.{place.turn}".encode(), usedforsecurity=False).hexdigest(),
        "span_id": f"{dice.randrange(16**16):016x}",
        "input": {"value": asked},
        "manifest": _manifest(session, at_us),
        "attributes": {"channel": "kiosk" if session.instance else "chat", "team": "customer care"},
    }
    if tool is not None:
        start |= {"effect": tool.effect, "source": tool.source}
        start["tool_version"] = incidents.version_of(name, tool.version, at_us)
        start["timeout_ms"] = _TIMEOUTS_MS.get(tool.source, endings.TIMEOUT_MS)
        if tool.effect == "consequential":
            start["idempotency_key"] = f"{session.name}.{place.turn}.{name}"
    if session.instance is not None:
        start["instance"] = session.instance
    if session.instance == "kiosk-lobby-2":
        sent = asked
        if dice.random() < 0.04:
            # Its bridge turns straight quotes into curly ones.
            sent = {"said": f"'{asked}'"}
            start["input"]["altered"] = "quotes"
        start["input"]["sent_digest"] = digests.value_digest(json.dumps(sent).encode())
    return start


def _manifest(session: Session, at_us: int) -> dict[str, Any]:
    is_cut = endings.is_cut("shipment_track", session.runtime, at_us)
    content = f"{session.runtime.name}/{'capped' if is_cut else 'whole'}"
    return {"sequence": int(is_cut), "digest": "sha256:" + hashlib.sha256(content.encode()).hexdigest()}


def _approval(
    dice: random.Random, tool: catalogue.Tool | None, asked: dict[str, Any], ending: endings.Ending
) -> int:
    """Return for how long a person had to be asked first, in microseconds; mostly not at all."""
    if tool is None or tool.name != "refund_create" or asked.get("amount", 0) < 140:
        return 0
    return 0 if ending.how in {"never_ran", "denied"} else int(dice.uniform(40, 300) * 1000 * _MS)


def _sent(dice: random.Random, at_us: int) -> int:
    """Return when a runtime sends what it learnt at this moment."""
    return at_us + int(dice.uniform(20, 250) * _MS)
