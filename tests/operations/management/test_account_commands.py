from __future__ import annotations

import io
import json
import re

import pytest
from django.core import management
from django.core.management import base
from django.test import RequestFactory

from operations import access
from operations.models import people
from operations.models import projects as tenants
from tests import make

pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    out = io.StringIO()
    management.call_command(*words, stdout=out)
    return out.getvalue()


def test_a_key_is_printed_alone_on_its_line_and_works():
    make.acme()
    printed = run("create_key", "acme", "--scopes", "ingest,read", "--environment", "staging")

    assert re.fullmatch(r"ops_[a-z0-9]{12}_[\w-]{43}\n", printed)
    request = RequestFactory().get("/", headers={"authorization": f"Bearer {printed.strip()}"})
    credential = access.credential_for(request, scope="read")
    assert (credential.project_slug, credential.environment) == ("acme", "staging")


def test_a_key_as_json():
    make.acme()
    told = json.loads(run("create_key", "acme", "--scopes", "approvals", "--days", "30", "--json"))

    key = tenants.IngestKey.objects.get(keyid=told["keyid"])
    assert told == {
        "key": told["key"],
        "keyid": told["key"].split("_")[1],
        "project": "acme",
        "scopes": ["approvals"],
    }
    assert (key.expires_at - key.created_at).days in {29, 30}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere", "--scopes", "ingest"], "There is no project 'nowhere'. There are: acme."),
        (["acme", "--scopes", "decide"], "There is no scope 'decide'"),
        (["acme", "--scopes", ","], "Name a scope"),
        (["acme", "--scopes", "ingest", "--days", "0"], "--days must be from 1"),
    ],
)
def test_a_key_that_cannot_be_is_refused_in_a_sentence(words, said):
    make.acme()

    with pytest.raises(base.CommandError, match=said):
        run("create_key", *words)
    assert tenants.IngestKey.objects.count() == 0


def test_a_project_with_its_admin():
    alice = make.person("alice@acme.example")

    assert run("create_project", "Acme", "--admin", "Alice@acme.example") == "acme\n"
    assert tenants.Membership.objects.get(user=alice).roles == ["admin"]
    told = json.loads(run("create_project", "Acme", "--slug", "acme-2", "--demo", "--json"))
    assert (told["project"], tenants.Project.objects.get(pk=told["id"]).is_demo) == ("acme-2", True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["Acme", "--slug", "globex"], "has this address already"),
        (["Acme", "--slug", "No Such"], "lower-case letters"),
        (["Acme", "--admin", "nobody@acme.example"], "Nobody signs in as"),
    ],
)
def test_a_project_that_cannot_be_is_refused_in_a_sentence(words, said):
    make.globex()

    with pytest.raises(base.CommandError, match=said):
        run("create_project", *words)
    assert tenants.Project.objects.count() == 1


def test_a_person_gets_a_password_that_is_printed_once():
    make.acme()
    words = ["create_user", "Erin@acme.example", "--project", "acme", "--roles", "viewer,admin", "--json"]
    told = json.loads(run(*words))

    erin = people.User.objects.get(email="erin@acme.example")
    assert erin.check_password(told["password"])
    assert told["password"] not in erin.password
    assert sorted(tenants.Membership.objects.get(user=erin).roles) == ["admin", "viewer"]


def test_a_given_password_is_read_from_standard_input_and_not_printed(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(make.PASSWORD + "\n"))
    printed = run("create_user", "erin@acme.example", "--staff", "--password-stdin")

    erin = people.User.objects.get(email="erin@acme.example")
    assert erin.check_password(make.PASSWORD)
    assert erin.is_staff
    assert make.PASSWORD not in printed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bob@acme.example"], "exists already"),
        (["not an address"], "valid email"),
        (["x@acme.example", "--project", "nowhere"], "There is no project"),
        (["x@acme.example", "--project", "acme", "--roles", "owner"], "There is no role 'owner'"),
    ],
)
def test_a_person_who_cannot_be_is_refused_and_nothing_is_left(words, said):
    make.bob()

    with pytest.raises(base.CommandError, match=said):
        run("create_user", *words)
    assert people.User.objects.count() == 1


def test_a_weak_given_password_is_refused(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))

    with pytest.raises(base.CommandError, match="too short"):
        run("create_user", "erin@acme.example", "--password-stdin")
