"""Messages and refusals of operating commands: two languages with the same placeholders, and each is used."""

from __future__ import annotations

from pathlib import Path
from string import Formatter

from horae.cli.messages import operating_messages, operating_refusals
from horae.cli.messages.refusals import CATALOGUE as DAILY
from horae.encryption.refusals import CATALOGUE as SEALING
from horae.interchange.refusals import CATALOGUE as INTERCHANGE
from horae.message import Message
from horae.model.refusals import CATALOGUE as MODEL
from horae.node import refusals as node_refusals
from horae.node.refusals import CATALOGUE as NODE

ROOM = Path(operating_messages.__file__).parents[1]
NODE_FOLDER = Path(node_refusals.__file__).parent


def places(text: str) -> set[str]:
    return {field for _, field, _, _ in Formatter().parse(text) if field}


def sources(folder: Path = ROOM) -> str:
    own = ("operating_messages.py", "operating_refusals.py", "refusals.py")
    return "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.py") if path.name not in own)


def test_every_message_has_the_same_placeholders_in_both_languages_and_is_used() -> None:
    source = sources()
    for name, value in vars(operating_messages).items():
        group = value.values() if isinstance(value, dict) else [value] if isinstance(value, Message) else value
        found = [each for each in group if isinstance(each, Message)] if isinstance(group, list | tuple) else []
        for words in found:
            assert places(words.en) == places(words.zh), name
            assert all(words), name
        if found:
            assert f"words.{name}" in source, name


def test_every_refusal_has_two_languages_and_is_raised() -> None:
    for catalogue, folder in ((operating_refusals.CATALOGUE, ROOM), (NODE, NODE_FOLDER)):
        source = sources(folder)
        for code, entry in catalogue.items():
            assert places(entry.message) == places(entry.message_zh), code
            assert places(entry.hint) == places(entry.hint_zh), code
            assert f'refuse("{code}"' in source, code


def test_refusal_codes_are_unique() -> None:
    for other in (DAILY, INTERCHANGE, MODEL, NODE, SEALING):
        assert not operating_refusals.CATALOGUE.keys() & other.keys()
