from __future__ import annotations

import datetime
import hmac
import re

import pytest
from django.conf import settings
from django.utils import timezone

from operations import keys, rejections
from operations.models import projects as tenants
from tests import make

pytestmark = pytest.mark.django_db


def test_the_token_is_in_the_answer_and_nowhere_in_the_table():
    issued = make.key(scopes=["read", "ingest"])

    assert re.fullmatch(r"ops_[a-z0-9]{12}_[A-Za-z0-9_-]{43}", issued.token)
    secret = issued.token.split("_", 2)[2]
    row = tenants.IngestKey.objects.values().get(pk=issued.key.pk)
    assert bytes(row["secret_hmac"]) == hmac.digest(settings.KEY_PEPPER, secret.encode(), "sha256")
    assert secret not in repr(row)
    assert (row["keyid"], row["last4"]) == (issued.token.split("_")[1], secret[-4:])
    assert row["scopes"] == ["ingest", "read"]


def test_another_pepper_opens_nothing(settings):
    secret = make.key().token.split("_", 2)[2]
    stored = keys.secret_hmac(secret)
    settings.KEY_PEPPER = b"another pepper"

    assert not keys.matches(secret, stored)


def test_rotation_leaves_two_live_keys_with_the_same_powers_until_one_is_revoked():
    first = make.key(scopes=["read"], environment="staging", tool_prefix="pay_").key
    second = keys.rotate(first, by=make.alice()).key

    now = timezone.now()
    assert first.is_live(now)
    assert second.is_live(now)
    assert (second.scopes, second.environment, second.tool_prefix) == (["read"], "staging", "pay_")
    assert second.rotates == first
    assert second.keyid != first.keyid


def test_a_successor_of_a_key_that_expires_lives_as_long_as_the_first_did():
    lasts = datetime.timedelta(days=90)
    first = make.key().key
    made = timezone.now() - datetime.timedelta(days=80)
    tenants.IngestKey.objects.filter(pk=first.pk).update(created_at=made, expires_at=made + lasts)

    second = keys.rotate(first, by=make.alice()).key

    assert abs(second.expires_at - (timezone.now() + lasts)) < datetime.timedelta(minutes=1)


def test_there_are_never_three_live_keys_of_one_rotation():
    first = make.key().key
    second = keys.rotate(first, by=make.alice()).key

    with pytest.raises(rejections.KeyBeingRotated):
        keys.rotate(first, by=make.alice())
    keys.revoke(second)
    keys.rotate(first, by=make.alice())


def test_a_dead_key_has_no_successor():
    first = make.key().key
    keys.revoke(first)

    with pytest.raises(rejections.KeyNotLive):
        keys.rotate(first, by=make.alice())


def test_revoking_twice_keeps_the_first_moment():
    key = make.key().key
    keys.revoke(key)
    first = tenants.IngestKey.objects.get(pk=key.pk).revoked_at
    keys.revoke(key)

    assert tenants.IngestKey.objects.get(pk=key.pk).revoked_at == first
