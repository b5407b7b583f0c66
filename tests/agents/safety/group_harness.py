"""Groups with live runs of prompts, for tests of budgets, approvals and the kill switch."""

from __future__ import annotations

import json
from typing import Any

from horae.model.accounts.principal import Principal
from horae.model.agents.agent_task import AGENTS_LANE, group_lane
from horae.model.agents.group import Group
from horae.model.run import Run
from horae.model.task import Target, Task
from horae.service.tasks.task_request import TaskRequest
from tests.unit.service.service_harness import CHIEF, ServiceHarness


def prompt_target(folder: str, **fields: Any) -> Target:
    return Target("agent", json.dumps({"group": folder, "context_mode": "group", **fields}))


def prompt_request(folder: str, when: Any = "every 1h", **fields: Any) -> TaskRequest:
    return TaskRequest("say hello", when, prompt_target(folder, **fields), '{"prompt":"hello"}', zone="UTC")


def agent_principal(folder: str, **fields: Any) -> Principal:
    """The agent of a group, as the executor of request files acts."""
    return Principal(f"group:{folder}", agent=folder, actor=f"agent:{folder}", via="agent")._replace(**fields)


async def add_group(harness: ServiceHarness, folder: str = "family", **fields: Any) -> Group:
    # Several live runs of a group at once: more than a real group has.
    for lane in (group_lane(folder), AGENTS_LANE):
        await harness.store.set_lane(lane, 100)
    return await harness.service.groups.add(CHIEF, folder, f"web:{folder}", **{"zone": "UTC", **fields})


async def add_prompt(harness: ServiceHarness, folder: str = "family", when: Any = "every 1h", **fields: Any) -> Task:
    """Add a prompt that an operator made for a group."""
    return await harness.tasks.create(CHIEF, prompt_request(folder, when, **fields)._replace(owner=f"group:{folder}"))


async def live_run(harness: ServiceHarness, task: Task) -> Run:
    """Start a run of the task now, and leave it live."""
    await harness.tasks.run_now(CHIEF, task.id)
    claimed = [run for run in await harness.claim() if run.task_id == task.id]
    return claimed[-1]
