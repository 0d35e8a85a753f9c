"""The answers are exact, before and after the compaction, and say what they are over."""

from __future__ import annotations

import datetime
import itertools

import pytest

from analytics import buckets, compaction, facets, queries, ranges
from operations import display, grammar
from tests import make, traffic

pytestmark = pytest.mark.django_db(transaction=True)

NOW = traffic.NOON_US
HOUR = buckets.HOUR


def span(hours: float = 24, until: int = NOW) -> ranges.Span:
    return ranges.span(until - int(hours * HOUR), until, now_us=NOW)


def some_traffic() -> None:
    """Ten calls of yesterday, and ten of today with a failure, an exception, a phantom failure and more."""
    traffic.send(*(traffic.call(f"before-{n}", -1500 - n) for n in range(10)))
    traffic.send(
        *(traffic.call(f"fine-{n}", -60 - n) for n in range(4)),
        traffic.call("failed", -50, outcome="failure", code="quota", tool="search"),
        traffic.call("broken", -40, status="runtime_error", code="io", effect="write"),
        traffic.call("phantom", -30, status="timed_out", effect="write", answered_at=traffic.at(-20)),
        traffic.call("stale", -20, outcome="failure", code="stale_revision", effect="write"),
        traffic.call(
            "unknown", -10, status="contract_error", contract={"kind": "unknown_tool"}, tool="serch"
        ),
        traffic.call("going", -1, status="running", ended_at=None, environment="staging"),
    )


@pytest.fixture(params=["fresh", "folded", "half folded"])
def folded(request: pytest.FixtureRequest) -> None:
    """The same traffic, with the tally as written, folded, or both."""
    if request.param == "half folded":
        traffic.send(*(traffic.call(f"before-{n}", -1500 - n) for n in range(10)))
        traffic.send(traffic.call("fine-0", -60), traffic.call("phantom", -30, effect="write"))
        compaction.fold(now=traffic.NOON)
    some_traffic()
    if request.param == "folded":
        compaction.fold(now=traffic.NOON)


def read(span: ranges.Span, text: str = "") -> tuple[queries.Line, queries.Compared]:
    stretch = buckets.Range(span.from_us, span.to_us)
    bins = buckets.bins(stretch, most=24, finest_us=HOUR)
    return queries.compare(
        project_id=make.acme().pk, query=grammar.parse(text), span=span, before=span.before(), bins=bins
    )


def compared(span: ranges.Span, text: str = "") -> queries.Compared:
    return read(span, text)[1]


def overview(text: str = "") -> queries.Overview:
    return queries.overview(*read(span(), text))


@pytest.mark.usefixtures("folded")
def test_every_signal_is_counted_over_its_own_base_with_the_span_before() -> None:
    found = overview()

    assert (found.operations, found.operations_before) == (10, 10)
    assert (found.failing, found.failing_before) == (display.share(5, 9), display.share(0, 10))
    shares = {name: (rate.now.part, rate.now.whole) for name, rate in found.rates.items() if rate.now.part}
    assert shares == {
        "phantom_failure": (1, 8),
        "runtime_error": (1, 8),
        "timed_out": (1, 8),
        "structured_failure": (2, 6),
        "contract_error": (1, 9),
        "unknown_tool": (1, 9),
        "late_answer": (1, 8),
        "stale_revision": (1, 3),
    }
    assert sum(found.line) == 10


@pytest.mark.usefixtures("folded")
def test_the_timeline_adds_up_to_the_calls_in_the_range() -> None:
    now = span()
    bins = buckets.bins(buckets.Range(now.from_us, now.to_us))

    found = queries.endings(project_id=make.acme().pk, query=grammar.parse(""), span=now, bins=bins)

    assert {name: sum(counts) for name, counts in found.items()} == {
        "success": 4,
        "failed": 2,
        "exception": 1,
        "timed_out": 1,
        "never_ran": 1,
        "running": 1,
    }
    assert found["exception"][bins.index(NOW - 40 * buckets.MINUTE) or 0] == 1


@pytest.mark.usefixtures("folded")
@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", 10),
        ("env:staging", 1),
        ("-env:staging", 9),
        ("tool:(search OR serch)", 2),
        ("signal:phantom_failure", 1),
        ("outcome:failure effect:write", 1),
        ("kind:unknown_tool", 1),
    ],
)
def test_a_filter_counts_what_it_lists(text: str, number: int) -> None:
    assert overview(text).operations == number


@pytest.mark.usefixtures("folded")
def test_tools_come_with_their_failures_now_and_before() -> None:
    found = queries.tools(compared(span()))

    assert [
        (tool.tool, tool.failing.sample, tool.failing_before.sample, tool.worst_code) for tool in found
    ] == [
        ("refund", "3 of 7", "0 of 10", "io"),
        ("search", "1 of 1", "0 of 0", "quota"),
    ]


@pytest.mark.usefixtures("folded")
def test_a_facet_shows_what_else_its_own_field_could_be() -> None:
    found = facets.count(project_id=make.acme().pk, query=grammar.parse("tool:search"), span=span())

    assert found["tool"].counts == [("refund", 8), ("search", 1), ("serch", 1)]
    assert found["code"].counts == [("quota", 1)]
    assert found["ending"].counts == [("failed", 1)]
    assert found["signal"].counts == [("structured_failure", 1)]
    assert found["model"].counts == [("", 1)]


@pytest.mark.usefixtures("folded")
def test_percentiles_lie_within_a_tenth_of_the_true_value() -> None:
    found = queries.percentiles(project_id=make.acme().pk, query=grammar.parse("tool:refund"), span=span())

    assert found is not None
    assert found.operations == 7
    assert found.p50 == pytest.approx(1_000_000, rel=0.1)
    assert found.p99 == pytest.approx(1_000_000, rel=0.1)


def test_another_projects_calls_are_never_counted() -> None:
    some_traffic()
    traffic.send(traffic.call("theirs", -5), to=make.globex())
    compaction.fold(now=traffic.NOON)

    assert overview().operations == 10


@pytest.mark.parametrize(("days", "step"), [(1, buckets.MINUTE), (5, buckets.HOUR), (120, buckets.DAY)])
def test_an_old_range_is_widened_to_what_is_still_kept(days: int, step: int) -> None:
    found = ranges.span(NOW - days * 24 * HOUR + 1, NOW - 1, now_us=NOW)

    assert found.finest_us == step
    assert found.from_us % step == 0
    assert found.from_us <= NOW - days * 24 * HOUR + 1
    assert found.to_us == NOW


@pytest.mark.parametrize("hours", [0.5, 3, 24, 47, 48, 100, 24 * 89, 24 * 91, 24 * 200])
@pytest.mark.parametrize("shift", [0, 1, 17 * buckets.MINUTE + 3, 25 * HOUR])
def test_the_pieces_of_a_span_cover_it_without_gap_or_overlap(hours: float, shift: int) -> None:
    until = NOW - shift
    found = ranges.span(until - int(hours * HOUR), until, now_us=NOW)

    for step in (0, buckets.MINUTE, HOUR):
        pieces = found.pieces(step_us=step)
        assert pieces[0].from_us == found.from_us
        assert pieces[-1].to_us == found.to_us
        assert all(one.to_us == other.from_us for one, other in itertools.pairwise(pieces))


def test_the_same_question_is_answered_the_same_while_the_tally_ages() -> None:
    some_traffic()
    week = ranges.span(NOW - 7 * 24 * HOUR, NOW, now_us=NOW)
    before = queries.tools(compared(week))

    compaction.fold(now=traffic.NOON + datetime.timedelta(days=3))

    after = queries.tools(compared(week))
    assert after == before
