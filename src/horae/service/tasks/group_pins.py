"""Pins of groups: a task that prompts the agent of a group runs on the node of that group; the request cannot change that."""

from __future__ import annotations

from typing import Final

from ...model.agents.agent_task import owner_of_prompt, pin_to_node
from ...model.agents.group import GROUP_KIND, folder_of_owner, group_from
from ...model.lanes.node_labels import LabelPairs, read_where
from ...model.task import Target, Task
from ...ports.records import Records
from .edits import Edits, Keep
from .task_request import TaskRequest

_NO_LABELS: Final[LabelPairs] = ()


class GroupPins:
    def __init__(self, records: Records) -> None:
        self._records = records

    async def pin(self, request: TaskRequest) -> TaskRequest:
        """Return the request of a new task with the node of its group among the labels that it requires."""
        node = await self._find_node(request.target)
        if node is None:
            return request
        where = request.options.where
        pinned = pin_to_node(_NO_LABELS if where is None else read_where(where), node)
        return request._replace(options=request.options._replace(where=dict(pinned)))

    async def pin_edits(self, task: Task, edits: Edits) -> Edits:
        """Return the edits of a task, which cannot take it away from the node of its group."""
        if edits.options.where is None and isinstance(edits.target, Keep):
            return edits
        node = await self._find_node(task.target if isinstance(edits.target, Keep) else edits.target)
        if node is None:
            return edits
        where = edits.options.where
        pinned = pin_to_node(task.policies.where if where is None else read_where(where), node)
        return edits._replace(options=edits.options._replace(where=dict(pinned)))

    async def _find_node(self, target: Target) -> str | None:
        owner = owner_of_prompt(target)
        folder = None if owner is None else folder_of_owner(owner)
        record = None if folder is None else await self._records.get_record(GROUP_KIND, folder)
        return None if record is None else group_from(record).node
