"""Notes that Horae writes on a pause are translated; others stay as they are."""

from __future__ import annotations

import pytest

from horae.model.pause_notes import AGENT_STOPPED, pause_note


@pytest.mark.parametrize(
    ("note", "chinese"),
    [
        (AGENT_STOPPED, "其智能体已被停止"),
        ("quota active_tasks", "配额 active_tasks"),
        ("it is declared as shop.pay now", "现声明为 shop.pay"),
        ("on holiday", "on holiday"),
    ],
)
def test_own_notes_are_chinese_in_chinese(note: str, chinese: str) -> None:
    assert pause_note(note, "zh") == chinese
    assert pause_note(note, "en") == note
