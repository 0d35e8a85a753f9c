"""What is asked and what comes back: made-up people, orders and money, and now and then something that is secret."""

from __future__ import annotations

import random
from typing import Any

from operations.simulation import catalogue

_FIRST = (
    "Ada",
    "Bruno",
    "Chiara",
    "Dmitri",
    "Efua",
    "Farid",
    "Grete",
    "Hiro",
    "Ines",
    "Jonas",
    "Kerstin",
    "Léa",
)
_LAST = ("Okafor", "Müller", "Rossi", "Tanaka", "Novak", "Silva", "Haddad", "Larsen", "Dubois", "Kowalski")
_GOODS = ("kettle", "desk lamp", "rain jacket", "cast-iron pan", "bicycle pump", "linen sheets", "headphones")
_QUERIES = (
    "parcel never arrived",
    "charged twice for one order",
    "how do I reset the display",
    "return after thirty days",
    "invoice shows the wrong address",
    "warranty for refurbished items",
)
_POLICIES = ("refunds", "shipping-abroad", "warranty", "data-protection")


def arguments(dice: random.Random, tool: catalogue.Tool, case: int) -> dict[str, Any]:
    """Return the arguments of one call about the `case` that the session is about."""
    asked: dict[str, Any] = {tool.argument: _subject(dice, tool.argument, case)}
    if tool.name == "refund_create":
        asked |= {
            "amount": round(dice.uniform(5, 180), 2),
            "currency": dice.choice(("EUR", "EUR", "USD", "GBP")),
        }
    elif tool.name in {"ticket_reply", "mail_send", "note_add"}:
        asked["text"] = (
            f"Dear {dice.choice(_FIRST)}, your {dice.choice(_GOODS)} is on its way. Order {order(case)}."
        )
    elif tool.name in {"stock_reserve", "order_update"}:
        asked["quantity"] = dice.randint(1, 4)
    elif tool.name == "customer_update":
        asked["address"] = {
            "street": f"Canal Street {case % 90 + 1}",
            "city": "Utrecht",
            "postcode": "3511 AB",
        }
    elif tool.name == "plan_change":
        asked["plan"] = dice.choice(("basic", "plus", "family"))
    if dice.random() < 0.01:
        # What should never be there, and is: the console must not keep it.
        asked["headers"] = {"Authorization": "Bearer " + secret(dice)}
    return asked


def result(dice: random.Random, tool: catalogue.Tool, case: int) -> dict[str, Any]:
    """Return what a call answers when all is well."""
    if tool.name in {"docs_search", "ticket_search", "invoice_list"}:
        count = dice.randint(1, 12)
        return {
            "hits": [
                {"id": f"H-{case + n}", "title": dice.choice(_QUERIES), "score": 0.9} for n in range(count)
            ]
        }
    if tool.name == "customer_lookup":
        return {
            "customer": f"C-{case}",
            "name": person(dice),
            "email": email(case),
            "since": 2015 + case % 10,
        }
    if tool.name == "stock_level":
        return {"sku": sku(case), "available": dice.randint(0, 400), "site": "AMS-2"}
    if tool.name in {"order_get", "order_update"}:
        return {
            "order": order(case),
            "revision": f"r{case % 40 + 2}",
            "items": [dice.choice(_GOODS)],
            "total": 59.9,
        }
    if tool.name == "policy_read":
        return {"policy": dice.choice(_POLICIES), "text": "Goods may be returned within thirty days. " * 12}
    return {"ok": True, "reference": f"{tool.source[:3].upper()}-{dice.randrange(16**6):06x}"}


def order(case: int) -> str:
    """Return the number of the order that `case` is about."""
    return f"O-{100_000 + case}"


def sku(case: int) -> str:
    """Return an article number."""
    return f"SKU-{case % 350:04d}"


def email(case: int) -> str:
    """Return the address of the customer whom `case` is about."""
    return f"customer{case}@mail.example"


def person(dice: random.Random) -> str:
    """Return somebody's name."""
    return f"{dice.choice(_FIRST)} {dice.choice(_LAST)}"


def secret(dice: random.Random) -> str:
    """Return what looks like a provider's key; put together here so that no scanner takes this file for a leak."""
    return "-".join(("sk", "live", "".join(dice.choices("abcdefghijkmnpqrstuvwxyz23456789", k=40))))


def _subject(dice: random.Random, argument: str, case: int) -> str:
    subjects = {
        "email": email(case),
        "query": _QUERIES[case % len(_QUERIES)],
        "ticket": f"T-{40_000 + case}",
        "invoice": f"INV-{2000 + case}",
        "customer": f"C-{case}",
        "sku": sku(case + dice.randrange(3)),
        "order": order(case),
        "policy": _POLICIES[case % len(_POLICIES)],
        "day": f"in {case % 9 + 1} days",
        "slot": f"{9 + case % 8}:30",
        "to": email(case),
    }
    return subjects.get(argument, f"C-{case}")
