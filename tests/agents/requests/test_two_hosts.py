"""Two host processes on one directory of agents: the one that does not run the agent carries out its requests."""

from __future__ import annotations

from pathlib import Path
from secrets import token_hex

import pytest

from horae.model.accounts.principal import LOCAL
from horae.model.run import RunState
from tests.agents.host.up_process import CHAT, chat_node
from tests.agents.turns.agent_host import SCRIPTED, open_host

SETTINGS = 'runtime = "process"\nallow_process = true\nsecrets = ["API_KEY"]'


async def test_request_that_another_host_carries_out_is_masked_and_replaces_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This process runs the agent and looks for no requests; a node in another process looks, and runs no agent of the group."""
    monkeypatch.setattr("horae.agents.target.turn_state.TASK_CLOSE_SECONDS", 0.1)
    secret = token_hex(12)
    async with (
        chat_node(tmp_path, SETTINGS) as node,
        open_host(tmp_path, SCRIPTED, node_name="one", secrets=["API_KEY"]) as host,
    ):
        await host.app.service.secrets.set(LOCAL, "API_KEY", secret)
        group = await node.add_group(node="one", requires_trigger=False)
        async with node.up("--node-name", "two", "--lease", "4"):
            task = await host.add_task(group, f"request weather {secret}\nsay done")
            run = await host.ended(task)
            assert (run.state, run.result) == (RunState.SUCCEEDED, "done"), run.error
            await host.ended(await host.add_task(group, "say the next one"))
            await node.until(lambda: len(node.service.sent) == 2)
    assert node.service.sent == [(CHAT, "weather •••"), (CHAT, "the next one")]
