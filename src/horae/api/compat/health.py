"""`/api/health/scheduler`: whether the scheduler runs, and what it has ahead, as far as whoever asks may know it."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ...errors import HoraeError
from ...model.accounts.principal import LOCAL, Principal
from ...model.task import TaskState
from ...service.runs.nodes import NodeState
from ...service.service import Service
from ...web.authentication import caller
from ...web.request_context import house_of
from ...web.responses import answer
from ...wire.instants import utc
from ...wire.tasks import next_due
from ..openapi import told

router: Final = APIRouter(tags=["health"])
MOST_LISTED: Final = 100
_UNTOLD: Final[dict[str, Any]] = {
    "queueSize": None,
    "nextExecution": None,
    "tasksInQueue": [],
    "activeTasks": None,
    "waitingForNode": None,
    "waitingForLane": None,
}


@router.get("/api/health/scheduler", **told("scheduler_health", "Whether the scheduler runs", "SchedulerHealth"))
async def scheduler_health(request: Request) -> Response:
    """Without a token it says only whether it runs: how much there is to do, and when, is for those whose it is, and
    not for their agents."""
    service = house_of(request).service
    who = await caller(request) if "authorization" in request.headers else None
    running = await _is_running(service)
    queue = _UNTOLD if who is None or who.agent is not None else await _queue(service, who)
    return answer({"healthy": running, "scheduler": {"isRunning": running, **queue}})


async def _is_running(service: Service) -> bool:
    """Some node lives that claims what is due."""
    try:
        return any(each.state is NodeState.LIVE for each in await service.nodes.all(LOCAL))
    except HoraeError:
        return False


async def _queue(service: Service, who: Principal) -> dict[str, Any]:
    """An admin sees everybody's, all others their own.

    `queueSize` counts what `tasksInQueue` lists, however long: tasks with an entry that a node can claim in time. What
    is due and waits for a node that knows its function, or for a seat in its lane, is counted beside it.
    """
    coming = await service.tasks.upcoming(who, MOST_LISTED)
    overview = await service.overview.now(who)
    active, waiting = overview.tasks[TaskState.ACTIVE], overview.waiting
    is_whole = len(coming) < MOST_LISTED
    dues = [due for each in coming if (due := next_due(each)) is not None]
    return {
        "queueSize": len(coming) if is_whole else max(len(coming), active - waiting.stranded - waiting.parked),
        "nextExecution": utc(min(dues, default=None)),
        "tasksInQueue": [each.task.id for each in coming],
        "activeTasks": active,
        "waitingForNode": waiting.stranded,
        "waitingForLane": waiting.parked,
    }
