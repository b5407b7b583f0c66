"""One wish for many tasks of a server: asked for once, and followed to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from ..clock import Clock
from ..errors import HoraeError, Refusal, Sentence
from ..model.accounts.operation import Operation, OperationState
from ..ports.store import TaskFilter
from ..service.tasks.bulk import BulkReport, Refused
from ..service.tasks.lookup import Counted
from ..wire.operations import read_operation
from ..wire.overview import glimpse
from .connection import Connection, segment
from .decode import understood
from .refusals import refuse
from .tasks import asked_for

_ACTIONS: Final = "/v1/tasks/actions"
_OPERATIONS: Final = "/v1/operations"
_BETWEEN_LOOKS: Final = 0.5
Progress = Callable[[int], None]


class RemoteBulk:
    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    async def count(self, wanted: TaskFilter) -> Counted:
        """How many fit, as far as a server counts, and whether there are more."""
        asked = [*asked_for(wanted), ("count", "estimated"), ("fields", "id"), ("limit", "1")]
        said = await self._connection.get("/v1/tasks", asked)
        return await understood(self._connection, lambda said: Counted(int(said["count"]), bool(said["more"])), said)

    async def act(
        self, wanted: TaskFilter, action: str, arguments: Mapping[str, Any], progress: Progress
    ) -> BulkReport:
        """A server does few at once; many go on there, and are looked at until they are over."""
        body = {"action": action, "filter": _conditions(wanted), "arguments": dict(arguments), "all": not any(wanted)}
        said = await self._connection.post(_ACTIONS, body)
        if "id" not in said:
            report = await understood(self._connection, _report, said)
            progress(report.matched)
            return report
        operation = await understood(self._connection, read_operation, said)
        try:
            operation = await self._followed(operation, progress)
        except asyncio.CancelledError:
            # Whoever does not want to wait any longer does not want the rest of it either.
            with suppress(HoraeError):
                await self._connection.post(f"{_OPERATIONS}/{segment(operation.id)}/cancel")
            raise
        if operation.state is not OperationState.FINISHED:
            raise refuse(
                "operation_ended_early",
                id=operation.id,
                state=operation.state.value,
                done=operation.done,
                total=operation.total or 0,
            )
        refused = tuple(_refused(each.task_id, each.task, each.code, each.en) for each in operation.refusals)
        return BulkReport(operation.total or 0, operation.done, refused)

    async def _followed(self, operation: Operation, progress: Progress) -> Operation:
        while operation.state is OperationState.RUNNING:
            await self._clock.pause(_BETWEEN_LOOKS)
            said = await self._connection.get(f"{_OPERATIONS}/{segment(operation.id)}")
            operation = await understood(self._connection, read_operation, said)
            progress(operation.done + operation.refused)
        return operation


def _conditions(wanted: TaskFilter) -> dict[str, Any]:
    """The same conditions as in an address; of some there may be several."""
    found: dict[str, Any] = {}
    for name, value in asked_for(wanted):
        if name in ("state", "label"):
            found.setdefault(name, []).append(value)
        else:
            found[name] = value
    return found


def _report(said: Mapping[str, Any]) -> BulkReport:
    refused = (_refused(each["task_id"], each["task"], each["code"], each["detail"]) for each in said["refused"])
    return BulkReport(said["matched"], said["done"], tuple(refused))


def _refused(task_id: str, task: str, code: str, detail: str) -> Refused:
    """The sentence came in the language that was asked for, and stands for both."""
    told = Sentence(detail, "")
    return Refused(glimpse(task_id, task, None), Refusal(code, {"en": told, "zh": told}))
