"""Turns of a real node whose agents ask a model: the proxy of the host adds the key, and counts the tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from horae.agents.settings import read_settings
from horae.errors import Refusal
from horae.model.accounts.principal import LOCAL
from horae.model.agents.usage import USAGE_KIND, usage_from
from horae.model.run import RunState
from tests.agents.turns.agent_host import open_host
from tests.servers.model_stub import Say, running_stub

OPENAI = ("horae-agent", "--poll", "0.02", "--mind", "openai", "--model", "stub-1")
CLAUDE = ("horae-agent", "--poll", "0.02", "--mind", "claude", "--model", "claude-sonnet-4-5")
PRICES = {"stub-1": {"input": 0.25, "output": 2}}


@pytest.mark.parametrize(
    ("runtime", "program"), [("process", OPENAI), ("bubblewrap", OPENAI), ("bubblewrap", CLAUDE)], ids=lambda x: x[-1]
)
async def test_message_is_answered_by_a_model_whose_key_only_the_host_has(
    folder: Path, runtime: str, program: tuple[str, ...]
) -> None:
    async with (
        running_stub(Say("早上好, Ada."), Say("And again."), key="sk-host") as stub,
        open_host(
            folder, program, runtime=runtime, model_url=f"{stub.url}/v1", model_key="MODEL_KEY", model_prices=PRICES
        ) as host,
    ):
        await host.app.service.secrets.set(LOCAL, "MODEL_KEY", "sk-host")
        group = await host.add_group()
        await host.post(group, "早上好")
        task = await host.ask_turn(group)
        await host.until(lambda: host.answers(group))
        await host.post(group, "again?")
        host.target.notify(group.folder)
        await host.until(lambda: _count(host, group, 2))
        host.target._parts.workspace.input(group.folder).joinpath("_close").touch()
        run = await host.ended(task)
        assert run.state is RunState.SUCCEEDED
        assert await host.answers(group) == ["早上好, Ada.", "And again."]
        record = await host.store.get_record(USAGE_KIND, run.id)
        usage = usage_from(record)
        assert (usage.input_tokens, usage.output_tokens) == (200, 40)
        # Without a price in the settings, and without a report of the mind, the cost is unknown, and says so.
        assert (
            (usage.cost_micros, usage.unpriced) == (130, None) if "openai" in program else usage.unpriced == program[-1]
        )
    assert "早上好" in str(stub.received[1].body["messages"]), "the session goes on"


async def _count(host: Any, group: Any, number: int) -> bool:
    return len(await host.answers(group)) >= number


@pytest.mark.parametrize(
    "table",
    [
        {"model_url": "api.example"},
        {"model_url": "https://user:x@api.example"},
        {"model_url": 5},
        {"model_url": "https://api.example", "model_socket": "/run/model.sock"},
        {"model_key": "not a name"},
        {"models": 5},
        {"models": [""]},
        {"model_networks": ["x"]},
        {"model_prices": 5},
        {"model_prices": "stub-1"},
        {"model_prices": {"stub-1": {"input": 1}}},
        {"model_prices": {"stub-1": {"input": 1, "output": -1}}},
        {"model_prices": {"stub-1": {"input": 1, "output": 1, "cheap": 1}}},
        {"model_networks": 5},
        {"runtime_options": ["--root", "/x"]},
        {"runtime": "docker", "image": "a", "runtime_options": 5},
    ],
)
def test_wrong_settings_of_the_model_are_refused(table: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as raised:
        read_settings(table)
    assert raised.value.code == "agent_setting"


def test_settings_of_the_model_may_be_texts() -> None:
    settings = read_settings({"models": "a, b", "model_networks": "10.0.0.0/8", "model_key": "KEY"})
    assert settings.models == ("a", "b")
    assert str(settings.model_networks[0]) == "10.0.0.0/8"
