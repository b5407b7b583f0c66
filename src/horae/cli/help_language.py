"""Help in the language of the user: the texts of a command and of its options are replaced while help is printed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, Final

from .commands import COMMANDS
from .failure import wanted_language

_TITLE: Final = re.compile(r"^([\u4e00-\u9fff]+):$", re.MULTILINE)


def in_wanted_language(command: Any, render: Callable[[], str]) -> str:
    """`render` prints the help of `command` in English; in Chinese, its texts are exchanged for that long."""
    if wanted_language(sys.argv[1:]) == "en":
        return render()
    from .help_chinese import LAYOUT  # noqa: PLC0415 - only Chinese needs the table

    parts = [command, *command.params, *getattr(command, "commands", {}).values()]
    english = [(each, getattr(each, "help", None), getattr(each, "short_help", None)) for each in parts]
    try:
        for each, text, _ in english:
            if text:
                each.help = in_chinese(text)
                if hasattr(each, "short_help"):
                    each.short_help = each.help
        said = render()
    finally:
        for each, text, short in english:
            if hasattr(each, "help"):
                each.help = text
            if hasattr(each, "short_help"):
                each.short_help = short
    for layout, chinese in LAYOUT:
        said = said.replace(layout, chinese)
    return _TITLE.sub(r"\1：", said)


def in_chinese(text: str) -> str:
    """A help text in Chinese; one that has none stays in English, and a test says so."""
    from .help_chinese import COMMANDS as DESCRIPTIONS  # noqa: PLC0415
    from .help_chinese import OPTIONS  # noqa: PLC0415

    first = text.strip().splitlines()[0]
    known = {each.does.en: each.does.zh for each in COMMANDS.values()}
    return OPTIONS.get(text) or DESCRIPTIONS.get(first) or known.get(first) or text
