from __future__ import annotations

import base64
import datetime

import pytest
from django import http
from django.contrib.auth import models as auth_models
from django.core import exceptions
from django.test import RequestFactory
from django.utils import timezone

from operations import access, keys, projects, rejections
from operations.models import projects as tenants
from tests import make

pytestmark = pytest.mark.django_db


def request_with(**headers: str) -> http.HttpRequest:
    return RequestFactory().post("/v1/operations", headers=headers)


def credential_of(token: str, scope: str | None = "ingest") -> access.Credential:
    return access.credential_for(request_with(authorization=f"Bearer {token}"), scope=scope)


def basic(text: str) -> http.HttpRequest:
    return request_with(authorization="Basic " + base64.b64encode(text.encode()).decode())


def test_alice_opens_her_project():
    membership = access.project_for(make.alice(), "acme", role="admin")

    assert membership.project == make.acme()
    assert membership.role_labels == ["Approver", "Admin"]


@pytest.mark.parametrize("slug", ["acme", "globex", "nowhere"])
def test_a_stranger_gets_the_same_404_for_what_is_there_and_what_is_not(slug):
    make.alice(), make.charlie()

    with pytest.raises(http.Http404):
        access.project_for(make.dora(), slug)
    with pytest.raises(http.Http404):
        access.project_for(auth_models.AnonymousUser(), slug)


def test_admin_does_not_imply_approver():
    make.join(make.dora(), make.acme(), ["admin"])

    with pytest.raises(exceptions.PermissionDenied):
        access.project_for(make.dora(), "acme", role="approver")


def test_a_deleted_project_is_gone_for_people_and_for_keys():
    alice, issued = make.alice(), make.key()
    projects.delete(make.acme())

    with pytest.raises(http.Http404):
        access.project_for(alice, "acme")
    with pytest.raises(rejections.UnknownKey):
        credential_of(issued.token)
    assert access.memberships_of(alice) == []


def test_one_project_does_not_load_what_is_in_another():
    charlie = make.charlie()
    theirs = make.key(make.globex())
    member = tenants.Membership.objects.get(user=charlie)

    with pytest.raises(http.Http404):
        access.key_in(make.acme(), theirs.key.keyid)
    with pytest.raises(http.Http404):
        access.member_in(make.acme(), member.pk)
    with pytest.raises(http.Http404):
        access.invitation_in(make.acme(), 1)


def test_a_key_opens_its_project_and_tells_what_it_is_bound_to():
    issued = make.key(
        scopes=["ingest", "read"], environment="staging", runtime="shop@1", tool_prefix="refund_"
    )
    acme = make.acme()

    assert credential_of(issued.token) == access.Credential(
        project_id=acme.pk,
        project_slug="acme",
        key_id=issued.key.pk,
        keyid=issued.key.keyid,
        scopes=frozenset({"ingest", "read"}),
        environment="staging",
        runtime="shop@1",
        tool_prefix="refund_",
        digest_key=bytes(acme.digest_key),
        retention_days=90,
        excerpt_days=14,
    )


def test_a_key_is_read_from_bearer_basic_and_x_api_key():
    token = make.key().token
    requests = [
        request_with(authorization=f"bearer {token}"),
        request_with(**{"x-api-key": token}),
        basic(f"{token}:"),
        basic(f"anything:{token}"),
    ]

    assert {access.credential_for(request, scope="ingest").project_slug for request in requests} == {"acme"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": "Bearer  "},
        {"authorization": "Digest ops_x"},
        {"x-api-key": " "},
        {"authorization": "Basic " + base64.b64encode(b"someone:").decode()},
    ],
)
def test_no_key_is_told_apart_from_a_bad_one(headers):
    with pytest.raises(rejections.MissingCredential):
        access.credential_for(request_with(**headers), scope=None)


