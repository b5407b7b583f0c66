"""Bulk actions of a server: one request for all tasks that match a filter, polled until the operation has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from ..clock import Clock
from ..errors import HoraeError, Refusal, Sentence
from ..model.accounts.operation import Operation, OperationState
from ..model.accounts.principal import Principal
from ..model.task import partial_task
from ..ports.store import TaskFilter
from ..service.tasks.lookup import TaskCount
from ..service.tasks.operations.bulk import BulkReport, RefusedAction
from ..service.tasks.operations.worker import report_of
from ..wire.operations import read_operation
from .connection import Connection, path_segment
from .decode import decode_response
from .tasks import filter_parameters

_ACTIONS: Final = "/v1/tasks/actions"
_OPERATIONS: Final = "/v1/operations"
_POLL_SECONDS: Final = 0.5
Progress = Callable[[int], None]


class RemoteBulk:
    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection = connection
        self._operations = RemoteOperations(connection, clock)

    async def count(self, task_filter: TaskFilter) -> TaskCount:
        """Return how many tasks match, up to the limit to which a server counts, and whether there are more."""
        query = [*filter_parameters(task_filter), ("count", "estimated"), ("fields", "id"), ("limit", "1")]
        response = await self._connection.get("/v1/tasks", query)
        return await decode_response(
            self._connection, lambda each: TaskCount(int(each["count"]), bool(each["more"])), response
        )

    async def act(
        self, task_filter: TaskFilter, action: str, arguments: Mapping[str, Any], progress: Progress
    ) -> BulkReport:
        """Apply an action to all matching tasks. The server applies few at once and answers with a report; many become
        an operation, which is polled until it ends. Cancelling the call cancels the operation."""
        body = {
            "action": action,
            "filter": _conditions(task_filter),
            "arguments": dict(arguments),
            "all": not any(task_filter),
        }
        response = await self._connection.post(_ACTIONS, body)
        if "id" not in response:
            report = await decode_response(self._connection, _read_report, response)
            progress(report.matched)
            return report
        operation = await decode_response(self._connection, read_operation, response)
        return report_of(await self._operations.wait_for_end(operation, progress))


class RemoteOperations:
    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    async def undo(self, _principal: Principal, name: str) -> Operation:
        """Begin the undo of an operation, as an operation of its own."""
        response = await self._connection.post(f"{_OPERATIONS}/{path_segment(name)}/undo")
        return await decode_response(self._connection, read_operation, response)

    async def wait(self, _principal: Principal, name: str) -> Operation:
        """Return an operation when it has ended. Cancelling the call cancels the operation."""
        return await self.wait_for_end(await self._get(name))

    async def wait_for_end(self, operation: Operation, progress: Progress = lambda _done: None) -> Operation:
        try:
            while operation.state is OperationState.RUNNING:
                await self._clock.pause(_POLL_SECONDS)
                operation = await self._get(operation.id)
                progress(operation.done + operation.refused)
        except asyncio.CancelledError:
            # A cancelled call must not leave the rest of the operation running.
            with suppress(HoraeError):
                await self._connection.post(f"{_OPERATIONS}/{path_segment(operation.id)}/cancel")
            raise
        return operation

    async def _get(self, name: str) -> Operation:
        response = await self._connection.get(f"{_OPERATIONS}/{path_segment(name)}")
        return await decode_response(self._connection, read_operation, response)


def _conditions(wanted: TaskFilter) -> dict[str, Any]:
    """Return the filter as the JSON object of a bulk request; states and labels are lists."""
    conditions: dict[str, Any] = {}
    for name, value in filter_parameters(wanted):
        if name in ("state", "label"):
            conditions.setdefault(name, []).append(value)
        else:
            conditions[name] = value
    return conditions


def _read_report(value: Mapping[str, Any]) -> BulkReport:
    refused = (_refused(each["task_id"], each["task"], each["code"], each["detail"]) for each in value["refused"])
    return BulkReport(value["matched"], value["done"], tuple(refused), value.get("undo"))


def _refused(task_id: str, task: str, code: str, detail: str) -> RefusedAction:
    """Build a refusal; the server's sentence is in the requested language and is used for both."""
    sentence = Sentence(detail, "")
    return RefusedAction(partial_task(task_id, task, None), Refusal(code, {"en": sentence, "zh": sentence}))
