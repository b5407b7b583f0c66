"""Prints help in the language of the user, by replacing the texts of a command and its options meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..command_table import COMMANDS
from ..output.failure import choose_language


def render_help(command: Any, ctx: Any) -> str:
    """Return the help of a command, in the language of the arguments or environment."""
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
    """Return a help text in Chinese; one without translation stays English, which a test forbids."""
    from .help_chinese import COMMANDS as DESCRIPTIONS  # noqa: PLC0415
    from .help_chinese import OPTIONS  # noqa: PLC0415

    first = text.strip().splitlines()[0]
    known = {each.does.en: each.does.zh for each in COMMANDS.values()}
    return OPTIONS.get(text) or DESCRIPTIONS.get(first) or known.get(first) or text
