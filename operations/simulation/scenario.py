"""What the made-up world says in a stretch of time: sessions, their turns and calls. Pure, and the same for a seed."""

from __future__ import annotations

import heapq
import itertools
import math
import random

from operations import moments
from operations.simulation import calls, catalogue, incidents
from operations.simulation.calls import Place, Said, Session

MINUTE_US = 60 * moments.SECOND_US
#: No session speaks for longer than this after it began.
LONGEST_US = 45 * MINUTE_US
_TURNS_END_US = 25 * MINUTE_US
_SOUGHT = (
    (incidents.BAD_RELEASE, "refund"),
    (incidents.CAPPED_MANIFEST, "where is it"),
    (incidents.SLOW_CARRIER, "ship it"),
    (incidents.STALE_REVISIONS, "change the order"),
)
_CALLS_IN_A_SESSION = 7.7  # as measured; `tests/operations/simulation` holds it to this


class World:
    """The world from one moment on: each call of `until` tells what was sent since the call before."""

    def __init__(self, since_us: int, *, seed: int = 1, hourly: float = 500.0) -> None:
        self._seed, self._hourly = seed, hourly
        self._since_us = since_us
        self._minute = (since_us - LONGEST_US) // MINUTE_US
        self._waiting: list[tuple[int, int, Said]] = []
        self._order = itertools.count()

    def until(self, until_us: int) -> list[Said]:
        """Return every record sent before `until_us` that was not returned yet, in the order of sending."""
        while self._minute * MINUTE_US < until_us:
            for one in _begun_in(self._minute, seed=self._seed, hourly=self._hourly):
                if one.at_us >= self._since_us:
                    heapq.heappush(self._waiting, (one.at_us, next(self._order), one))
            self._minute += 1
        said = []
        while self._waiting and self._waiting[0][0] < until_us:
            said.append(heapq.heappop(self._waiting)[2])
        return said


def between(since_us: int, until_us: int, *, seed: int = 1, hourly: float = 500.0) -> list[Said]:
    """Return every record sent from `since_us` until before `until_us`, in that order.

    `hourly` is how many operations begin in a middling hour; the days have their tides.
    """
    return World(since_us, seed=seed, hourly=hourly).until(until_us)


def _begun_in(minute: int, *, seed: int, hourly: float) -> list[Said]:
    """Return all that the sessions beginning in this minute will ever say."""
    at_us = minute * MINUTE_US
    mean = hourly / 60 / _CALLS_IN_A_SESSION * _tide(at_us)
    if incidents.STALE_REVISIONS.is_on(at_us):
        mean *= 3  # the import wakes everybody
    said: list[Said] = []
    for number in range(_poisson(random.Random(f"{seed}/{minute}"), mean)):
        said += _session(random.Random(f"{seed}/{minute}/{number}"), at_us)
    if incidents.LOOP.is_on(at_us) and not incidents.LOOP.is_on(at_us - MINUTE_US):
        said += _loop(random.Random(f"{seed}/{minute}/loop"), at_us)
    return said


def _session(dice: random.Random, minute_us: int) -> list[Said]:
    """Return one whole session that begins in this minute."""
    began_us = minute_us + dice.randrange(MINUTE_US)
    session = _open(dice)
    said: list[Said] = []
    at_us = began_us
    for turn in range(1, dice.choice((2, 2, 3, 3, 4, 5))):
        if at_us - began_us > _TURNS_END_US:
            break
        ask = _ask(session, at_us)
        at_us = _turn(session, turn, ask, at_us, said)
        at_us += int(dice.uniform(15, 120) * moments.SECOND_US)
    return said


def _open(dice: random.Random) -> Session:
    runtime = dice.choices(catalogue.RUNTIMES, [r.share for r in catalogue.RUNTIMES])[0]
    provider, model, _ = dice.choices(runtime.models, [share for *_, share in runtime.models])[0]
    instance = dice.choice(runtime.instances) if runtime.instances else None
    name = f"ses-{dice.randrange(16**10):010x}"
    return Session(dice, name, runtime, provider, model, dice.randrange(8000), instance)


