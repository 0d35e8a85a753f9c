from __future__ import annotations

import typing

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from operations import facts, merging, moments, records, wire

NOON_US = moments.parse("2026-11-30T12:00:00Z", pointer="")
SENDER = records.Sender(b"k" * 32)

_seconds = st.integers(0, 3).map(lambda s: f"2026-11-30T11:59:0{s}Z")
_word = st.sampled_from(["a", "b", "ß", "z"])


def _optional(strategy: st.SearchStrategy[typing.Any]) -> st.SearchStrategy[typing.Any]:
    return st.none() | strategy


@st.composite
def told(draw: st.DrawFn) -> facts.Facts:
    """What one record tells of operation `op`, from few values, so that records meet and contradict each other."""
    status = draw(_optional(st.sampled_from(typing.get_args(wire.Status))))
    is_done = status == "done"
    record = wire.Operation(
        operation_id="op",
        tool=draw(_optional(_word)),
        model=draw(_optional(_word)),
        effect=draw(_optional(st.sampled_from(["read", "write"]))),
        iteration=draw(_optional(st.integers(0, 2))),
        started_at=draw(_optional(_seconds)),
        ended_at=draw(_optional(_seconds)),
        answered_at=draw(_optional(_seconds)),
        status=status,
        outcome=draw(_optional(st.sampled_from(["success", "failure"]))) if is_done else None,
        code=draw(_optional(st.sampled_from(["quota", "stale_revision", "Not A Code"]))),
        verified=draw(_optional(st.booleans())),
        timeout_ms=draw(_optional(st.sampled_from([500.0, 2000.0]))),
        error=draw(_optional(st.just(wire.Error(safe_for_model=False, told_model=True, text="words")))),
        conflict=draw(_optional(st.just(wire.Conflict(resource="r", expected_revision="1")))),
        legs=draw(st.sampled_from([(), (wire.Leg(name="a", ms=900.0),)])),
        output=draw(_optional(st.just(wire.Payload(digest="ab" * 32, bytes=3)))),
    )
    inferred = draw(st.frozensets(st.sampled_from(["tool", "model", "started_at", "status"])))
    return records.tell(record, sender=SENDER, now_us=NOON_US, inferred=inferred).facts


@given(told(), told())
def test_the_order_of_two_records_does_not_matter(one: facts.Facts, other: facts.Facts) -> None:
    assert merging.join(one, other) == merging.join(other, one)


@given(told(), told(), told())
def test_the_grouping_of_records_does_not_matter(a: facts.Facts, b: facts.Facts, c: facts.Facts) -> None:
    assert merging.join(merging.join(a, b), c) == merging.join(a, merging.join(b, c))


@given(told(), told())
def test_a_record_told_again_changes_nothing(one: facts.Facts, other: facts.Facts) -> None:
    assert merging.join(one, one) == one
    joined = merging.join(one, other)
    assert merging.join(joined, other) == joined


@given(st.lists(told(), min_size=1, max_size=5).flatmap(lambda r: st.tuples(st.just(r), st.permutations(r))))
def test_every_order_gives_the_same_operation(orders: tuple[list[facts.Facts], list[facts.Facts]]) -> None:
    one, other = orders

    assert merging.fold(one) == merging.fold([*other, *other[:2]])


def test_told_beats_inferred_and_the_least_wins_among_equals() -> None:
    base = facts.Facts(operation_id="op", attempt=1)
    bit = facts.TOLD_BIT["tool"]
    inferred = structs.replace(base, tool="a")
    told_b = structs.replace(base, tool="b", told=bit)
    told_c = structs.replace(base, tool="c", told=bit)

    assert merging.join(inferred, told_c).tool == "c"
    assert merging.join(told_c, told_b).tool == "b"
    assert merging.join(merging.join(told_c, inferred), told_b).told == bit


def test_the_facts_struct_has_the_declared_columns_in_order() -> None:
    assert facts.Facts.__struct_fields__ == facts.NAMES
