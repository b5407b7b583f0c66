"""Task selection options: one task by name, or all tasks that match a filter, with the bulk actions on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import click

from ..message import Message
from ..model.refusals import refuse as refuse_task
from ..model.task import Task, TaskState
from ..ports.store import TaskFilter
from ..service.query.filters import narrow_task_filter
from ..service.service import Service
from ..service.tasks.lookup import TaskCount
from ..service.tasks.operations.actions import ActionArguments, make_action
from ..service.tasks.operations.bulk import Bulk, BulkReport
from ..service.tasks.operations.operations import OperationRequest
from ..wire.overview import bulk_json
from .messages import messages
from .messages.refusals import refuse
from .output.printer import Printer
from .parameters import Values, option_group
from .session.command_session import CommandSession, has_store, run_in_session

CONFIRM_ABOVE: Final = 20
"""A bulk action on more tasks than this asks for confirmation."""

_FILTERS: Final = (
    click.option(
        "--state",
        multiple=True,
        metavar="STATE",
        help="State of the tasks: active, paused, completed, failed, cancelled.",
    ),
    click.option("--label", multiple=True, metavar="K=V", help="Tasks with this label; repeatable."),
    click.option("--text", help="Tasks with this text in their name."),
    click.option("--owner", help="Tasks of this owner."),
    click.option("--lane", help="Tasks in this lane."),
    click.option("--kind", help="Tasks with this kind of target: http, command, function, event, agent."),
    click.option("--query", metavar="QUERY", help='As a query: state:failed,paused label:team=ops "a text".'),
    click.option("--view", metavar="VIEW", help="The query of a saved view: see 'horae view ls'."),
)
filter_options: Final = option_group("filters", *_FILTERS)
bulk_options: Final = option_group(
    "filters", *_FILTERS, click.option("--all", is_flag=True, help="All tasks; with a filter, all that match it.")
)
system_option: Final = click.option(
    "--system", is_flag=True, help="System tasks, which Horae makes itself, instead of all others."
)
_TASK_HELP: Final = "Name, id or key of the task, or a unique part of it."
task_argument: Final = click.argument("task", metavar="TASK", help=_TASK_HELP)
optional_task_argument: Final = click.argument("task", required=False, metavar="[TASK]", help=_TASK_HELP)


def load_task_filter(out: Printer, filters: Values) -> TaskFilter:
    """Return the filter of the options, with the query of the saved view that they name."""
    name = filters["view"]
    if name is None:
        return task_filter(filters)
    view = run_in_session(out, lambda app: app.service.views.get(app.principal, "tasks", name))
    return narrow_task_filter(task_filter(filters), view.query)


def task_filter(filters: Values) -> TaskFilter:
    query = TaskFilter(
        owner=filters["owner"],
        states=_parse_states(filters["state"]),
        lane=filters["lane"],
        labels=tuple(sorted(parse_labels(filters["label"]).items())),
        text=filters["text"],
        kind=_check_kind(filters["kind"]),
    )
    return query if filters["query"] is None else narrow_task_filter(query, filters["query"])


def _check_kind(name: str | None) -> str | None:
    """Return the kind; refuse one that this installation does not know."""
    if name is None:
        return name
    from difflib import get_close_matches  # noqa: PLC0415 - few commands are called with --kind

    from ..runtime.target_kinds import kind_names  # noqa: PLC0415

    known = kind_names()
    if name not in known:
        near = get_close_matches(name, known, 1)
        allowed = ", ".join([*near, *(each for each in known if each not in near)])
        raise refuse_task("bad_choice", name="kind", value=name, allowed=allowed)
    return name


def parse_labels(pairs: Sequence[str]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise refuse("bad_label", value=pair)
        labels[name] = value
    return labels


def _parse_states(names: Sequence[str]) -> frozenset[TaskState] | None:
    states = [part.strip() for name in names for part in name.split(",") if part.strip()]
    for name in states:
        if name not in set(TaskState):
            raise refuse_task("bad_choice", name="state", value=name, allowed=", ".join(TaskState))
    return frozenset(map(TaskState, states)) or None


def is_filter(task: str | None, filters: Values) -> bool:
    """Return whether a filter selects the tasks; refuse a task together with a filter, and neither of them."""
    filtered = any(value for value in filters.values())
    if task is not None and filtered:
        raise refuse("task_and_filter")
    if task is None and not filtered:
        raise refuse("no_task_named")
    return filtered


class BulkAction(NamedTuple):
    """An action on each of many tasks, by its name and arguments as HTTP has them."""

    name: str
    arguments: Mapping[str, Any] = {}


def act_on_many(
    out: Printer, filters: Values, title: Message, action: BulkAction, *, always_asks: bool = False
) -> None:
    """Count the matching tasks, confirm, then act on one after the other; a refusal does not stop the rest."""
    query = load_task_filter(out, filters)
    if not any(query) and not filters["all"]:
        # An empty filter, such as a query of spaces, would match every task.
        raise refuse("no_task_named")
    matched, more = run_in_session(out, lambda app: _count(app, query)) if has_store(out) else TaskCount(0)
    if matched > (0 if always_asks else CONFIRM_ABOVE):
        out.confirm(messages.TO_MANY, deed=title, number=f"{matched}+" if more else matched)
    report = BulkReport(0, 0)
    if matched:
        with out.progress(title, matched) as bar:
            report = run_in_session(out, lambda app: _act_on_each(app, query, action, bar.update))
    show_report(out, title, report)


async def _act_on_each(
    app: CommandSession, query: TaskFilter, action: BulkAction, progress: Callable[[int], None]
) -> BulkReport:
    service = app.service
    if not isinstance(service, Service):
        zone = {"zone": app.zone} if "until" in action.arguments else {}
        return await service.bulk.act(query, action.name, {**action.arguments, **zone}, progress)
    principal, operations = app.principal, service.operations
    log = operations.new_log(principal, action.name)
    arguments = ActionArguments(app.zone, **action.arguments)
    apply = make_action(principal, service.tasks, action.name, arguments, app.clock.now(), log)
    order = OperationRequest(action.name, {}, action.arguments)
    return await operations.act(principal, order, query, apply, log=log, progress=progress)


async def _count(app: CommandSession, query: TaskFilter) -> TaskCount:
    async def nothing(_task: Task) -> None: ...

    bulk = app.service.bulk
    if isinstance(bulk, Bulk):
        return TaskCount((await bulk.each(app.principal, query, nothing, dry_run=True)).matched)
    return await bulk.count(query)


def show_report(out: Printer, title: Message, report: BulkReport) -> None:
    shape: dict[str, Any] = bulk_json(report, out.language)
    if out.json:
        out.data(shape)
        return
    out.line(out.translate(messages.DONE_TO_MANY, deed=title, done=report.done, matched=report.matched))
    for task, refusal in report.refused:
        out.aside(f"  ✕ {task.name}: {refusal.in_language(out.language).message}")
    if report.undo is not None:
        out.note(messages.UNDO_COMMAND, id=report.undo)
