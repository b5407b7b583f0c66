"""The commands in the blocks of a page succeed one after another, in an empty store; the Chinese pages have the same blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.cli.command_line import Cli
from tests.docs.page_commands import commands_of
from tests.docs.pages import text_of

BEFORE: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "agents-safety": (
        ("group", "add", "family", "web:family"),
        ("add", "every 1h", "--group", "family", "--prompt", "x", "--name", "TASK"),
    ),
    "gates": (("add", "every 1h", "--say", "x", "--name", "TASK"),),
    "lanes": (("add", "every 1h", "--say", "x", "--name", "TASK"),),
    "notifications": (("notify", "add", "ops", "json://127.0.0.1:9/"),),
    "run-input": (
        ("add", "every day at 9:00", "--http", "https://example.org/x", "--name", "report", "--overlap", "parallel"),
    ),
}
"""What a page takes for granted: a task whose name stands in its commands, a group."""
NOT_RUN: Final = (
    ("up",),
    ("worker",),
    ("notify",),
    ("group", "stop"),
    ("run", "TASK", "--gate-only"),
    ("retry",),
    ("messages", "read", "chat:telegram:-100123"),
)
"""They serve until they are ended, ask for a URL, need a live node or a failed run, or read a chat without a message."""
CONFIRMED: Final = (("agent", "stop"), ("backfill",))
"""Outside of a terminal these need a yes."""
ALLOWED: Final = {"HORAE_COMMAND_ALLOW": "check-mail,train,sync"}
PAGES: Final = (
    "agents-safety",
    "chains",
    "gates",
    "groups",
    "lanes",
    "notifications",
    "placeholders",
    "placement",
    "run-input",
)


def commands(page: str) -> list[list[str]]:
    found = [each.words for each in commands_of(text_of(f"{page}.md"), page) if each.in_block]
    return [words for words in found if not any(tuple(words[: len(each)]) == each for each in NOT_RUN)]


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_succeed_as_written(page: str, tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    (tmp_path / "fix.json").write_text('{"day": "2026-11-02"}', encoding="utf-8")
    shown = commands(page)
    assert shown
    for words in [*BEFORE.get(page, ()), *shown]:
        is_confirmed = any(tuple(words[: len(each)]) == each for each in CONFIRMED)
        done = cli(*words, *(("--yes",) if is_confirmed else ()), **ALLOWED)
        assert done.code == 0, (words, done.err)
