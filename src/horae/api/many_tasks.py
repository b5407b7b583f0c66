"""Many tasks in one call: made, all or none; or acted on by a filter, one after the other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from ..errors import Refusal
from ..model.change import Facts
from ..model.limits import BULK_TASKS
from ..model.policy import MISSED_MODES
from ..model.principal import Principal, Scope
from ..model.record import Writing
from ..model.refusals import refuse
from ..model.task import Task
from ..ports.store import TaskFilter
from ..service.tasks import Tasks
from ..service.wishes import Wish
from ..web.answers import answer
from ..web.bodies import json_body
from ..web.caller import Who
from ..web.guarded import resource
from ..web.house import house_of
from ..web.language import language
from ..web.once import kept_for, writes_its_answer
from ..wire.fields import check_fields, text_or_none
from ..wire.moments import utc
from ..wire.overview import bulk_json
from ..wire.tasks import next_due, read_task
from .asked import FILTERS, DryRun, acting, filtered
from .examples import ACTIONS, BULK
from .told import told

router: Final = resource("/v1/tasks", "tasks")
_RUNS: Final = ("run", "skip")
Deed: TypeAlias = Callable[[Task], Awaitable[object]]


@router.post(
    "/bulk",
    **told(
        "create_tasks",
        f"Make up to {BULK_TASKS} tasks in one call: all of them, or none",
        "MadeMany",
        status=201,
        takes="NewTasks",
        example=BULK,
        problems=(409,),
        once=True,
    ),
)
@writes_its_answer
async def create_tasks(request: Request, who: Who, *, dry_run: DryRun = False) -> Response:
    wishes = _wishes(await json_body(request))
    made: list[Response] = []

    def beside(tasks: Sequence[Facts]) -> Sequence[Writing]:
        shape = {"created": 0 if dry_run else len(tasks), "items": [_brief(each) for each in tasks], "dry_run": dry_run}
        made[:] = [answer(shape, 200 if dry_run else 201)]
        kept = kept_for(request)
        return () if kept is None else (kept.writing(made[0]),)

    await acting(request, dry_run=dry_run).tasks.create_many(who, wishes, _nothing, beside=beside)
    return made[0]


def _wishes(body: object) -> list[Wish]:
    tasks = check_fields("body", body, ("tasks",)).get("tasks")
    if not isinstance(tasks, list) or not tasks:
        raise refuse("missing_field", name="tasks")
    if len(tasks) > BULK_TASKS:
        raise refuse("bad_number", name="tasks", value=len(tasks), least=1, most=BULK_TASKS)
    return [_wish(number, each) for number, each in enumerate(tasks, 1)]


def _wish(number: int, value: object) -> Wish:
    try:
        wish = read_task(value)
    except Refusal as refusal:
        refusal.facts["number"] = number
        raise
    if wish.key is not None:
        # To edit what has the key already is another wish than to make it.
        raise refuse(
            "unknown_field", name="key", allowed="all of a task but 'key': PUT /v1/tasks/by-key/{key} takes it"
        )
    return wish


def _nothing(_task: Task) -> None: ...


def _brief(facts: Facts) -> dict[str, Any]:
    return {"id": facts.task.id, "name": facts.task.name, "next": utc(next_due(facts))}


@router.post(
    "/actions",
    **told(
        "act_on_tasks",
        "Pause, resume, run, skip, cancel or delete every task that fits a filter",
        "BulkReport",
        takes="Action",
        example=ACTIONS,
        once=True,
        description="Task by task, each in a transaction of its own: a refusal keeps nobody else from their turn. "
        'An empty filter needs `"all": true`.',
    ),
)
async def act_on_tasks(request: Request, who: Who, *, dry_run: DryRun = False) -> Response:
    said = check_fields("body", await json_body(request), ("action", "filter", "arguments", "all", "dry_run"))
    only_tried = dry_run or said.get("dry_run") is True
    wanted = _filter(said)
    # Also where nothing fits: who may not do it is told so, whatever there is.
    who.must(Scope.RUN if said.get("action") in _RUNS else Scope.WRITE)
    service = acting(request, dry_run=only_tried)
    deed = _deed(service.tasks, who, said)
    report = await house_of(request).service.bulk.each(who, wanted, deed)
    return answer({**bulk_json(report, language(request)), "dry_run": only_tried})


def _filter(said: Mapping[str, Any]) -> TaskFilter:
    conditions = check_fields("filter", said.get("filter") or {}, FILTERS)
    if not any(conditions.values()) and said.get("all") is not True:
        raise refuse("missing_field", name="filter")
    many = {name: _texts(name, conditions.get(name)) for name in ("state", "label")}
    single = {name: text_or_none(name, conditions.get(name)) for name in FILTERS if name not in many}
    return filtered(**many, **single)  # type: ignore[arg-type]  # the two that are lists, and the texts


def _texts(name: str, value: object) -> list[str] | None:
    listed = [value] if isinstance(value, str) else value
    if listed is not None and not (isinstance(listed, list) and all(isinstance(each, str) for each in listed)):
        raise refuse("bad_policy", name=f"filter.{name}", value=value, wanted="text, or list of texts")
    return listed


def _deed(tasks: Tasks, who: Principal, said: Mapping[str, Any]) -> Deed:
    arguments = check_fields("arguments", said.get("arguments") or {}, ("note", "missed", "number"))
    deeds: dict[str, Deed] = {
        "pause": lambda task: tasks.pause(who, task.id, note=text_or_none("note", arguments.get("note")) or ""),
        "resume": lambda task: tasks.resume(who, task.id, _mode(arguments)),
        "run": lambda task: tasks.run_now(who, task.id),
        "skip": lambda task: tasks.skip_next(who, task.id, arguments.get("number", 1)),
        "cancel": lambda task: tasks.cancel(who, task.id),
        "delete": lambda task: tasks.delete(who, task.id),
    }
    action = said.get("action")
    if not isinstance(action, str) or action not in deeds:
        raise refuse("bad_choice", name="action", value=action, allowed=", ".join(deeds))
    _mode(arguments)
    return deeds[action]


def _mode(arguments: Mapping[str, Any]) -> Any:
    mode = arguments.get("missed") or "skip"
    if mode not in MISSED_MODES:
        raise refuse("bad_choice", name="arguments.missed", value=mode, allowed=", ".join(MISSED_MODES))
    return mode
