"""Activity: the audit trail with differences, filters, verification of its chain, and downloads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Final, NamedTuple

from starlette.responses import Response, StreamingResponse

from ...model.page import MAX_PAGE_SIZE
from ...service.accounts.audit import ALL_ROWS, MAX_SCANNED, UNREADABLE, AuditFilter, AuditRow
from ..audit_rows import (
    ValueChange,
    actor_kind,
    changed_names,
    csv_header,
    csv_line,
    ndjson_line,
    object_path,
    other_details,
    run_of,
    value_changes,
)
from ..page import PageRequest, page

PAGE_SIZE: Final = 50
GROUPS: Final = (
    "task",
    "run",
    "lane",
    "node",
    "owner",
    "agent",
    "token",
    "session",
    "secret",
    "webhook",
    "stream",
    "operation",
    "link",
)
"""Groups of actions: the first word of an action."""
_FILTERS: Final = ("action", "actor", "subject")
_NDJSON: Final = "application/x-ndjson"
_CSV: Final = "text/csv; charset=utf-8"


class ActivityRow(NamedTuple):
    """A row as the page shows it; `path` is the page of its object, if there is one."""

    row: AuditRow
    kind: str
    path: str | None
    run: str | None
    changes: list[ValueChange]
    names: list[str]
    details: list[tuple[str, str]]
    is_readable: bool


async def show(request: PageRequest) -> Response:
    """Show a page of rows; `?verify=1` also checks the whole chain, which reads every row."""
    query = request.request.query_params
    wanted = read_filter(request)
    found = await request.service.audit.page(request.viewer.principal, query.get("after") or None, PAGE_SIZE, wanted)
    filters = {name: value for name, value in wanted._asdict().items() if value is not None}
    data: dict[str, Any] = {
        "page": "activity",
        "rows": [_activity_row(request, row) for row in found.items],
        "after": found.after,
        "filters": filters,
        "query": filters if query.get("after") is None else {**filters, "after": query["after"]},
        "groups": GROUPS,
        "scanned": MAX_SCANNED,
        "is_search_cut": wanted != ALL_ROWS and found.after is not None and len(found.items) < PAGE_SIZE,
        "verdict": await _verify(request),
    }
    return request.render("activity.html", data)


async def _verify(request: PageRequest) -> Any:
    if not request.viewer.is_admin or request.request.query_params.get("verify") != "1":
        return None
    return await request.service.audit.verify(request.viewer.principal)


def read_filter(request: PageRequest) -> AuditFilter:
    values = {name: request.request.query_params.get(name, "").strip() or None for name in _FILTERS}
    return AuditFilter(**values)


def _activity_row(request: PageRequest, row: AuditRow) -> ActivityRow:
    place = object_path(row)
    path = None if place is None else request.viewer.url(place[0], **place[1])
    is_admin_page = place is not None and place[0] in ("/lanes", "/settings/owner")
    return ActivityRow(
        row,
        actor_kind(row),
        None if is_admin_page and not request.viewer.is_admin else path,
        run_of(row),
        value_changes(row),
        changed_names(row),
        [each for each in other_details(row) if each[0] != "run"],
        row.action != UNREADABLE,
    )


# --- downloads ---------------------------------------------------------------------------------------------------


async def download_ndjson(request: PageRequest) -> Response:
    return await _download(request, "", ndjson_line, "activity.ndjson", _NDJSON)


async def download_csv(request: PageRequest) -> Response:
    return await _download(request, csv_header(), csv_line, "activity.csv", _CSV)


async def _download(
    request: PageRequest, header: str, line: Callable[[AuditRow], str], name: str, media_type: str
) -> Response:
    """Stream every row that the filter matches, newest first, page by page."""
    wanted = read_filter(request)
    # The first page is read before the response begins, so that a refusal still gets a page of its own.
    first = await request.service.audit.page(request.viewer.principal, None, MAX_PAGE_SIZE, wanted)

    async def content() -> AsyncIterator[str]:
        found = first
        yield header
        while True:
            yield "".join(map(line, found.items))
            if found.after is None:
                return
            found = await request.service.audit.page(request.viewer.principal, found.after, MAX_PAGE_SIZE, wanted)

    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return StreamingResponse(content(), 200, headers, media_type)


ROUTES: Final = (
    page("/activity", show),
    page("/activity.ndjson", download_ndjson),
    page("/activity.csv", download_csv),
)
