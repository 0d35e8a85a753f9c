"""Which names announce a secret, judged by whole words.

A name is split the way people write names (camelCase, snake_case, kebab-case, after NFKC), and words are compared, not
substrings: `author`, `passenger` and `compass` are harmless, `userPassword`, `PGPASSWORD` and `x-api-key` are not. A
last word that speaks *about* a secret (`token_type`, `max_tokens`, `password_policy`) makes the name harmless again.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from typing import Literal

from operations.redaction import patterns

#: What a name says about its value: a secret of any type; a secret if it is text; a secret unless it is a number;
#: an object of secrets with any names; a cookie; the address or the phone number of a person; nothing.
Verdict = Literal["secret", "text", "tokens", "members", "cookie", "ip", "phone", ""]

_LONGEST_REMEMBERED = 128

_MARK = re.compile(r"\[REDACTED:[a-z0-9-]+\]")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")

#: Words that are secret inside a longer run of letters too, as in PGPASSWORD or clientsecret.
STRONG_WORDS = patterns.words("""
    password passwd passphrase passcode passwort kennwort contrasena wachtwoord motdepasse salasana
    пароль 密码 secret token credential apikey secretkey accesskey privatekey authkey signingkey
    encryptionkey masterkey accountkey storagekey sharedkey subscriptionkey authorization mnemonic
    seedphrase pgpass
    """)
#: Words that are secret only when they stand alone.
SHORT_WORDS = patterns.words("""
    passw pwd pswd senha passord creds cred otp totp pin pincode cvv cvc ssn jwt bearer
    """)
PHRASES = tuple(
    tuple(phrase.split("_"))
    for phrase in patterns.words("""
    api_key api_keys access_key access_keys secret_key private_key account_key storage_key signing_key
    encryption_key decryption_key master_key auth_key service_key shared_key subscription_key
    function_key license_key ssh_key session_key webhook_key deploy_key auth_code authorization_code
    verification_code security_code backup_code backup_codes recovery_code recovery_codes
    security_answer card_number credit_card social_security passport_number pass_phrase pass_word
    seed_phrase recovery_phrase client_assertion device_code mot_passe time_code mfa_code
    """)
)
_STRONG_ENDINGS = tuple(STRONG_WORDS) + tuple(word + "s" for word in STRONG_WORDS)
_SHORT = frozenset(SHORT_WORDS)
_PHRASES = frozenset(PHRASES)

# A last word that speaks about a secret and does not hold it.
_ABOUT = frozenset(
    patterns.words("""
    count counts limit limits type types length len size sizes budget usage used remaining rate ratio
    cost costs price expiry expires expired expiration ttl age url urls uri uris endpoint endpoints
    policy policies required optional enabled disabled valid invalid status state version versions scope
    scopes format field fields hint algorithm alg method methods kind category path paths file files
    filename provider strategy mode index id ids per window in at on prompt reset rotation rotated ref
    refs reference arn label title description desc error errors reason message rule rules strength
    manager store env variable var variables param parameter position offset start end min max total sum
    avg mean details detail stdin stats statistics metrics source name names present exists set
    configured loss logprobs probability embedding embeddings bias server host port issuer audience
    created updated modified date time timestamp years seconds minutes hours days ms us consent banner
    domain samesite secure display changed attempts attempt retries failures last placeholder supported
    family bucket santa
    """)
)
_HARMLESS_BEFORE_TOKEN = frozenset(
    patterns.words("""
    page next continuation pagination cursor stop eos bos pad unk special cls sep mask input output
    prompt completion max min total cached reasoning per first
    """)
)
_HARMLESS_BEFORE_PASS = frozenset(
    patterns.words("""
    first second third last multi single two by low high band pre post boarding dry all season forward
    backward
    """)
)
_IP_NAMES = frozenset(
    patterns.words("""
    clientip remoteip userip sourceip srcip peerip visitorip customerip callerip loginip realip
    ipaddress ipaddr remoteaddr clientaddr remoteaddress clientaddress peeraddr peeraddress
    xforwardedfor xrealip cfconnectingip trueclientip forwardedfor lastloginip
    """)
)
_PHONE_WORDS = patterns.words("phone phones mobile telephone tel cellphone msisdn fax phonenumber")


def _alone(word: str) -> str:
    """Return a pattern for `word` standing alone the way `_WORD` splits a name."""
    return rf"(?:\b|_|[0-9]){word}(?:[^a-z]|$)|{word.capitalize()}(?:[^a-z]|$)|{word.upper()}"


_ENDINGS = ("pass", "auth", "auths")
_STRONG_PATTERN = f"(?i:{'|'.join(STRONG_WORDS)})"

#: Matches every JSON text that holds a name with a verdict (numbers and addresses of persons have patterns of their
#: own, on the value).
NAME_PATTERN = "|".join(
    [
        _STRONG_PATTERN,
        *(_alone(word) for word in (*SHORT_WORDS, *_ENDINGS, *_PHONE_WORDS)),
        *(f'(?i:{first})[^A-Za-z"]*(?i:{second})' for first, second in PHRASES),
        r"(?i:cookie)",
    ]
)
#: Matches the middle of a name that stands in a text.
TEXT_PATTERN = "|".join(
    [
        _STRONG_PATTERN,
        *(
            rf"\b(?i:{word})|_(?i:{word})|{word.capitalize()}|{word.upper()}"
            for word in (*SHORT_WORDS, *_ENDINGS)
        ),
        *(f"(?i:{first}[ _.-]?{second})" for first, second in PHRASES),
    ]
)


def verdict(name: str) -> Verdict:
    """Return what `name` says about the value that it names; names repeat, so answers are remembered."""
    return _remembered(name) if len(name) <= _LONGEST_REMEMBERED else _verdict(name)


@functools.lru_cache(maxsize=8192)
def _remembered(name: str) -> Verdict:
    return _verdict(name)


def _verdict(name: str) -> Verdict:
    if "[REDACTED:" in name:
        name = _MARK.sub("", name)
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name)
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _ABOUT:
        return ""
    return _secret(words) or _person(words)


def _secret(words: list[str]) -> Verdict:
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last.endswith(("token", "tokens")) and before in _HARMLESS_BEFORE_TOKEN:
        return "tokens" if last == "tokens" else ""
    if last == "tokens":
        return "tokens"
    if any(word in _SHORT or word.endswith(_STRONG_ENDINGS) for word in words):
        return "secret"
    if any(pair in _PHRASES for pair in itertools.pairwise(words)):
        return "secret"
    if last in ("cookie", "cookies"):
        return "cookie"
    if last in _ENDINGS and before not in _HARMLESS_BEFORE_PASS:
        return "text"
    return ""


def _person(words: list[str]) -> Verdict:
    if "".join(words) in _IP_NAMES:
        return "ip"
    said = words[:-1] if words[-1] in ("number", "no") else words
    return "phone" if said and said[-1] in _PHONE_WORDS else ""
