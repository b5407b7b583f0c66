"""Log of a run: pages of lines without scripts, chunks and matches as JSON for the log pane, and a file to download."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from starlette.responses import Response, StreamingResponse

from ....model.limits import LOG_LINE_CHARACTERS
from ....model.run import Run
from ....web.responses import json_response
from ...log_lines import LEVELS, LogFilter, RunLog, file_line, line_view
from ...page import PageRequest, page
from .run import head_data

LINES_PER_PAGE: Final = 500
MAX_CHUNK: Final = 500
_MAX_FIND: Final = 200
_MAX_DIGITS: Final = 16
_PART_CHARACTERS: Final = 64 * 1024
_NO_STORE: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


async def show(request: PageRequest) -> Response:
    run = await _get(request)
    log, log_filter = _log(request, run), _filter(request)
    total = await log.total()
    after = _number(request, "after", 0)
    found = await log.page(after, LINES_PER_PAGE, log_filter)
    data = {
        **await head_data(request, run, "log"),
        "lines": [line_view(each, request.viewer) for each in found.lines],
        "total": total,
        "log_filter": log_filter,
        "levels": LEVELS,
        "position": after,
        "next_after": found.after,
        "last_after": max(0, total - LINES_PER_PAGE) if total > LINES_PER_PAGE and not log_filter.is_set else None,
    }
    return request.render("run_log.html", data)


async def show_chunk(request: PageRequest) -> Response:
    """Respond with lines after a number; with `?numbers=1` with the numbers of all lines that match the filter."""
    run = await _get(request)
    log, log_filter = _log(request, run), _filter(request)
    # The total is read before the lines: a line that is written in between is in the next response.
    body: dict[str, object] = {"total": await log.total(), "live": run.live}
    if request.request.query_params.get("numbers"):
        body["numbers"] = await log.numbers(log_filter)
    else:
        limit = max(1, min(MAX_CHUNK, _number(request, "limit", MAX_CHUNK)))
        found = await log.page(_number(request, "after", 0), limit, log_filter, MAX_CHUNK * LOG_LINE_CHARACTERS)
        body["lines"] = [line_view(each, request.viewer) for each in found.lines]
    return json_response(body, headers=_NO_STORE)


async def download(request: PageRequest) -> Response:
    run = await _get(request)
    headers = {**_NO_STORE, "Content-Disposition": f'attachment; filename="{run.id}.log.txt"'}
    return StreamingResponse(_parts(_log(request, run)), 200, headers, "text/plain; charset=utf-8")


async def _parts(log: RunLog) -> AsyncIterator[bytes]:
    lines: list[str] = []
    size = 0
    async for numbered in log.read(0):
        line = file_line(numbered)
        lines.append(line)
        size += len(line)
        if size >= _PART_CHARACTERS:
            yield "".join(lines).encode(errors="replace")
            lines, size = [], 0
    yield "".join(lines).encode(errors="replace")


def _log(request: PageRequest, run: Run) -> RunLog:
    return RunLog(request.service.runs, request.viewer.principal, run.id)


def _filter(request: PageRequest) -> LogFilter:
    parameters = request.request.query_params
    level = parameters.get("level", "all")
    return LogFilter(level if level in LEVELS else "all", parameters.get("find", "")[:_MAX_FIND])


def _number(request: PageRequest, name: str, default: int) -> int:
    text = request.request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < _MAX_DIGITS else default


async def _get(request: PageRequest) -> Run:
    return await request.service.runs.get(request.viewer.principal, str(request.request.path_params["id"]))


ROUTES: Final = (
    page("/runs/{id}/log", show),
    page("/runs/{id}/log.json", show_chunk),
    page("/runs/{id}/log.txt", download),
)
