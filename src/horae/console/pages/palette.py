"""Search of the command palette: tasks by a part of their name, as JSON for the script."""

from __future__ import annotations

from typing import Final

from starlette.responses import JSONResponse, Response

from ...ports.store import TaskFilter
from ...service.own_tasks import without_admin
from ..page import PageRequest, page
from .simple import LIST

_MAX_TASKS: Final = 8
_MAX_TEXT: Final = 100


async def find_tasks(request: PageRequest) -> Response:
    """Return names and addresses of tasks whose name contains `q`."""
    wanted = request.request.query_params.get("q", "").strip()[:_MAX_TEXT]
    if not wanted or not wanted.isprintable():
        return JSONResponse({"tasks": []}, headers=_HEADERS)
    viewer = request.viewer
    # The simple view has only the viewer's own tasks, and a page of its own for each.
    principal, folder = (without_admin(viewer.principal), LIST) if viewer.is_simple else (viewer.principal, "/tasks")
    found = await request.service.tasks.page(principal, TaskFilter(text=wanted), limit=_MAX_TASKS)
    tasks = [
        {"name": facts.task.name, "url": viewer.url(f"{folder}/{facts.task.id}"), "state": facts.status.state}
        for facts in found.items
    ]
    return JSONResponse({"tasks": tasks}, headers=_HEADERS)


_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
ROUTES: Final = (page("/palette", find_tasks),)
