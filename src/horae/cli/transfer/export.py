"""Exports lanes, groups, tasks and optionally runs as JSON lines, which `horae import` reads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from ...model.agents.budget import NO_LIMITS, limits_json
from ...model.lanes.lane import LaneUse, is_lane_template, may_fill_in
from ...model.page import MAX_PAGE_SIZE
from ...ports.store import RunFilter, TaskFilter
from ...version import __version__
from ...wire.groups import group_json
from ...wire.instants import utc
from ...wire.runs import run_json
from ...wire.tasks.task import task_json
from ..session.command_session import CommandSession

VERSION: Final = 1


def without_followers(lanes: Sequence[LaneUse]) -> list[LaneUse]:
    """Return the lanes without those that have the setting of a template: an import gives it to them again."""
    templates = [lane for lane in lanes if is_lane_template(lane.name)]
    return [
        lane
        for lane in lanes
        if not any(
            lane is not each
            and (lane.limit, lane.rate) == (each.limit, each.rate)
            and may_fill_in(each.name, lane.name)
            for each in templates
        )
    ]


async def export_items(app: CommandSession, *, runs: bool) -> AsyncIterator[dict[str, Any]]:
    """Yield a header, then one object per lane, group, task and run. Tasks contain the names of secrets, never their values."""
    yield {"horae": "export", "version": VERSION, "at": utc(app.clock.now()), "by": __version__, "zone": app.zone}
    for lane in without_followers(await app.service.lanes.all(app.principal)):
        rate = {} if lane.rate is None else {"rate": str(lane.rate)}
        yield {"lane": {"name": lane.name, "limit": lane.limit, **rate}}
    after: str | None = None
    while True:
        groups = await app.service.groups.page(app.principal, after, MAX_PAGE_SIZE)
        for group in groups.items:
            limits = (await app.service.budgets.get(app.principal, group.folder)).limits
            budget = {} if limits == NO_LIMITS else {"budget": limits_json(limits)}
            yield {"group": group_json(group) | budget}
        after = groups.after
        if after is None:
            break
    while True:
        page = await app.service.tasks.page(app.principal, TaskFilter(), after, MAX_PAGE_SIZE)
        for facts in page.items:
            yield {"task": task_json(facts)}
            if runs:
                async for run in _runs(app, facts.task.id, facts.task.name, facts.task.schedule.zone):
                    yield {"run": run}
        after = page.after
        if after is None:
            return


async def _runs(app: CommandSession, task_id: str, name: str, zone: str | None) -> AsyncIterator[dict[str, Any]]:
    after: str | None = None
    while True:
        page = await app.service.runs.page(app.principal, RunFilter(task_id=task_id), after, MAX_PAGE_SIZE)
        for run in page.items:
            if not run.live:
                yield run_json(run, name, zone)
        after = page.after
        if after is None:
            return
