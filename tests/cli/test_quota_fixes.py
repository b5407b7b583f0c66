"""Quota fixes of `horae why`: the command with which an admin changes the quota."""

from __future__ import annotations

import re
import shlex

from horae.lifecycle.explain.explanation import Verdict
from horae.testing.factories import HOUR
from horae.wire.tasks.fixes import fixes_for
from tests.cli.command_line import Cli
from tests.cli.remote.server import without_store
from tests.unit.service.service_harness import ServiceHarness, open_harness

CY = ("--owner", "cy")


def owner_with_task(cli: Cli, when: str = "every 1h") -> None:
    assert cli("owner", "add", "cy").code == 0
    assert cli("add", when, "--say", "x", "--name", "one", *CY).code == 0


def test_task_paused_by_a_quota_continues_after_the_printed_command(cli: Cli) -> None:
    owner_with_task(cli)
    assert cli("owner", "set", "cy", "--quota", "longest_life=1d").code == 0
    assert cli("show", "one", "--json").json["task"]["pause"]["cause"] == "quota"
    (fix,) = cli("why", "one", "--json").json["fixes"]
    assert fix["command"] == "horae owner set cy --quota longest_life=never"
    assert cli(*shlex.split(fix["command"])[1:]).code == 0
    assert cli("show", "one", "--json").json["task"]["state"] == "active"


def test_run_and_add_say_that_the_runs_of_the_day_are_used_up(cli: Cli) -> None:
    owner_with_task(cli)
    assert cli("owner", "set", "cy", "--quota", "runs_per_day=0").code == 0
    refused = cli("run", "one", "--json")
    assert refused.problem["code"] == "quota_used_up"
    made = cli("add", "now", "--say", "x", "--name", "two", *CY, "--json").json
    assert "quota_used_up" in [each["code"] for each in made["warnings"]]
    shown = cli("add", "now", "--say", "x", "--name", "three", *CY)
    assert "quota of cy is used up" in shown.err
    (command,) = re.findall(r"horae (owner show cy)", refused.problem["hint"])
    (remedy,) = re.findall(r"horae (owner set cy --quota runs_per_day=\S+)", without_store(cli(*command.split()).out))
    assert cli(*remedy.split()).code == 0
    assert cli("run", "one").code == 0


async def _waiting_for_the_owner(house: ServiceHarness) -> None:
    cy = await house.make_member("cy", concurrent_runs=1)
    first, second = [await house.add(who=cy) for _ in range(2)]
    house.advance(HOUR)
    (going,) = await house.claim()
    waiting = second if going.task_id == first.id else first
    why = await house.explanations.explain(cy, waiting.id, None)
    assert why.explanation.verdict is Verdict.WAITING
    commands = [fix.command for fix in fixes_for(why, "x")]
    assert commands == ["horae owner set cy --quota concurrent_runs=2", "horae runs --state running"]


async def test_run_that_waits_for_the_concurrent_runs_of_its_owner_names_that_quota() -> None:
    async with open_harness() as house:
        await _waiting_for_the_owner(house)
