"""Messages and refusals of a move: both languages, equal placeholders, used."""

from __future__ import annotations

from pathlib import Path
from string import Formatter

import horae
from horae.cli.messages import move_messages
from horae.message import Message
from horae.transfer.owner import OwnerMoveStep
from horae.transfer.refusals import CATALOGUE

ROOM = Path(horae.__file__).parent


def places(text: str) -> set[str]:
    return {field for _, field, _, _ in Formatter().parse(text) if field}


def test_refusals_have_equal_placeholders_and_are_used() -> None:
    said = "".join(path.read_text(encoding="utf-8") for path in (ROOM / "transfer").rglob("*.py"))
    for code, entry in CATALOGUE.items():
        assert places(entry.message) == places(entry.message_zh), code
        assert places(entry.hint) == places(entry.hint_zh), code
        assert f'refuse("{code}"' in said, code


def test_messages_have_equal_placeholders_and_are_used() -> None:
    paths = (ROOM / "cli" / "transfer" / name for name in ("move.py", "move_owner.py"))
    said = "".join(path.read_text(encoding="utf-8") for path in paths)
    found = {name: value for name, value in vars(move_messages).items() if isinstance(value, Message)}
    assert found
    for name, value in found.items():
        assert places(value.en) == places(value.zh), name
        assert f"words.{name}" in said, name


def test_every_step_of_an_owners_move_has_a_message() -> None:
    assert set(move_messages.OWNER_STEPS) == {step.value for step in OwnerMoveStep}
    for name, value in move_messages.OWNER_STEPS.items():
        assert places(value.en) == places(value.zh), name