def _turn(session: Session, turn: int, ask: catalogue.Ask, at_us: int, said: list[Said]) -> int:
    """Add the calls of one turn; returns when it was over."""
    iteration = 0
    for wanted in ask.calls:
        iteration += 1
        at_us = _think(session, at_us)
        names = [_as_the_model_says(session, name) for name in wanted]
        made = [_call(session, Place(turn, iteration, n), name, at_us, said) for n, name in enumerate(names)]
        at_us = max(one.ended_us for one in made)
        wrong = [n for n, one in enumerate(made) if one.how not in {"success", "silence"}]
        if wrong:
            at_us, iteration, goes_on = _recover(
                session, Place(turn, iteration), wanted[wrong[0]], at_us, said
            )
            if not goes_on:
                return at_us
    return at_us


def _recover(
    session: Session, place: Place, name: str, at_us: int, said: list[Said]
) -> tuple[int, int, bool]:
    """Add what the model tries after a call went wrong; returns when, how far it came, and whether it goes on."""
    dice = session.dice
    if dice.random() < 0.2:
        return at_us, place.iteration, False
    iteration = place.iteration + 1
    at_us = _think(session, at_us)
    if name == "order_update" and dice.random() < 0.8:
        # The revision moved: read again, then write again.
        read = _call(session, Place(place.turn, iteration), "order_get", at_us, said)
        at_us, iteration = _think(session, read.ended_us), iteration + 1
    elif name == "shipment_track":
        name = "order_get"
    again = _call(session, Place(place.turn, iteration), name, at_us, said)
    return again.ended_us, iteration, again.how == "success"


def _call(session: Session, place: Place, name: str, at_us: int, said: list[Said]) -> calls.Made:
    """Add one call, and the runtime's own second attempt after most exceptions."""
    made = calls.make(session, place, name, at_us)
    said += made.said
    if made.how == "exception" and session.dice.random() < 0.6:
        made = calls.make(session, place, name, made.ended_us + 500_000, attempt=2)
        said += made.said
    return made


def _ask(session: Session, at_us: int) -> catalogue.Ask:
    """Return what the person asks for; while something goes wrong, more often what it is about."""
    for incident, name in _SOUGHT:
        if incident.is_on(at_us) and name in session.runtime.asks and session.dice.random() < 0.5:
            return catalogue.ASKS[name]
    return catalogue.ASKS[session.dice.choice(session.runtime.asks)]


def _as_the_model_says(session: Session, name: str) -> str:
    """Return the name as the model said it: now and then one that does not exist."""
    if session.dice.random() < 0.004:
        return session.dice.choice(list(catalogue.INVENTED))
    return name


def _loop(dice: random.Random, minute_us: int) -> list[Said]:
    """Return the session that asks the same again and again, and is told the same."""
    session = Session(
        dice, f"ses-{dice.randrange(16**10):010x}", catalogue.RUNTIMES[2], *_LOOPING, 17, "kiosk-lobby-1"
    )
    said: list[Said] = []
    at_us = minute_us
    for iteration in range(1, 61):
        # The same dice each time give the same arguments and the same answer.
        alike = session._replace(dice=random.Random(f"{session.name}/alike"))
        made = calls.make(alike, Place(1, iteration), "docs_search", at_us)
        said += made.said
        at_us = made.ended_us + int(dice.uniform(6, 12) * moments.SECOND_US)
    return said


_LOOPING = ("local", "qwen3-32b")


def _think(session: Session, at_us: int) -> int:
    """Return when the model has thought."""
    return at_us + int(session.dice.uniform(0.7, 4.5) * moments.SECOND_US)


def _tide(at_us: int) -> float:
    """Return how busy the world is at this hour, 1 in the mean: most in the afternoon, least at night."""
    hour = at_us % moments.DAY_US / (60 * MINUTE_US)
    return 1 + 0.65 * math.cos((hour - 14) / 24 * 2 * math.pi)


def _poisson(dice: random.Random, mean: float) -> int:
    """Return a random number of this mean."""
    limit, product, number = math.exp(-mean), dice.random(), 0
    while product > limit:
        product *= dice.random()
        number += 1
    return number
