"""Tasks page: one row per task with its newest outcomes, filtered by a query, in the order of creation or of the next fire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from ....errors import Refusal
from ....model.accounts.principal import RESERVED_LABEL_PREFIX, Principal
from ....model.change import Facts
from ....model.run import Run, RunState
from ....model.task import FINISHED_STATES, TaskState
from ....ports.store import TaskFilter
from ....service.query.filters import narrow_task_filter
from ....service.query.parser import Term, render_query
from ....service.tasks.demo_tasks import DEMO_LABEL, create_demo_tasks, remove_demo_tasks
from ....service.tasks.lookup import TaskCount
from ....wire.tasks.task import next_due
from ...formats import format_count
from ...outcomes import was_missed
from ...page import PageRequest, form, page
from ...saved_views import view_forms
from ...tasks.charts import MARK_HEIGHT, MARK_STEP, Mark, outcome_marks
from ...tasks.texts import city_of, describe_pause, describe_wait, describe_when, other_zone, outcome_label
from ...viewer import Viewer

PAGE_SIZE: Final = 25
OUTCOMES: Final = 30
MAX_COUNTED: Final = 1_000
"""Tasks of a filter that are counted: a count reads each of them."""
_LIST: Final = "tasks"
DEFAULT_QUERY: Final = "-state:" + ",".join(sorted(FINISHED_STATES))
"""Filter of a URL without one: finished tasks are left out."""
_QUERY_HINTS: Final = (
    *(f"state:{state.value}" for state in TaskState),
    *(f"-state:{state.value}" for state in TaskState),
    *(f"kind:{kind}" for kind in ("http", "command", "function", "event")),
    *(f"{key}:" for key in ("name", "label", "lane", "owner", "agent", "via", "id")),
)
_BAD_ENDS: Final = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST})


class TaskRow(NamedTuple):
    """One task of the list. `next_zone` is the zone of the task where its clock differs from that of the viewer."""

    facts: Facts
    when: str
    meaning: str
    marks: tuple[Mark, ...]
    last: Run | None
    needs_why: bool
    next: datetime | None
    next_zone: str | None
    waits: str | None
    pause: str | None
    labels: dict[str, str]


async def show(request: PageRequest) -> Response:
    query = request.request.query_params
    by_next, is_system = query.get("sort") == "next", _is_system(request)
    reader = request.viewer.principal.as_system_reader() if is_system else request.viewer.principal
    text = query.get("q", "" if by_next else DEFAULT_QUERY)
    try:
        found = await (_soonest(request, reader) if by_next else _filtered(request, reader, text, query.get("after")))
    except Refusal as refusal:
        return request.render_refused("tasks.html", _data(request, text, _Found((), TaskCount(0), None)), refusal)
    outcomes = await request.service.tasks.outcomes(request.viewer.principal, found.tasks, OUTCOMES)
    listed = [facts.task for facts in found.tasks]
    names = await request.service.tasks.predecessor_names(request.viewer.principal, listed)
    rows = [make_row(request.viewer, facts, outcomes.get(facts.task.id, ()), names) for facts in found.tasks]
    own = (facts.task for facts in found.tasks if facts.task.owner == request.viewer.principal.owner)
    has_demo = any(DEMO_LABEL in task.labels for task in own)
    has_tasks = bool(rows) or is_system or (await request.service.tasks.count(request.viewer.principal)).number > 0
    views = await request.service.views.all(request.viewer.principal, _LIST)
    data = {**_data(request, text, found), "views": views}
    return request.render("tasks.html", {**data, "rows": rows, "has_tasks": has_tasks, "has_demo": has_demo})


class _Found(NamedTuple):
    tasks: Sequence[Facts]
    number: TaskCount
    after: str | None


def _is_system(request: PageRequest) -> bool:
    """Whether the page shows system tasks instead of all others."""
    return request.request.query_params.get("system") == "1"


async def _filtered(request: PageRequest, reader: Principal, text: str, after: str | None) -> _Found:
    tasks = request.service.tasks
    task_filter = narrow_task_filter(TaskFilter(), text)
    listed = await tasks.page(reader, task_filter, after or None, PAGE_SIZE)
    if not after and listed.after is None:
        return _Found(listed.items, TaskCount(len(listed.items)), None)
    return _Found(listed.items, await tasks.count(reader, task_filter, MAX_COUNTED), listed.after)


async def _soonest(request: PageRequest, reader: Principal) -> _Found:
    tasks = request.service.tasks
    active = TaskFilter(states=frozenset({TaskState.ACTIVE}))
    return _Found(await tasks.upcoming(reader, PAGE_SIZE), await tasks.count(reader, active), None)


def _data(request: PageRequest, text: str, found: _Found) -> dict[str, Any]:
    by_next = request.request.query_params.get("sort") == "next"
    query = {} if text == DEFAULT_QUERY else {"q": text}
    is_system, viewer = _is_system(request), request.viewer
    if is_system:
        query["system"] = "1"
    after = request.request.query_params.get("after")
    return {
        "page": "tasks",
        "rows": [],
        "has_tasks": True,
        "has_demo": False,
        "problem": None,
        "views": (),
        "q": text,
        "by_next": by_next,
        "is_system": is_system,
        "can_act": (viewer.can_run or viewer.can_write) and not is_system,
        "is_filtered": bool(text.strip()),
        "query": {**query, **({"after": after} if after else {})},
        "after": found.after,
        "count": found.number,
        "total": format_count(found.number.number, is_more=found.number.more),
        "query_hints": _QUERY_HINTS,
        "city": city_of,
        "label_query": label_query,
        "mark_width": OUTCOMES * MARK_STEP,
        "mark_height": MARK_HEIGHT,
        "mark_step": MARK_STEP,
    }


def label_query(name: str, value: str) -> str:
    """Return the query for the tasks with a label."""
    return render_query((Term("label", (f"{name}={value}",)),))


def make_row(viewer: Viewer, facts: Facts, runs: Sequence[Run], names: Mapping[str, str]) -> TaskRow:
    task, last, due = facts.task, runs[0] if runs else None, next_due(facts)
    return TaskRow(
        facts,
        *describe_when(task.schedule, viewer.language, names),
        outcome_marks(
            runs, lambda run: outcome_label(viewer, run), lambda run: viewer.url(f"/runs/{run.id}"), OUTCOMES
        ),
        last,
        last is not None and (last.state in _BAD_ENDS or was_missed(last)),
        due,
        other_zone(viewer, task.schedule.zone, due),
        describe_wait(viewer, facts),
        describe_pause(viewer, facts.status.pause),
        {name: value for name, value in task.labels if not name.startswith(RESERVED_LABEL_PREFIX)},
    )


async def load_demo(request: PageRequest) -> Response:
    created = await create_demo_tasks(request.service.tasks, request.viewer.principal)
    return request.redirect("/tasks", request.notice("tasks_demo_loaded", number=created))


async def remove_demo(request: PageRequest) -> Response:
    report = await remove_demo_tasks(request.service.tasks, request.viewer.principal)
    name = "tasks_demo_partly_removed" if report.refused else "tasks_demo_removed"
    return request.redirect("/tasks", request.notice(name, number=report.done, refused=len(report.refused)))


ROUTES: Final = (
    page("/tasks", show),
    form("/tasks/demo", load_demo),
    form("/tasks/demo/remove", remove_demo),
    *view_forms(_LIST),
)
