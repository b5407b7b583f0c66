"""Which tasks are meant: one by its name, or all that fit a filter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

import typer

from ..model.refusals import refuse as refuse_task
from ..model.task import Task, TaskState
from ..ports.store import TaskFilter
from ..service.query.filters import narrow_task_filter
from ..service.tasks.bulk import Bulk, BulkReport
from ..service.tasks.lookup import TaskCount
from ..wire.overview import bulk_json
from .command import OptionGroup, Said
from .messages import messages
from .messages.messages import Message
from .messages.refusals import refuse
from .output.printer import Printer
from .session.command_session import CommandSession, has_store, run_in_session

MOST_UNASKED: Final = 20
"""More than so many at once need a yes."""

_IMPORTED_KINDS: Final = frozenset({"agent"})
"""Kinds that no node runs, but that tasks of other schedulers come with."""

STATE: Final = typer.Option(None, "--state", metavar="STATE", help="active, paused, completed, failed, cancelled.")
FILTERS: Final[OptionGroup] = {
    "state": (list[str] | None, STATE),
    "label": (list[str] | None, typer.Option(None, "--label", metavar="K=V", help="With this label; repeatable.")),
    "text": (str | None, typer.Option(None, "--text", help="With this in the name.")),
    "owner": (str | None, typer.Option(None, "--owner", help="Of this owner.")),
    "lane": (str | None, typer.Option(None, "--lane", help="In this lane.")),
    "kind": (
        str | None,
        typer.Option(None, "--kind", help="With this kind of target: http, command, function, event."),
    ),
    "query": (
        str | None,
        typer.Option(None, "--query", metavar="QUERY", help='As a query: state:failed,paused label:team=ops "a text".'),
    ),
}
MANY: Final[OptionGroup] = FILTERS | {
    "all": (bool, typer.Option(False, "--all", help="Every task; or every one that fits the filter.")),
}
TASK: Final = typer.Argument(None, metavar="[TASK]", help="Its name, id or key, or as much of it as is unique.")
ONE: Final = typer.Argument(..., metavar="TASK", help="Its name, id or key, or as much of it as is unique.")

Deed = Callable[[CommandSession, Task], Awaitable[object]]


def task_filter(said: Said) -> TaskFilter:
    wanted = TaskFilter(
        owner=said["owner"],
        states=_states(said["state"]),
        lane=said["lane"],
        labels=tuple(sorted(labels_of(said["label"]).items())),
        text=said["text"],
        kind=_kind(said["kind"]),
    )
    return wanted if said["query"] is None else narrow_task_filter(wanted, said["query"])


def _kind(name: str | None) -> str | None:
    """A kind that neither this installation nor an import knows is a typing error."""
    if name is None or name in _IMPORTED_KINDS:
        return name
    from difflib import get_close_matches  # noqa: PLC0415 - few commands are called with --kind

    from ..runtime.target_kinds import kind_names  # noqa: PLC0415

    known = kind_names()
    if name not in known:
        near = get_close_matches(name, known, 1)
        allowed = ", ".join([*near, *(each for each in known if each not in near)])
        raise refuse_task("bad_choice", name="kind", value=name, allowed=allowed)
    return name


def labels_of(pairs: list[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise refuse("bad_label", value=pair)
        found[name] = value
    return found


def _states(names: list[str] | None) -> frozenset[TaskState] | None:
    wanted = [part.strip() for name in names or () for part in name.split(",") if part.strip()]
    for name in wanted:
        if name not in set(TaskState):
            raise refuse_task("bad_choice", name="state", value=name, allowed=", ".join(TaskState))
    return frozenset(map(TaskState, wanted)) or None


def is_filter(task: str | None, wanted: Said) -> bool:
    """Whether many are meant; a refusal when both or neither was said."""
    filtered = any(value for value in wanted.values())
    if task is not None and filtered:
        raise refuse("task_and_filter")
    if task is None and not filtered:
        raise refuse("no_task_named")
    return filtered


class BulkAction(NamedTuple):
    """What is done to each of many: here by `deed`, at a server by the name of the action and what it takes."""

    deed: Deed
    action: str
    arguments: Mapping[str, Any] = {}


def do_to_many(out: Printer, wanted: Said, title: Message, doing: BulkAction, *, always_asks: bool = False) -> None:
    """Count, ask where that is due, then one after the other; a refusal keeps nobody else from their turn."""
    query = task_filter(wanted)
    if not any(query) and not wanted["all"]:
        # Conditions that say nothing, such as a query of spaces, would mean everything.
        raise refuse("no_task_named")
    matched, more = run_in_session(out, lambda app: _counted(app, query)) if has_store(out) else TaskCount(0)
    if matched > (0 if always_asks else MOST_UNASKED):
        out.confirm(messages.TO_MANY, deed=title, number=f"{matched}+" if more else matched)
    report = BulkReport(0, 0)
    if matched:
        with out.progress(title, matched) as bar:
            report = run_in_session(out, lambda app: _done(app, query, doing, bar.update))
    _tell(out, title, report)


async def _done(
    app: CommandSession, query: TaskFilter, doing: BulkAction, progress: Callable[[int], None]
) -> BulkReport:
    bulk = app.service.bulk
    if isinstance(bulk, Bulk):
        return await bulk.each(app.principal, query, lambda task: doing.deed(app, task), progress=progress)
    zone = {"zone": app.zone} if "until" in doing.arguments else {}
    return await bulk.act(query, doing.action, {**doing.arguments, **zone}, progress)


async def _counted(app: CommandSession, query: TaskFilter) -> TaskCount:
    async def nothing(_task: Task) -> None: ...

    bulk = app.service.bulk
    if isinstance(bulk, Bulk):
        return TaskCount((await bulk.each(app.principal, query, nothing, dry_run=True)).matched)
    return await bulk.count(query)


def _tell(out: Printer, title: Message, report: BulkReport) -> None:
    shape: dict[str, Any] = bulk_json(report, out.language)
    if out.json:
        out.data(shape)
        return
    out.line(out.translate(messages.DONE_TO_MANY, deed=title, done=report.done, matched=report.matched))
    for task, refusal in report.refused:
        out.aside(f"  ✕ {task.name}: {refusal.in_language(out.language).message}")
