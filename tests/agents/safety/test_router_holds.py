"""Messages wait while agents are stopped or the budget of the day is used up; the chat is told once about its budget."""

from __future__ import annotations

from datetime import timedelta

from horae.model.accounts.principal import LOCAL
from horae.model.agents.usage import NO_USAGE
from horae.service.groups.budgets import BudgetGrant
from tests.agents.host.host_harness import HostHarness, open_host


async def spend_the_budget(host: HostHarness) -> None:
    """A budget of one run a day, and a turn that uses it."""
    group = await host.add_group(zone="UTC")
    await host.service.budgets.put(LOCAL, "family", {"runs": 1})
    await host.say("@Andy one")
    await host.look()
    (run,) = await host.turns()
    facts = await host.turn_task(group)
    assert facts is not None
    grant = await host.service.budgets.reserve(group, facts.task, run)
    assert isinstance(grant, BudgetGrant)
    await host.answer(run, group)
    await host.service.budgets.settle(grant, NO_USAGE)


async def test_used_up_budget_holds_the_turn_and_tells_the_chat_once_a_day() -> None:
    async with open_host() as host:
        await spend_the_budget(host)
        for text in ("@Andy two", "@Andy three"):
            await host.say(text)
            await host.look()
        assert await host.turns() == []
        (told,) = await host.deliveries()
        assert told.text.startswith("I cannot answer today: my budget is used up.")
        assert "runs per day: 1 used, 0 reserved, 1 allowed" in told.text
        host.advance(timedelta(hours=11))
        await host.look()
        assert await host.turns() == []
        host.advance(timedelta(hours=1, seconds=11))
        await host.look()
        assert len(await host.turns()) == 1, "the next day answers what has waited"
        assert len(await host.deliveries()) == 1


async def test_live_turn_that_holds_the_last_run_still_gets_messages() -> None:
    async with open_host() as host:
        group = await host.add_group(zone="UTC")
        await host.service.budgets.put(LOCAL, "family", {"runs": 1})
        await host.say("@Andy one")
        await host.look()
        (run,) = await host.turns()
        facts = await host.turn_task(group)
        assert facts is not None
        await host.service.budgets.reserve(group, facts.task, run)
        await host.say("@Andy two")
        await host.look()
        assert host.piped == ["family"]
        assert await host.deliveries() == []


async def test_stopped_agents_hold_the_turn_until_the_restart() -> None:
    async with open_host() as host:
        await host.add_group()
        await host.service.agent_stop.stop_all(LOCAL)
        await host.say("@Andy one")
        await host.look()
        assert await host.turns() == []
        await host.service.agent_stop.restart_all(LOCAL)
        host.advance(timedelta(seconds=11))
        await host.look()
        assert len(await host.turns()) == 1
        assert await host.deliveries() == []


async def test_status_of_a_group_says_that_its_agent_is_stopped_and_how_it_goes_on() -> None:
    async with open_host() as host:
        group = await host.add_group()
        assert await warnings_of(host) == []
        await host.service.agent_stop.stop_all(LOCAL)
        assert await warnings_of(host) == ["agents_stopped"]
        await host.service.agent_stop.restart_all(LOCAL)
        await host.service.approvals.stop_agent(LOCAL._replace(owner=group.owner), group.folder)
        assert await warnings_of(host) == ["group_agent_stopped"]
        await host.service.approvals.restart_agent(LOCAL._replace(owner=group.owner), group.folder)
        assert await warnings_of(host) == []


async def warnings_of(host: HostHarness) -> list[str]:
    return [each.code for each in (await host.service.groups.status(LOCAL, "family")).warnings]
