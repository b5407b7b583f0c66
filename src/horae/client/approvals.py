"""Agents of a server and the people who answer for them."""

from __future__ import annotations

from ..model.accounts.principal import Principal
from ..model.change import Facts
from ..wire.task_facts import read_facts
from .connection import Connection, segment
from .decode import understood


class RemoteApprovals:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def approve(self, who: Principal, task_id: str, digest: str) -> Facts:
        del who
        path, asked = f"/v1/tasks/{segment(task_id)}/approve", [("include", "agenda")]
        said = await self._connection.post(path, {"digest": digest}, asked)
        return await understood(self._connection, read_facts, said)

    async def stop_agent(self, who: Principal, agent: str, owner: str | None = None) -> int:
        del who
        return await self._each(agent, "stop", owner)

    async def restart_agent(self, who: Principal, agent: str, owner: str | None = None) -> int:
        del who
        return await self._each(agent, "restart", owner)

    async def _each(self, agent: str, deed: str, owner: str | None) -> int:
        asked = [] if owner is None else [("owner", owner)]
        said = await self._connection.post(f"/v1/agents/{segment(agent)}/{deed}", None, asked)
        return await understood(self._connection, lambda each: int(each["tasks"]), said)
