"""Secrets of protocols and commands: authorization schemes, cookies, user:password, Kubernetes manifests."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from operations.redaction import keywords, patterns, placeholders
from operations.redaction.patterns import Span

SCHEME_PATTERN = r"\b((?i:bearer|basic))((?:\s|%20)+)([A-Za-z0-9._~+/-]{8,}=*)"
COOKIE_PATTERN = r"(?i:cookie2?)(?:\\*[\"'`])?[ \t]*[:=][ \t]*(?:\\*[\"'`])?[^\s=;:\"]+="
USER_PATTERN = r"(?:^|[\s\"'`])(?:-u|-U|--user|--proxy-user)[ =]*[\"']?([^\s:\"'/=]+):([^\s\"'`]+)"
COMMAND_PATTERN = patterns.any_of(
    [
        r"\b(?:az|docker|podman|helm|oc|nerdctl|skopeo|buildah|cf|twine)\b[^\n;|]*?\blogin\b[^\n;|]*?"
        r"\s-p[ =]*[\"']?([^\s\"'`]+)",
        r"\bsshpass\s+-p\s*[\"']?([^\s\"'`]+)",
        r"\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\b[^\n;|]*?\s-p([^\s\"'`-][^\s\"'`]*)",
        r"\bredis-cli\b[^\n;|]*?\s-a[ =]*[\"']?([^\s\"'`-][^\s\"'`]*)",
    ]
)
MANIFEST_PATTERN = r"kind:[ \t]*[\"']?Secret\b"

_scheme = patterns.compiled(SCHEME_PATTERN)
_cookie = patterns.compiled(COOKIE_PATTERN)
_user = patterns.compiled(USER_PATTERN)
_command = patterns.compiled(COMMAND_PATTERN)
_manifest = patterns.compiled(MANIFEST_PATTERN)

_COOKIE_VALUE = re.compile(r"(?i)cookie2?(?:\\*[\"'`])?[ \t]*[:=][ \t]*(?:\\*[\"'`])?([^\n\r\"'`]*)")
_COOKIE_PAIR = re.compile(r"([^\s=;,\"']+)=([^;\s\"'\\]*)")
_COOKIE_ATTRIBUTES = frozenset(
    patterns.words("path domain expires max-age samesite priority version comment")
)
_SESSION_COOKIE = re.compile(r"(?i)sess|sid\b|auth|remember|login|user|token|uid")
_HARMLESS_COOKIE = re.compile(r"[a-z]{1,12}|[A-Za-z]{2}(?:[-_][A-Za-z]{2})?|\d{1,3}")
_CLIENT = re.compile(r"(?i)\b(?:curl|wget|https?|xh)\b")
_MANIFEST_BLOCK = re.compile(r"(?m)^(?:data|stringData):[ \t]*\n((?:[ \t]+[^\n]*(?:\n|\Z))+)")
_MANIFEST_LINE = re.compile(r"(?m)^[ \t]+[\w.\"'-]+:[ \t]*([^\s#|>][^\n]*?)[ \t\r]*$")


def find_schemes(text: str) -> Iterator[Span]:
    """Yield the credentials that stand after `Bearer` and `Basic`."""
    for match in _scheme.finditer(text):
        value = match[3] or ""
        is_bearer = (match[1] or "").lower() == "bearer"
        if placeholders.looks_random(value, at_least=16) if is_bearer else _is_user_and_password(value):
            yield Span(*match.span(3), "authorization")


def find_cookies(text: str) -> Iterator[Span]:
    """Yield the values of cookies in `Cookie:` and `Set-Cookie:` headers; names and attributes stay."""
    covered = 0
    for match in _cookie.finditer(text):
        header = _COOKIE_VALUE.match(text, match.start()) if match.start() >= covered else None
        if header:
            covered = header.end()
            yield from _cookies_in(text, header.start(1), header.end(1))


def cookie_spans(text: str) -> list[Span]:
    """Return the values of cookies in the value of a cookie header."""
    if "=" in text:
        return list(_cookies_in(text, 0, len(text)))
    if placeholders.stands_for_a_secret(text) or _HARMLESS_COOKIE.fullmatch(text):
        return []
    return [Span(0, len(text), "cookie")]


def find_commands(text: str) -> Iterator[Span]:
    """Yield passwords that commands take without a telling name: `curl -u user:password`, `mysql -pPassword`."""
    is_client = _CLIENT.search(text) is not None
    for match in _user.finditer(text):
        user, password = match[1] or "", match[2] or ""
        is_group = user == password or (user.isdigit() and password.isdigit())
        if is_group or password.startswith("//") or placeholders.stands_for_a_secret(password):
            continue
        if is_client or not password.isalpha():
            yield Span(*match.span(2), "flag")
    for match in _command.finditer(text):
        for group in range(1, 5):
            if match[group] and not placeholders.stands_for_a_secret(match[group] or ""):
                yield Span(*match.span(group), "flag")


def find_manifests(text: str) -> Iterator[Span]:
    """Yield every value of a Kubernetes Secret in YAML: its keys may have any name."""
    if not _manifest.search(text):
        return
    for block in _MANIFEST_BLOCK.finditer(text):
        for line in _MANIFEST_LINE.finditer(text, block.start(1), block.end(1)):
            if not placeholders.stands_for_a_secret(line[1]):
                yield Span(*line.span(1), "manifest")


def _cookies_in(text: str, start: int, end: int) -> Iterator[Span]:
    for pair in _COOKIE_PAIR.finditer(text, start, end):
        name, value = pair[1], pair[2]
        if name.lower() in _COOKIE_ATTRIBUTES or placeholders.stands_for_a_secret(value):
            continue
        if (
            _HARMLESS_COOKIE.fullmatch(value)
            and not keywords.verdict(name)
            and not _SESSION_COOKIE.search(name)
        ):
            continue
        yield Span(*pair.span(2), "cookie")


def _is_user_and_password(value: str) -> bool:
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return (b":" in plain and plain.isascii()) or (len(value) >= 24 and placeholders.looks_random(value))
