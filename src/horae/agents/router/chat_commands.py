"""Words of a chat for the host: the trigger that wakes the agent, and commands that list, stop and explain tasks without it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from re import Match, Pattern
from typing import Final, NamedTuple


class ChatVerb(StrEnum):
    TASKS = "tasks"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    WHY = "why"
    UNDO = "undo"
    HELP = "help"


class ChatCommand(NamedTuple):
    """A verb and the rest of the line: the name or the id of a task, or nothing. `is_addressed`: it names the assistant."""

    verb: ChatVerb
    argument: str = ""
    is_addressed: bool = False


_WORDS: Final[Mapping[str, ChatVerb]] = {
    **{verb.value: verb for verb in ChatVerb},
    "list": ChatVerb.TASKS,
    "任务": ChatVerb.TASKS,
    "列表": ChatVerb.TASKS,
    "暂停": ChatVerb.PAUSE,
    "恢复": ChatVerb.RESUME,
    "继续": ChatVerb.RESUME,
    "取消": ChatVerb.CANCEL,
    "为什么": ChatVerb.WHY,
    "撤销": ChatVerb.UNDO,
    "帮助": ChatVerb.HELP,
}
CHINESE_WORDS: Final[Mapping[ChatVerb, str]] = {
    ChatVerb.PAUSE: "暂停",
    ChatVerb.RESUME: "恢复",
    ChatVerb.CANCEL: "取消",
    ChatVerb.WHY: "为什么",
}
"""Words that answers in Chinese use for commands with an argument."""
_WITH_ARGUMENT: Final = frozenset(CHINESE_WORDS)
_COMMAND: Final = re.compile(
    r"[/／](?P<word>[A-Za-z]+|[\u4e00-\u9fff]+)(?P<bot>@\S+)?(?:\s+(?P<argument>.*))?", re.DOTALL
)
MAX_ARGUMENT_CHARACTERS: Final = 200


def parse_chat_command(text: str, trigger: str = "") -> ChatCommand | None:
    """Return the command of a message, or None for a message to the agent.

    A command is one line that begins with a slash, with or without the trigger word before it, in English or Chinese.
    `/pause@bot report`, as Telegram writes it, is a command too. Unknown words belong to the agent.
    """
    line = remove_trigger(text, trigger).strip()
    is_addressed = has_trigger(text, trigger)
    found = _COMMAND.fullmatch(line)
    if found is None or "\n" in line:
        return None
    verb = _WORDS.get(found["word"].casefold())
    argument = (found["argument"] or "").strip()
    if verb is None or len(argument) > MAX_ARGUMENT_CHARACTERS:
        return None
    is_addressed = is_addressed or found["bot"] is not None
    return ChatCommand(verb, argument if verb in _WITH_ARGUMENT else "", is_addressed)


@lru_cache(maxsize=1_024)
def _compile_trigger(trigger: str) -> Pattern[str]:
    # A word boundary would refuse "@Andy每天": Chinese characters are word characters, but no part of a Latin name.
    boundary = r"(?![A-Za-z0-9_])" if re.match(r"[A-Za-z0-9_]", trigger[-1:]) else ""
    return re.compile(re.escape(trigger) + boundary, re.IGNORECASE)


def _find_trigger(text: str, trigger: str) -> Match[str] | None:
    return _compile_trigger(trigger.strip()).match(text) if trigger.strip() else None


def has_trigger(text: str, trigger: str) -> bool:
    """Return whether the text begins with the trigger word, in any case."""
    return _find_trigger(text.strip(), trigger) is not None


def remove_trigger(text: str, trigger: str) -> str:
    """Return the text after the trigger word and the punctuation that follows it; a text without it stays as it is."""
    stripped = text.strip()
    found = _find_trigger(stripped, trigger)
    return stripped if found is None else stripped[found.end() :].lstrip(" \t\r\n,，:：;；、")
