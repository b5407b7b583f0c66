"""Inside a web application: `.venv/bin/uvicorn --app-dir examples web:web`, then `curl -X POST localhost:8000/remind/ada`
and `curl localhost:8000/remind/ada`.

Safe under any number of workers: they share one file, and each reminder runs once.
"""

from __future__ import annotations

import os

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from horae import Horae, NotFound

app = Horae(os.environ.get("HORAE_STORE") or "sqlite:///web.db", zone="UTC")


@app.task(retries=3)
async def remind(who: str) -> str:
    return f"reminded {who}"


async def ask(request: Request) -> JSONResponse:
    """The key makes the same request twice one reminder."""
    who = request.path_params["who"]
    task = await app.schedule(remind, "in 1s", {"who": who}, key=f"remind:{who}")
    return JSONResponse({"task": task.id, "means": await task.means()}, status_code=202)


async def look(request: Request) -> JSONResponse:
    who = request.path_params["who"]
    try:
        task = await app.get(f"remind:{who}")
    except NotFound:
        return JSONResponse({"error": f"there is no reminder for {who}"}, status_code=404)
    run = await task.wait("30s")
    return JSONResponse({"state": run.state, "result": run.result})


web = Starlette(
    routes=[Route("/remind/{who}", ask, methods=["POST"]), Route("/remind/{who}", look)],
    lifespan=app.lifespan,
)
