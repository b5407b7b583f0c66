"""Finds the `horae` commands that stand in a text, and parses them with the real parser of the command line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

import click

from horae.cli.main import app
from tests.docs.hints import Text

ROOT: Any = app
MISTAKE = click.UsageError
"""An unknown command or option, a missing argument, or a value that does not fit."""

# Their argument may be left out for a filter, but not both.
_NEEDS_SUBJECT = ("run", "pause", "resume", "cancel", "rm", "next", "explain")
_START = re.compile(r"(?<![A-Za-z0-9_./-])horae(?= )")
# Two blanks, or a comma or semicolon with the next clause right behind it, end a command.
_END = re.compile(r" {2,}(?=\S)|[,;](?=[\u3400-\u9fff]|horae )|\n")
_CLOSING = {"'": "'", "“": "”", "`": "`", '"': '"', "(": ")"}
_PLACEHOLDER = re.compile(r"[A-Z][A-Z_]*(?:\.[a-z]+)?|\{[^{}]*\}|<[^<>]*>|…|\.\.\.")
_CHINESE_PLACEHOLDERS = (
    "名称", "任务", "来源", "目标", "地址", "文件", "节点", "备份", "路径", "上限", "主机名", "目录", "目标地址", "运行", "编号", "时间", "令牌", "备份文件",
)  # fmt: skip
_PLAIN_ARGUMENT = re.compile(r"[\w./:@%+=,*…-]*[\d./:@=_-][\w./:@%+=,*…-]*")
_SAMPLES = {
    "LIMIT": "3", "上限": "3", "URL": "https://horae.example", "地址": "https://horae.example", "limit": "3",
    "FROM_URL": "sqlite:///a.db", "TO_URL": "sqlite:///b.db", "来源": "sqlite:///a.db", "目标": "sqlite:///b.db",
    "…": "x", "value": "3", "instant": "2026-11-18T09:00:00Z", "role": "member",
}  # fmt: skip


def commands_in(text: str) -> Iterator[list[str]]:
    """The words of every command in a sentence, after `horae`; the sentence goes on where they end."""
    for start in _START.finditer(text):
        opening = text[start.start() - 1] if start.start() else ""
        rest = _END.split(text[start.end() :])[0]
        closing = _CLOSING.get(opening)
        end = rest.find(closing) if closing else -1
        # In quotes everything is the command; outside of them it ends with what cannot belong to it.
        words = _words(rest[:end]) if end >= 0 and closing != "(" else _leading_words(rest.split(")")[0])
        if words and not _PLACEHOLDER.fullmatch(words[0]):
            yield words


def _words(text: str) -> list[str]:
    return [_sample(word) for word in shlex.split(text.split(" | ", maxsplit=1)[0].split(" < ", maxsplit=1)[0])]


def _leading_words(text: str) -> list[str]:
    found: list[str] = []
    group: Any = ROOT
    command: Any = None
    takes_value = False
    for match in re.finditer(
        r""" +("[^"]*"|'[^']*'|[^\s，。；：、（）]+)([，。；：、（）\n]?)""", text.split("\n", maxsplit=1)[0]
    ):
        word = match[1].rstrip(".,;:。") if match[1][0] not in "\"'" else match[1][1:-1]
        quoted = match[1][0] in "\"'"
        if command is None:
            inner = group.get_command(None, word) if hasattr(group, "get_command") else None
            if inner is None and found and not _is_argument(word):
                break
            found.append(word)
            if inner is not None and hasattr(inner, "get_command"):
                group = inner
            else:
                command = inner or group
        elif quoted or takes_value or word.startswith("-") or _is_argument(word):
            found.append(_sample(word))
            takes_value = word.startswith("-") and word != "-" and _takes_value(command, word)
        else:
            break
        if match[2] or (match[1] != word and not quoted):
            break
    return found


def _is_argument(word: str) -> bool:
    known = _PLACEHOLDER.fullmatch(word) or word in _CHINESE_PLACEHOLDERS or _PLAIN_ARGUMENT.fullmatch(word)
    return bool(known) or word == "-" or _has_placeholder(word)


def _has_placeholder(word: str) -> bool:
    return bool(re.search(r"\{[^{}]*\}|FILE|(?:^|[/:.=])文件", word))


def _takes_value(command: Any, option: str) -> bool:
    return any(option in each.opts and not getattr(each, "is_flag", False) for each in getattr(command, "params", ()))


def _sample(word: str) -> str:
    """A word with its placeholders filled in."""
    bare = word.strip("{}<>")
    if _PLACEHOLDER.fullmatch(word) or word in _CHINESE_PLACEHOLDERS:
        return _SAMPLES.get(bare, "report")
    return re.sub(r"\{[^{}]*\}", "report", word)


def mistake_in(words: list[str]) -> str | None:
    """Return the error of the parser, or None for a valid command."""
    if len(words) == 1 and words[0] in _NEEDS_SUBJECT:
        return f"{words[0]} needs a task, a filter or a schedule."
    try:
        _parse(words)
    except MISTAKE as mistake:
        return str(mistake.format_message()) if hasattr(mistake, "format_message") else str(mistake)
    except SystemExit:
        return None
    return None


def _parse(words: list[str]) -> None:
    # `--store URL` may also stand before the command.
    begin = 2 if words[0] == "--store" else 0
    group, rest, parent, name = ROOT, list(words[begin:]), None, "horae"
    while hasattr(group, "resolve_command"):
        # Click keeps the help option of a command that is parsed once: the settings must be the real ones.
        with group.context_class(group, parent=parent, info_name=name, **group.context_settings) as context:
            if not rest and not group.invoke_without_command:
                context.fail("Missing command.")
            if not rest:
                return
            parent = context
            name, group, rest = group.resolve_command(context, rest)
    group.make_context(name, rest, parent=parent)


def wrong_commands(found: Iterable[Text]) -> list[str]:
    return [
        f"{text.place}: horae {' '.join(words)}: {mistake}"
        for text in found
        for words in commands_in(text.text)
        if (mistake := mistake_in(words)) is not None
    ]
