"""Approvals of a server: approve a task of an agent, stop and restart an agent."""

from __future__ import annotations

from ..model.accounts.principal import Principal
from ..model.change import Facts
from ..wire.task_facts import read_facts
from .connection import Connection, path_segment
from .decode import decode_response


class RemoteApprovals:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def approve(self, principal: Principal, task_id: str, digest: str) -> Facts:
        del principal
        path, query = f"/v1/tasks/{path_segment(task_id)}/approve", [("include", "agenda")]
        response = await self._connection.post(path, {"digest": digest}, query)
        return await decode_response(self._connection, read_facts, response)

    async def stop_agent(self, principal: Principal, agent: str, owner: str | None = None) -> int:
        del principal
        return await self._act_on_agent(agent, "stop", owner)

    async def restart_agent(self, principal: Principal, agent: str, owner: str | None = None) -> int:
        del principal
        return await self._act_on_agent(agent, "restart", owner)

    async def _act_on_agent(self, agent: str, action: str, owner: str | None) -> int:
        query = [] if owner is None else [("owner", owner)]
        response = await self._connection.post(f"/v1/agents/{path_segment(agent)}/{action}", None, query)
        return await decode_response(self._connection, lambda each: int(each["tasks"]), response)
