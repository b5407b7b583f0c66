"""Lookup of tasks by id, key, name or filter, restricted to what the principal may see."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from ...model.accounts.principal import Principal, Scope
from ...model.change import Facts
from ...model.counts import EVERYBODY, NO_HOUR, STATE
from ...model.entry import CLAIMABLE
from ...model.ids import is_shortened
from ...model.page import LARGEST_PAGE, Page
from ...model.refusals import refuse
from ...model.run import Run
from ...model.task import FINISHED, TaskState
from ...ports.store import TaskFilter
from ..accounts.rights import is_foreign, own_key, seen_by, sees
from ..query.argument_checks import check_id, check_page, check_wanted
from ..query.id_prefix import TASK, list_tasks, resolve_task, tasks_by_prefix
from .task_quota import Keeping

_ALL_TASKS: Final = TaskFilter()
_MAX_CANDIDATES: Final = 5
_UNFINISHED: Final = frozenset(TaskState) - FINISHED
_ACTIVE_TASKS: Final = TaskFilter(states=frozenset({TaskState.ACTIVE}))

COUNTED_UP_TO: Final = 10_000


class Counted(NamedTuple):
    """A count; `more`: the count stopped at its limit."""

    number: int
    more: bool = False


class Finding:
    def __init__(self, store: Keeping) -> None:
        self._book = store

    async def get(self, principal: Principal, task_id: str) -> Facts:
        principal.require_scope(Scope.READ)
        check_id(task_id, "no_such_task")
        facts = await self._book.facts(await resolve_task(self._book, principal, task_id), principal.owner_filter)
        if facts is None or not sees(principal, facts.task):
            raise refuse("no_such_task", id=task_id)
        return facts

    async def find_by_key(self, principal: Principal, key: str, owner: str | None = None) -> Facts | None:
        """Return the task with this natural key; None if there is none, or the principal may not see it."""
        principal.require_scope(Scope.READ)
        check_id(key, "no_such_task")
        owner_name = principal.owner if owner is None else owner
        if principal.owner_filter not in (None, owner_name):
            return None
        for name in dict.fromkeys((own_key(principal, key), key)):
            facts = await self._book.find(owner_name, name)
            if facts is not None and sees(principal, facts.task):
                return facts
        return None

    async def page(
        self, principal: Principal, task_filter: TaskFilter = _ALL_TASKS, after: str | None = None, limit: int = 100
    ) -> Page[Facts]:
        """Return tasks in the order of creation, restricted to what the principal may see."""
        principal.require_scope(Scope.READ)
        check_page(after, limit)
        check_wanted(task_filter)
        if is_foreign(principal, task_filter.owner):
            return Page(())
        try:
            return await self._book.tasks(seen_by(principal, task_filter), after, limit)
        except (ValueError, OverflowError):
            # Not a cursor of this store.
            raise refuse("bad_page", value=after, wanted="after", most=LARGEST_PAGE) from None

    async def count(self, principal: Principal, task_filter: TaskFilter = _ALL_TASKS) -> Counted:
        """Count the tasks of a filter: from counters for owner and state alone, else one by one up to a limit."""
        principal.require_scope(Scope.READ)
        check_wanted(task_filter)
        if is_foreign(principal, task_filter.owner):
            return Counted(0)
        visible = seen_by(principal, task_filter)
        if visible == TaskFilter(visible.owner, visible.states) and visible.owner != EVERYBODY:
            counts = await self._book.counts(visible.owner, [NO_HOUR])
            states = TaskState if visible.states is None else visible.states
            return Counted(sum(counts.get((NO_HOUR, STATE + state), 0) for state in states))
        return await self._count_pages(visible)

    async def _count_pages(self, task_filter: TaskFilter) -> Counted:
        number = 0
        after: str | None = None
        while number < COUNTED_UP_TO:
            page = await self._book.tasks(task_filter, after, LARGEST_PAGE)
            number, after = number + len(page.items), page.after
            if after is None:
                return Counted(number)
        return Counted(number, bool((await self._book.tasks(task_filter, after, 1)).items))

    async def upcoming(self, principal: Principal, limit: int = 20) -> tuple[Facts, ...]:
        """Return the tasks with the soonest due entries, soonest first."""
        principal.require_scope(Scope.READ)
        check_page(None, limit)
        if principal.agent is None:
            return await self._book.upcoming(principal.owner_filter, limit)
        # An agent has few tasks, so they are read and sorted here.
        page = await self._book.tasks(seen_by(principal, _ACTIVE_TASKS), None, LARGEST_PAGE)
        scheduled = [facts for facts in page.items if first_due(facts) is not None]
        return tuple(sorted(scheduled, key=lambda facts: (first_due(facts), facts.task.id))[:limit])

    async def latest(self, principal: Principal, listed: Sequence[Facts]) -> dict[str, Run]:
        """Return the newest run of each of these tasks that has one and is visible."""
        principal.require_scope(Scope.READ)
        visible = (each.task for each in listed if principal.owner_filter in (None, each.task.owner) and sees(principal, each.task))
        return await self._book.latest([task.id for task in visible])

    async def find_by_name(self, principal: Principal, name: str) -> Facts:
        """Find a task by id, key, name, or unique part of the id or name.

        An unfinished task wins over finished ones; of several finished tasks with one name, the newest is taken.
        """
        principal.require_scope(Scope.READ)
        check_id(name, "no_such_task")
        facts = await self._book.facts(name, principal.owner_filter)
        if facts is not None and sees(principal, facts.task):
            return facts
        keyed = await self.find_by_key(principal, name)
        if keyed is not None and keyed.status.state not in FINISHED:
            return keyed
        searches = (self._unfinished_named, self._finished_named, self._by_id_prefix, self._by_name_prefix)
        for number, search in enumerate(searches):
            matches = await search(principal, name)
            if len(matches) == 1:
                return matches[0]
            if matches:
                raise refuse("ambiguous_name", name=name, found=list_tasks([each.task for each in matches]))
            if number == 0 and keyed is not None:
                return keyed
        listed, _, _ = name.partition(" ")
        if listed != name and (is_shortened(TASK, listed) or is_shortened(TASK, listed[:-1])):
            # A candidate as a refusal lists it: id, name and owner.
            return await self.find_by_name(principal, listed)
        raise refuse("no_such_task", id=name)

    async def _unfinished_named(self, principal: Principal, name: str) -> list[Facts]:
        return await self._first_matches(seen_by(principal, TaskFilter(name=name, states=_UNFINISHED))) if name else []

    async def _finished_named(self, principal: Principal, name: str) -> list[Facts]:
        return await self._newest_matches(seen_by(principal, TaskFilter(name=name, states=FINISHED))) if name else []

    async def _by_id_prefix(self, principal: Principal, prefix: str) -> list[Facts]:
        return await tasks_by_prefix(self._book, principal, prefix) if prefix else []

    async def _by_name_prefix(self, principal: Principal, prefix: str) -> list[Facts]:
        if not prefix:
            return []
        task_filter = TaskFilter(text=prefix)
        unfinished = await self._first_matches(seen_by(principal, task_filter._replace(states=_UNFINISHED)))
        return unfinished or await self._newest_matches(seen_by(principal, task_filter._replace(states=FINISHED)))

    async def _first_matches(self, task_filter: TaskFilter) -> list[Facts]:
        return (await self._matching(task_filter, _MAX_CANDIDATES))[:_MAX_CANDIDATES]

    async def _newest_matches(self, task_filter: TaskFilter) -> list[Facts]:
        """Return the newest task of each owner and name, because pages are in the order of creation."""
        newest = {(each.task.owner, each.task.name): each for each in await self._matching(task_filter, None)}
        return list(newest.values())[:_MAX_CANDIDATES]

    async def _matching(self, task_filter: TaskFilter, enough: int | None) -> list[Facts]:
        """Of tasks with a text in their name, return those that begin with it.

        If there is none: those that end with it after a dot, so that `report` finds the task of the function
        `jobs.report`.
        """
        prefix = task_filter.text or ""
        limit = LARGEST_PAGE if prefix or enough is None else enough
        starting: list[Facts] = []
        ending: list[Facts] = []
        after: str | None = None
        while enough is None or len(starting) < enough:
            page = await self._book.tasks(task_filter, after, limit)
            starting += [each for each in page.items if each.task.name.startswith(prefix)]
            ending += [each for each in page.items if prefix and each.task.name.endswith(f".{prefix}")][
                :_MAX_CANDIDATES
            ]
            after = page.after
            if after is None:
                break
        return starting or ending


def first_due(facts: Facts) -> datetime | None:
    return min((entry.due for entry in facts.entries if entry.state in CLAIMABLE), default=None)
