"""`/api/health/scheduler`: whether the scheduler runs, and with a token the queue of the caller."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...errors import HoraeError
from ...model.accounts.principal import LOCAL, Principal
from ...model.task import TaskState
from ...service.runs.nodes import NodeState
from ...service.service import Service
from ...web.authentication import authenticate_caller
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routing import RouteGroup
from ...wire.instants import utc
from ...wire.tasks.task import next_due
from ..openapi import Operation

routes: Final = RouteGroup("", "health", authenticated=False)
MAX_LISTED: Final = 100
_HIDDEN_QUEUE: Final[dict[str, Any]] = {
    "queueSize": None,
    "nextExecution": None,
    "tasksInQueue": [],
    "activeTasks": None,
    "waitingForNode": None,
    "waitingForLane": None,
}


@routes.get("/api/health/scheduler", Operation("scheduler_health", "Whether the scheduler runs", "SchedulerHealth"))
async def scheduler_health(request: Request) -> Response:
    """Respond whether the scheduler runs. Size and times of the queue need a token, and are hidden from agents."""
    service = app_context(request).service
    principal = await authenticate_caller(request) if "authorization" in request.headers else None
    running = await _is_running(service)
    queue = _HIDDEN_QUEUE if principal is None or principal.agent is not None else await _queue(service, principal)
    return json_response({"healthy": running, "scheduler": {"isRunning": running, **queue}})


async def _is_running(service: Service) -> bool:
    """Return whether a live node claims due entries."""
    try:
        return any(each.state is NodeState.LIVE for each in await service.nodes.all(LOCAL))
    except HoraeError:
        return False


async def _queue(service: Service, principal: Principal) -> dict[str, Any]:
    """Return the queue: of all owners for an admin, of the caller for others.

    `queueSize` counts what `tasksInQueue` lists, however long: tasks with an entry that a node can claim in time. Due
    entries that wait for a node with their function, or for a lane slot, are counted separately.
    """
    upcoming = await service.tasks.upcoming(principal, MAX_LISTED)
    overview = await service.overview.now(principal)
    active, waiting = overview.tasks[TaskState.ACTIVE], overview.waiting
    is_complete = len(upcoming) < MAX_LISTED
    dues = [due for each in upcoming if (due := next_due(each)) is not None]
    return {
        "queueSize": len(upcoming) if is_complete else max(len(upcoming), active - waiting.stranded - waiting.parked),
        "nextExecution": utc(min(dues, default=None)),
        "tasksInQueue": [each.task.id for each in upcoming],
        "activeTasks": active,
        "waitingForNode": waiting.stranded,
        "waitingForLane": waiting.parked,
    }
