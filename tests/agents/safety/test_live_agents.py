"""Real agents in processes: secrets stay out of `ps`, a stop ends them, budgets are charged, forged usage gains nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from secrets import token_hex

import pytest

from horae.model.accounts.principal import LOCAL
from horae.model.agents.budget import BUDGET_KIND, FLOOR, budget_from
from horae.model.agents.usage import MAX_TOKENS
from horae.model.reason import Reason
from horae.model.run import Run, RunState
from horae.model.task import Task, TaskState
from horae.ports.store import RunFilter
from tests.agents.safety.process_list import processes
from tests.agents.turns.agent_host import SCRIPTED, AgentHost, open_host
from tests.servers.programs import program

FORGED = (sys.executable, str(Path(__file__).with_name("forged_usage_agent.py")))


@pytest.mark.parametrize("runtime", ["process", "bubblewrap"])
async def test_secret_is_in_no_argument_and_no_environment_while_an_agent_runs(tmp_path: Path, runtime: str) -> None:
    if runtime == "bubblewrap":
        program("bwrap", package="bubblewrap")
    async with open_host(tmp_path, runtime=runtime, secrets=["MODEL_KEY"]) as host:
        value = token_hex(24)
        await host.app.service.secrets.set(LOCAL, "MODEL_KEY", value)
        group = await host.add_group()
        await host.post(group, "hello")
        await host.ask_turn(group)
        await host.until(lambda: _has_answer(host, group.folder))
        assert host.target.live.find("family") is not None, "the agent is live and idle"
        found = [name for name, text in processes() if value.encode() in text]
        assert found == []
        kept = [path for path in tmp_path.rglob("*") if path.is_file() and value.encode() in path.read_bytes()]
        assert kept == [], "neither the store nor a log has it in plain"


async def _has_answer(host: AgentHost, folder: str) -> bool:
    group = await host.app.service.groups.find(folder)
    assert group is not None
    return bool(await host.answers(group))


async def _ended_run(host: AgentHost, task: Task) -> Run | None:
    (run,) = (await host.app.service.runs.page(LOCAL, RunFilter(task_id=task.id), limit=1)).items
    return None if run.live else run


async def test_stop_of_all_ends_a_live_agent_at_once_and_nothing_starts_until_the_restart(tmp_path: Path) -> None:
    async with open_host(tmp_path, SCRIPTED) as host:
        group = await host.add_group()
        task = await host.add_task(group, "hang", when="every 1h")
        await host.app.service.tasks.run_now(LOCAL, task.id)
        await host.until_file(group, "hanging")
        await host.app.service.agent_stop.stop_all(LOCAL)
        # The task is paused, so that nothing waits for the end of an occurrence.
        run = await host.until(lambda: _ended_run(host, task))
        assert (run.state, run.reason) == (RunState.CANCELLED, Reason.CANCELLED)
        assert host.target.live.find("family") is None
        await host.post(group, "say one")
        skipped = await host.ended(await host.ask_turn(group))
        assert (skipped.state, skipped.reason) == (RunState.SKIPPED, Reason.AGENT_STOPPED)
        assert await host.answers(group) == []
        await host.app.service.agent_stop.restart_all(LOCAL)
        assert (await host.app.service.tasks.get(LOCAL, task.id)).status.state is TaskState.ACTIVE
        await host.ask_turn(group, priority=-2)
        await host.until_answers(group, "one")


async def test_budget_is_charged_with_the_reported_usage(tmp_path: Path) -> None:
    async with open_host(tmp_path, FORGED) as host:
        group = await host.add_group()
        await host.app.service.budgets.put(LOCAL, "family", {"tokens": 1_010})
        first = await host.ended(await host.add_task(group, 'USAGE {"inputTokens":10,"outputTokens":5}'))
        assert first.state is RunState.SUCCEEDED
        await host.until(lambda: _is_settled(host, 1))
        assert (await host.app.service.budgets.get(LOCAL, "family")).used.tokens == 15
        lines = await host.app.service.runs.lines(LOCAL, first.id)
        said = [(each.line.level, each.line.text) for each in lines if each.line.level in ("tool", "result")]
        assert sorted(said) == [("result", "done"), ("tool", 'schedule_task {"prompt": "weather"}')]
        second = await host.ended(await host.add_task(group, "USAGE {}"))
        assert (second.state, second.reason) == (RunState.SKIPPED, Reason.OVER_BUDGET)
        assert second.error is not None
        assert "tokens per day: 15 used, 0 reserved, 1,010 allowed, about 1,000 needed" in second.error


FORGED_USAGES = (
    ('{"inputTokens":-5000000,"outputTokens":-1}', FLOOR.tokens),
    ('{"inputTokens":NaN}', FLOOR.tokens),
    ('{"inputTokens":1e400}', FLOOR.tokens),
    ('{"inputTokens":"12"}', FLOOR.tokens),
    ('{"cost":-3}', FLOOR.tokens),
    ("{}", FLOOR.tokens),
    ('{"inputTokens":' + "9" * 60 + "}", MAX_TOKENS),
)


async def test_forged_usage_never_gives_budget_back(tmp_path: Path) -> None:
    async with open_host(tmp_path, FORGED) as host:
        group = await host.add_group()
        await host.app.service.budgets.put(LOCAL, "family", {"tokens": 100_000, "cost": 5})
        charged = 0
        for number, (usage, tokens) in enumerate(FORGED_USAGES, 1):
            await host.ended(await host.add_task(group, f"USAGE {usage}"))
            await host.until(lambda runs=number: _is_settled(host, runs))
            state = await host.app.service.budgets.get(LOCAL, "family")
            assert state.used.tokens - charged == tokens, usage
            assert state.used.cost >= 0
            charged = state.used.tokens


async def _is_settled(host: AgentHost, runs: int) -> bool:
    budget = budget_from(await host.store.get_record(BUDGET_KIND, "family"))
    return not budget.reservations and budget.used.runs == runs
