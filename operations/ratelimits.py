"""How fast one key and one project may go, and how much of the server one project may hold at a time.

Both are token buckets that fill at a steady rate up to a burst. A request needs one token to be let in; what
it then turns out to have cost is charged afterwards, into debt if need be, so that a refusal costs next to
nothing and a batch never has to be refused once it was read. The buckets live in Redis, taken by one script;
when Redis is away each process keeps its own, and asks Redis again a few seconds later.

Going to Redis costs more than all else that a small request needs. So a process takes a small share of the
buckets at a time and spends it on the requests that follow; what it does not spend within a second is lost to
the sender, at most one part in a thousand of the burst.

Rates alone do not keep a noisy project from occupying every thread of the server: `at_once` does.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import math
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, cast

import redis
import structlog
from django.conf import settings
from redis import backoff, retry

from operations import access, rejections

Kind = Literal["ingest", "read"]

#: How long Redis is left alone after it failed to answer. Until then asking costs nothing.
BREAKER_S = 5.0
#: Redis answers within a fraction of a millisecond, or is not worth waiting for.
REDIS_TIMEOUT_S = 0.1
#: How much of a bucket a process takes ahead, and for how long it keeps that.
SHARE_OF_BURST, SHARE_S = 0.001, 1.0
#: More local buckets than this are forgotten together: a full bucket and none at all are the same.
LOCAL_BUCKETS_MAX = 10_000

# One round trip for all buckets, by Redis's clock. With `must` the cost is charged whatever is left, down to
# one burst of debt; otherwise only when every bucket has it. Returns whether it was charged and what is left
# of each.
TAKE_LUA = """
local cost, must = tonumber(ARGV[1]), ARGV[2] == '1'
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local left, allowed = {}, 1
for i, key in ipairs(KEYS) do
    local rate, burst = tonumber(ARGV[1 + 2 * i]), tonumber(ARGV[2 + 2 * i])
    local known = redis.call('HMGET', key, 'left', 'at')
    local since = math.max(0, now - (tonumber(known[2]) or now))
    left[i] = math.min(burst, (tonumber(known[1]) or burst) + since * rate)
    if left[i] < cost and not must then allowed = 0 end
end
for i, key in ipairs(KEYS) do
    local rate, burst = tonumber(ARGV[1 + 2 * i]), tonumber(ARGV[2 + 2 * i])
    if allowed == 1 then left[i] = math.max(-burst, left[i] - cost) end
    redis.call('HSET', key, 'left', string.format('%.4f', left[i]), 'at', string.format('%.6f', now))
    redis.call('PEXPIRE', key, math.ceil((burst - left[i]) / rate * 1000) + 1000)
    left[i] = string.format('%.4f', left[i])
end
return {allowed, unpack(left)}
"""

log = structlog.get_logger("opsconsole.ratelimits")


class Limit(NamedTuple):
    """A bucket: whose it is, how many tokens a second it gains, and how many it holds."""

    name: str
    bucket: str
    per_second: float
    burst: float


class _Share(NamedTuple):
    """Tokens that this process took ahead, and what was left of the buckets then."""

    tokens: int
    until: float
    left: tuple[float, ...]


def admit(credential: access.Credential, kind: Kind) -> str:
    """Let one request in and return the RateLimit header for its answer, or raise `TooManyRequests`."""
    limits = _limits(credential, kind)
    allowed, left = _spend(limits, cost=1, must=False)
    quota = _quota(limits, left)
    if not allowed:
        waits = [(1 - have) / limit.per_second for limit, have in zip(limits, left, strict=True)]
        raise rejections.TooManyRequests(retry_after_s=max(1, math.ceil(max(waits))), quota=quota)
    return quota


def charge(credential: access.Credential, kind: Kind, cost: int) -> None:
    """Charge what an admitted request turned out to cost beyond its first token."""
    if cost > 0:
        _spend(_limits(credential, kind), cost=cost, must=True)


@contextlib.contextmanager
def at_once(credential: access.Credential) -> Iterator[None]:
    """Hold one of the places that a project has in this process, or raise `TooManyAtOnce`."""
    with _lock:
        if _in_work[credential.project_id] >= settings.REQUESTS_AT_ONCE:
            raise rejections.TooManyAtOnce
        _in_work[credential.project_id] += 1
    try:
        yield
    finally:
        with _lock:
            _in_work[credential.project_id] -= 1
            if not _in_work[credential.project_id]:
                del _in_work[credential.project_id]


def forget() -> None:
    """Forget this process's own buckets and give Redis another chance at once."""
    global _redis_away_until
    with _lock:
        _local.clear()
        _shares.clear()
        _redis_away_until = 0.0


