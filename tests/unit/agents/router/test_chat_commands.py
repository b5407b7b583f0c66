"""Commands of a chat that need no agent."""

from __future__ import annotations

import pytest

from horae.agents.router.chat_commands import ChatCommand, ChatVerb, parse_chat_command


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/tasks", ChatCommand(ChatVerb.TASKS)),
        ("/TASKS please", ChatCommand(ChatVerb.TASKS)),
        ("/列表", ChatCommand(ChatVerb.TASKS)),
        ("/pause morning report", ChatCommand(ChatVerb.PAUSE, "morning report")),
        ("/pause@andy_bot report", ChatCommand(ChatVerb.PAUSE, "report", is_addressed=True)),
        ("／暂停 天气", ChatCommand(ChatVerb.PAUSE, "天气")),
        ("/恢复 天气", ChatCommand(ChatVerb.RESUME, "天气")),
        ("@Andy /cancel t-1", ChatCommand(ChatVerb.CANCEL, "t-1", is_addressed=True)),
        ("@Andy，/为什么 天气", ChatCommand(ChatVerb.WHY, "天气", is_addressed=True)),
        ("/why", ChatCommand(ChatVerb.WHY)),
        ("/撤销", ChatCommand(ChatVerb.UNDO)),
        ("/帮助", ChatCommand(ChatVerb.HELP)),
        ("/compact", None),
        ("pause report", None),
        ("/pause report\nand tell me why", None),
        ("/pause " + "x" * 201, None),
        ("", None),
    ],
)
def test_commands_in_both_languages(text: str, expected: ChatCommand | None) -> None:
    assert parse_chat_command(text, "@Andy") == expected
