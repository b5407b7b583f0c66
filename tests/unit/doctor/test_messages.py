"""Sentences and fixes of the checks: two languages with the same placeholders, each used, and every code in a group."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import horae
from horae.doctor import messages
from horae.message import Message
from horae.ports.doctor import GROUP_OF_CODE, GROUPS, Fix

SOURCE = Path(horae.__file__).parent
MADE = re.compile(r'(?:make_check|refusal_check|_blocked_webhooks|Check)\(\s*"(\w+)"')


def placeholders(text: str) -> set[str]:
    return {field for _, field, _, _ in Formatter().parse(text) if field}


def sources() -> str:
    """Return the code of everything that makes checks."""
    folders = ("doctor", "runtime", "cli/doctor", "cli/output")
    files = [path for folder in folders for path in (SOURCE / folder).rglob("*.py")]
    return "".join(path.read_text(encoding="utf-8") for path in files if path.name != "messages.py")


def sentences() -> Iterator[tuple[str, Message]]:
    for name, value in vars(messages).items():
        for each in value.values() if isinstance(value, dict) and name.isupper() else [value]:
            if isinstance(each, Fix):
                yield name, each.text
            elif isinstance(each, Message):
                yield name, each


def test_every_sentence_has_two_languages_and_is_used() -> None:
    source = sources()
    found = dict(sentences())
    assert len(found) > 80
    for name, sentence in sentences():
        assert placeholders(sentence.en) == placeholders(sentence.zh), name
        assert all(sentence), name
        assert re.search(rf"\b(?:words|checked)\.{name}\b", source), name


def test_every_check_that_is_made_has_a_group() -> None:
    made = set(MADE.findall(sources()))
    assert made <= GROUP_OF_CODE.keys()
    # Codes that a table or a parameter names.
    assert GROUP_OF_CODE.keys() - made == {"failing", "approvals"}
    assert set(GROUP_OF_CODE.values()) == set(GROUPS)
