"""Every example that Horae shows works as written: schedules are understood, and commands pass the real parser."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.docs.hint_commands import commands_in, mistake_in, wrong_commands
from tests.docs.hints import Text, is_understood, schedules_in, texts, texts_of, wrong_schedules


@cache
def shown() -> list[Text]:
    """Read the package once, by the test that needs it first: every process of a run collects this module."""
    return list(texts())


def test_every_schedule_in_a_hint_is_understood() -> None:
    assert wrong_schedules(shown()) == []


def test_every_command_in_a_hint_is_understood_by_the_command_line() -> None:
    assert wrong_commands(shown()) == []


def test_catalogues_warnings_fixes_help_and_tool_words_are_collected() -> None:
    modules = {text.module for text in shown() if [*schedules_in(text), *commands_in(text.text)]}

    assert {
        "schedule/refusals/language.py",
        "schedule/warnings.py",
        "service/accounts/refusals.py",
        "cli/messages/refusals.py",
        "cli/messages/operating_messages.py",
        "wire/tasks/fixes.py",
        "cli/messages/help_topics.py",
        "cli/commands/tasks/add.py",
        "mcp_server/catalogue.py",
        "settings.py",
    } <= modules
    assert sum(len(list(schedules_in(text))) for text in shown()) > 100
    assert sum(len(list(commands_in(text.text))) for text in shown()) > 150


WRONG = [
    ("schedule", """X = ("Too long.", 'Add an end, for example "every day at 9 until 2027-01-01".')"""),
    ("schedule", """X = ("太长。", "请写“每天早上”。")"""),
    ("schedule", """X = ("No.", "Write 0 9 30 2 *, or leave it.")"""),
    ("schedule", """X = ("No.", 'Say "until tomorrowish".')"""),
    ("schedule", """X = 'Pass a mapping such as {{"kind": "every", "interval": "PT0S"}}.'"""),
    ("command", '''X = "Use 'horae rum NAME' for one more."'''),
    ("command", '''X = "See: horae why, then horae resume NAME"'''),
    ("command", '''X = "可用“horae nodes drain 节点 --undoo”撤销。"'''),
    ("command", '''X = f"horae lane {name} --limitt 3"'''),
    ("command", '''X = "horae owner,再 horae ls"'''),
]


@pytest.mark.parametrize(("kind", "source"), WRONG)
def test_a_wrong_example_in_a_new_module_is_found(kind: str, source: str, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "new_words.py").write_text(f'"""A new catalogue."""\n\n{source}\n', encoding="utf-8")

    found = wrong_schedules(texts(tmp_path)) if kind == "schedule" else wrong_commands(texts(tmp_path))

    assert len(found) == 1
    assert found[0].startswith("deep/new_words.py:3: ")


@pytest.mark.parametrize(
    ("sentence", "commands"),
    [
        ("horae resume {name} lets it go on", [["resume", "report"]]),
        ("horae db check, then horae db restore BACKUP", [["db", "check"], ["db", "restore", "report"]]),
        ("Zone data: horae doctor says which version.", [["doctor"]]),
        ("查看:horae ls,再用 horae why 任务", [["ls"], ["why", "report"]]),
        ('try: horae add "every 10s" --say tick', [["add", "every 10s", "--say", "tick"]]),
        ("'horae nodes drain NODE --undo' takes it back.", [["nodes", "drain", "report", "--undo"]]),
        ("pipe it in: ... | horae secret set {name} -", [["secret", "set", "report", "-"]]),
    ],
)
def test_command_ends_where_prose_continues(sentence: str, commands: list[list[str]]) -> None:
    assert list(commands_in(sentence)) == commands
    assert [mistake_in(words) for words in commands] == [None] * len(commands)


def test_a_docstring_is_not_shown_and_a_placeholder_is_filled() -> None:
    found = list(texts_of('def f():\n    """Use "every 9"."""\n    return f"every {day} at …"\n', "m.py"))

    assert [text.text for text in found] == ["every {day} at …"]
    assert is_understood("every {day} at …")