_lock = threading.Lock()
_in_work: collections.Counter[int] = collections.Counter()
_local: dict[str, tuple[float, float]] = {}  # bucket -> (left, at)
_shares: dict[str, _Share] = {}
_redis_away_until = 0.0


def _limits(credential: access.Credential, kind: Kind) -> tuple[Limit, Limit]:
    of_key, of_project = settings.RATES[kind]
    # The braces keep both buckets on one node of a cluster.
    place = f"limit:{{{credential.project_id}}}:{kind}"
    burst = settings.RATE_BURST_SECONDS
    return (
        Limit("key", f"{place}:{credential.keyid}", of_key, of_key * burst),
        Limit("project", place, of_project, of_project * burst),
    )


def _quota(limits: Sequence[Limit], left: Sequence[float]) -> str:
    """Return what is left of each bucket, and in how many seconds it is full again."""
    return ", ".join(
        f'"{limit.name}";r={max(0, int(have))};t={math.ceil((limit.burst - have) / limit.per_second)}'
        for limit, have in zip(limits, left, strict=True)
    )


def _spend(limits: Sequence[Limit], *, cost: int, must: bool) -> tuple[bool, Sequence[float]]:
    """Take from this process's share, else from the buckets with a new share on top."""
    now, place = time.monotonic(), limits[0].bucket
    with _lock:
        share = _shares.get(place)
        if share is not None and share.tokens >= cost and now < share.until:
            _shares[place] = share = share._replace(tokens=share.tokens - cost)
            return True, [have + share.tokens for have in share.left]
    ahead = int(min(limit.burst for limit in limits) * SHARE_OF_BURST)
    if ahead and not must:
        allowed, left = _take(limits, cost=cost + ahead, must=False)
        if allowed:
            with _lock:
                if len(_shares) > LOCAL_BUCKETS_MAX:
                    _shares.clear()
                _shares[place] = _Share(ahead, now + SHARE_S, tuple(left))
            return True, [have + ahead for have in left]
    return _take(limits, cost=cost, must=must)


def _take(limits: Sequence[Limit], *, cost: int, must: bool) -> tuple[bool, list[float]]:
    global _redis_away_until
    if time.monotonic() >= _redis_away_until:
        try:
            return _take_from_redis(limits, cost=cost, must=must)
        except (redis.RedisError, OSError) as error:
            _redis_away_until = time.monotonic() + BREAKER_S
            log.warning("redis_unavailable", error=type(error).__name__)
    return _take_locally(limits, cost=cost, must=must)


def _take_from_redis(limits: Sequence[Limit], *, cost: int, must: bool) -> tuple[bool, list[float]]:
    arguments: list[str | int | float] = [cost, int(must)]
    for limit in limits:
        arguments += (limit.per_second, limit.burst)
    found = cast("list[bytes | int]", _script()(keys=[limit.bucket for limit in limits], args=arguments))
    return found[0] == 1, [float(left) for left in found[1:]]


def _take_locally(limits: Sequence[Limit], *, cost: int, must: bool) -> tuple[bool, list[float]]:
    now = time.monotonic()
    with _lock:
        if len(_local) > LOCAL_BUCKETS_MAX:
            _local.clear()
        left = []
        for limit in limits:
            had, at = _local.get(limit.bucket, (limit.burst, now))
            left.append(min(limit.burst, had + (now - at) * limit.per_second))
        allowed = must or all(have >= cost for have in left)
        if allowed:
            left = [max(-limit.burst, have - cost) for limit, have in zip(limits, left, strict=True)]
        for limit, have in zip(limits, left, strict=True):
            _local[limit.bucket] = (have, now)
    return allowed, left


@functools.cache
def _script() -> redis.commands.core.Script:
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=REDIS_TIMEOUT_S,
        socket_connect_timeout=REDIS_TIMEOUT_S,
        retry=retry.Retry(backoff.NoBackoff(), 0),
    )
    return client.register_script(TAKE_LUA)
