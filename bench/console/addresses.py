"""Addresses of the console that are measured: every page that can be opened, with the filters that people use."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import quote

from bench.console.local_console import LocalConsole
from horae.console.app import _PAGES

_STREAM: Final = "/events"
DOWNLOADS: Final = frozenset({"/activity.ndjson", "/activity.csv", "/runs/{id}/log.txt"})
"""Files of any size: the time to their first bytes is measured."""
_VARIANTS: Final[dict[str, tuple[str, ...]]] = {
    "/": ("", "part=body", "lang=zh"),
    "/tasks": (
        "", "q=", "q=quarterly", "q=nothing+has+this+name", "q=state:failed", "q=state:paused", "q=label:team=3",
        "q=label:ticket=4711", "q=state:active+kind:function", "q=lane:press", "sort=next", "q=&after={tasks_after}",
        "part=rows",
    ),
    "/tasks/bulk": ("action=pause&all=1&q=quarterly", "action=pause&all=1&q=", "action=delete&id={task}"),
    "/tasks/{id}": ("", "tab=definition", "tab=activity", "after={task_runs_after}", "part=head,charts,runs"),
    "/tasks/{id}/why": ("", "at={at}"),
    "/tasks/{id}/backfill": ("from=2026-11-01T00:00:00Z&to=2026-11-02T00:00:00Z",),
    "/runs": (
        "", "after={runs_after}", "q=state:failed", "q=state:cancelled", "q=state:running", "q=state:skipped",
        "since={hour}&until={hour_end}", "q=task:{task}", "q=planned:{day}", "group=error", "error={error}",
        "group=error&since={hour}", "q=state:succeeded",
    ),
    "/runs/{id}/log.json": ("", "after=50000"),
    "/calendar": ("view=month", "view=week", "view=day", "view=month&date={last_month}", "view=day&date={yesterday}"),
    "/activity": ("", "action=task", "action=webhook", "actor=nobody", "after={activity_after}"),
    "/simple": ("", "q=quarterly", "q=nothing+has+this+name", "after={simple_after}"),
    "/palette": ("q=quarterly", "q=report", "q=nothing+has+this+name"),
    "/schedule-preview": ("when=every+weekday+at+9am&zone=Europe/Berlin",),
    "/settings/owner": ("name={owner}",),
}  # fmt: skip
_LINKS: Final = {
    "tasks_after": ("/tasks?q=", r"after=([^\"&]+)"),
    "task_runs_after": ("/tasks/{task}", r"after=([^\"&]+)"),
    "runs_after": ("/runs", r"after=([^\"&]+)"),
    "error": ("/runs?group=error", r"error=([0-9a-f]+)"),
    "activity_after": ("/activity", r"after=([^\"&]+)"),
    "simple_after": ("/simple", r"after=([^\"&]+)"),
}
"""Pages whose links have a value that other addresses need."""


class Address(NamedTuple):
    """Name and path of a page; `is_download`: only the time to its first bytes counts."""

    name: str
    path: str
    is_download: bool


async def find_addresses(console: LocalConsole, cookie: str, ids: dict[str, str]) -> tuple[list[Address], list[str]]:
    """Return the addresses of all GET routes, and the routes for which the store has no id."""
    values = dict(ids)
    for name, (page, pattern) in _LINKS.items():
        body = (await console.ask(_fill(page, values) or page, cookie)).body.decode()
        found = re.search(pattern, body)
        if found is not None:
            values[name] = found[1]
    addresses: list[Address] = []
    missing: list[str] = []
    for route in dict.fromkeys(each.path for each in _PAGES if each.method == "GET" and each.path != _STREAM):
        path = _fill_route(route, values)
        for query in _VARIANTS.get(route, ("",)):
            filled = _fill(query, values)
            if path is None or filled is None:
                missing.append(_join(route, query))
            else:
                addresses.append(Address(_join(route, query), _join(path, filled), route in DOWNLOADS))
    return addresses, missing


def _join(path: str, query: str) -> str:
    return f"{path}?{query}" if query else path


def _fill(text: str, values: dict[str, str]) -> str | None:
    """Replace `{name}` by the values; None if one is missing."""
    names = re.findall(r"{(\w+)}", text)
    if any(name not in values for name in names):
        return None
    for name in names:
        text = text.replace(f"{{{name}}}", quote(values[name], safe="%"))
    return text


def _fill_route(route: str, values: dict[str, str]) -> str | None:
    """Replace the parameter of a route by the id whose name is the segment before it."""
    head, brace, rest = route.partition("{")
    if not brace:
        return route
    segment = head.rstrip("/").rpartition("/")[2].removesuffix("s")
    if segment == "simple":
        segment = "own_task"
    return f"{head}{values[segment]}{rest.partition('}')[2]}" if segment in values else None
