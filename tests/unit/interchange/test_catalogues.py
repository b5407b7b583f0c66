"""Refusals and notes of imports: bilingual, used, with unique codes."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

import horae.interchange
from horae.interchange.notes import CATALOGUE as NOTES
from horae.interchange.notes import note
from horae.interchange.refusals import CATALOGUE as REFUSALS
from horae.model.refusals import CATALOGUE as MODEL
from horae.schedule.compat.translation_notes import note_codes as compat_codes
from horae.schedule.refusals import CATALOGUE as SCHEDULE

ROOM = Path(horae.interchange.__path__[0])
WRITER = ROOM.parent / "cli" / "transfer" / "import_groups.py"
TEXT = "\n".join(
    path.read_text(encoding="utf-8") for path in (*ROOM.glob("*.py"), WRITER) if path.name != "refusals.py"
)
CHINESE = re.compile("[\u4e00-\u9fff]")


MANUAL = (Path(__file__).parents[3] / "docs" / "moving.md").read_text(encoding="utf-8")


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("code", sorted(REFUSALS))
def test_a_refusal_is_used_and_bilingual(code: str) -> None:
    _, message, hint, message_zh, hint_zh = REFUSALS[code]
    assert f'"{code}"' in TEXT
    assert CHINESE.search(message_zh)
    assert CHINESE.search(hint_zh)
    assert fields(message) == fields(message_zh)
    assert fields(hint) == fields(hint_zh)


@pytest.mark.parametrize("code", sorted(NOTES))
def test_a_note_is_used_and_bilingual(code: str) -> None:
    english, chinese = NOTES[code]
    assert f'note("{code}"' in TEXT
    assert CHINESE.search(chinese)
    assert fields(english) == fields(chinese)


@pytest.mark.parametrize("code", sorted(REFUSALS | NOTES))
def test_every_code_is_in_the_manual(code: str) -> None:
    assert f"`{code}`" in MANUAL


def test_no_code_means_two_things() -> None:
    rooms = [set(REFUSALS), set(NOTES), set(MODEL), set(SCHEDULE) - set(MODEL), set(compat_codes())]
    assert len(set().union(*rooms)) == sum(map(len, rooms))


def test_long_or_unprintable_fact_is_truncated_and_escaped() -> None:
    shown = note("cron_user", user="x\x1b[2J" + "y" * 10_000)
    assert len(shown.english) < 300
    assert shown.english.isprintable()
