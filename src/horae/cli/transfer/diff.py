"""Computes what a tasks file would change: tasks, their fields, lanes, and the number of fires added and removed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ...choices import Language
from ...errors import Refusal
from ...model.change import Facts
from ...model.lanes.lane import LaneSetting, LaneUse
from ...model.page import MAX_PAGE_SIZE
from ...model.task import Task, past_of
from ...ports.store import TaskFilter
from ...schedule import iterate
from ...schedule.describe import describe_schedule
from ...service.tasks.advisories import Advisory
from ...service.tasks.default_zone import AssumedZone
from ...service.tasks.task_request import TaskRequest
from ...wire.tasks.task import definition_json
from ..messages.operating_refusals import with_location
from ..schedule_question import with_assumed_zone
from ..session.command_session import CommandSession
from .tasks_file import APPLIED, TasksFile

ChangeKind: TypeAlias = Literal["new", "changed", "same", "gone"]
AHEAD: Final = timedelta(days=7)
"""Fires within this time from now are compared."""
_MAX_FIRES: Final = 10_000


class DryRun(NamedTuple):
    """A request, the task that it would change, and the task that would result."""

    request: TaskRequest
    before: Facts | None
    after: Task
    warnings: tuple[Advisory, ...] = ()

    @property
    def kind(self) -> Literal["new", "changed", "same"]:
        if self.before is None:
            return "new"
        return "same" if self.before.task == self.after else "changed"


async def plan_request(app: CommandSession, request: TaskRequest, *, paused: str | None = None) -> DryRun:
    """Apply a request without writing; raises the same refusals."""
    resolved = await app.resolve(request)
    before, after = await app.service.tasks.preview_declaration(app.principal, resolved.request, paused=paused)
    return DryRun(resolved.request, before, after, app.with_advisories(resolved).warnings)


class Difference(NamedTuple):
    kind: ChangeKind
    task: Task
    request: TaskRequest | None = None
    fields: Mapping[str, tuple[Any, Any]] = {}
    removed: int = 0
    added: int = 0
    warnings: tuple[Advisory, ...] = ()


class LaneChange(NamedTuple):
    """Limit and rate before and after; a limit of None before: the lane has none."""

    name: str
    before: int | None
    after: int | None
    rate_before: str | None = None
    rate_after: str | None = None


class Differences(NamedTuple):
    tasks: tuple[Difference, ...]
    lanes: tuple[LaneChange, ...]
    zones: tuple[AssumedZone, ...] = ()
    """Zones that were assumed for schedules that name none."""

    def count(self, kind: ChangeKind) -> int:
        return sum(each.kind == kind for each in self.tasks)

    @property
    def is_empty(self) -> bool:
        return not self.lanes and all(each.kind == "same" for each in self.tasks)


async def compute_differences(
    app: CommandSession, file: TasksFile, language: Language, *, prune: bool, labels: tuple[tuple[str, str], ...]
) -> Differences:
    now, found = app.clock.now(), []
    zones: dict[str, AssumedZone] = {}
    for number, each in enumerate(file.tasks, 1):
        try:
            request, assumed = await with_assumed_zone(app, each.request)
            found.append(_difference(await plan_request(app, request), language, now))
            if assumed is not None:
                zones[assumed.name] = assumed
        except Refusal as refused:
            en, zh = f"task {number} ({each.request.name})", f"第 {number} 个任务（{each.request.name}）"
            raise with_location(refused, en, zh) from None
    if prune:
        named = {each.task.id for each in found}
        found += [
            Difference("gone", facts.task) for facts in await _prunable(app, file, labels) if facts.task.id not in named
        ]
    known = {lane.name: lane for lane in await app.service.lanes.all(app.principal)}
    lanes = [_lane_change(name, known.get(name), setting) for name, setting in file.lanes.items()]
    changed = [lane for lane in lanes if lane.before != lane.after or lane.rate_before != lane.rate_after]
    return Differences(tuple(found), tuple(changed), tuple(zones.values()))


def _lane_change(name: str, known: LaneUse | None, setting: LaneSetting) -> LaneChange:
    before = None if known is None else known.limit
    rate = None if known is None or known.rate is None else str(known.rate)
    after = before if setting.limit is None else setting.limit
    if setting.rate == "keep":
        return LaneChange(name, before, after, rate, rate)
    return LaneChange(name, before, after, rate, None if setting.rate is None else str(setting.rate))


async def _prunable(app: CommandSession, file: TasksFile, labels: tuple[tuple[str, str], ...]) -> list[Facts]:
    """Return the tasks with these labels; without labels, those that a tasks file has created."""
    found: list[Facts] = []
    after: str | None = None
    owner = file.owner or await app.owner()
    while True:
        page = await app.service.tasks.page(app.principal, TaskFilter(owner, labels=labels), after, MAX_PAGE_SIZE)
        found += [each for each in page.items if labels or (each.task.key or "").startswith(APPLIED)]
        after = page.after
        if after is None:
            return found


def _difference(step: DryRun, language: Language, now: datetime) -> Difference:
    if step.before is None or step.kind == "same":
        return Difference(step.kind, step.after, step.request, warnings=step.warnings)
    before, after = step.before.task, step.after
    old, new = _shown(before, language), _shown(after, language)
    fields = {name: (old[name], new[name]) for name in new if old[name] != new[name]}
    removed, added = _fires(step.before, after, now)
    return Difference("changed", after, step.request, fields, removed, added, step.warnings)


def _shown(task: Task, language: Language) -> dict[str, Any]:
    """Return the fields that are compared: the schedule as a sentence, each policy by itself."""
    shape = definition_json(task)
    policies = {f"policies.{name}": value for name, value in shape.pop("policies").items()}
    return {**shape, **policies, "when": describe_schedule(task.schedule, language)}


def _fires(before: Facts, after: Task, now: datetime) -> tuple[int, int]:
    if before.task.schedule == after.schedule:
        return 0, 0
    old = _ahead(before.task, before, now)
    new = set(
        islice(
            iterate(after.schedule, now, past_of(after, before.status._replace(counted=0)), until=now + AHEAD),
            _MAX_FIRES,
        )
    )
    return len(old - new), len(new - old)


def _ahead(task: Task, facts: Facts, now: datetime) -> set[datetime]:
    return set(islice(iterate(task.schedule, now, past_of(task, facts.status), until=now + AHEAD), _MAX_FIRES))
