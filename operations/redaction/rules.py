"""All rules for texts in one table: how each is found, and the pattern without which it cannot be there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from operations.redaction import addresses, assignments, carriers, headers, keywords, patterns, people, shapes
from operations.redaction.patterns import Pattern, Span

#: Goes up with every change of what the rules remove, so that older rows can be found and swept.
VERSION = 1


class Rule:
    """A finder, and a gate: a pattern that occurs in every text in which the finder finds something.

    The pattern is also searched in the bytes of a whole JSON text, where a leaf stands between quotation marks. It may
    therefore say where a word begins, and never where the text does.
    """

    __slots__ = ("find", "gate", "pattern")

    def __init__(self, pattern: str, find: Callable[[str], Iterator[Span]]) -> None:
        self.pattern = pattern
        self.gate = patterns.compiled(pattern, capture=False)
        self.find = find


class Family(NamedTuple):
    """Rules that look for the same sort of thing, behind one gate for them all."""

    gate: Pattern
    rules: tuple[Rule, ...]


def _family(*members: Rule) -> Family:
    return Family(
        patterns.compiled(patterns.any_of([rule.pattern for rule in members]), capture=False), members
    )


#: The most telling first: where two rules name the same characters, the first gives its name.
FAMILIES = (
    _family(
        Rule(shapes.KEY_FILE_PATTERN, shapes.find_key_files),
        Rule(shapes.PATTERN, shapes.find_tokens),
        Rule(shapes.TELLING_PATTERN, shapes.find_telling_tokens),
    ),
    _family(
        Rule(headers.SCHEME_PATTERN, headers.find_schemes),
        Rule(headers.COOKIE_PATTERN, headers.find_cookies),
        Rule(patterns.any_of([headers.USER_PATTERN, headers.COMMAND_PATTERN]), headers.find_commands),
        Rule(assignments.ASSIGNED_PATTERN, assignments.find_assigned),
        Rule(assignments.NAMED_PATTERN, assignments.find_named),
        Rule(assignments.FLAG_PATTERN, assignments.find_flags),
        Rule(assignments.ELEMENT_PATTERN, assignments.find_elements),
        Rule(assignments.SPOKEN_PATTERN, assignments.find_spoken),
        Rule(headers.MANIFEST_PATTERN, headers.find_manifests),
    ),
    _family(
        Rule(addresses.USERINFO_PATTERN, addresses.find_userinfo),
        Rule(addresses.PARAMETER_PATTERN, addresses.find_parameters),
        Rule(people.CARD_PATTERN, people.find_cards),
        Rule(people.IBAN_PATTERN, people.find_accounts),
        Rule(people.SSN_PATTERN, people.find_ssns),
        Rule(people.MAIL_PATTERN, people.find_mail_addresses),
        Rule(people.PHONE_PATTERN, people.find_phones),
        Rule(people.IP_PATTERN, people.find_ip_addresses),
        Rule(addresses.FOLDER_PATTERN, addresses.find_home_folders),
    ),
)

# Rules read an earlier mark as a mask, so a text with one is looked at again.
_disguise = patterns.compiled(patterns.any_of([carriers.DISGUISE_PATTERN, r"\[REDACTED:"]), capture=False)
# The arguments of a command as a list: "-u", "user:password".
_ARGUMENT_PATTERN = r"\"(?:-u|-U|--user|--proxy-user)\""
_words = [rule.pattern for rule in FAMILIES[1].rules]
_words_and_names = patterns.compiled(
    patterns.any_of([*_words, keywords.NAME_PATTERN, _ARGUMENT_PATTERN]), capture=False
)

#: Occurs in every text that the rules change.
text_gate = patterns.Gate(*(family.gate for family in FAMILIES), _disguise)
#: Occurs in every JSON text that the rules change.
json_gate = patterns.Gate(FAMILIES[0].gate, _words_and_names, FAMILIES[2].gate, _disguise)


def check_gates() -> None:
    """Refuse to start when the gates do not find what they must: everything would pass unseen."""
    canary = "AKIA" + "Q2W7" * 4
    for gate in (text_gate, json_gate):
        if not gate.search(f"id {canary}".encode()) or not gate.search(f'{{"id":"{canary}"}}'.encode()):
            raise RuntimeError(
                "The redaction rules do not find their canary; nothing may be stored like this."
            )
        if gate.search(b'{"ok":true,"count":3,"note":"nothing here"}'):
            raise RuntimeError("The redaction rules find something in a harmless text.")
