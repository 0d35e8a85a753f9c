"""Secrets that stand after their name in a text: `k=v`, `k: v`, flags, XML elements, "the password …"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from operations.redaction import keywords, patterns, placeholders
from operations.redaction.patterns import Span

_NAME = rf"[{patterns.LETTERS}_.$-]*(?:{keywords.TEXT_PATTERN})[{patterns.LETTERS}_.-]*"
_CLOSING = r"(?:\\*[\"'`’”])?\]?\)?"
_SEPARATOR = (
    r"[ \t]*(?:=>|:=|===?|=|:)[ \t]*|[ \t]+(?:is|was|are|equals)(?:[ \t]+(?:now|set to))?[ \t]*:?[ \t]+"
)

ASSIGNED_PATTERN = rf"({_NAME}){_CLOSING}({_SEPARATOR})"
FLAG_PATTERN = rf"(?:^|[\s\"'(`])-({_NAME})[ \t]+[^\s-]"
# {"name": "x-api-key", "value": "…"} and ["x-api-key", "…"] in a text that is no whole JSON.
NAMED_PATTERN = (
    rf"(?i:name|key|header)\\*[\"']?[ \t]*[:=][ \t]*\\*[\"']({_NAME})\\*[\"'][ \t]*,[ \t]*\\*[\"']?(?i:value|val)"
    rf"\\*[\"']?[ \t]*[:=][ \t]*|\[[ \t]*\\*[\"']({_NAME})\\*[\"'][ \t]*,[ \t]*\\*[\"']"
)
ELEMENT_PATTERN = rf"<({_NAME})(?:\s[^<>]*)?>([^<>]+)<"
# `identified by 'x'` in SQL, `login x password y` in .netrc, "the password Zv3hq…" in prose.
SPOKEN_PATTERN = r"(?i:identified\s+by|\bpassw(?:or)?d|\bpassphrase|\bpasscode)\s+[^\s:=,.]"

_assigned = patterns.compiled(ASSIGNED_PATTERN)
_named = patterns.compiled(NAMED_PATTERN)
_flag = patterns.compiled(FLAG_PATTERN)
_element = patterns.compiled(ELEMENT_PATTERN)
_spoken = patterns.compiled(SPOKEN_PATTERN)

_OPENING = re.compile(r"(?:\b[bfruBFRU]{1,2}(?=[\"']))?(\\*[\"'`]|[‘“])")
_CLOSING_QUOTES = {"‘": "’", "“": "”"}
_TEMPLATE = re.compile(
    r"(?:\$?\{\{[^\n]*?\}\}|\\*\$\{[^{}\n]*\}|\$\([^()\n]*\)|<[^<>\n]{1,60}>|\[[A-Za-z][A-Za-z0-9 :_-]{2,60}\])"
    r"(?![^\s\"',;/&)])"
)
_BARE = re.compile(r"[^\s\"'`<>“”‘’;]+")
_BARE_IN_ADDRESS = re.compile(r"[^\s\"'`<>“”‘’;&#]+")
_NEXT_PAIR = re.compile(r"[&,|][A-Za-z_$][\w.$-]*=")
_NEXT_WORD = re.compile(r"[ \t]+([^\s\"'`,;<>“”‘’]+)")
_BRACKET = re.compile(r"[{}\[\]]")
_LITERAL = re.compile(r"[\"'][^\"']+[\"']|\d{3}")
_PARAMETER_LIST = re.compile(
    r"(?i)aws4-hmac-sha256|digest|signature|oauth|hawk|sharedkey(?:lite)?|googlelogin|mac"
)
_REST_OF_HEADER = re.compile(r"[^\n\r']*")
_NUMBER = re.compile(r"[\d.,+-]+%?")
_FOLDER = re.compile(r"[/~.]|[A-Za-z]:\\")
_VARIABLE = re.compile(r"[a-z]+(?:_[a-z]+)+")
_COMPARED = re.compile(r"[A-Za-z_][A-Za-z_.]*")
_ADDRESS_BEFORE = re.compile(r"//\Z|\barn:[^\s\"']*:\Z")
_LOGIN_BEFORE = re.compile(r"\blogin\s+\S+\s+\Z")
_LONGEST_CONTAINER = 4096
_DEEPEST_CONTAINER = 64
_LONGEST_JUDGED = 4096
_LONGEST_USUAL = 1024
_SHORTEST_NUMBER = 3


def find_assigned(text: str) -> Iterator[Span]:
    """Yield values that stand after a secret name and a sign between them."""
    covered = 0
    for match in _assigned.finditer(text):
        if match.start() < covered:
            continue
        name, sign = match[1] or "", (match[2] or "").strip()
        verdict = keywords.verdict(name)
        is_part_of_an_address = sign == ":" and _ADDRESS_BEFORE.search(
            text, max(0, match.start() - 128), match.start()
        )
        if verdict not in ("secret", "text", "tokens") or is_part_of_an_address:
            continue
        span = _value_at(
            text, match.end(), in_address=text[match.start() - 1 : match.start()] in ("?", "&", "#")
        )
        if span and _holds_a_secret(text, span, name, sign):
            covered = span[1]
            yield Span(*span, "assignment")


def find_named(text: str) -> Iterator[Span]:
    """Yield values that follow their secret name in a list or beside it in an object."""
    for match in _named.finditer(text):
        is_pair = match[2] is not None
        name = match[2] if is_pair else match[1]
        if keywords.verdict(name or "") != "secret":
            continue
        span = _value_at(text, match.end() - is_pair)
        if span is None or placeholders.stands_for_a_secret(text[slice(*span)]):
            continue
        if not is_pair or placeholders.looks_random(text[slice(*span)].split(" ")[-1]):
            yield Span(*span, "assignment")


def find_flags(text: str) -> Iterator[Span]:
    """Yield the value after a command-line flag with a secret name."""
    for match in _flag.finditer(text):
        name = match[1] or ""
        if keywords.verdict(name) in ("secret", "text", "tokens"):
            span = _value_at(text, match.end() - 1)
            if span and _holds_a_secret(text, span, name, " "):
                yield Span(*span, "flag")


def find_elements(text: str) -> Iterator[Span]:
    """Yield the contents of XML elements with a secret name."""
    for match in _element.finditer(text):
        if keywords.verdict(match[1] or "") == "secret" and not placeholders.stands_for_a_secret(
            match[2] or ""
        ):
            yield Span(*match.span(2), "assignment")


def find_spoken(text: str) -> Iterator[Span]:
    """Yield what stands right after the word password and cannot be a word of the sentence."""
    for match in _spoken.finditer(text):
        span = _value_at(text, match.end() - 1)
        if span is None or placeholders.stands_for_a_secret(text[slice(*span)]):
            continue
        if (
            _is_quoted(text, span)
            or placeholders.looks_random(text[slice(*span)], at_least=8)
            or _LOGIN_BEFORE.search(text, max(0, match.start() - 200), match.start())
        ):
            yield Span(*span, "assignment")


def _value_at(text: str, start: int, *, in_address: bool = False) -> tuple[int, int] | None:
    opening = _OPENING.match(text, start)
    if opening:
        return _quoted(text, opening.end(), _CLOSING_QUOTES.get(opening[1], opening[1]))
    template = _TEMPLATE.match(text, start)
    if template and placeholders.stands_for_a_secret(template[0]):
        return None
    if text[start : start + 1] in ("{", "["):
        return _container(text, start)
    end = _end_of_bare(text, start, in_address=in_address)
    if end == start:
        return None
    word = text[start:end]
    if _PARAMETER_LIST.fullmatch(word) and text[end : end + 1] == " ":
        rest = _REST_OF_HEADER.match(text, end + 1)
        return (end + 1, rest.end()) if rest else None
    following = _NEXT_WORD.match(text, end) if placeholders.is_scheme(word) else None
    if following:
        span = (
            following.start(1),
            _end_of_bare(text, following.start(1), in_address=in_address),
        )
        return None if text[slice(*span)].isalpha() and text[slice(*span)].islower() else span
    return (start, end) if end > start and not placeholders.is_scheme(word) else None


def _quoted(text: str, start: int, quote: str) -> tuple[int, int] | None:
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    end = text.find(quote, start, line_end)
    while end > 0 and text[end - 1] == "\\" and not quote.startswith("\\"):
        end = text.find(quote, end + 1, line_end)
    end = line_end if end < 0 else end
    return (start, end) if end > start else None


def _container(text: str, start: int) -> tuple[int, int] | None:
    depth, end = 0, min(len(text), start + _LONGEST_CONTAINER)
    for bracket in _BRACKET.finditer(text, start, end):
        depth += 1 if bracket[0] in "{[" else -1
        if not depth:
            return (start, bracket.end()) if _LITERAL.search(text, start, bracket.end()) else None
        if depth > _DEEPEST_CONTAINER:
            break
    # Cut short, or too long or too deep to be followed: the rest of the line belongs to it.
    line_end = text.find("\n", end)
    is_secret = depth > _DEEPEST_CONTAINER or _LITERAL.search(text, start, end)
    return (start, len(text) if line_end < 0 else line_end) if is_secret else None


def _end_of_bare(text: str, start: int, *, in_address: bool) -> int:
    value = _BARE_IN_ADDRESS if in_address else _BARE
    # First a window: many short values in one long word must not cost the whole word each.
    bare = value.match(text, start, start + _LONGEST_USUAL)
    next_pair = _NEXT_PAIR.search(text, start, bare.end() + 1) if bare else None
    if next_pair:
        end = next_pair.start()
    else:
        bare = value.match(text, start) if bare and bare.end() == start + _LONGEST_USUAL else bare
        end = bare.end() if bare else start
    while end > start:
        last, before = text[end - 1], text[start : end - 1]
        is_unbalanced = (last == ")" and before.count("(") <= before.count(")")) or (
            last in "]}" and before.count("[") + before.count("{") <= before.count("]") + before.count("}")
        )
        if not is_unbalanced and last not in ".,:!?\\":
            break
        end -= 1
    return end


def _holds_a_secret(text: str, span: tuple[int, int], name: str, sign: str) -> bool:
    value = text[slice(*span)]
    if len(value) > _LONGEST_JUDGED:
        return True
    if placeholders.stands_for_a_secret(value):
        return False
    verdict = keywords.verdict(name)
    if _NUMBER.fullmatch(value):
        digits = sum(c.isdigit() for c in value)
        return (verdict == "secret" and digits >= _SHORTEST_NUMBER) or (
            verdict == "text" and digits > _SHORTEST_NUMBER
        )
    if verdict == "tokens":
        return placeholders.looks_random(value, at_least=8)
    if verdict == "text" and placeholders.is_plain_word(value):
        return False
    if name.lower().endswith("pwd") and _FOLDER.match(value):
        return False
    return _is_quoted(text, span) or not _is_part_of_the_text(text, span, name, sign)


def _is_part_of_the_text(text: str, span: tuple[int, int], name: str, sign: str) -> bool:
    value = text[slice(*span)]
    if placeholders.is_code(value) or placeholders.is_word_of_a_sentence(value):
        return True
    if sign.startswith("==") and _COMPARED.fullmatch(value):
        return True
    if _VARIABLE.fullmatch(value) and keywords.verdict(value):
        return True
    if (value == name and text[span[1] : span[1] + 1] in (",", ")")) or name.endswith(
        (f".{value}", f"._{value}")
    ):
        return True
    if name.lower().endswith("pin"):  # a pin of a chip has letters, a secret one has digits only
        return True
    if not sign.startswith(("=", ":")) and sign.strip():  # "the password is short"
        return value.isalpha() and (value.islower() or value.istitle())
    return (
        keywords.verdict(name) == "text" and sign == ":" and not placeholders.looks_random(value, at_least=6)
    )


def _is_quoted(text: str, span: tuple[int, int]) -> bool:
    return text[span[0] - 1 : span[0]] in ("'", '"', "`", "‘", "“")
