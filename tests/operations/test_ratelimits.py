"""How fast one key and one project may go, with Redis and without."""

from __future__ import annotations

import dataclasses
import itertools
import socket
import threading
import time

import pytest
import redis

from operations import access, ratelimits, rejections

NUMBERS = itertools.count(1_000_000)

CREDENTIAL = access.Credential(
    project_id=0,
    project_slug="acme",
    key_id=1,
    keyid="aaaaaaaaaaaa",
    scopes=frozenset({"ingest"}),
    environment=None,
    runtime=None,
    tool_prefix=None,
    digest_key=b"",
    retention_days=90,
    excerpt_days=14,
)


@pytest.fixture(autouse=True)
def limits(settings, running_servers):
    """Ten tokens a key and fifteen a project, and a drip so slow that no test sees it."""
    settings.RATES = {"ingest": (0.01, 0.015), "read": (0.01, 0.015)}
    settings.RATE_BURST_SECONDS = 1000
    settings.REQUESTS_AT_ONCE = 2
    ratelimits.forget()
    ratelimits._script.cache_clear()
    yield
    ratelimits.forget()
    ratelimits._script.cache_clear()


@pytest.fixture
def acme():
    """A key of a project that no other test uses."""
    return dataclasses.replace(CREDENTIAL, project_id=next(NUMBERS))


@pytest.fixture(params=["redis", "alone"])
def buckets(request, settings):
    """Where the buckets are: in Redis, or in this process because Redis is away."""
    if request.param == "alone":
        settings.REDIS_URL = "unix:///nowhere/redis.sock"
    return request.param


def admitted(credential, most=100):
    """Ask until refused; returns how often it was let in, and the refusal."""
    for count in range(most):
        try:
            ratelimits.admit(credential, "ingest")
        except rejections.TooManyRequests as refused:
            return count, refused
    return most, None


def test_a_key_is_let_in_until_its_bucket_is_empty_and_told_when_to_come_back(buckets, acme):
    count, refused = admitted(acme)

    assert count == 10
    assert 90 <= refused.retry_after_s <= 100
    assert refused.quota.startswith('"key";r=0;t=1000, "project";r=5;t=')


def test_two_keys_of_a_project_share_its_bucket(buckets, acme):
    second = dataclasses.replace(acme, keyid="bbbbbbbbbbbb")

    assert [admitted(acme)[0], admitted(second)[0]] == [10, 5]


def test_another_project_does_not_notice(buckets, acme):
    other = dataclasses.replace(acme, project_id=next(NUMBERS))
    admitted(acme)

    assert admitted(other)[0] == 10


def test_reading_and_sending_are_counted_apart(buckets, acme):
    admitted(acme)

    assert ratelimits.admit(acme, "read").startswith('"key";r=9')


def test_what_a_batch_cost_is_charged_into_debt_and_no_deeper_than_one_burst(buckets, acme):
    ratelimits.admit(acme, "ingest")
    ratelimits.charge(acme, "ingest", 10_000)

    _, refused = admitted(acme)

    assert 1090 <= refused.retry_after_s <= 1100


def test_the_quota_tells_what_is_left(buckets, acme):
    assert ratelimits.admit(acme, "ingest") == '"key";r=9;t=100, "project";r=14;t=67'


def test_a_bucket_fills_again(buckets, acme, settings):
    settings.RATES = {"ingest": (1_000_000, 1_000_000)}
    settings.RATE_BURST_SECONDS = 1
    ratelimits.charge(acme, "ingest", 1_000_000)
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            ratelimits.admit(acme, "ingest")
        except rejections.TooManyRequests:
            continue
        break

    assert time.monotonic() < until


def test_buckets_that_are_full_again_leave_redis(acme, settings):
    ratelimits.admit(acme, "ingest")
    client = redis.Redis.from_url(settings.REDIS_URL)

    lives = [client.pttl(key) for key in client.keys(f"limit:{{{acme.project_id}}}:*")]

    assert len(lives) == 2
    assert all(0 < life <= 102_000 for life in lives)
    client.close()


@pytest.fixture
def trips(monkeypatch):
    """One entry for each time that Redis was asked."""
    asked = []
    really = ratelimits._take_from_redis
    monkeypatch.setattr(ratelimits, "_take_from_redis", lambda *a, **k: (asked.append(1), really(*a, **k))[1])
    return asked


def test_a_redis_that_is_away_is_left_alone_for_a_while(acme, settings, trips):
    settings.REDIS_URL = "unix:///nowhere/redis.sock"

    for _ in range(5):
        ratelimits.admit(acme, "ingest")

    assert len(trips) == 1


def test_a_process_spends_a_small_share_before_it_goes_to_redis_again(acme, settings, trips, monkeypatch):
    settings.RATES = {"ingest": (10, 10)}
    monkeypatch.setattr(ratelimits, "SHARE_S", 60)

    for _ in range(44):
        ratelimits.admit(acme, "ingest")

    assert len(trips) == 4


def test_a_share_is_charged_when_it_is_taken_and_never_kept_beyond_its_time(
    acme, settings, trips, monkeypatch
):
    settings.RATES = {"ingest": (0.1, 0.1)}
    settings.RATE_BURST_SECONDS = 20_000
    monkeypatch.setattr(ratelimits, "SHARE_S", 0)
    ratelimits.charge(acme, "ingest", 1990)

    count, _ = admitted(acme)

    # Ten are left: three requests with a share of two each, then one alone. What has no share is asked for twice.
    assert (count, len(trips)) == (4, 1 + 3 + 2 + 2)


def test_a_redis_that_hangs_costs_one_request_a_tenth_of_a_second(acme, settings, tmp_path):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "silent.sock"))
        silent.listen()
        settings.REDIS_URL = f"unix://{tmp_path / 'silent.sock'}"
        began = time.monotonic()
        for _ in range(5):
            ratelimits.admit(acme, "ingest")

    assert time.monotonic() - began < 1


def test_local_buckets_do_not_pile_up(acme, settings, monkeypatch):
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    monkeypatch.setattr(ratelimits, "LOCAL_BUCKETS_MAX", 10)

    for number in range(50):
        ratelimits.admit(dataclasses.replace(acme, project_id=number), "ingest")

    assert len(ratelimits._local) <= 12


def test_a_project_holds_only_so_many_places_at_a_time(acme):
    other = dataclasses.replace(acme, project_id=next(NUMBERS))

    with ratelimits.at_once(acme), ratelimits.at_once(acme):
        with pytest.raises(rejections.TooManyAtOnce), ratelimits.at_once(acme):
            pass
        with ratelimits.at_once(other):
            pass
    with ratelimits.at_once(acme):
        assert ratelimits._in_work == {acme.project_id: 1}
    assert not ratelimits._in_work


def test_a_place_is_given_back_after_a_fault(acme):
    with pytest.raises(ValueError, match="broke"), ratelimits.at_once(acme):
        raise ValueError("broke")

    assert not ratelimits._in_work


def test_threads_never_take_more_than_the_bucket_holds(buckets, acme):
    let_in = []
    barrier = threading.Barrier(8)

    def hurry():
        barrier.wait()
        let_in.append(admitted(acme)[0])

    threads = [threading.Thread(target=hurry) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(let_in) == 10
