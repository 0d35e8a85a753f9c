"""Secrets that no other place has, records that carry them in every field, and a search through everything."""

from __future__ import annotations

import base64
import datetime
import random
import secrets
import string
import urllib.parse
from collections.abc import Iterator
from typing import Any, NamedTuple

import psycopg
import redis
from psycopg import sql

from tests import databases
from tests.chaos import console

Record = dict[str, Any]


class Canary(NamedTuple):
    """Secrets that show by their shape, one that shows by its key alone, and words that show by nothing."""

    token: str
    short: str
    snake: str  # formed like a code
    password: str
    words: str

    @property
    def secrets(self) -> tuple[str, ...]:
        """What may be nowhere at all."""
        return self.token, self.short, self.snake, self.password


def hatch() -> Canary:
    """Make secrets that were never seen before, put together from parts."""
    letters = string.ascii_letters + string.digits
    dice = random.SystemRandom()
    token = "gh" + "p_" + "".join(dice.choice(letters) for _ in range(36))
    short = "AK" + "IA" + "".join(dice.choice(string.ascii_uppercase + string.digits) for _ in range(16))
    snake = "np" + "m_" + "".join(dice.choice(string.ascii_lowercase + string.digits) for _ in range(36))
    return Canary(token, short, snake, f"Tr0ub{secrets.token_hex(9)}", f"canary{secrets.token_hex(12)}")


def records(of: Canary) -> Iterator[Record]:
    """Yield records that carry the secrets in every field that takes any text, under every ending."""
    hidden = {
        "note": f"see {of.token} there",
        "password": of.password,
        of.token: 1,
        "list": [of.token, [of.short]],
    }
    hidden |= {
        "headers": [{"name": "Authorization", "value": of.password}],
        "url": f"https://u:{of.password}@h/x",
    }
    hidden |= {"json": f'{{"api_key": "{of.password}"}}', "command": f"deploy --password {of.password} now"}
    common: Record = {"tool": of.token, "tool_version": of.token, "mode": of.short, "environment": of.token}
    common |= dict.fromkeys(("runtime", "instance", "subject", "source", "provider", "model"), of.token)
    common |= dict.fromkeys(("tool_call_id", "session_id", "turn_id", "parent_id"), of.token)
    common |= dict.fromkeys(("idempotency_key", "approval_id"), of.token)
    common |= {
        "attributes": {"note": of.token, "password": of.password, of.token: of.short},
        "effect": "write",
    }
    common |= {"legs": [{"name": of.short, "ms": 1}], "input": {"value": hidden}, "started_at": ago(60)}
    error = {
        "category": of.short,
        "suggested_actions": [of.token],
        "text": f"{of.words}: login with {of.token} failed",
    }
    ended = {"ended_at": ago(50), "error": error, "output": {"compact": hidden}}
    conflict = dict.fromkeys(("resource", "expected_revision", "actual_revision"), of.token)
    issues = [{"path": f"/{of.token}", "keyword": of.token}]
    yield {
        "operation_id": of.token,
        **common,
        **ended,
        "status": "done",
        "outcome": "failure",
        "code": of.token,
    }
    yield {**common, **ended, "status": "done", "code": of.snake, "conflict": conflict}
    told_apart = {"answered_at": ago(40), "answer": {"outcome": "failure", "code": of.token}}
    yield {"operation_id": "late", **common, **ended, "status": "timed_out", "code": of.token, **told_apart}
    contract = {"kind": "invalid_arguments", "issues": issues}
    yield {"operation_id": "never", **common, **ended, "status": "contract_error", "contract": contract}
    yield {
        "operation_id": "broke",
        **common,
        **ended,
        "status": "runtime_error",
        "code": f"Prose with {of.token}",
    }
    waits = {name: told for name, told in common.items() if name != "started_at"}
    yield {"operation_id": f"pending/{of.token}", **waits, **ended, "status": "denied"}


def refused(of: Canary) -> Iterator[Record]:
    """Yield records that are refused, each with the words in what is wrong or beside it."""
    whole = next(records(of))
    named = f"{of.words}{of.token}"
    yield {**whole, "operation_id": f"{named} "}
    yield {**whole, "tool": named * 9}
    yield {**whole, "status": named}
    yield {**whole, "started_at": named}
    yield {**whole, "started_at": "1970-01-01T00:00:00Z", "session_id": named}
    yield {**whole, "attempt": named}
    yield {**whole, "input": {"digest": named}}
    yield {**whole, "trace_id": named}
    yield {**whole, "error": {named: named, "retryable": named}}
    yield {**whole, "attributes": {named: [named]}}
    yield {"tool": named}


def ago(seconds: float) -> str:
    """A told time so many seconds before now."""
    return (datetime.datetime.now(tz=datetime.UTC) - datetime.timedelta(seconds=seconds)).isoformat()


def spellings(secret: str) -> Iterator[bytes]:
    """Yield the secret as it may be written: plain, in other cases, in hexadecimal, in base64 at any offset, quoted."""
    plain = secret.encode()
    yield from {
        plain,
        plain.lower(),
        plain.upper(),
        plain.hex().encode(),
        urllib.parse.quote(secret).encode(),
    }
    for offset in range(3):
        told = base64.b64encode(b"x" * offset + plain)
        yield told[4 if offset else 0 : -4]


def holds(content: bytes, secret: str) -> bool:
    """Tell whether the secret stands in `content` in any spelling."""
    return any(spelling in content for spelling in spellings(secret))


def everything(of: console.Console) -> Iterator[tuple[str, bytes]]:
    """Yield whatever the console keeps or says, by where it is: tables, files of PostgreSQL, logs, mails, Redis."""
    yield from tables(of)
    yield from said(of)
    yield from ((f"file {path}", path.read_bytes()) for path in of.place.servers.rglob("*") if path.is_file())


def tables(of: console.Console) -> Iterator[tuple[str, bytes]]:
    """Yield every table, whole, as raw bytes."""
    with of.connect() as connection:
        names = [str(name) for (name,) in connection.execute(databases.ALL_TABLES).fetchall()]
        for name in names:
            yield f"table {name}", raw(connection, name)


def raw(connection: psycopg.Connection[Any], name: str) -> bytes:
    """Return one table in PostgreSQL's binary form, in which text and bytes stand as they are."""
    question = sql.SQL("COPY (SELECT * FROM {}) TO STDOUT (FORMAT BINARY)").format(sql.Identifier(name))
    with connection.cursor() as cursor, cursor.copy(question) as copying:
        return b"".join(bytes(piece) for piece in copying)


def said(of: console.Console) -> Iterator[tuple[str, bytes]]:
    """Yield every log and every key of Redis."""
    for folder in (of.place.data, of.parts.folder):
        for path in folder.glob("*.log"):
            yield f"log {path.name}", path.read_bytes()
    with of.valkey() as valkey:
        for key in valkey.scan_iter():
            yield f"Redis {key!r}", repr((key, value_of(valkey, key))).encode()


def value_of(valkey: redis.Redis, key: bytes) -> object:
    """Return what stands under one key of Redis, whatever its type."""
    kind = valkey.type(key)
    ask = {b"string": valkey.get, b"hash": valkey.hgetall, b"set": valkey.smembers}
    if kind == b"list":
        return valkey.lrange(key, 0, -1)
    if kind == b"zset":
        return valkey.zrange(key, 0, -1, withscores=True)
    return ask[kind](key) if kind in ask else valkey.dump(key)
