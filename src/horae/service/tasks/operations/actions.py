"""Bulk actions by name: one action on one task, with arguments that are checked once for all tasks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from ....errors import NotFound
from ....lifecycle.control.control import MAX_SKIPS
from ....model.accounts.principal import Principal
from ....model.change import Facts
from ....model.page import Page
from ....model.policy import MISSED_MODES, MissedMode
from ....model.refusals import refuse
from ....model.task import Task
from ....model.text.field_checks import check_number
from ....ports.store import TaskFilter
from ....schedule.zones import find_zone
from ...query.instants import parse_future_instant
from ..tasks import Tasks
from .bulk import Action
from .undo_log import UndoLog

BULK_ACTIONS: Final = ("pause", "resume", "run", "skip", "cancel", "delete")
MAX_SYNCHRONOUS: Final = 200
"""Above this number of tasks an action continues as an operation."""


class ActionArguments(NamedTuple):
    """Arguments of an action. `until` is a time as a caller spells it, read in the zone of each task, else in `zone`."""

    zone: str
    note: str = ""
    until: str | None = None
    missed: str = "skip"
    number: object = 1
    force: object = False
    """Whether tasks are deleted although others run after them."""
    chain: object = True
    """Whether the ends of requested runs start the tasks that run after them."""


def make_action(
    principal: Principal,
    tasks: Tasks,
    action: object,
    arguments: ActionArguments,
    now: datetime,
    log: UndoLog | None = None,
) -> Action:
    """Return the action for one task. Arguments are checked here, so that a bad one is not refused for each task.

    What the action changes is recorded in the log, so that it can be undone.
    """
    if log is not None:
        tasks = tasks.with_attached(log.writes)
    number: Any = arguments.number
    find_zone(arguments.zone)
    check_number("number", number, 0, MAX_SKIPS)
    force, chain = _read_flag("force", arguments.force), _read_flag("chain", arguments.chain)
    mode = read_missed_mode(arguments.missed, "arguments.missed")
    if arguments.until is not None:
        parse_future_instant(arguments.until, arguments.zone, now)

    def pause(task: Task) -> Any:
        until, zone = arguments.until, task.schedule.zone or arguments.zone
        end = None if until is None else parse_future_instant(until, zone, now)
        return tasks.pause(principal, task.id, note=arguments.note, until=end)

    actions: dict[str, Action] = {
        "pause": pause,
        "resume": lambda task: tasks.resume(principal, task.id, mode),
        "run": lambda task: tasks.run_now(principal, task.id, chain=chain),
        "skip": lambda task: tasks.skip_next(principal, task.id, number),
        "cancel": lambda task: tasks.cancel(principal, task.id),
        "delete": lambda task: tasks.delete(principal, task.id, force=force),
    }
    if not isinstance(action, str) or action not in actions:
        raise refuse("bad_choice", name="action", value=action, allowed=", ".join(BULK_ACTIONS))
    return actions[action] if log is None else log.record(actions[action])


def _read_flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise refuse("bad_policy", name=f"arguments.{name}", value=value, wanted="true or false")
    return value


def read_missed_mode(value: object, name: str = "missed") -> MissedMode:
    mode = next((each for each in MISSED_MODES if each == value), None)
    if mode is None:
        raise refuse("bad_choice", name=name, value=value, allowed=", ".join(MISSED_MODES))
    return mode


async def exceeds_synchronous(tasks: Tasks, principal: Principal, task_filter: TaskFilter) -> bool:
    """Whether so many tasks match that the action has to continue as an operation."""
    page = await tasks.page(principal, task_filter, None, MAX_SYNCHRONOUS + 1)
    return len(page.items) > MAX_SYNCHRONOUS


async def load_selected(tasks: Tasks, principal: Principal, ids: Sequence[str]) -> tuple[Facts, ...]:
    """Return tasks that a caller has chosen one by one; absent and foreign ones are left out."""
    found: list[Facts] = []
    for task_id in dict.fromkeys(ids):
        try:
            found.append(await tasks.get(principal, task_id))
        except NotFound:
            continue
    return tuple(found)


class LoadedTasks(NamedTuple):
    """Listing of tasks that were read before, so that an action applies to exactly these."""

    items: tuple[Facts, ...]

    async def page(
        self, _principal: Principal, _filter: TaskFilter, _after: str | None = None, _limit: int = 0
    ) -> Page[Facts]:
        return Page(self.items)
