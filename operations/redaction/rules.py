"""All rules for texts in one table: how each is found, and the pattern without which it cannot be there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from operations.redaction import addresses, assignments, carriers, headers, keywords, patterns, people, shapes
from operations.redaction.patterns import Span

#: Goes up with every change of what the rules remove, so that older rows can be found and swept.
VERSION = 1


class Rule(NamedTuple):
    """A finder, and a pattern that occurs in every text in which the finder finds something.

    The pattern is also searched in the bytes of a whole JSON text, where a leaf stands between quotation marks. It may
    therefore say where a word begins, and never where the text does.
    """

    gate: str
    find: Callable[[str], Iterator[Span]]


#: The most telling first: where two rules name the same characters, the first gives its name.
TEXT_RULES = (
    Rule(shapes.KEY_FILE_PATTERN, shapes.find_key_files),
    Rule(shapes.PATTERN, shapes.find_tokens),
    Rule(headers.SCHEME_PATTERN, headers.find_schemes),
    Rule(headers.COOKIE_PATTERN, headers.find_cookies),
    Rule(addresses.USERINFO_PATTERN, addresses.find_userinfo),
    Rule(patterns.any_of([headers.USER_PATTERN, headers.COMMAND_PATTERN]), headers.find_commands),
    Rule(assignments.ASSIGNED_PATTERN, assignments.find_assigned),
    Rule(assignments.NAMED_PATTERN, assignments.find_named),
    Rule(assignments.FLAG_PATTERN, assignments.find_flags),
    Rule(assignments.ELEMENT_PATTERN, assignments.find_elements),
    Rule(assignments.SPOKEN_PATTERN, assignments.find_spoken),
    Rule(addresses.PARAMETER_PATTERN, addresses.find_parameters),
    Rule(headers.MANIFEST_PATTERN, headers.find_manifests),
    Rule(people.CARD_PATTERN, people.find_cards),
    Rule(people.IBAN_PATTERN, people.find_accounts),
    Rule(people.SSN_PATTERN, people.find_ssns),
    Rule(people.MAIL_PATTERN, people.find_mail_addresses),
    Rule(people.PHONE_PATTERN, people.find_phones),
    Rule(people.IP_PATTERN, people.find_ip_addresses),
    Rule(addresses.FOLDER_PATTERN, addresses.find_home_folders),
)

#: Tells which rules have something to look for in a text.
chooser = patterns.Chooser([rule.gate for rule in TEXT_RULES])

# Rules read an earlier mark as a mask, so a text with one is looked at again.
_TEXT_GATE = patterns.any_of([*(rule.gate for rule in TEXT_RULES), carriers.DISGUISE_PATTERN, r"\[REDACTED:"])
# The arguments of a command as a list: "-u", "user:password".
_ARGUMENT_PATTERN = r"\"(?:-u|-U|--user|--proxy-user)\""
#: Occurs in every text that the rules change.
text_gate = patterns.compiled(_TEXT_GATE, capture=False)
#: Occurs in every JSON text that the rules change.
json_gate = patterns.compiled(
    patterns.any_of([_TEXT_GATE, keywords.NAME_PATTERN, _ARGUMENT_PATTERN]), capture=False
)


def check_gates() -> None:
    """Refuse to start when the gates do not find what they must: everything would pass unseen."""
    canary = "AKIA" + "Q2W7" * 4
    for gate in (text_gate, json_gate):
        if not gate.search(f"id {canary}") or not gate.search(f'{{"id":"{canary}"}}'.encode()):
            raise RuntimeError(
                "The redaction rules do not find their canary; nothing may be stored like this."
            )
        if gate.search('{"ok":true,"count":3,"note":"nothing here"}'):
            raise RuntimeError("The redaction rules find something in a harmless text.")
