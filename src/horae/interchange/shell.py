"""Parser for the text of a crontab command: its input after `%`, its comment, and whether it needs a shell."""

from __future__ import annotations

import re
import shlex
from typing import Final, NamedTuple

SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "busybox"})
"""Shells with the same rules for plain words, quotes and comments."""

_COMMAND_PART: Final = re.compile(r"(?:\\.|[^\\%])*+\\?")
_MAX_SPLIT_LENGTH: Final = 4_000
"""shlex is quadratic in the length of a word; longer commands are left to the shell."""
_SPECIAL_CHARACTERS: Final = re.compile(r"[|&;<>()$`\\*?\[\]{}!~#\n]")
# Words that only a shell knows, or that mean something else in one.
_SHELL_WORDS: Final = """
    . : [ alias bg break case cd command continue declare do done elif else esac eval exec exit export fg fi for function
    getopts hash if jobs let local readonly return select set shift source test then time times trap type typeset ulimit
    umask unalias unset until wait while
"""
_SHELL_BUILTINS: Final = frozenset(_SHELL_WORDS.split())


class Split(NamedTuple):
    text: str
    rest: str | None


def split_input(command: str) -> Split:
    r"""Split off the input by cron's rule: the first bare `%` begins it, every later one ends a line; `\%` is a `%`."""
    part = _COMMAND_PART.match(command)
    end = len(command) if part is None else part.end()
    text = re.sub(r"\\(.)", lambda pair: "%" if pair[1] == "%" else pair[0], command[:end])
    if end >= len(command):
        return Split(text, None)
    lines = re.sub(r"\\?%", lambda mark: "\n" if mark[0] == "%" else "%", command[end + 1 :])
    return Split(text, lines if not lines or lines.endswith("\n") else lines + "\n")


def split_comment(command: str) -> Split:
    """Split off the comment at the end; None where only a shell could tell whether it is one."""
    quote = ""
    position = 0
    while position < len(command):
        character = command[position]
        if character == "\\" and quote != "'":
            position += 1
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "`" or command.startswith(("$(", "${"), position):
            break
        elif character == "#" and (position == 0 or command[position - 1] in " \t"):
            return Split(command[:position].rstrip(), command[position:].strip("# \t"))
        position += 1
    return Split(command.rstrip(), None)


def split_plain_command(command: str) -> list[str] | None:
    """Split a command that means the same without a shell into words; None where a shell might make a difference."""
    if len(command) > _MAX_SPLIT_LENGTH or _SPECIAL_CHARACTERS.search(command):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    return words if words and words[0] and "=" not in words[0] and words[0] not in _SHELL_BUILTINS else None
