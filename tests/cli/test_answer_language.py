"""Language of an answer: from the environment or the schedule text, never from a name."""

from __future__ import annotations

import asyncio
import logging

import pytest

from horae import Horae
from horae.cli.output.printer import Printer
from horae.cli.output.terminal_log import TerminalFormatter
from horae.model.task import PauseCause
from tests.cli.command_line import Cli


def has_chinese(text: str) -> bool:
    return any("\u3400" <= letter <= "\u9fff" and letter not in "早你好晚" for letter in text)


@pytest.mark.parametrize("locale", ["en_US.UTF-8", "C.UTF-8"])
@pytest.mark.parametrize(
    "arguments",
    [["show"], ["pause"], ["resume"], ["skip"], ["why"], ["run"], ["cancel"], ["rm", "--yes"]],
    ids=" ".join,
)
def test_a_chinese_name_is_answered_in_the_language_of_the_environment(
    cli: Cli, locale: str, arguments: list[str]
) -> None:
    made = cli("add", "every day at 9:00", "--say", "你好", "--name", "早", LANG=locale)
    assert not has_chinese(made.out + made.err)
    for name in ("早", "晚"):
        done = cli(arguments[0], name, *arguments[1:], LANG=locale)
        assert (done.code == 0) == (name == "早")
        assert not has_chinese(done.out + done.err)


@pytest.mark.parametrize(
    "arguments",
    [
        ["add", "每天9点", "--say", "x"],
        ["add", "--dry-run", "每天25点", "--say", "x"],
        ["next", "每天9点"],
        ["explain", "每天25点"],
        ["edit", "report", "--when", "每天8点"],
        ["why", "report", "--at", "昨天早上9点"],
    ],
    ids=" ".join,
)
def test_a_chinese_schedule_is_answered_in_chinese(cli: Cli, arguments: list[str]) -> None:
    cli("add", "every day at 9:00", "--say", "x", "--name", "report")
    done = cli(*arguments, LANG="en_US.UTF-8")
    assert has_chinese(done.out + done.err)


async def _orphan(url: str) -> None:
    async with Horae(url, engine=False, zone="UTC") as app:
        facts = await app.service.tasks.find_by_name(app.who, "report")
        note = "no function of this name is declared any more"
        await app.service.tasks.pause(app.who, facts.task.id, cause=PauseCause.ORPHANED, note=note)


def test_notes_that_horae_wrote_are_shown_in_chinese(cli: Cli) -> None:
    cli("add", "every day at 9:00", "--say", "x", "--name", "report")
    asyncio.run(_orphan(cli.url))
    for command in (["ls"], ["show", "report"], ["why", "report"]):
        done = cli(*command, LANG="zh_CN.UTF-8")
        assert "已没有声明同名的函数" in done.out
        assert "no function" not in done.out


@pytest.mark.parametrize(("language", "text"), [("en", "may not deliver"), ("zh", "此节点不能投递")])
def test_a_log_line_with_a_chinese_text_is_shown_in_the_language_of_the_node(language: str, text: str) -> None:
    record = logging.LogRecord("horae", logging.WARNING, "", 0, "it may not deliver to %s", ("hook",), None)
    record.chinese = "此节点不能投递到 hook"
    lines = TerminalFormatter(Printer(language="zh" if language == "zh" else "en"), "UTC")
    assert text in lines.format(record)
