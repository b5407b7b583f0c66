"""What several routes ask and show alike: parameters, filters, one task, one run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import Path, Query
from starlette.requests import Request

from ..choices import Language
from ..errors import NotFound
from ..model.accounts.principal import Principal
from ..model.change import Facts
from ..model.refusals import refuse
from ..model.run import Run, RunState
from ..model.task import Task, TaskState
from ..ports.store import TaskFilter
from ..service.query.filters import narrowed_tasks
from ..service.query.instants import asked_stretch
from ..service.query.parser import LONGEST
from ..service.service import Service
from ..web.pagination import LARGEST_LIMIT
from ..web.request_context import house_of
from ..wire.agenda import agenda_json
from ..wire.runs import run_json
from ..wire.tasks import task_json

Limit = Annotated[int, Query(ge=1, le=LARGEST_LIMIT, description="How many at once.")]
Cursor = Annotated[str | None, Query(max_length=1_000, description="`next_cursor` of the page before.")]
DryRun = Annotated[bool, Query(description="Say what would be done, refused as that would be, and do nothing.")]
Include = Annotated[
    str | None,
    Query(
        max_length=100, description="More of it, with commas: `last` (its newest run), `agenda` (what stands ahead)."
    ),
]
Owner = Annotated[str | None, Query(max_length=200, description="Whose, for admins; for others only their own.")]
TaskId = Annotated[str, Path(max_length=200, description="The id of a task: `tsk_…`.")]
RunId = Annotated[str, Path(max_length=200, description="The id of a run: `run_…`.")]
State = Annotated[list[str] | None, Query(description="Any of these states; repeated, or with commas.")]
Label = Annotated[list[str] | None, Query(description="`name=value`; repeated, all must fit.")]
Text = Annotated[str | None, Query(max_length=200)]
Q = Annotated[
    str | None,
    Query(
        max_length=LONGEST,
        description='`state:failed,paused -state:completed label:team=ops "in the name"`: a space says and, a comma or, a minus not.',
    ),
]

INCLUDED: Final = ("last", "agenda")
FILTERS: Final = ("owner", "state", "name", "lane", "label", "text", "kind", "prefix", "q")


def acting(request: Request, *, dry_run: bool) -> Service:
    """The service itself; or, for those who only want to know, one that writes nothing."""
    service = house_of(request).service
    return service.rehearsal if dry_run else service


def included(said: str | None) -> frozenset[str]:
    wanted = [part.strip() for part in (said or "").split(",") if part.strip()]
    for each in wanted:
        if each not in INCLUDED:
            raise refuse("bad_choice", name="include", value=each, allowed=", ".join(INCLUDED))
    return frozenset(wanted)


def task_states(said: Iterable[str] | None) -> frozenset[TaskState] | None:
    return frozenset(TaskState(each) for each in _chosen("state", said, tuple(TaskState))) or None


def run_states(said: Iterable[str] | None) -> frozenset[RunState] | None:
    return frozenset(RunState(each) for each in _chosen("state", said, tuple(RunState))) or None


def _chosen(name: str, said: Iterable[str] | None, allowed: Sequence[str]) -> list[str]:
    wanted = [part.strip() for each in said or () for part in each.split(",") if part.strip()]
    for each in wanted:
        if each not in allowed:
            raise refuse("bad_choice", name=name, value=each, allowed=", ".join(allowed))
    return wanted


def labels(said: Iterable[str] | None) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for each in said or ():
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise refuse("bad_policy", name="label", value=each, wanted="name=value")
        found[name] = value
    return tuple(sorted(found.items()))


def filtered(  # noqa: PLR0913 - every condition by its name
    *,
    owner: str | None,
    state: list[str] | None,
    name: str | None,
    lane: str | None,
    label: list[str] | None,
    text: str | None,
    kind: str | None,
    prefix: str | None,
    q: str | None = None,
) -> TaskFilter:
    wanted = TaskFilter(owner, task_states(state), name, lane, labels(label), text, kind, prefix)
    return wanted if q is None else narrowed_tasks(wanted, q)


def zone_of(request: Request, who: Principal) -> str:
    """The zone of whoever asks: their own, else the deployment's."""
    return who.zone or house_of(request).service.zone or "UTC"


def moment(said: str | None, zone: str, now: datetime, *, last: bool = False) -> datetime | None:
    if said is None:
        return None
    stretch = asked_stretch(said, zone, now)
    return stretch.last if last else stretch.first


async def shown_task(
    request: Request, who: Principal, facts: Facts, language: Language, include: frozenset[str]
) -> dict[str, Any]:
    last: Run | None = None
    if "last" in include:
        last = (await house_of(request).service.tasks.latest(who, [facts])).get(facts.task.id)
    shape = task_json(facts, language, last)
    return {**shape, "agenda": agenda_json(facts)} if "agenda" in include else shape


async def tasks_of(service: Service, who: Principal, runs: Sequence[Run]) -> dict[str, Task]:
    """The tasks of these runs, each asked for once, as far as they are still there."""
    found: dict[str, Task] = {}
    for name in {run.task_id for run in runs}:
        try:
            found[name] = (await service.tasks.get(who, name)).task
        except NotFound:
            continue
    return found


def shown_run(run: Run, task: Task | None, language: Language) -> dict[str, Any]:
    return run_json(run, None if task is None else task.name, None if task is None else task.schedule.zone, language)
