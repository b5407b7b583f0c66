"""Registry of the agents that this process runs now: new messages wake them, and their secrets are masked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


def _ignore() -> None: ...


def _keep(text: str) -> str:
    return text


@dataclass(slots=True)
class LiveAgent:
    """One live run of a group. `is_task`: it executes a task, and takes no messages."""

    folder: str
    chat: str
    run_id: str
    task_id: str
    is_task: bool
    wake: Callable[[], None] = field(default=_ignore, repr=False)
    mask: Callable[[str], str] = field(default=_keep, repr=False)
    """Hides the secrets that the agent was given in a text."""


class LiveAgents:
    """Agents by folder; a group has one at a time."""

    def __init__(self) -> None:
        self._agents: dict[str, LiveAgent] = {}

    def find(self, folder: str) -> LiveAgent | None:
        return self._agents.get(folder)

    def all(self) -> tuple[LiveAgent, ...]:
        return tuple(self._agents.values())

    def notify(self, folder: str) -> bool:
        """Wake the agent of a group: messages have arrived. False: it has no live agent here."""
        agent = self._agents.get(folder)
        if agent is not None:
            agent.wake()
        return agent is not None

    def mask(self, folder: str, text: str) -> str:
        """Return a text of the agent of a group with the secrets of its live run masked."""
        agent = self._agents.get(folder)
        return text if agent is None else agent.mask(text)

    @contextmanager
    def enter(self, agent: LiveAgent) -> Iterator[LiveAgent]:
        self._agents[agent.folder] = agent
        try:
            yield agent
        finally:
            if self._agents.get(agent.folder) is agent:
                del self._agents[agent.folder]
