"""What there is in the made-up world: its tools, its runtimes, its models, and what people ask for."""

from __future__ import annotations

from typing import Literal, NamedTuple

Effect = Literal["read", "write", "consequential"]


class Tool(NamedTuple):
    """One tool: what it does, how long it usually takes, and how often it fails with which code."""

    name: str
    effect: Effect
    source: str
    version: str
    median_ms: float
    failures: tuple[tuple[str, float], ...] = ()
    argument: str = "id"


class Runtime(NamedTuple):
    """One agent runtime, and how it reports."""

    name: str
    share: float
    environment: str
    models: tuple[tuple[str, str, float], ...]  # provider, model, share
    asks: tuple[str, ...]
    is_two_phase: bool
    is_ndjson: bool
    is_gzipped: bool
    instances: tuple[str, ...] = ()
    mode: str = "interactive"


class Ask(NamedTuple):
    """What a person wants, and the calls it usually takes; calls in one tuple are made at once."""

    name: str
    calls: tuple[tuple[str, ...], ...]


_NOT_FOUND = ("not_found", 0.03)

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool("customer_lookup", "read", "crm", "2.3.0", 90, (_NOT_FOUND,), "email"),
        Tool("customer_update", "write", "crm", "2.3.0", 160, (("invalid_state", 0.01),)),
        Tool("note_add", "write", "crm", "2.3.0", 120),
        Tool("ticket_search", "read", "helpdesk", "1.8.2", 210, (("not_found", 0.05),), "query"),
        Tool("ticket_reply", "write", "helpdesk", "1.8.2", 240, (("ticket_closed", 0.015),), "ticket"),
        Tool("ticket_close", "write", "helpdesk", "1.8.2", 150, (("ticket_closed", 0.02),), "ticket"),
        Tool("invoice_get", "read", "billing", "4.1.0", 130, (_NOT_FOUND,), "invoice"),
        Tool("invoice_list", "read", "billing", "4.1.0", 260, (), "customer"),
        Tool("payment_status", "read", "billing", "4.1.0", 180, (_NOT_FOUND,), "invoice"),
        Tool("refund_create", "consequential", "billing", "4.1.0", 620, (("over_limit", 0.02),), "invoice"),
        Tool("plan_change", "consequential", "billing", "4.1.0", 540, (("invalid_state", 0.02),), "customer"),
        Tool("stock_level", "read", "warehouse", "0.14.1", 70, (("not_found", 0.02),), "sku"),
        Tool("stock_reserve", "write", "warehouse", "0.14.1", 190, (("out_of_stock", 0.06),), "sku"),
        Tool("order_get", "read", "warehouse", "0.14.1", 110, (_NOT_FOUND,), "order"),
        Tool("order_update", "write", "warehouse", "0.14.1", 220, (("stale_revision", 0.008),), "order"),
        Tool("shipment_track", "read", "warehouse", "0.14.1", 480, (("carrier_unknown", 0.02),), "order"),
        Tool(
            "shipment_create", "consequential", "warehouse", "0.14.1", 1400, (("bad_address", 0.02),), "order"
        ),
        Tool("docs_search", "read", "knowledge", "3.0.5", 340, (("not_found", 0.04),), "query"),
        Tool("policy_read", "read", "knowledge", "3.0.5", 60, (), "policy"),
        Tool("slot_find", "read", "calendar", "1.2.0", 300, (("no_slot", 0.08),), "day"),
        Tool("appointment_book", "write", "calendar", "1.2.0", 410, (("slot_taken", 0.05),), "slot"),
        Tool("mail_send", "consequential", "mail", "5.6.1", 380, (("quota", 0.01),), "to"),
    )
}

ASKS: dict[str, Ask] = {
    ask.name: ask
    for ask in (
        Ask(
            "refund",
            (("ticket_search", "customer_lookup"), ("invoice_get",), ("refund_create",), ("ticket_reply",)),
        ),
        Ask("where is it", (("order_get",), ("shipment_track",), ("ticket_reply",))),
        Ask(
            "change of plan",
            (("customer_lookup",), ("invoice_list", "policy_read"), ("plan_change",), ("note_add",)),
        ),
        Ask("is it paid", (("invoice_get", "payment_status"), ("ticket_reply",))),
        Ask("how does it work", (("docs_search",), ("docs_search", "policy_read"))),
        Ask("close it", (("ticket_search",), ("ticket_close",), ("note_add",))),
        Ask("ship it", (("order_get", "stock_level"), ("stock_reserve",), ("shipment_create",))),
        Ask("change the order", (("order_get",), ("order_update",), ("mail_send",))),
        Ask("count", (("stock_level", "stock_level", "stock_level"),)),
        Ask("appointment", (("customer_lookup",), ("slot_find",), ("appointment_book",), ("mail_send",))),
        Ask("new address", (("customer_lookup",), ("customer_update",), ("note_add",))),
    )
}

RUNTIMES: tuple[Runtime, ...] = (
    Runtime(
        "support-agent@2.14.0",
        0.46,
        "production",
        (("anthropic", "claude-sonnet-4-5", 0.8), ("anthropic", "claude-haiku-4-5", 0.2)),
        (
            "refund",
            "where is it",
            "change of plan",
            "is it paid",
            "how does it work",
            "close it",
            "new address",
        ),
        is_two_phase=True,
        is_ndjson=False,
        is_gzipped=True,
    ),
    Runtime(
        "warehouse-gateway@0.9.3",
        0.27,
        "production",
        (("openai", "gpt-5-mini", 1.0),),
        ("ship it", "change the order", "where is it", "count"),
        is_two_phase=True,
        is_ndjson=True,
        is_gzipped=True,
        mode="isolated",
    ),
    Runtime(
        "front-desk-kiosk@3.0.1",
        0.17,
        "production",
        (("local", "qwen3-32b", 1.0),),
        ("appointment", "how does it work", "where is it"),
        is_two_phase=False,
        is_ndjson=False,
        is_gzipped=False,
        instances=("kiosk-lobby-1", "kiosk-lobby-2", "kiosk-clinic"),
    ),
    Runtime(
        "support-agent@2.15.0-rc.1",
        0.10,
        "staging",
        (("anthropic", "claude-sonnet-4-5", 1.0),),
        ("refund", "is it paid", "how does it work", "change of plan"),
        is_two_phase=True,
        is_ndjson=False,
        is_gzipped=False,
    ),
)

#: How often a model calls a tool with arguments that its schema refuses: the small ones more.
BAD_ARGUMENTS: dict[str, float] = {
    "claude-sonnet-4-5": 0.006,
    "claude-haiku-4-5": 0.018,
    "gpt-5-mini": 0.014,
    "qwen3-32b": 0.05,
}

#: Names that models make up now and then, and what they meant.
INVENTED: dict[str, str] = {
    "get_invoice": "invoice_get",
    "search_tickets": "ticket_search",
    "createRefund": "refund_create",
    "order_cancel": "order_update",
}
