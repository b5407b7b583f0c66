"""Trigger word: what wakes the agent of a group."""

from __future__ import annotations

import pytest

from horae.agents.router.chat_commands import has_trigger, remove_trigger


@pytest.mark.parametrize(
    "text",
    [
        "@Andy weather",
        "  @andy, weather",
        "@ANDY",
        "@Andy每天早上9点给我发天气预报",
        "@Andy's list",
    ],
)
def test_trigger_is_a_whole_word_at_the_beginning(text: str) -> None:
    assert has_trigger(text, "@Andy")


@pytest.mark.parametrize("text", ["@Andyx weather", "@Andy_2", "hello @Andy", "Andy", ""])
def test_other_texts_have_no_trigger(text: str) -> None:
    assert not has_trigger(text, "@Andy")


def test_chinese_trigger_needs_no_space() -> None:
    assert has_trigger("@小助手明天提醒我", "@小助手")
    assert remove_trigger("@小助手，明天提醒我", "@小助手") == "明天提醒我"


def test_trigger_is_plain_text() -> None:
    assert has_trigger("a.c hello", "a.c")
    assert not has_trigger("abc hello", "a.c")


def test_empty_trigger_matches_nothing() -> None:
    assert not has_trigger("hello", " ")
    assert remove_trigger(" hello ", "") == "hello"


def test_text_after_the_trigger() -> None:
    assert remove_trigger("@Andy: /tasks", "@andy") == "/tasks"
    assert remove_trigger("tell @Andy", "@Andy") == "tell @Andy"
