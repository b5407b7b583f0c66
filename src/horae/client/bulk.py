"""Bulk actions of a server: one request for all tasks that match a filter, polled until the operation has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from ..clock import Clock
from ..errors import HoraeError, Refusal, Sentence
from ..model.accounts.operation import Operation, OperationState
from ..ports.store import TaskFilter
from ..service.tasks.bulk import BulkReport, RefusedAction
from ..service.tasks.lookup import TaskCount
from ..wire.operations import read_operation
from ..wire.overview import partial_task
from .connection import Connection, path_segment
from .decode import decode_response
from .refusals import refuse
from .tasks import filter_parameters

_ACTIONS: Final = "/v1/tasks/actions"
_OPERATIONS: Final = "/v1/operations"
_POLL_SECONDS: Final = 0.5
Progress = Callable[[int], None]


class RemoteBulk:
    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

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
        try:
            operation = await self._wait_for_end(operation, progress)
        except asyncio.CancelledError:
            # A cancelled call must not leave the rest of the operation running.
            with suppress(HoraeError):
                await self._connection.post(f"{_OPERATIONS}/{path_segment(operation.id)}/cancel")
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

    async def _wait_for_end(self, operation: Operation, progress: Progress) -> Operation:
        while operation.state is OperationState.RUNNING:
            await self._clock.pause(_POLL_SECONDS)
            response = await self._connection.get(f"{_OPERATIONS}/{path_segment(operation.id)}")
            operation = await decode_response(self._connection, read_operation, response)
            progress(operation.done + operation.refused)
        return operation


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
    return BulkReport(value["matched"], value["done"], tuple(refused))


def _refused(task_id: str, task: str, code: str, detail: str) -> RefusedAction:
    """Build a refusal; the server's sentence is in the requested language and is used for both."""
    sentence = Sentence(detail, "")
    return RefusedAction(partial_task(task_id, task, None), Refusal(code, {"en": sentence, "zh": sentence}))
