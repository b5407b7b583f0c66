"""Fixtures of turns: hosts whose agents run in the runtime that a test names, with one podman for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.agents.turns.agent_host import SCRIPTED_INSIDE, AgentHost, OpenAgents, open_host
from tests.agents.turns.agent_runtimes import runtime_settings
from tests.deploy.podman import Podman


@pytest.fixture(scope="session")
def podman_settings(python_root: Path) -> Iterator[Mapping[str, Any]]:
    """Settings of a host whose agents run in containers; a missing podman is an error."""
    podman = Podman()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONTAINERS_CONF", str(podman.settings))
        yield {"runtime": "podman", "root": str(python_root), "runtime_options": list(podman.options)}
        podman.clean()


@pytest.fixture
def agents(request: pytest.FixtureRequest, tmp_path: Path) -> OpenAgents:
    """Open a host with scripted agents in the runtime of the parameter, by default bubblewrap."""
    settings = runtime_settings(getattr(request, "param", "bubblewrap"), request)

    def open_agents(words: Sequence[str] = SCRIPTED_INSIDE, **others: Any) -> AbstractAsyncContextManager[AgentHost]:
        return open_host(tmp_path, words, **settings, **others)

    return open_agents
