"""Catalogues of refusals and warnings: complete, bilingual, used."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from string import Formatter

import pytest

from horae.schedule.refusals import CATALOGUE, refuse
from horae.schedule.warnings import warning_codes

SOURCE = Path(__file__).parents[3] / "src" / "horae"
ALL_TEXT = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py") if "refusals" not in path.parts)


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_a_refusal_is_used_bilingual_and_has_a_hint(code: str) -> None:
    _, message, hint, message_zh, hint_zh = CATALOGUE[code]
    assert f'"{code}"' in ALL_TEXT, "no refusal uses this code"
    assert message
    assert hint
    assert re.search("[\u4e00-\u9fff]", message_zh)
    assert re.search("[\u4e00-\u9fff]", hint_zh)
    assert fields(message + hint) >= fields(message_zh + hint_zh)


@pytest.mark.parametrize("code", sorted(warning_codes()))
def test_a_warning_is_used(code: str) -> None:
    assert f'"{code}"' in ALL_TEXT.replace("_CATALOGUE", "") or code in ALL_TEXT


def test_a_long_or_strange_fact_is_cut_and_made_printable() -> None:
    refusal = refuse("unknown_zone", zone="x\x1b[2J" + "y" * 10_000, suggestion="Did you mean UTC?")
    assert len(refusal.message) < 200
    assert "\x1b" not in refusal.message


def test_a_refusal_can_be_copied_and_keeps_its_facts() -> None:
    refusal = refuse("unknown_zone", 3, zone="Mars", suggestion="Did you mean UTC?").located("at Mars")
    for twin in (copy.copy(refusal), copy.deepcopy(refusal)):
        assert (twin.code, twin.position, twin.source, twin.facts) == ("unknown_zone", 3, "at Mars", refusal.facts)
        assert twin.message == refusal.message


def test_a_refusal_speaks_both_languages() -> None:
    refusal = refuse("unknown_zone", 3, zone="Mars", suggestion="Did you mean UTC?")
    assert refusal.position == 3
    assert refusal.message == 'There is no zone called "Mars".'
    assert refusal.in_language("zh").message == "没有名为“Mars”的时区。"
    assert str(refusal) == f"{refusal.message} {refusal.hint}"
