"""Secrets inside addresses: the password of a URL, signed parameters, the name of a person in a home folder."""

from __future__ import annotations

import re
from collections.abc import Iterator

from operations.redaction import patterns, placeholders
from operations.redaction.patterns import Span

USERINFO_PATTERN = r"://([^\s/?#@:\"'`<>]*):([^\s/\"'`<>]+)@|://([A-Za-z0-9_.~%+-]{12,})@"
PARAMETER_PATTERN = (
    r"[?&#;]((?i:x-(?:amz|goog)-(?:signature|credential|security-token)|sig|signature|hmac|samlresponse|samlrequest"
    r"|assertion|key|code|state|ticket|nonce|session|sessionid|jsessionid|phpsessid|sid|hash|invite|otp|access))"
    r"=([^\s&#;\"'`<>]{6,})"
)
FOLDER_PATTERN = (
    r"(?:\b[A-Za-z]:[\\/]+(?i:users|documents and settings)[\\/]+|/Users/|(?:^|[^\w.~/\x{80}-\x{10FFFF}-]|file://)/home/)"
    r"[^\s\\/:*?\"'`<>|,;()\[\]]+"
)

_userinfo = patterns.compiled(USERINFO_PATTERN)
_parameter = patterns.compiled(PARAMETER_PATTERN)
_folder = patterns.compiled(FOLDER_PATTERN)

_ALWAYS_SECRET = re.compile(r"(?i)x-|sig|hmac|saml|assertion")
_LAST_PART = re.compile(r"[\\/]([^\\/]+)\Z")
# Accounts of machines, folders that everybody has, and pages that a web application calls /home/….
_NOBODY = frozenset(
    patterns.words("""
    app apps ubuntu runner node ec2-user user users root vscode jovyan circleci gitlab-runner jenkins
    deploy www www-data vagrant coder sandbox shared public guest default defaultuser all admin
    administrator git service nobody linuxbrew airflow agent appuser nonroot codespace gitpod pi centos
    debian fedora docker postgres builder build work workspace data tmp bin lib index dashboard settings
    profile page pages login logout feed main news help contact about search
    """)
)


def find_userinfo(text: str) -> Iterator[Span]:
    """Yield passwords, and tokens in the place of a user, in `scheme://user:password@host`."""
    for match in _userinfo.finditer(text):
        if match[2] is not None:
            if not placeholders.stands_for_a_secret(match[2] or ""):
                yield Span(*match.span(2), "url-password")
        elif placeholders.looks_random(match[3] or "", at_least=16):
            yield Span(*match.span(3), "url-password")


def find_parameters(text: str) -> Iterator[Span]:
    """Yield signatures and one-time codes among the parameters of a URL."""
    for match in _parameter.finditer(text):
        value = match[2] or ""
        if placeholders.stands_for_a_secret(value):
            continue
        if _ALWAYS_SECRET.match(match[1] or "") or placeholders.looks_random(value):
            yield Span(*match.span(2), "url-parameter")


def find_home_folders(text: str) -> Iterator[Span]:
    """Yield the name of a person in the path of a home folder."""
    for match in _folder.finditer(text):
        name = _LAST_PART.search(text, match.start(), match.end())
        if (
            name
            and name[1].lower().rstrip(".") not in _NOBODY
            and not name[1].startswith(("$", "{", "%", "[REDACTED", "<"))
        ):
            yield Span(*name.span(1), "home-folder")
