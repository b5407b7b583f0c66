"""Suggestions for mistyped words: only near ones."""

from __future__ import annotations

import pytest

from tests.cli.command_line import Cli


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("every 5 minuts", 'Did you mean "minutes"?'),
        ("in 2 huors", 'Did you mean "hours"?'),
        ("every day at 9am Asia/Shangai", "Did you mean Asia/Shanghai?"),
        ("每天9点半 北京", "是不是“北京时间”？"),
        ("每天9点 纽约", "是不是“纽约时间”？"),
    ],
)
def test_near_word_is_suggested(cli: Cli, text: str, hint: str) -> None:
    done = cli("next", text)
    assert done.code != 0
    assert hint in done.err


@pytest.mark.parametrize("zone", ["Mars/Phobos", "Nowhere/Land"])
def test_zone_that_is_near_none_gets_no_suggestion(cli: Cli, zone: str) -> None:
    for done in (cli("next", f"every day at 9am {zone}"), cli("next", "every day at 9am", "--zone", zone)):
        assert f'There is no zone called "{zone}".' in done.err
        assert "Zones have IANA names such as Europe/Berlin." in done.err
        assert "Did you mean" not in done.err


def test_number_before_a_foreign_word_is_no_duration(cli: Cli) -> None:
    assert "Write 90s, 5m, 1h30m or 20 minutes." in cli("next", "every 5 foo").err


def test_ambiguous_name_asks_for_an_id(cli: Cli) -> None:
    for _ in range(2):
        cli("add", "every 1h", "--say", "x", "--name", "tick")
    done = cli("show", "tick")
    assert "Give the id of one of them, or enough of it." in done.err


def test_footer_of_one_task_has_a_singular(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "x", "--name", "tick")
    listed = cli("ls")
    assert "1 of 1 task · times in" in listed.out + listed.err