@pytest.mark.parametrize(
    "token",
    [
        "ops_",
        "ops_abcdefghijkl_short",
        "OPS_abcdefghijkl_" + "a" * 43,
        "ops_abcdefghijkl_" + "a" * 43,
        "ops_abcdefghijkl_" + "a" * 43 + "\n",
        "ops_abcdefghijkl_" + "é" * 43,
        "ops_ABCDEFGHIJKL_" + "a" * 43,
        "x" * 100_000,
    ],
)
def test_an_unknown_key_is_refused_by_name(token):
    with pytest.raises(rejections.UnknownKey):
        access.credential_for(request_with(**{"x-api-key": f"{token}"}), scope=None)


def test_basic_that_is_not_base64_is_refused():
    with pytest.raises(rejections.UnknownKey):
        access.credential_for(request_with(authorization="Basic !!!"), scope=None)


def test_a_right_id_with_a_wrong_secret_is_refused():
    token = make.key().token
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")

    with pytest.raises(rejections.UnknownKey):
        credential_of(wrong)


def test_a_miss_costs_a_comparison_too(monkeypatch):
    compared = []
    real = keys.matches
    monkeypatch.setattr(
        keys, "matches", lambda secret, stored: compared.append(stored) or real(secret, stored)
    )

    with pytest.raises(rejections.UnknownKey):
        credential_of("ops_abcdefghijkl_" + "a" * 43)

    assert compared == [keys.NO_HMAC]


def test_a_key_is_never_read_from_the_address_or_a_cookie():
    token = make.key().token
    request = RequestFactory().get(f"/v1/whoami?key={token}&access_token={token}")
    request.COOKIES["key"] = token

    with pytest.raises(rejections.MissingCredential):
        access.credential_for(request, scope=None)


def test_a_missing_scope_is_named():
    with pytest.raises(rejections.ScopeMissing):
        credential_of(make.key(scopes=["ingest"]).token, scope="read")


def test_revoked_and_expired_keys_are_told_apart():
    revoked = make.key()
    keys.revoke(revoked.key)
    expired = make.key(expires_at=timezone.now() - datetime.timedelta(seconds=1))

    with pytest.raises(rejections.KeyRevoked):
        credential_of(revoked.token)
    with pytest.raises(rejections.KeyExpired):
        credential_of(expired.token)


def test_a_key_that_dies_after_its_look_up_is_refused_before_the_commit():
    revoked, expired, orphaned, live = make.key(), make.key(), make.key(make.globex()), make.key()
    credentials = [credential_of(issued.token) for issued in (revoked, expired, orphaned, live)]
    keys.revoke(revoked.key)
    tenants.IngestKey.objects.filter(pk=expired.key.pk).update(
        expires_at=timezone.now() - datetime.timedelta(seconds=1)
    )
    projects.delete(make.globex())

    with pytest.raises(rejections.KeyRevoked):
        access.recheck(credentials[0])
    with pytest.raises(rejections.KeyExpired):
        access.recheck(credentials[1])
    with pytest.raises(rejections.KeyRevoked):
        access.recheck(credentials[2])
    access.recheck(credentials[3])


def test_the_last_use_is_written_at_most_once_a_minute(django_assert_num_queries):
    # The look-up itself goes by the driver's own cursor, which Django does not count.
    issued = make.key()

    with django_assert_num_queries(1):
        credential_of(issued.token)
    first = tenants.IngestKey.objects.get(pk=issued.key.pk).last_used_at
    with django_assert_num_queries(0):
        credential_of(issued.token)

    assert first is not None
    assert tenants.IngestKey.objects.get(pk=issued.key.pk).last_used_at == first


def test_staff_and_admins_may_make_projects_and_viewers_may_not():
    staff = make.person("root@example.com", is_staff=True)

    allowed = [
        access.may_create_projects(user, access.memberships_of(user))
        for user in (staff, make.alice(), make.bob(), make.dora())
    ]

    assert allowed == [True, True, False, False]
