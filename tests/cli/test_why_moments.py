"""`horae why --at` reads moments in the schedule language, including past days, in the caller's zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from horae.clock import SystemClock
from tests.cli.command_line import Cli

SHANGHAI = "Asia/Shanghai"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    found = Cli(tmp_path)
    assert found("add", "every day at 01:00", "--zone", "UTC", "--name", "report", "--say", "hi").code == 0
    return found


def nine_in_shanghai(days: int) -> datetime:
    day = SystemClock().now().astimezone(ZoneInfo(SHANGHAI)).date() + timedelta(days=days)
    return datetime(day.year, day.month, day.day, 9, tzinfo=ZoneInfo(SHANGHAI)).astimezone(UTC)


@pytest.mark.parametrize(
    ("moment", "days"),
    [
        ("today at 9am", 0),
        ("today 09:00", 0),
        ("yesterday at 9am", -1),
        ("9am yesterday", -1),
        ("今天早上9点", 0),
        ("昨天早上9点", -1),
        ("前天上午9点", -2),
        ("tomorrow at 9am", 1),
    ],
)
def test_why_reads_moment_in_words_in_the_callers_zone(cli: Cli, moment: str, days: int) -> None:
    done = cli("why", "report", "--at", moment, "--json", HORAE_ZONE=SHANGHAI)
    assert done.code == 0, done.err
    assert datetime.fromisoformat(done.json["at"]) == nine_in_shanghai(days)


def test_why_refuses_an_ambiguous_half_of_the_day(cli: Cli) -> None:
    done = cli("why", "report", "--at", "yesterday at 9")
    assert done.code == 6
    assert "09:00" in done.err
    assert "21:00" in done.err


def test_runs_since_a_day_part_in_words(cli: Cli) -> None:
    assert cli("runs", "--since", "yesterday morning", "--json").code == 0
    assert cli("runs", "--since", "上周一早上9点", "--json").code == 0
