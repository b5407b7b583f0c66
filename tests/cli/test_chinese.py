"""Chinese output: every help text is translated, and sentences have Chinese punctuation."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

import horae
from horae.cli.command_table import COMMANDS
from horae.cli.commands.operate.overview import outcome_count
from horae.cli.main import app
from horae.cli.messages.help_language import help_in_chinese
from horae.cli.output.formats import duration_message, exact_duration, state_of_run
from horae.cli.output.printer import Printer
from horae.message import Message
from horae.model.reason import Reason, describe_reason, reason_phrase
from horae.model.run import RunState
from horae.model.task import TaskState
from horae.refusal_catalogue import RefusalEntry
from horae.testing.factories import a_run, a_task
from horae.typography import full_width
from tests.cli.command_line import Cli
from tests.cli.histories import write_failure_history

CHINESE = re.compile("[\u4e00-\u9fff]")
HALF_WIDTH = re.compile("[\u4e00-\u9fff”][,;:?!(]|[,;:?!)][\u4e00-\u9fff“]")
SAME_IN_CHINESE = {"https://horae.example.org", "A-Z a-z 0-9 _ . -", "'in 30 days', 2027-01-01."}
"""Values that are typed and so not translated."""


def parts_of(command: Any, path: str) -> Iterator[tuple[str, str]]:
    """Return the help of a command, of its parameters and of its subcommands."""
    if command.help:
        yield path, command.help
    for parameter in command.params:
        if getattr(parameter, "help", None):
            yield f"{path} {parameter.name}", parameter.help
    if path != "horae":
        for name, within in getattr(command, "commands", {}).items():
            yield from parts_of(within, f"{path} {name}")


def every_help_text() -> list[tuple[str, str]]:
    group: Any = app
    found = list(parts_of(group, "horae"))
    for name in COMMANDS:
        found += parts_of(group.get_command(None, name), f"horae {name}")
    return found


def every_sentence() -> Iterator[tuple[str, str]]:
    """Chinese text of every message catalogue."""
    for module in pkgutil.walk_packages(horae.__path__, "horae."):
        if not re.search(r"(messages|refusals|commands|topics)\b", module.name):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            for text in chinese_in(value):
                yield f"{module.name}.{name}", text


def chinese_in(value: object) -> Iterator[str]:
    if isinstance(value, Message):
        yield value.zh
    elif isinstance(value, RefusalEntry):
        yield from (full_width(value.message_zh), full_width(value.hint_zh))
    elif isinstance(value, dict):
        for each in value.values():
            yield from chinese_in(each)
    elif isinstance(value, tuple | list):
        for each in value:
            yield from chinese_in(each)


def test_every_help_text_of_every_command_is_translated() -> None:
    texts = every_help_text()
    assert len(texts) > 500
    missing = {(path, text) for path, text in texts if not CHINESE.search(help_in_chinese(text))}
    assert {text for _, text in missing} <= SAME_IN_CHINESE, sorted(missing)


def test_translated_help_has_chinese_punctuation() -> None:
    assert [text for _, text in every_help_text() if HALF_WIDTH.search(help_in_chinese(text))] == []


@pytest.mark.parametrize("arguments", [("add",), ("token",), ("token", "make"), (), ("nodes",)])
def test_help_in_chinese_leaves_no_english_sentence(cli: Cli, arguments: tuple[str, ...]) -> None:
    output = cli(*arguments, "--help", "--lang", "zh").out
    for english in ("Usage", "Options", "Arguments", "Commands", "Show this message", "[required]", "Default"):
        assert english not in output
    assert "选项：" in output
    assert "Usage: horae" in cli(*arguments, "--help").out, "English is as before"


def test_help_follows_the_language_of_the_environment(cli: Cli) -> None:
    output = cli("webhook", "--help", LANG="zh_CN.UTF-8").out
    assert "列出 webhook。" in output


def test_chinese_sentences_have_chinese_punctuation() -> None:
    found = list(every_sentence())
    assert len(found) > 500
    wrong = [(place, text) for place, text in found if HALF_WIDTH.search(re.sub(r"`[^`]*`|\"[^\"]*\"|{\w+}", "", text))]
    assert wrong == []
    assert [each for each in Reason if HALF_WIDTH.search(describe_reason(each, "zh"))] == []


def test_fragments_and_bracketed_lists_have_chinese_punctuation() -> None:
    half = re.compile("^[,;:]|（[^）]*[A-Za-z],[^）]*）")
    assert [(place, text) for place, text in every_sentence() if half.search(text)] == []


def test_node_has_one_word_in_chinese() -> None:
    texts = [*every_sentence(), *((path, help_in_chinese(text)) for path, text in every_help_text())]
    assert [place for place, text in texts if "引擎" in text] == []
    assert "引擎" not in "".join(each.does.zh for each in COMMANDS.values())


def test_lengths_in_chinese_sentences_have_chinese_units(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "x", "--name", "x", "--missed", "latest", "--timeout", "90s")
    shown = cli("show", "x", "--lang", "zh").out.partition("实际运行内容")[0]
    assert "超时 1 分钟 30 秒" in shown
    assert "timeout 1m 30s" in cli("show", "x").out
    cli("owner", "add", "ada", "--quota", "shortest_interval=1m")
    assert "至少间隔 1 分钟" in cli("owner", "show", "ada", "--lang", "zh").out


@pytest.mark.parametrize(
    ("shown", "chinese"), [("24h", "24 小时"), ("19ms", "19 毫秒"), ("1.2s", "1.2 秒"), ("2d 3h", "2 天 3 小时")]
)
def test_length_as_fact_of_a_sentence(shown: str, chinese: str) -> None:
    assert duration_message(shown) == (shown, chinese)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("没有创建(试运行)", "没有创建（试运行）"),
        ("{deed}:{number} 个任务", "{deed}：{number} 个任务"),
        ("请检查:`horae db check`;否则请恢复备份。", "请检查：`horae db check`；否则请恢复备份。"),
        ("使用 app.sync() 时", "使用 app.sync() 时"),
        ("地址是 https://a.example/b?c=1,2", "地址是 https://a.example/b?c=1,2"),
        ('可以试试:horae add "每天9:00,10:00"', '可以试试：horae add "每天9:00,10:00"'),
        ("在 09:00 触发", "在 09:00 触发"),
        ("no Chinese here: none (at all)", "no Chinese here: none (at all)"),
    ],
)
def test_punctuation_of_a_sentence_is_widened_and_code_is_not(text: str, expected: str) -> None:
    assert full_width(text) == expected


def test_a_refusal_keeps_the_punctuation_of_what_was_typed(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "x")
    output = cli("show", "报告,一", "--lang", "zh").err
    assert "没有任务“报告,一”。" in output
    assert "，" in output.splitlines()[1]


# --- answers --------------------------------------------------------------------------------------------------------------

CODES = re.compile(
    rf"(?<![\w./=:\"-])(?:{'|'.join([*Reason, *RunState, *TaskState, 'queue_all', 'at_least_once', 'at_most_once'])})\b"
)
"""Codes for programs; text output uses Chinese words instead."""
ANSWERS = [
    ("ls",),
    ("ls", "--all"),
    ("show", "report"),
    ("show", "nightly-backup"),
    ("why", "nightly-backup"),
    ("why", "report"),
    ("why", "held"),
    ("runs",),
    ("status",),
    ("overview",),
    ("doctor",),
    ("nodes",),
    ("lanes",),
    ("config",),
    ("add", "every 1h", "--say", "x", "--overlap", "queue_all", "--dry-run"),
    ("add", "every day at 9am", "--say", "x", "--pause"),
    ("skip", "report", "1"),
    ("cancel", "held"),
    ("show", "held"),
    ("logs", "report"),
    ("retry", "report"),
]


def test_answers_in_chinese_have_chinese_words_and_punctuation(cli: Cli) -> None:
    write_failure_history(cli.path)
    assert cli("add", "every 1h", "--say", "x", "--name", "held", "--pause").code == 0
    for arguments in ANSWERS:
        done = cli(*arguments, "--lang", "zh")
        text = done.out + done.err
        assert CHINESE.search(text), arguments
        # Task definitions and setting descriptions quote typed words.
        output = text.partition("实际运行内容")[0] if arguments[0] != "config" else ""
        assert not CODES.search(output), (arguments, CODES.findall(output), output)
        assert not HALF_WIDTH.search(text), (arguments, HALF_WIDTH.findall(text), text)


def test_reason_is_shown_in_words_and_not_beside_the_same_state() -> None:
    run = a_run(a_task())._replace(state=RunState.CANCELLED, reason=Reason.CANCELLED)
    assert (state_of_run(run, "en"), state_of_run(run, "zh")) == ("cancelled", "取消")
    skipped = a_run(a_task())._replace(state=RunState.SKIPPED, reason=Reason.SKIP_REQUESTED)
    assert (state_of_run(skipped, "en"), state_of_run(skipped, "zh")) == (
        "skipped (skip requested)",
        "跳过（按要求跳过）",
    )


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_phrase_in_two_languages(reason: Reason) -> None:
    assert "_" not in reason_phrase(reason, "en")
    assert CHINESE.search(reason_phrase(reason, "zh"))


def test_status_shows_outcomes_in_the_words_of_runs() -> None:
    assert outcome_count(Printer(), "skipped:skip_requested", 1) == "1 skipped (skip requested)"
    assert outcome_count(Printer(language="zh"), "skipped:skip_requested", 1) == "1 个跳过（按要求跳过）"
    assert outcome_count(Printer(), "succeeded", 2) == "2 succeeded"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(30, "30s"), (1.25, "1.2s"), (0.9999, "1s"), (59.97, "1m"), (0.007, "7ms"), (90, "1m 30s"), (86_400, "24h")],
)
def test_durations_have_no_needless_digits(seconds: float, shown: str) -> None:
    assert exact_duration(timedelta(seconds=seconds)) == shown
