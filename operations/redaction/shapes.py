"""Tokens that show by their shape who issued them, key files, and hashes of passwords.

Each shape is a prefix with a length, so that a digest, a uuid or a word is not mistaken for one. A *marked* shape is
unmistakable and is found even when it is glued to other letters; a plain one begins where a word does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from operations.redaction import patterns
from operations.redaction.patterns import Span

_MARKED: dict[str, str] = {
    "opsconsole-key": r"ops_[a-z0-9]{12}_[A-Za-z0-9_-]{16,}",
    "anthropic-key": r"sk-ant-[a-z]{2,10}[0-9]{0,3}-[A-Za-z0-9_-]{20,}",
    "openai-key": r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}",
    "openrouter-key": r"sk-or-(?:v1-)?[A-Za-z0-9]{20,}",
    "langfuse-key": r"sk-lf-[0-9a-f-]{30,}",
    "langsmith-key": r"lsv2_(?:pt|sk)_[0-9a-f]{20,}_?[0-9a-f]*",
    "aws-session-token": r"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz|FQoGZXIvYXdz)[A-Za-z0-9+/=_-]{40,}",
    "aws-bedrock-key": r"ABSK[A-Za-z0-9+/]{80,}={0,2}",
    "github-token": r"gh[opusr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,}|ghs_[A-Za-z0-9_.-]{36,}",
    "gitlab-token": r"gl(?:pat|dt|oas|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct|wt)-[A-Za-z0-9_-]{16,}(?:\.[a-z0-9.]{5,})?"
    r"|GR1348941[A-Za-z0-9_-]{20,}|_gitlab_session=[0-9a-f]{32}",
    "bitbucket-token": r"ATBB[A-Za-z0-9]{28,}|ATCTT3[A-Za-z0-9_=.-]{50,}",
    "atlassian-token": r"ATATT3[A-Za-z0-9_=.-]{50,}",
    "slack-token": r"xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}|xwfp-[A-Za-z0-9-]{20,}",
    "stripe-key": r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/]{20,}={0,2}",
    "npm-token": r"npm_[A-Za-z0-9]{30,}",
    "pypi-token": r"pypi-[A-Za-z0-9_-]{50,}",
    "rubygems-key": r"rubygems_[0-9a-f]{32,}",
    "docker-token": r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}",
    "google-api-key": r"AIza[A-Za-z0-9_-]{30,}",
    "google-oauth": r"ya29\.[A-Za-z0-9_-]{16,}|GOCSPX-[A-Za-z0-9_-]{20,}",
    "huggingface-token": r"api_org_[A-Za-z]{30,}",
    "vault-token": r"hv[sbr]\.[A-Za-z0-9_-]{20,}",
    "digitalocean-token": r"do[opr]_v1_[0-9a-f]{40,}",
    "shopify-token": r"shp(?:at|ca|pa|ss|ua|tka)_[0-9a-fA-F]{30,}",
    "linear-key": r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}",
    "notion-token": r"ntn_[A-Za-z0-9]{30,}",
    "figma-token": r"fig[dour]_[A-Za-z0-9_-]{30,}",
    "airtable-token": r"pat[A-Za-z0-9]{14}\.[0-9a-f]{40,}",
    "age-key": r"AGE-SECRET-KEY-1[0-9A-Z]{40,}",
    "databricks-token": r"dapi[0-9a-f]{32}(?:-[0-9])?",
    "sendinblue-key": r"xkeysib-[0-9a-f]{40,}-[A-Za-z0-9]{10,}",
    "sentry-token": r"sntry[su]_[A-Za-z0-9+/=_-]{30,}",
    "grafana-token": r"gl(?:sa|c)_[A-Za-z0-9_+/=-]{30,}",
    "newrelic-key": r"NR(?:AK|II|JS|RA)-[A-Za-z0-9_-]{19,}",
    "postman-key": r"PMAK-[0-9a-f]{24}-[0-9a-f]{30,}",
    "pulumi-token": r"pul-[0-9a-f]{40}",
    "doppler-token": r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}",
    "planetscale-token": r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,}",
    "supabase-key": r"sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,}",
    "tailscale-key": r"tskey-[a-z]+-[A-Za-z0-9]+-?[A-Za-z0-9]{10,}",
    "square-token": r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20,}",
    "paypal-token": r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}",
    "plaid-token": r"(?:access|public)-(?:sandbox|development|production)-[0-9a-f-]{36}",
    "hubspot-token": r"pat-(?:na|eu|ap)[0-9]-[0-9a-f-]{36}",
    "heroku-key": r"HRKU-[A-Za-z0-9_-]{30,}",
    "fly-token": r"fm[12][ar]?_[A-Za-z0-9+/=_]{50,}|fo1_[A-Za-z0-9_-]{40,}",
    "buildkite-token": r"bk[ua]a?_[0-9a-f]{40}",
    "circleci-token": r"CCI(?:PAT|PRJ)_[A-Za-z0-9]{10,}_[0-9a-f]{40}",
    "1password-token": r"ops_eyJ[A-Za-z0-9+/=_-]{100,}|A3-[A-Z0-9]{6}-[A-Z0-9]{6,11}(?:-[A-Z0-9]{5}){3,4}",
    "groq-key": r"gsk_[A-Za-z0-9]{40,}",
    "xai-key": r"xai-[A-Za-z0-9]{60,}",
    "perplexity-key": r"pplx-[A-Za-z0-9]{40,}",
    "nvidia-key": r"nvapi-[A-Za-z0-9_-]{40,}",
    "tavily-key": r"tvly-(?:[a-z]{3,5}-)?[A-Za-z0-9]{20,}",
    "pinecone-key": r"pcsk_[A-Za-z0-9_]{40,}",
    "replicate-token": r"r8_[A-Za-z0-9]{36,}",
    "cloudflare-token": r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}",
    "snyk-token": r"snyk_(?:uat|sat)\.[A-Za-z0-9_.-]{20,}",
    "sourcegraph-token": r"sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}",
    "extended-private-key": r"[xyz]prv[1-9A-HJ-NP-Za-km-z]{90,}",
    "jwt": r"eyJ[A-Za-z0-9_-]{8,}\.(?:eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*|[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+){3})",
    "password-hash": r"\$(?:2[abxy]?|apr1|5|6|y|7|argon2(?:id|i|d)|scrypt|pbkdf2-sha[0-9]+)\$[./A-Za-z0-9$=,+-]{20,}"
    r"|(?:pbkdf2_sha256|argon2|bcrypt_sha256)\$[./A-Za-z0-9$=,+-]{30,}",
    "webhook-url": r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_+-]{20,}"
    r"|discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]{15,}/[A-Za-z0-9_-]{30,}"
    r"|hooks\.zapier\.com/hooks/catch/[0-9]+/[a-z0-9]+",
}
_PLAIN: dict[str, str] = {
    "aws-access-key": r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?:[\s,:;/|\"']{1,4}[A-Za-z0-9+/]{40})?\b",
    "openai-key": r"sk-[A-Za-z0-9]{32,}",
    "sendgrid-key": r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    "mailgun-key": r"key-[0-9a-f]{32}\b",
    "huggingface-token": r"hf_[A-Za-z0-9]{30,}",
    "google-refresh-token": r"1//0[A-Za-z0-9_-]{30,}",
    "notion-token": r"secret_[A-Za-z0-9]{43}\b",
    "nuget-key": r"oy2[a-z0-9]{43}\b",
    "vault-token": r"s\.[A-Za-z0-9]{24}\b",
    "twilio-key": r"SK[0-9a-f]{32}\b",
    "voyage-key": r"pa-[A-Za-z0-9_-]{40,}",
    "facebook-token": r"EAA[A-Za-z0-9]{60,}",
    "launchdarkly-key": r"sdk-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    "dropbox-token": r"sl\.[A-Za-z0-9_-]{100,}",
    "typeform-token": r"tfp_[A-Za-z0-9_-]{40,}",
}

# Shapes without a prefix: what gives them away stands in the middle or at the end. Each is searched alone, after its
# telling part was seen: in one automaton the lengths before that part multiply, and every text needs states of its own.
_TELLING: dict[str, tuple[str, str]] = {
    "telegram-token": (r"[0-9]:AA[A-Za-z0-9_-]{30}", r"([0-9]{8,11}:AA[A-Za-z0-9_-]{30,})"),
    "azure-client-secret": (
        r"[0-9]Q~[A-Za-z0-9_~.-]{30}",
        r"([A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,})",
    ),
    "azure-storage-key": (r"[A-Za-z0-9+/]==", r"(?:^|[^A-Za-z0-9+/])([A-Za-z0-9+/]{86}==)"),
    "azure-devops-token": (r"AZDO[A-Za-z0-9]{4}", r"([A-Za-z0-9]{70,}AZDO[A-Za-z0-9]{4})"),
    "terraform-token": (r"\.atlasv1\.", r"([A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,})"),
    "discord-token": (
        r"[A-Za-z0-9_-]\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}",
        r"(?:\b|_)([A-Za-z0-9][A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,})",
    ),
    "mailgun-key": (r"[0-9a-f]-[0-9a-f]{8}-[0-9a-f]{8}\b", r"\b([0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8})\b"),
    "mailchimp-key": (r"[0-9a-f]-us[0-9]", r"\b([0-9a-f]{32}-us[0-9]{1,2})\b"),
    "asana-token": (r"[0-9]/[0-9]{16}", r"\b([0-9]/[0-9]{16}(?:/[0-9]{16})?:[0-9a-f]{32})\b"),
}

TELLING_PATTERN = patterns.any_of([gate for gate, _ in _TELLING.values()])
PATTERN = rf"({patterns.any_of(list(_MARKED.values()))})|(?:\b|_)({patterns.any_of(list(_PLAIN.values()))})"
KEY_FILE_PATTERN = r"-{4,5} ?(?:BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY|PuTTY-User-Key-File"

_RULES = (*_MARKED, *_PLAIN)
_shapes = patterns.compiled(PATTERN)
_telling = {rule: patterns.compiled(pattern) for rule, (_, pattern) in _TELLING.items()}
_which = re.compile("|".join(f"({pattern})" for pattern in (*_MARKED.values(), *_PLAIN.values())))
# Only the last part of a webhook's address is the secret; its host tells an on-call engineer where it goes.
_HOST_OF_WEBHOOK = re.compile(
    r"[^/]*/(?:services|workflows|triggers|hooks/catch|webhookb2|api/(?:v\d+/)?webhooks)/"
)
# Shapes that a long word could have too; issued tokens hold digits and letters of both cases.
_MIXED = frozenset(
    {"opsconsole-key", "discord-token", "vault-token", "facebook-token", "voyage-key", "dropbox-token"}
)
_EXAMPLE = re.compile(r"EXAMPLE(?:KEY)?$")

_BEGIN = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?(?: ?-{4,5})?")
_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_BODY_LINES = re.compile(r"(?:\s*(?:[A-Za-z-]{3,20}: [^\n]{1,120}\n|[A-Za-z0-9+/=]+(?=\s|$|[^\w\s.-])))*")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]+")
_PUTTY_PRIVATE = re.compile(r"Private-Lines: \d+\s(?:[A-Za-z0-9+/=]+\s*)+")
_LONGEST_KEY_FILE = 32768


def find_tokens(text: str) -> Iterator[Span]:
    """Yield the tokens that stand in `text`."""
    for match in _shapes.finditer(text):
        start, end = match.span(1) if match[1] is not None else match.span(2)
        token = text[start:end]
        rule = _rule_of(token)
        if _EXAMPLE.search(token) or (rule in _MIXED and not _is_mixed(token)):
            continue
        if rule == "webhook-url" and (host := _HOST_OF_WEBHOOK.match(token)):
            start += host.end()
        yield Span(start, end, rule)


def find_telling_tokens(text: str) -> Iterator[Span]:
    """Yield tokens that show in their middle or at their end who issued them."""
    for rule, pattern in _telling.items():
        for match in pattern.finditer(text):
            if rule not in _MIXED or _is_mixed(match[1] or ""):
                yield Span(*match.span(1), rule)


def find_key_files(text: str) -> Iterator[Span]:
    """Yield private keys in PEM or PuTTY form, also when their beginning or their end was cut off."""
    covered = 0
    for begin in _BEGIN.finditer(text):
        if begin.start() >= covered:
            covered = _end_of_key(text, begin.end())
            yield Span(begin.start(), covered, "private-key")
    covered = 0
    for end in _END.finditer(text):
        yield Span(_start_of_key(text, covered, end.start()), end.end(), "private-key")
        covered = end.end()
    if "PuTTY-User-Key-File" in text:
        for lines in _PUTTY_PRIVATE.finditer(text):
            yield Span(*lines.span(), "private-key")


def _end_of_key(text: str, start: int) -> int:
    next_begin = _BEGIN.search(text, start, start + _LONGEST_KEY_FILE)
    end = _END.search(text, start, next_begin.start() if next_begin else start + _LONGEST_KEY_FILE)
    if end:
        return end.end()
    body = _BODY_LINES.match(text, start)
    return body.end() if body else start


def _start_of_key(text: str, floor: int, end: int) -> int:
    start = end
    for line in reversed(text[max(floor, end - _LONGEST_KEY_FILE) : end].splitlines(keepends=True)):
        if line.strip() and not _KEY_LINE.fullmatch(line.strip()):
            break
        start -= len(line)
    return start


def _rule_of(token: str) -> str:
    match = _which.match(token)
    return _RULES[match.lastindex - 1] if match and match.lastindex else "token"


def _is_mixed(token: str) -> bool:
    return (
        any(c.isdigit() for c in token)
        and any(c.isupper() for c in token)
        and any(c.islower() for c in token)
    )
