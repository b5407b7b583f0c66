"""Schedules of agents without an end, and the limits of agents that an admin sets."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from horae.choices import Language
from horae.errors import Refusal
from horae.model.accounts.principal import AGENT_QUOTAS, Principal, Quotas
from horae.schedule.durations import parse_duration
from horae.schedule.text import parse_text
from horae.service.tasks.quotas import check_schedule
from horae.testing.factories import NOON
from horae.wire.problems import ExitCode
from tests.cli.command_line import Cli
from tests.cli.json_schemas import check_schema
from tests.mcp.stdio_server import connect_stdio

QUOTED = {"en": re.compile(r"'([^']+)'"), "zh": re.compile(r"“([^”]+)”")}


async def schedule(cli: Cli, **arguments: Any) -> dict[str, Any]:
    async with connect_stdio(cli, "--agent", "helper") as tools:
        return await tools("schedule_task", **arguments)


async def refusal(cli: Cli, **arguments: Any) -> str:
    async with connect_stdio(cli, "--agent", "helper") as tools:
        assert (await tools.raw("schedule_task", **arguments)).is_error
        return await tools.line("schedule_task", **arguments)


async def test_reminder_every_morning_in_chinese_is_scheduled_without_an_end(cli: Cli) -> None:
    made = await schedule(cli, when="每天早上9点", do="提醒我打卡")
    assert (made["change"], made["awaiting_approval"]) == ("new", False)
    assert made["task"]["state"] == "active"


async def test_endless_schedule_in_english_is_scheduled_too(cli: Cli) -> None:
    made = await schedule(cli, when="every weekday at 9am", do="check the mail")
    assert made["task"]["state"] == "active"


async def test_agent_limits_are_set_lifted_and_shown(cli: Cli) -> None:
    arguments = {"when": "every 1m", "do": "look"}
    line = await refusal(cli, **arguments)
    assert line.startswith("interval_too_short")
    command = line[line.index("horae agent set") :].rstrip(".").split()
    assert cli(*command[1:]).code == ExitCode.OK, command
    assert (await schedule(cli, **arguments))["change"] == "new"
    lifted = cli("agent", "set", "helper", "--quota", "active_tasks=never", "--quota", "runs_per_day=none", "--json")
    check_schema("agent-limits", lifted.json)
    assert lifted.json["quotas"]["active_tasks"] is None
    assert lifted.json["quotas"]["runs_per_day"] is None
    shown = cli("agent", "show", "helper", "--json").json
    assert shown["chosen"] == {"shortest_interval": "PT1M", "active_tasks": None, "runs_per_day": None}
    usual = cli("agent", "set", "helper", "--quota", "active_tasks=usual", "--json").json
    assert usual["quotas"]["active_tasks"] == AGENT_QUOTAS.active_tasks


async def test_limits_of_all_agents_of_an_owner_count_where_none_was_set_for_one(cli: Cli) -> None:
    assert cli("agent", "set", "--all", "--quota", "longest_life=7d", "--quota", "active_tasks=1").code == ExitCode.OK
    assert (await refusal(cli, when="every 1h", do="x")).startswith("life_too_long")
    cli("agent", "set", "helper", "--quota", "longest_life=never")
    assert (await schedule(cli, when="every 1h", do="x"))["change"] == "new"
    assert (await refusal(cli, when="every 2h", do="y")).startswith("too_many_tasks")
    assert cli("agent", "set", "--quota", "active_tasks=1").code == ExitCode.USAGE
    assert cli("agent", "set", "helper", "--all", "--quota", "active_tasks=1").code == ExitCode.USAGE


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("least", ["10s", "5m", "1h30m", "2d"])
def test_schedule_in_the_hint_of_a_short_interval_parses_and_is_allowed(language: Language, least: str) -> None:
    quotas = Quotas(shortest_interval=parse_duration(least))
    who = Principal("ada", agent="helper", quotas=quotas)
    found = refused(who, "every 1s")
    assert found.code == "interval_too_short"
    check_example(who, found, language)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("life", ["30d", "5d", "1d", "2h"])
def test_schedule_in_the_hint_of_a_long_life_parses_and_is_allowed(language: Language, life: str) -> None:
    who = Principal("ada", quotas=Quotas(longest_life=parse_duration(life), shortest_interval=timedelta(minutes=5)))
    found = refused(who, "every 1h")
    assert found.code == "life_too_long"
    check_example(who, found, language)
    assert "horae owner set ada --quota longest_life=never" in found.in_language(language).hint


def check_example(who: Principal, found: Refusal, language: Language) -> None:
    hint = found.in_language(language).hint
    (example, *_) = QUOTED[language].findall(hint)
    assert ("every" in example) is (language == "en")
    check_schedule(who, parse_text(example, zone="Asia/Shanghai", now=NOON).schedule, NOON)


def refused(who: Principal, text: str) -> Refusal:
    with pytest.raises(Refusal) as found:
        check_schedule(who, parse_text(text, zone="UTC", now=NOON).schedule, NOON)
    return found.value
