"""Commands of a chat that need no agent: words that list, stop and explain tasks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from .trigger import remove_trigger


class ChatVerb(StrEnum):
    TASKS = "tasks"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    WHY = "why"
    UNDO = "undo"
    HELP = "help"


class ChatCommand(NamedTuple):
    """A verb and the rest of the line: the name or the id of a task, or nothing."""

    verb: ChatVerb
    argument: str = ""


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
_WITH_ARGUMENT: Final = frozenset({ChatVerb.PAUSE, ChatVerb.RESUME, ChatVerb.CANCEL, ChatVerb.WHY})
_COMMAND: Final = re.compile(r"[/／](?P<word>[A-Za-z]+|[\u4e00-\u9fff]+)(?:@\S+)?(?:\s+(?P<argument>.*))?", re.DOTALL)
MAX_ARGUMENT_CHARACTERS: Final = 200


def parse_chat_command(text: str, trigger: str = "") -> ChatCommand | None:
    """Return the command of a message, or None for a message to the agent.

    A command is one line that begins with a slash, with or without the trigger word before it, in English or Chinese.
    `/pause@bot report`, as Telegram writes it, is a command too. Unknown words belong to the agent.
    """
    line = remove_trigger(text, trigger).strip()
    found = _COMMAND.fullmatch(line)
    if found is None or "\n" in line:
        return None
    verb = _WORDS.get(found["word"].casefold())
    argument = (found["argument"] or "").strip()
    if verb is None or len(argument) > MAX_ARGUMENT_CHARACTERS:
        return None
    return ChatCommand(verb, argument if verb in _WITH_ARGUMENT else "")
