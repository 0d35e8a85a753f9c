"""Values that stand for a secret and hold none: masks, variables, templates, code, and words of a sentence."""

from __future__ import annotations

import re

from operations.redaction import patterns

_PLACEHOLDER = patterns.compiled(
    patterns.any_of(
        [
            r"\s*",
            r"\[REDACTED:[a-z0-9-]+\]",
            r"[*•●xX.…_#-]{3,}[A-Za-z0-9]{0,4}",
            # The head and the tail of a masked key: sk-ab****1234, sk-ab…1234.
            r"[A-Za-z0-9_-]{0,8}(?:\*{3,}|•{3,})[A-Za-z0-9]{0,4}|[A-Za-z0-9_-]{0,8}(?:…|\.{3,})[A-Za-z0-9]{2,4}",
            r"\\*\$\{[^{}]*\}|\$\{\{.*\}\}|\$\([^()]*\)|\$+[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*|\$[0-9@*]|%[A-Z_]+%|\$env:\w+",
            r"\{\{.*\}\}|\{%.*%\}|\{[A-Za-z_][\w.]*\}|#\{[^{}]*\}|%s|%\(\w+\)s|%[dvq]|\?|:[a-z_]+",
            r"<[A-Za-z][\w .:/-]{0,60}>|<\*+>|<\.{3}>|&lt;[\w .-]{0,60}&gt;",
            r"(?i)[\[(<{]+(?:redacted|filtered|hidden|masked|removed|omitted|scrubbed|sanitized|protected|sensitive"
            r"|secret|none|null|empty|missing|unset|not set|unknown)(?:[:_ -][\w -]{0,40})?[\])>}]+",
            r"(?i)redacted|filtered|hidden|masked|removed|omitted|scrubbed|none|null|nil|undefined|true|false|n/?a|empty"
            r"|unset|not[ _-]?set",
            r"(?i)your[_ -][\w -]*|(?:insert|enter|replace)[_ -](?:your|with|me|the|here)[\w -]*|change[_-]?me"
            r"|my[_-](?:[a-z]+[_-])*(?:key|token|secret|password)",
            r".*EXAMPLE(?:KEY)?",
        ]
    )
)
_SCHEMES = patterns.words("""
    bearer basic token bot digest apikey api-key key negotiate ntlm oauth jwt splunk sso-key
    """)
_SCHEME = re.compile(rf"(?:{'|'.join(_SCHEMES)})\s+", re.IGNORECASE)

_CODE = patterns.compiled(
    patterns.any_of(
        [
            # A call or a look-up: get_secret('db'), os.environ["X"], request.headers[…
            r"(?:await\s+|new\s+|!)?(?:[A-Za-z_]{2,}\.)*[A-Za-z_]{3,}[(\[](?:[A-Za-z_.]*[(\[])*"
            r"(?:$|[A-Za-z0-9_.*{]*[,)\]].*)",
            # A class of a module, a constant: access.Credential, CSRF_TOKEN_LENGTH
            r"[a-z_]{2,}(?:\.[a-z_]{2,})*\.[A-Z][A-Za-z]{2,}|[A-Z]{2,}(?:_[A-Z]{2,})+",
            # An attribute of something: self._token, process.env.API_KEY, config.db.password
            r"(?:self|this|cls|config|cfg|settings|env|process|os|request|req|res|ctx|context|args|kwargs|options|opts"
            r"|params|props|state|secrets|vars|var|local|data|inputs|github|event|input)(?:\??\.[A-Za-z_][A-Za-z_]*)+;?",
            # A type: password: str
            r"(?i)(?:str|string|bytes?|int|integer|float|number|bool|boolean|any|object|optional|list|dict|array"
            r"|void|unknown|never|secretstr|text|varchar|char)[\[\]?;,|]*",
        ]
    )
)
_STATES = frozenset(
    patterns.words("""
    a an and are as at be but by can cannot check could did do does empty error expired expires failed
    failure field for found from had has have if in incorrect invalid is it length long malformed may
    mismatch missing must needed no none not of ok old only optional or please provided refused rejected
    required reset revoked rotated short should that the this to too true try unauthorized unknown unset
    updated use using valid verified was weak were when which will with wrong you your accepted denied
    disabled enabled changed new same different absent present supplied false null yes stored sent given
    set unexpected near after before pass then else return raise high low
    """)
)
_PLAIN_AUTH = frozenset(
    patterns.words("""
    basic bearer none oauth oauth2 required optional apikey api_key api-key digest saml oidc jwt ntlm
    kerberos mtls iam sso token password anonymous ok failed fail success pass passed skip skipped yes
    no true false enabled disabled default cookie session null n/a error warn
    """)
)


def stands_for_a_secret(value: str) -> bool:
    """Tell whether `value` is a mask, a variable or a template, with or without an authentication scheme before it."""
    value = value.strip().strip("\"'`").strip()
    scheme = _SCHEME.match(value)
    return bool(_PLACEHOLDER.fullmatch(value[scheme.end() :] if scheme else value))


def is_scheme(word: str) -> bool:
    """Tell whether `word` only names a way to authenticate, so that the secret comes after it."""
    return word.lower() in _SCHEMES


def is_code(value: str) -> bool:
    """Tell whether an unquoted `value` is an expression of a program that fetches a secret from elsewhere."""
    return bool(_CODE.fullmatch(value))


def is_word_of_a_sentence(value: str) -> bool:
    """Tell whether `value` goes on with a sentence about a secret: "token: expired"."""
    return value.strip("\"'.,;:!?()").lower() in _STATES


def is_plain_word(value: str) -> bool:
    """Tell whether `value` names a method or a result, as in auth=basic or pass=ok."""
    return value.strip().lower() in _PLAIN_AUTH


def looks_random(value: str, *, at_least: int = 12) -> bool:
    """Tell whether `value` is long and mixed enough to be issued by a machine."""
    return (
        len(value) >= at_least
        and any(c.isdigit() for c in value)
        and any(c.isalpha() for c in value)
        and not any(c.isspace() for c in value)
    )
