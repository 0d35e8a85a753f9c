"""What holds for the sources as a whole."""

from __future__ import annotations

import pathlib
import re
import subprocess

import pytest
from django.db import connection

from operations import copying, facts, histogram, marks, merging

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Runtimes and libraries that send; models and providers are data and may be named.
EMITTERS = re.compile(
    r"pydantic.?ai|langchain|langgraph|langfuse|langsmith|openinference|openllmetry|traceloop|vercel|strands|"
    r"semantic.?kernel|autogen|fastmcp|claude.?code|gemini.?cli|\bcodex\b|google.?adk|agent.?framework",
    re.IGNORECASE,
)


def sources() -> list[pathlib.Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.splitlines()]


def test_only_the_otlp_package_names_an_emitter() -> None:
    code = [
        path
        for path in sources()
        if path.suffix == ".py"
        and path.relative_to(ROOT).parts[0] in {"operations", "analytics", "opsconsole"}
        and "otlp" not in path.parts
        and path.name != "shapes.py"  # redaction names the issuers of secrets, whoever sends them
        and path.exists()
    ]

    assert len(code) > 100
    assert {str(path) for path in code if EMITTERS.search(path.read_text())} == set()


def test_no_file_names_a_registry() -> None:
    named = re.compile(r"--(extra-)?index-url\s+\S|//[^\s\"']*/simple\b|pythonhosted|\"resolved\":")
    texts = {path: path.read_text(errors="replace") for path in sources() if path.exists()}
    del texts[pathlib.Path(__file__).resolve()]

    assert [path.name for path, text in texts.items() if named.search(text)] == []


@pytest.mark.django_db
def test_the_table_has_exactly_the_declared_facts() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'operation'::regclass AND attnum > 0 "
            "AND NOT attisdropped AND attgenerated = ''"
        )
        columns = {name for (name,) in cursor.fetchall()}

    assert columns == {name for name, _ in copying.COLUMNS} | {"job_marks"}
    assert set(facts.NAMES) < columns


@pytest.mark.django_db
def test_the_database_derives_what_python_derives() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'operation'::regclass AND attgenerated = 's'"
        )
        assert {name for (name,) in cursor.fetchall()} == set(merging.Derived._fields)


@pytest.mark.django_db
def test_histogram_buckets_are_the_same_in_the_database() -> None:
    values = sorted({v + d for v in histogram.EDGES for d in (-1, 0, 1)} | {0, -1, -7, -10_000, 2**61})
    with connection.cursor() as cursor:
        cursor.execute("SELECT v, opsconsole_bucket(v) FROM unnest(%s::bigint[]) AS v", [values])
        assert cursor.fetchall() == [(value, histogram.bucket(value)) for value in values]


def test_no_mark_shares_a_bit() -> None:
    assert sum(marks.Mark) == marks.Mark(sum(marks.Mark))
    assert len({int(mark) for mark in marks.Mark}) == len(marks.Mark)
