"""Lists come newest first, page by page, and never show another project's rows."""

from __future__ import annotations

import pytest

from operations import find, grammar
from tests import make, traffic

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = 3_600_000_000


def ids(text: str = "", *, limit: int = 50, before: find.Cursor | None = None) -> list[str]:
    """The ids of Acme's operations around noon that pass the filter."""
    return [row.operation_id for row in listed(text, limit=limit, before=before).rows]


def listed(text: str = "", *, limit: int = 50, before: find.Cursor | None = None) -> find.Page:
    return find.page(
        project_id=make.acme().pk,
        query=grammar.parse(text),
        since=traffic.NOON_US - 24 * HOUR,
        until=traffic.NOON_US + HOUR,
        limit=limit,
        before=before,
    )


def test_a_list_is_newest_first_and_pages_without_gap_or_repeat() -> None:
    traffic.send(*(traffic.call(f"op-{n:02}", -(n // 3)) for n in range(20)))

    seen, before = [], None
    while True:
        page = listed(limit=6, before=before)
        seen += [(row.started_at, row.operation_id) for row in page.rows]
        if page.next is None:
            break
        before = page.next

    assert seen == sorted(seen, reverse=True)
    assert len(seen) == len(set(seen)) == 20


def test_a_range_holds_its_start_and_not_its_end() -> None:
    traffic.send(traffic.call("at-start", -10), traffic.call("inside", -5), traffic.call("at-end", 0))

    page = find.page(
        project_id=make.acme().pk,
        query=grammar.parse(""),
        since=traffic.NOON_US - HOUR // 6,
        until=traffic.NOON_US,
        limit=10,
    )

    assert [row.operation_id for row in page.rows] == ["inside", "at-start"]


def test_another_projects_rows_are_never_listed() -> None:
    traffic.send(traffic.call("theirs", session_id="s"), to=make.globex())
    traffic.send(traffic.call("ours", session_id="s"))

    assert ids() == ["ours"]
    assert ids("id:theirs") == []
    assert find.one(project_id=make.acme().pk, operation_id="theirs") is None
    assert [row.operation_id for row in find.session(project_id=make.acme().pk, session_id="s")] == ["ours"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tool:refund", "plain late"),
        ("tool:*und", "plain late"),
        ("tool:ref*", "plain late"),
        ("tool:*", "plain late fail wild"),
        ("-tool:refund", "fail wild none"),
        ('tool:""', "none"),
        ('-tool:""', "plain late fail wild"),
        ("tool:(refund OR search)", "plain late fail"),
        ("tool:100%_*", "wild"),
        ("outcome:failure", "fail"),
        ("code:quota", "fail"),
        ("signal:late_answer", "late"),
        ("signal:(phantom_failure OR structured_failure)", "late fail"),
        ("-signal:late_answer", "plain fail wild none"),
        ("late:>0", "late"),
        ("late:>1h", ""),
        ("duration:>=1s", "plain fail wild none late"),
        ("duration:<1s", ""),
        ("env:production -tool:refund", "fail wild none"),
        ("session:s1", "plain fail"),
        ("session:s1 tool:search", "fail"),
        ("id:fail", "fail"),
        ("has:conflict", "wild"),
        ("resource:order/7", "wild"),
        ("attempt:>1", ""),
        ("has:verdict status:timed_out", "late"),
    ],
)
def test_a_filter_finds_exactly_its_rows(text: str, expected: str) -> None:
    traffic.send(
        traffic.call("plain", session_id="s1"),
        traffic.call("late", status="timed_out", effect="write", answered_at=traffic.at(2)),
        traffic.call("fail", tool="search", outcome="failure", code="quota", session_id="s1"),
        traffic.call("wild", tool="100%_sure", conflict={"resource": "order/7"}),
        traffic.call("none", tool=None),
    )

    assert sorted(ids(text)) == sorted(expected.split())


def test_a_search_that_gives_up_says_how_far_it_looked_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "SCAN_MAX", 5)
    traffic.send(*(traffic.call(f"op-{n}", -n, tool="rare" if n == 8 else "refund") for n in range(10)))

    first = listed("tool:rare")
    assert (first.rows, first.searched) == ([], 5)
    second = listed("tool:rare", before=first.next)
    assert [row.operation_id for row in second.rows] == ["op-8"]


def test_new_operations_are_counted_above_the_list_by_the_same_filter() -> None:
    traffic.send(traffic.call("first", -10), traffic.call("second", -9))
    top = listed("tool:refund").rows[0].cursor
    traffic.send(
        traffic.call("third", -8), traffic.call("other", -7, tool="search"), traffic.call("late", -12)
    )

    newer = find.newer_than(
        project_id=make.acme().pk, query=grammar.parse("tool:refund"), after=top, until=traffic.NOON_US
    )

    assert newer == 1


def test_one_operation_comes_with_its_attempts_the_highest_first_choice() -> None:
    traffic.send(
        traffic.call("a/b", -3, status="runtime_error", code="io", attempt=1),
        traffic.call("a/b", -2, attempt=2),
    )
    project_id = make.acme().pk

    found = find.one(project_id=project_id, operation_id="a/b")
    assert found is not None
    assert (found.operation.attempt, found.operation.status) == (2, "done")
    assert [row.attempt for row in found.attempts] == [1, 2]
    first = find.one(project_id=project_id, operation_id="a/b", attempt=1)
    assert first is not None
    assert (first.operation.status, first.operation.code) == ("runtime_error", "io")
    assert find.one(project_id=project_id, operation_id="a/b", attempt=3) is None


def test_an_id_used_again_days_later_shows_both_rows() -> None:
    traffic.send(traffic.call("again", -3 * 24 * 60), traffic.call("unrelated"))
    traffic.send(traffic.call("again", 0, tool="search"))

    found = find.one(project_id=make.acme().pk, operation_id="again")

    assert found is not None
    assert found.operation.tool == "search"
    assert [twin.tool for twin in found.twins] == ["refund"]


def test_windows_of_time_hold_the_same_list_as_the_whole_range() -> None:
    minute = HOUR // 60
    traffic.send(
        *(traffic.call(f"op-{n:02}", -n, tool="rare" if n % 7 == 0 else "refund") for n in range(40))
    )
    windows = [
        (traffic.NOON_US - n * minute, traffic.NOON_US - (n - 1) * minute) for n in range(40) if n % 7 == 0
    ]

    seen, before = [], None
    while True:
        page = find.page_within(
            project_id=make.acme().pk,
            query=grammar.parse("tool:rare"),
            windows=windows,
            limit=2,
            before=before,
        )
        seen += [row.operation_id for row in page.rows]
        if page.next is None:
            break
        before = page.next

    assert seen == ids("tool:rare") == ["op-00", "op-07", "op-14", "op-21", "op-28", "op-35"]
