"""Every `horae` command that a page shows is understood by the real parser of the command line."""

from __future__ import annotations

import pytest

from tests.docs.page_commands import Command, commands_of, mistake_in, pages

COMMANDS = [each for path in pages() for each in commands_of(path.read_text(encoding="utf-8"), path.name)]


def test_every_command_of_the_pages_is_understood() -> None:
    assert [f"{each.shown}: {mistake}" for each in COMMANDS if (mistake := mistake_in(each)) is not None] == []


def test_commands_are_collected_from_spans_and_blocks_of_all_pages() -> None:
    assert {"README.md", "README.zh-CN.md", "cli.md", "operations.md", "quickstart.md"} <= {
        each.place.split(":")[0] for each in COMMANDS
    }
    assert len([each for each in COMMANDS if each.in_block]) > 40
    assert len([each for each in COMMANDS if not each.in_block]) > 150


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("`horae why TASK 2026-11-16` tells of any day.", "unexpected extra argument"),
        ("Then `horae rum NAME`.", "No such command"),
        ("```sh\nhorae nodes drain NODE --undoo\n```", "No such option"),
        ("```console\n$ horae lane\n```", "Missing"),
        ("```console\n$ cat jobs | HORAE_ZONE=UTC horae import - --kind x\n```", "No such option"),
        ("| `horae context ls|used` | contexts |", "No such command"),
        ("```sh\nhorae add 'every 1h' \\\n    --sya x\n```", "No such option"),
    ],
)
def test_wrong_command_is_found(text: str, mistake: str) -> None:
    (command,) = commands_of(text, "page.md")
    assert mistake in (mistake_in(command) or "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("`horae --server https://horae.example ls`", ["--server", "https://horae.example", "ls"]),
        ("`horae ls \\| head -1`", ["ls"]),
        ("```sh\nhorae token make ci > ci.token  # once\n```", ["token", "make", "ci"]),
        ("`horae skip TASK [N]`", ["skip", "TASK", "N"]),
        ("`horae db backup /tmp/$(date +%F).backup`", ["db", "backup", "/tmp/VALUE.backup"]),  # noqa: S108 - not opened
    ],
)
def test_shell_syntax_and_placeholders_are_no_mistakes(text: str, words: list[str]) -> None:
    (command,) = commands_of(text, "page.md")
    assert command == Command("page.md:1" if text[1] != "`" else "page.md:2", words, in_block=text[1] == "`")
    assert mistake_in(command) is None


def test_output_in_a_console_is_no_command() -> None:
    assert list(commands_of("```console\n$ true\nhorae rum\n```\n```text\nhorae rum\n```", "page.md")) == []
