"""The filter grammar reads what people write, prints it canonically, and refuses the rest with a way out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operations import filters, grammar, rejections, vocabulary

TEXTS = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=12)
VALUES = st.builds(filters.Value, TEXTS, st.booleans(), st.booleans()).map(
    lambda value: value if value.text or not value.is_open else filters.Value("", True, True)
)


def _terms() -> st.SearchStrategy[filters.Term]:
    def of(field: vocabulary.Field) -> st.SearchStrategy[filters.Term]:
        negated = st.booleans()
        if field.kind == "number":
            operators = st.sampled_from(["", *grammar.OPERATORS])
            numbers = st.integers(-(10**12), 10**12)
            return st.builds(filters.Term, st.just(field.name), st.just(()), negated, operators, numbers)
        values = st.sampled_from(field.choices).map(filters.Value) if field.choices else VALUES
        several = st.lists(values, min_size=1, max_size=3, unique=True).map(tuple)
        return st.builds(filters.Term, st.just(field.name), several, negated)

    return st.sampled_from(tuple(vocabulary.FIELDS.values())).flatmap(of)


@given(st.lists(_terms(), max_size=5, unique=True))
def test_what_is_printed_reads_back_as_the_same_filter(terms: list[filters.Term]) -> None:
    query = filters.Query(tuple(terms))

    assert grammar.parse(str(query)) == query


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_by_name(text: str) -> None:
    try:
        query = grammar.parse(text)
    except rejections.BadFilter:
        return

    assert grammar.parse(str(query)) == query


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        ("tool:refund  -env:staging", "tool:refund -env:staging"),
        ("environment:production", "env:production"),
        ("code:(quota OR timeout)", "code:(quota OR timeout)"),
        ("code:(quota or timeout)", "code:(quota OR timeout)"),
        ('tool:"two words"', 'tool:"two words"'),
        ('tool:"refund"', "tool:refund"),
        (r'tool:"say \"hi\" \\"', r'tool:"say \"hi\" \\"'),
        ("tool:pay*", "tool:pay*"),
        ("tool:*pay*", "tool:*pay*"),
        ("tool:*", "tool:*"),
        ('env:""', 'env:""'),
        ("duration:>2s", "duration:>2s"),
        ("duration:>=1500ms", "duration:>=1500ms"),
        ("duration:>0.5m", "duration:>30s"),
        ("late:>0", "late:>0"),
        ("late:<-20ms", "late:<-20ms"),
        ("bytes:>1MB", "bytes:>1MB"),
        ("bytes:=1KiB", "bytes:1KiB"),
        ("attempt:>1", "attempt:>1"),
        ("signal:(late_answer OR phantom_failure)", "signal:(late_answer OR phantom_failure)"),
        ("has:approval tool:refund tool:refund", "has:approval tool:refund"),
        ("tool:a:b/c", "tool:a:b/c"),
    ],
)
def test_a_filter_has_one_canonical_form(text: str, canonical: str) -> None:
    assert str(grammar.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("refund", "tool:refund"),
        ("tool:a refund", "tool:a tool:refund"),
        ("-refund", "-tool:refund"),
        ("timed_out", "status:timed_out"),
        ("phantom_failure", "signal:phantom_failure"),
        ("tol:refund", "tool:refund"),
        ("-enviroment:staging", "-env:staging"),
        ("status:timedout", "status:timed_out"),
        ("signal:late_anser", "signal:late_answer"),
        ("code:(a b)", "code:(a OR b)"),
        ('tool:"refund', 'tool:"refund"'),
        ("duration:>2", "duration:>2ms"),
        ("tool:(a OR b)env:c", "tool:(a OR b) env:c"),
    ],
)
def test_a_slip_is_refused_with_what_was_probably_meant(text: str, suggestion: str) -> None:
    with pytest.raises(rejections.BadFilter) as refused:
        grammar.parse(text)

    assert refused.value.suggestion == suggestion
    assert suggestion in refused.value.detail
    grammar.parse(suggestion)


@pytest.mark.parametrize(
    "text",
    [
        "zzqqxx:1",
        "tool:",
        "tool:(a OR",
        "tool:(a OR b",
        "tool:()",
        "tool:a)",
        "tool:a*b",
        "signal:late*",
        "has:*",
        'has:""',
        "duration:>",
        "duration:fast",
        "duration:2parsecs",
        "attempt:>99999999999999999999",
        "bytes:>900000000000000GB",
        "tool:a\0b",
        "(tool:a)",
        "x" * 3000,
        " ".join(f"tool:t{n}" for n in range(60)),
        f"tool:({' OR '.join(f't{n}' for n in range(80))})",
    ],
)
def test_nonsense_is_refused_and_never_ignored(text: str) -> None:
    with pytest.raises(rejections.BadFilter):
        grammar.parse(text)


def test_a_click_in_a_facet_adds_a_value_and_takes_it_away_again() -> None:
    start = grammar.parse("-env:staging tool:refund")

    both = start.toggling("tool", "pay")
    assert str(both) == "-env:staging tool:(refund OR pay)"
    assert str(both.toggling("tool", "refund")) == "-env:staging tool:pay"
    assert both.toggling("tool", "pay") == start
    assert str(start.toggling("tool", "refund")) == "-env:staging"
    assert str(start.toggling("code", "quota")) == "-env:staging tool:refund code:quota"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("tool:a,b env:production", "tool:(a OR b) env:production"),
        ("-code:x,y,", "-code:(x OR y)"),
        ('tool:"a, b"', 'tool:(a OR " b")'),
        ("tool:(a,b OR c)", "tool:(a,b OR c)"),
        ("tool:a,", "tool:a,"),
    ],
)
def test_commas_are_taken_for_or_only_as_a_proposal(text: str, meant: str) -> None:
    assert str(grammar.parse(text).divided()) == meant


def test_a_filter_says_which_terms_need_the_facts() -> None:
    query = grammar.parse("tool:refund session:s1 duration:>1s")

    assert not query.is_tallied
    assert [term.field for term in query.untallied] == ["session", "duration"]
    assert str(query.tallied_part()) == "tool:refund"


@given(st.lists(_terms(), max_size=4))
def test_no_text_of_a_filter_reaches_the_statement(terms: list[filters.Term]) -> None:
    sql, parameters = filters.condition(filters.Query(tuple(terms)))

    assert sql.count("%s") == len(parameters)
    assert '"' not in sql
    assert "'" not in sql
