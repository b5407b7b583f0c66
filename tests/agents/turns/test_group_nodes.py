"""The node of a group: its prompts and turns run on that node only, whatever is edited, and follow it to another one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from horae.agents.host.turn_tasks import TURN_KEY, TurnTasks
from horae.model.accounts.principal import AGENT_LABEL, LOCAL, Principal
from horae.model.accounts.system_owner import system_owner
from horae.model.run import RunState
from horae.model.task import Target, Task, TaskState
from horae.service.accounts.approval_policy import digest_of
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import Options, TaskRequest
from tests.agents.turns.agent_host import SCRIPTED, AgentHost, open_host

FAMILY = Principal("group:family", agent="family")


@pytest.fixture(autouse=True)
def _close_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.agents.target.turn_state.TASK_CLOSE_SECONDS", 0.1)


def prompt(**fields: object) -> TaskRequest:
    spec = Target("agent", json.dumps({"group": "family", **fields}))
    return TaskRequest("prompt", "every 1h", spec, '{"prompt": "say done"}', "group:family")


async def where_of(host: AgentHost, task: Task) -> dict[str, str]:
    facts = await host.store.facts(task.id, None)
    return dict(facts.task.policies.where)


async def test_prompts_of_a_pinned_group_run_on_its_node_only(tmp_path: Path) -> None:
    """Both nodes run agents; the one that has nothing to do with the group would take about half of the prompts."""
    async with (
        open_host(tmp_path, SCRIPTED, node_name="one") as one,
        open_host(tmp_path, SCRIPTED, node_name="two") as two,
    ):
        group = await one.add_group(node="two")
        nodes = {dict(node.labels)["node"]: node.id for node in await one.store.nodes()}
        for number in range(6):
            run = await one.ended(await one.add_task(group, f"say {number}"))
            assert (run.state, run.node) == (RunState.SUCCEEDED, nodes["two"])
        await one.app.service.groups.change(LOCAL, "family", node="one")
        run = await two.ended(await two.add_task(group, "say last"))
        assert (run.state, run.node) == (RunState.SUCCEEDED, nodes["one"])


async def test_a_prompt_that_waits_for_its_node_starts_on_the_new_one(tmp_path: Path) -> None:
    async with open_host(tmp_path, SCRIPTED, node_name="one") as host:
        group = await host.add_group(node="gone")
        task = await host.add_task(group, "say done")
        await host.post(group, "say hello")
        await TurnTasks(host.app.service).ask(group)
        turn = await host.store.find(system_owner(group.owner), TURN_KEY)
        assert (await host.runs(task), await host.runs(turn.task)) == ([], [])
        await host.app.service.groups.change(LOCAL, "family", node="one")
        assert (await host.ended(task)).state is RunState.SUCCEEDED
        await host.until_answers(group, "done", "hello")


async def test_no_edit_takes_a_prompt_away_from_the_node_of_its_group(tmp_path: Path) -> None:
    async with open_host(tmp_path, node_name="one") as host:
        await host.add_group(node="one")
        tasks = host.app.service.tasks
        task = await tasks.create(LOCAL, prompt()._replace(options=Options(where={"gpu": "a", "node": "two"})))
        (many,) = await tasks.create_many(LOCAL, iter([prompt()]), lambda each: each)
        declared = await tasks.declare(LOCAL, prompt()._replace(key="k"))
        assert await where_of(host, task) == {"gpu": "a", "node": "one"}
        assert await where_of(host, many) == await where_of(host, declared) == {"node": "one"}
        for edits in (
            Edits(options=Options(where={})),
            Edits(options=Options(where={"node": "two"})),
            Edits(target=prompt(context_mode="group").target),
            Edits(name="other", options=Options(priority=3)),
        ):
            await tasks.edit(LOCAL, task.id, edits)
            assert await where_of(host, task) == {"node": "one"}
        await tasks.declare(LOCAL, prompt()._replace(key="k", options=Options(where={"zone": "eu"})))
        assert await where_of(host, declared) == {"node": "one", "zone": "eu"}


async def test_the_labels_of_all_prompts_follow_the_node_of_their_group(tmp_path: Path) -> None:
    async with open_host(tmp_path, node_name="one") as host:
        groups, tasks = host.app.service.groups, host.app.service.tasks
        await host.add_group()
        free = await tasks.create(LOCAL, prompt())
        paused = await tasks.create(LOCAL, prompt(), paused="later")
        cancelled = await tasks.create(LOCAL, prompt())
        await tasks.cancel(LOCAL, cancelled.id)
        made = await tasks.create(FAMILY, prompt(script="date"))
        await host.app.service.approvals.approve(LOCAL, made.id, digest_of(made))
        event = await tasks.create(LOCAL, TaskRequest("event", "every 1h", Target("event", "{}"), owner="group:family"))
        assert dict(made.labels)[AGENT_LABEL] == "family"

        for node, wanted in (("one", {"node": "one"}), ("two", {"node": "two"}), ("", {})):
            await groups.change(LOCAL, "family", node=node)
            assert [await where_of(host, each) for each in (free, paused, made)] == [wanted] * 3
            assert await where_of(host, event) == await where_of(host, cancelled) == {}
            states = [(await host.store.facts(each.id, None)).status.state for each in (free, paused, made)]
            assert states == [TaskState.ACTIVE, TaskState.PAUSED, TaskState.ACTIVE], "what was approved stays approved"
