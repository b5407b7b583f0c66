"""Query parameters and renderers that several routes share: filters, includes, times, one task, one run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any, Final

from starlette.requests import Request

from ..choices import Language
from ..errors import NotFound
from ..model.accounts.principal import Principal
from ..model.change import Facts
from ..model.page import MAX_HTTP_PAGE_SIZE
from ..model.refusals import refuse
from ..model.run import Run, RunState
from ..model.task import Task, TaskState
from ..ports.store import TaskFilter
from ..service.query.filters import narrow_task_filter
from ..service.query.instants import parse_span
from ..service.query.parser import MAX_CHARACTERS
from ..service.service import Service
from ..web.parameters import Path, Query
from ..web.request_context import app_context
from ..wire.agenda import agenda_json
from ..wire.runs import run_json
from ..wire.tasks.task import task_json

Limit = Annotated[int, Query(minimum=1, maximum=MAX_HTTP_PAGE_SIZE, description="How many at once.")]
Cursor = Annotated[str | None, Query(max_length=1_000, description="`next_cursor` of the page before.")]
Force = Annotated[bool, Query(description="Delete it although other tasks run after it; these are then paused.")]
DryRun = Annotated[bool, Query(description="Return what would be done, or its refusal, without doing it.")]
Include = Annotated[
    str | None,
    Query(
        max_length=100,
        description="Additional parts, comma-separated: `last` (its newest run), `agenda` (its agenda entries).",
    ),
]
Owner = Annotated[str | None, Query(max_length=200, description="Owner, for admins; others see only their own.")]
System = Annotated[bool, Query(description="System tasks, which Horae makes itself, instead of all others.")]
TaskId = Annotated[str, Path(max_length=200, description="The id of a task: `tsk_…`.")]
RunId = Annotated[str, Path(max_length=200, description="The id of a run: `run_…`.")]
State = Annotated[list[str] | None, Query(description="Any of these states; repeated, or with commas.")]
Label = Annotated[list[str] | None, Query(description="`name=value`; repeated, all must fit.")]
Text = Annotated[str | None, Query(max_length=200)]
Q = Annotated[
    str | None,
    Query(
        max_length=MAX_CHARACTERS,
        description='`state:failed,paused -state:completed label:team=ops "in the name"`: a space says and, a comma or, a minus not.',
    ),
]

INCLUDABLE: Final = ("last", "agenda")
FILTERS: Final = ("owner", "state", "name", "lane", "label", "text", "kind", "prefix", "q")


def service_for(request: Request, *, dry_run: bool) -> Service:
    """Return the service; for a dry run, the one that writes nothing."""
    service = app_context(request).service
    return service.dry_run if dry_run else service


def parse_include(text: str | None) -> frozenset[str]:
    names = [part.strip() for part in (text or "").split(",") if part.strip()]
    for each in names:
        if each not in INCLUDABLE:
            raise refuse("bad_choice", name="include", value=each, allowed=", ".join(INCLUDABLE))
    return frozenset(names)


def parse_task_states(values: Iterable[str] | None) -> frozenset[TaskState] | None:
    return frozenset(TaskState(each) for each in _parse_choices("state", values, tuple(TaskState))) or None


def parse_run_states(values: Iterable[str] | None) -> frozenset[RunState] | None:
    return frozenset(RunState(each) for each in _parse_choices("state", values, tuple(RunState))) or None


def _parse_choices(name: str, values: Iterable[str] | None, allowed: Sequence[str]) -> list[str]:
    choices = [part.strip() for each in values or () for part in each.split(",") if part.strip()]
    for each in choices:
        if each not in allowed:
            raise refuse("bad_choice", name=name, value=each, allowed=", ".join(allowed))
    return choices


def parse_labels(values: Iterable[str] | None) -> tuple[tuple[str, str], ...]:
    parsed: dict[str, str] = {}
    for each in values or ():
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise refuse("bad_policy", name="label", value=each, wanted="name=value")
        parsed[name] = value
    return tuple(sorted(parsed.items()))


def build_filter(  # noqa: PLR0913 - every condition by its name
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
    task_filter = TaskFilter(owner, parse_task_states(state), name, lane, parse_labels(label), text, kind, prefix)
    return task_filter if q is None else narrow_task_filter(task_filter, q)


def reader_of(principal: Principal, *, system: bool) -> Principal:
    """Return the principal that reads a list: of system tasks, or of all others."""
    return principal.as_system_reader() if system else principal


def caller_zone(request: Request, principal: Principal) -> str:
    """Return the caller's zone, else the deployment's."""
    return principal.zone or app_context(request).service.zone or "UTC"


def parse_time(text: str | None, zone: str, now: datetime, *, last: bool = False) -> datetime | None:
    if text is None:
        return None
    span = parse_span(text, zone, now)
    return span.last if last else span.first


async def render_task(
    request: Request, principal: Principal, facts: Facts, language: Language, include: frozenset[str]
) -> dict[str, Any]:
    last: Run | None = None
    if "last" in include:
        last = (await app_context(request).service.tasks.latest(principal, [facts])).get(facts.task.id)
    names = await app_context(request).service.tasks.predecessor_names(principal, [facts.task])
    data = task_json(facts, language, last, names=names, now=app_context(request).clock.now())
    return {**data, "agenda": agenda_json(facts)} if "agenda" in include else data


async def tasks_of(service: Service, principal: Principal, runs: Sequence[Run]) -> dict[str, Task]:
    """Return the tasks of these runs by id, each read once; deleted ones are left out."""
    tasks: dict[str, Task] = {}
    for task_id in {run.task_id for run in runs}:
        try:
            tasks[task_id] = (await service.tasks.get(principal, task_id)).task
        except NotFound:
            continue
    return tasks


def render_run(run: Run, task: Task | None, language: Language) -> dict[str, Any]:
    return run_json(run, None if task is None else task.name, None if task is None else task.schedule.zone, language)
