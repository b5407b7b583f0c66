"""Run selection options: of a task, in a span of time, by a query, by a saved view."""

from __future__ import annotations

from typing import Final, NamedTuple

import click

from ..model.run import RunState
from ..ports.store import RunFilter
from ..service.query.filters import narrow_run_filter
from ..service.query.instants import parse_span
from .parameters import Values, option_group
from .session.command_session import CommandSession

run_filter_options: Final = option_group(
    "filters",
    click.option("--since", metavar="MOMENT", help="Planned at or after this instant."),
    click.option("--until", metavar="MOMENT", help="Planned at or before this instant."),
    click.option("--query", metavar="QUERY", help="As a query: state:failed,lost due:2026-11-01..2026-11-02."),
    click.option("--view", metavar="VIEW", help="The query of a saved view: see 'horae view ls'."),
)


class RunRequest(NamedTuple):
    """Runs to select, as typed: a task by any of its names, states, and the values of `run_filter_options`."""

    task: str | None
    states: frozenset[RunState] | None
    filters: Values


async def load_run_filter(app: CommandSession, request: RunRequest) -> RunFilter:
    """Return the filter, with names of tasks and views resolved; times are read in the zone of the task."""
    facts = None if request.task is None else await app.service.tasks.find_by_name(app.principal, request.task)
    zone = (facts and facts.task.schedule.zone) or app.zone
    now = app.clock.now()
    since, until = request.filters["since"], request.filters["until"]
    found = RunFilter(
        task_id=None if facts is None else facts.task.id,
        states=request.states,
        since=None if since is None else parse_span(since, zone, now).first,
        until=None if until is None else parse_span(until, zone, now).last,
    )
    for text in await _queries(app, request.filters):
        found = narrow_run_filter(found, text, zone, now)
    if facts is None and found.task_id is not None:
        found = found._replace(task_id=(await app.service.tasks.find_by_name(app.principal, found.task_id)).task.id)
    return found


async def _queries(app: CommandSession, filters: Values) -> list[str]:
    """Return the typed query, and that of the saved view."""
    queries = [] if filters["query"] is None else [filters["query"]]
    if filters["view"] is not None:
        queries.append((await app.service.views.get(app.principal, "runs", filters["view"])).query)
    return queries
