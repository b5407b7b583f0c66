"""System tasks: tasks that Horae itself makes on behalf of an account; lists, quotas and counts of accounts leave them out."""

from __future__ import annotations

from ...model.accounts.principal import LOCAL_OWNER, Principal
from ...model.accounts.system_owner import system_owner
from ...model.task import Task
from .task_request import TaskRequest
from .tasks import Tasks


def system_principal(account: str = LOCAL_OWNER, zone: str | None = None) -> Principal:
    """Return the principal that writes the system tasks of an account; no token and no front end acts as it."""
    return Principal(system_owner(account), via="system", zone=zone)


class SystemTasks:
    """For Horae's own code: there is no route, command or tool for it.

    All other operations of `Tasks` and `Runs` take the principal of `system_principal`.
    """

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks

    async def create(self, account: str, request: TaskRequest) -> Task:
        """Create a system task; if its key is taken, edit the one that has it."""
        return await self._tasks.create(system_principal(account), request)

    async def declare(self, account: str, request: TaskRequest) -> Task:
        """Create or edit the system task with this key; repeating the same request changes nothing."""
        return await self._tasks.declare(system_principal(account), request)

    async def delete(self, account: str, task_id: str) -> None:
        """Delete a system task with its history."""
        await self._tasks.delete(system_principal(account), task_id)
