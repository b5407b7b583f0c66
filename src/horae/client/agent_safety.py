"""Budgets of groups and the switch for all agents of a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..model.accounts.principal import Principal
from ..service.accounts.agent_switch import Switch
from ..service.groups.budgets import BudgetState
from ..wire.agent_safety import read_budget, read_switch
from .connection import Connection, path_segment
from .decode import decode_response

_SWITCH: Final = "/v1/agent-switch"


class RemoteBudgets:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def get(self, principal: Principal, folder: str) -> BudgetState:
        del principal
        return await decode_response(self._connection, read_budget, await self._connection.get(_path(folder)))

    async def put(self, principal: Principal, folder: str, limits: Mapping[str, Any]) -> BudgetState:
        del principal
        answer = await self._connection.put(_path(folder), dict(limits))
        return await decode_response(self._connection, read_budget, answer)


class RemoteAgentStop:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def get(self, principal: Principal) -> Switch | None:
        del principal
        return await decode_response(self._connection, read_switch, await self._connection.get(_SWITCH))

    async def stop_all(self, principal: Principal) -> int:
        del principal
        return await self._put(is_stopped=True)

    async def restart_all(self, principal: Principal) -> int:
        del principal
        return await self._put(is_stopped=False)

    async def _put(self, *, is_stopped: bool) -> int:
        answer = await self._connection.put(_SWITCH, {"stopped": is_stopped})
        return await decode_response(self._connection, lambda data: int(data["tasks"]), answer)


def _path(folder: str) -> str:
    return f"/v1/groups/{path_segment(folder)}/budget"
