"""Search of the command palette: tasks by a part of their name, as JSON for the script."""

from __future__ import annotations

from typing import Final

from starlette.responses import JSONResponse, Response

from ...ports.store import TaskFilter
from ..page import PageRequest, page

_MAX_TASKS: Final = 8
_MAX_TEXT: Final = 100


async def find_tasks(request: PageRequest) -> Response:
    """Return names and addresses of tasks whose name contains `q`."""
    wanted = request.request.query_params.get("q", "").strip()[:_MAX_TEXT]
    if not wanted or not wanted.isprintable():
        return JSONResponse({"tasks": []}, headers=_HEADERS)
    found = await request.service.tasks.page(request.viewer.principal, TaskFilter(text=wanted), limit=_MAX_TASKS)
    tasks = [
        {"name": facts.task.name, "url": request.viewer.url(f"/tasks/{facts.task.id}"), "state": facts.status.state}
        for facts in found.items
    ]
    return JSONResponse({"tasks": tasks}, headers=_HEADERS)


_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
ROUTES: Final = (page("/palette", find_tasks),)
