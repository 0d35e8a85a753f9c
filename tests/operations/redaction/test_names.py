"""What names say about their values."""

from __future__ import annotations

import pytest

from operations.redaction import keywords, patterns


@pytest.mark.parametrize(
    "name",
    patterns.words("""
    password Password userPassword PGPASSWORD db_pwd x-api-key X_API_KEY apiKey APIKey myapikey
    clientsecret client-secret aws_secret_access_key accessToken id_token refresh.token
    Authorization proxy-authorization credentials pin otp cvv2 privateKey ssh_key passphrase
    password2 ｐａｓｓｗｏｒｄ jwt cardNumber securityCode пароль токен_token session_token csrfToken
    secret_value db_password_prod
    """),
)
def test_names_of_secrets(name: str) -> None:
    assert keywords.verdict(name) == "secret"


@pytest.mark.parametrize(
    "name",
    patterns.words("""
    author authority authored_at passenger compass bypass passed pass_rate secretary tokenizer
    token_type max_token_length token_count password_policy secret_name token_expires_at primary_key
    public_key foreign_key key keys id monkey spinning shipping opinion encrypted next_page_token
    stop_token cookie_policy authorization_url first_pass name value hotel secretRef api_key_id
    credential_type ping pinned turnkey
    """),
)
def test_harmless_names(name: str) -> None:
    assert keywords.verdict(name) == ""


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("tokens", "tokens"),
        ("input_tokens", "tokens"),
        ("max_tokens", "tokens"),
        ("Cookie", "cookie"),
        ("set-cookie", "cookie"),
        ("db_pass", "text"),
        ("auth", "text"),
        ("client_ip", "ip"),
        ("X-Forwarded-For", "ip"),
        ("remoteAddr", "ip"),
        ("phoneNumber", "phone"),
        ("mobile", "phone"),
    ],
)
def test_names_that_say_something_else(name: str, verdict: str) -> None:
    assert keywords.verdict(name) == verdict


def test_a_very_long_name_is_judged_too() -> None:
    assert keywords.verdict("x_" * 500 + "password") == "secret"


def test_a_mark_in_a_name_says_nothing() -> None:
    assert keywords.verdict("[REDACTED:github-token]") == ""
