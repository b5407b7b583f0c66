"""Help in the language of the user: the texts of a command and of its options are replaced while help is printed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..command_table import COMMANDS
from ..output.failure import choose_language


def render_help(command: Any, ctx: Any) -> str:
    """The help of `command`; in Chinese, its texts are exchanged for as long as it is printed."""
    from ..output.help_format import HelpFormatter  # noqa: PLC0415 - only help needs it

    language = choose_language(sys.argv[1:])
    formatter = HelpFormatter(language)

    def render() -> str:
        command.format_help(ctx, formatter)
        return formatter.getvalue().rstrip("\n")

    return render() if language == "en" else _in_chinese(command, render)


def _in_chinese(command: Any, render: Callable[[], str]) -> str:
    parts = [command, *command.params, *getattr(command, "commands", {}).values()]
    english = [(each, getattr(each, "help", None), getattr(each, "short_help", None)) for each in parts]
    try:
        for each, text, _ in english:
            if text:
                each.help = help_in_chinese(text)
                if hasattr(each, "short_help"):
                    each.short_help = each.help
        return render()
    finally:
        for each, text, short in english:
            if hasattr(each, "help"):
                each.help = text
            if hasattr(each, "short_help"):
                each.short_help = short


def help_in_chinese(text: str) -> str:
    """A help text in Chinese; one that has none stays in English, and a test says so."""
    from .help_chinese import COMMANDS as DESCRIPTIONS  # noqa: PLC0415
    from .help_chinese import OPTIONS  # noqa: PLC0415

    first = text.strip().splitlines()[0]
    known = {each.does.en: each.does.zh for each in COMMANDS.values()}
    return OPTIONS.get(text) or DESCRIPTIONS.get(first) or known.get(first) or text
