"""What the text of a crontab command says: its input after `%`, its comment, and whether it needs a shell at all."""

from __future__ import annotations

import re
import shlex
from typing import Final, NamedTuple

SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "busybox"})
"""Shells that read plain words, quotes and comments alike."""

_COMMAND_PART: Final = re.compile(r"(?:\\.|[^\\%])*+\\?")
_LONGEST_PLAIN: Final = 4_000
"""shlex takes time with the square of a word's length, and nobody types that much without a shell in mind."""
_SPECIAL: Final = re.compile(r"[|&;<>()$`\\*?\[\]{}!~#\n]")
# Words that only a shell knows, or that mean something else in one.
_WORDS_OF_A_SHELL: Final = """
    . : [ alias bg break case cd command continue declare do done elif else esac eval exec exit export fg fi for function
    getopts hash if jobs let local readonly return select set shift source test then time times trap type typeset ulimit
    umask unalias unset until wait while
"""
_BUILT_IN: Final = frozenset(_WORDS_OF_A_SHELL.split())


class Split(NamedTuple):
    text: str
    rest: str | None


def split_input(command: str) -> Split:
    r"""cron's own rule: the first bare `%` begins the input, every later one ends a line of it; `\%` is a `%`."""
    part = _COMMAND_PART.match(command)
    end = len(command) if part is None else part.end()
    text = re.sub(r"\\(.)", lambda pair: "%" if pair[1] == "%" else pair[0], command[:end])
    if end >= len(command):
        return Split(text, None)
    lines = re.sub(r"\\?%", lambda mark: "\n" if mark[0] == "%" else "%", command[end + 1 :])
    return Split(text, lines if not lines or lines.endswith("\n") else lines + "\n")


def split_comment(command: str) -> Split:
    """The comment at the end, which the shell would pass over; none where only a shell could tell."""
    quote = ""
    place = 0
    while place < len(command):
        letter = command[place]
        if letter == "\\" and quote != "'":
            place += 1
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "`" or command.startswith(("$(", "${"), place):
            break
        elif letter == "#" and (place == 0 or command[place - 1] in " \t"):
            return Split(command[:place].rstrip(), command[place:].strip("# \t"))
        place += 1
    return Split(command.rstrip(), None)


def plain_words(command: str) -> list[str] | None:
    """The words of a command that means the same without a shell; None where a shell might make a difference."""
    if len(command) > _LONGEST_PLAIN or _SPECIAL.search(command):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    return words if words and words[0] and "=" not in words[0] and words[0] not in _BUILT_IN else None
