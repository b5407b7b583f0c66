"""Lookup of tasks by id, key, name or filter, restricted to what the principal may see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from ...errors import NotFound
from ...lifecycle.chain_graph import links_of
from ...model.accounts.principal import Principal, Scope
from ...model.accounts.system_owner import is_readable
from ...model.change import Facts
from ...model.counts import ALL_OWNERS, NO_HOUR, STATE_PREFIX
from ...model.entry import CLAIMABLE
from ...model.ids import is_id_prefix
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.refusals import refuse
from ...model.run import Run
from ...model.task import FINISHED_STATES, Task, TaskState
from ...model.text.field_checks import check_number
from ...ports.full_store import FullStore
from ...ports.store import TaskFilter
from ...schedule import After, Schedule
from ..accounts.rights import can_see, is_foreign, restrict_filter, scoped_key
from ..query.argument_checks import check_filter, check_id, check_page
from ..query.id_prefix import TASK, list_tasks, resolve_task, tasks_by_prefix
from .task_chain import TaskChain, load_task_chain

_ALL_TASKS: Final = TaskFilter()
_MAX_CANDIDATES: Final = 5
_UNFINISHED: Final = frozenset(TaskState) - FINISHED_STATES
_ACTIVE_TASKS: Final = TaskFilter(states=frozenset({TaskState.ACTIVE}))

MAX_COUNTED: Final = 10_000
MAX_OUTCOMES: Final = 10_000
"""Runs of one task that a chart reads at most."""


class TaskCount(NamedTuple):
    """A count; `more`: the count stopped at its limit."""

    number: int
    more: bool = False


class TaskLookup:
    def __init__(self, store: FullStore) -> None:
        self._book = store

    async def get(self, principal: Principal, task_id: str) -> Facts:
        principal.require_scope(Scope.READ)
        return await self._get_visible(principal, task_id)

    async def _get_visible(self, principal: Principal, task_id: str) -> Facts:
        """Return a task for a caller whose right was checked; a foreign one is refused like an absent one."""
        check_id(task_id, "no_such_task")
        facts = await self._book.facts(await resolve_task(self._book, principal, task_id), principal.owner_filter)
        if facts is None or not can_see(principal, facts.task):
            raise refuse("no_such_task", id=task_id)
        return facts

    async def chain(self, principal: Principal, task_id: str) -> TaskChain:
        """Return the tasks that a task descends from, itself, and those that descend from it, as far as they are visible."""
        facts = await self.get(principal, task_id)

        async def read(neighbour: str) -> Facts | None:
            found = await self._book.facts(neighbour, principal.owner_filter)
            return found if found is not None and can_see(principal, found.task) else None

        return await load_task_chain(read, facts)

    async def find_by_key(self, principal: Principal, key: str, owner: str | None = None) -> Facts | None:
        """Return the task with this natural key; None if there is none, or the principal may not see it."""
        principal.require_scope(Scope.READ)
        check_id(key, "no_such_task")
        owner_name = principal.owner if owner is None else owner
        if principal.owner_filter not in (None, owner_name):
            return None
        for name in dict.fromkeys((scoped_key(principal, key), key)):
            facts = await self._book.find(owner_name, name)
            if facts is not None and can_see(principal, facts.task):
                return facts
        return None

    async def page(
        self, principal: Principal, task_filter: TaskFilter = _ALL_TASKS, after: str | None = None, limit: int = 100
    ) -> Page[Facts]:
        """Return tasks in the order of creation, restricted to what the principal may see."""
        principal.require_scope(Scope.READ)
        check_page(after, limit)
        check_filter(task_filter)
        if is_foreign(principal, task_filter.owner):
            return Page(())
        try:
            return await self._book.tasks(restrict_filter(principal, task_filter), after, limit)
        except (ValueError, OverflowError):
            # Not a cursor of this store.
            raise refuse("bad_page", value=after, wanted="after", most=MAX_PAGE_SIZE) from None

    async def count(
        self, principal: Principal, task_filter: TaskFilter = _ALL_TASKS, most: int | None = None
    ) -> TaskCount:
        """Count the tasks of a filter: from counters for owner and state alone, else one by one up to `most`."""
        principal.require_scope(Scope.READ)
        check_filter(task_filter)
        if is_foreign(principal, task_filter.owner):
            return TaskCount(0)
        visible = restrict_filter(principal, task_filter)
        if visible == TaskFilter(visible.owner, visible.states) and visible.owner != ALL_OWNERS:
            counts = await self._book.counts(visible.owner, [NO_HOUR])
            states = TaskState if visible.states is None else visible.states
            return TaskCount(sum(counts.get((NO_HOUR, STATE_PREFIX + state), 0) for state in states))
        limit = MAX_COUNTED if most is None else most
        number = await self._book.count_tasks(visible, limit + 1)
        return TaskCount(min(number, limit), number > limit)

    async def upcoming(self, principal: Principal, limit: int = 20) -> tuple[Facts, ...]:
        """Return the tasks with the soonest due entries, soonest first."""
        principal.require_scope(Scope.READ)
        check_page(None, limit)
        if principal.agent is None:
            return await self._book.upcoming(principal.list_scope, limit)
        # An agent has few tasks, so they are read and sorted here.
        page = await self._book.tasks(restrict_filter(principal, _ACTIVE_TASKS), None, MAX_PAGE_SIZE)
        scheduled = [facts for facts in page.items if first_due(facts) is not None]
        return tuple(sorted(scheduled, key=lambda facts: (first_due(facts), facts.task.id))[:limit])

    async def latest(self, principal: Principal, listed: Sequence[Facts]) -> dict[str, Run]:
        """Return the newest run of each of these tasks that has one and is visible."""
        principal.require_scope(Scope.READ)
        return await self._book.latest(_visible_ids(principal, listed))

    async def outcomes(
        self, principal: Principal, listed: Sequence[Facts], limit: int, since: datetime | None = None
    ) -> dict[str, tuple[Run, ...]]:
        """Return the newest runs of each of these tasks that is visible, newest first, without results and errors."""
        principal.require_scope(Scope.READ)
        check_number("limit", limit, 1, MAX_OUTCOMES)
        return await self._book.outcomes(_visible_ids(principal, listed), limit, since)

    async def names(self, principal: Principal, task_ids: Sequence[str]) -> dict[str, str]:
        """Return the names of these tasks by id, in one read; those that the principal may not see are left out."""
        principal.require_scope(Scope.READ)
        wanted = sorted(set(task_ids))
        for task_id in wanted:
            check_id(task_id, "no_such_task")
        if principal.agent is None:
            return await self._book.task_names(wanted, principal.owner_filter)
        # Which tasks are the agent's own follows from their labels.
        found = [await self._book.facts(each, principal.owner_filter) for each in wanted]
        return {each.task.id: each.task.name for each in found if each is not None and can_see(principal, each.task)}

    async def predecessor_names(self, principal: Principal, tasks: Iterable[Task]) -> dict[str, str]:
        """Return the names of the tasks that these run after, by id, in one read; none where no task runs after another."""
        wanted = sorted({each for task in tasks for each in links_of(task)})
        return await self.names(principal, wanted) if wanted else {}

    async def find_by_name(self, principal: Principal, name: str) -> Facts:
        """Find a task by id, key, name, or unique part of the id or name.

        An unfinished task wins over finished ones; of several finished tasks with one name, the newest is taken.
        """
        matches = await self.named(principal, name)
        if not matches:
            raise refuse("no_such_task", id=name)
        if len(matches) > 1:
            raise refuse("ambiguous_name", name=name, found=list_tasks([each.task for each in matches]))
        return matches[0]

    async def named(self, principal: Principal, name: str) -> Sequence[Facts]:
        """Return the tasks that `find_by_name` chooses from: several if the name is ambiguous, none if no task has it."""
        principal.require_scope(Scope.READ)
        check_id(name, "no_such_task")
        facts = await self._book.facts(name, principal.owner_filter)
        if facts is not None and can_see(principal, facts.task):
            return (facts,)
        keyed = await self.find_by_key(principal, name)
        if keyed is not None and keyed.status.state not in FINISHED_STATES:
            return (keyed,)
        searches = (self._unfinished_named, self._finished_named, self._by_id_prefix, self._by_name_prefix)
        for number, search in enumerate(searches):
            if matches := await search(principal, name):
                return matches
            if number == 0 and keyed is not None:
                return (keyed,)
        listed, _, _ = name.partition(" ")
        if listed != name and (is_id_prefix(TASK, listed) or is_id_prefix(TASK, listed[:-1])):
            # A candidate as a refusal lists it: id, name and owner.
            return await self.named(principal, listed)
        return ()

    async def _resolve_after(
        self, principal: Principal, schedule: Schedule, owner: str | None = None, *, is_preview: bool = False
    ) -> Schedule:
        """Return an `after` schedule with the ids of its predecessors, which may be named by id, key or name.

        `owner` is the owner of the task if it is not the caller. In a preview an absent task keeps its name.
        """
        if not isinstance(schedule, After):
            return schedule
        reader = principal._replace(scopes=principal.scopes | {Scope.READ})
        links = []
        for link in schedule.links:
            task_id = await self._find_predecessor(reader, link.task, owner, is_preview=is_preview)
            links.append(link._replace(task=task_id))
        return replace(schedule, links=tuple(links))

    async def _find_predecessor(self, principal: Principal, name: str, owner: str | None, *, is_preview: bool) -> str:
        try:
            if owner is not None and (keyed := await self.find_by_key(principal, name, owner)) is not None:
                return keyed.task.id
            return (await self.find_by_name(principal, name)).task.id
        except NotFound:
            if is_preview:
                return name
            raise refuse("unknown_predecessor", task=name) from None

    async def _unfinished_named(self, principal: Principal, name: str) -> list[Facts]:
        return (
            await self._first_matches(restrict_filter(principal, TaskFilter(name=name, states=_UNFINISHED)))
            if name
            else []
        )

    async def _finished_named(self, principal: Principal, name: str) -> list[Facts]:
        return (
            await self._newest_matches(restrict_filter(principal, TaskFilter(name=name, states=FINISHED_STATES)))
            if name
            else []
        )

    async def _by_id_prefix(self, principal: Principal, prefix: str) -> list[Facts]:
        return await tasks_by_prefix(self._book, principal, prefix) if prefix else []

    async def _by_name_prefix(self, principal: Principal, prefix: str) -> list[Facts]:
        if not prefix:
            return []
        task_filter = TaskFilter(text=prefix)
        unfinished = await self._first_matches(restrict_filter(principal, task_filter._replace(states=_UNFINISHED)))
        return unfinished or await self._newest_matches(
            restrict_filter(principal, task_filter._replace(states=FINISHED_STATES))
        )

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
        limit = MAX_PAGE_SIZE if prefix or enough is None else enough
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


def _visible_ids(principal: Principal, listed: Sequence[Facts]) -> list[str]:
    owner = principal.owner_filter
    tasks = (each.task for each in listed)
    return [task.id for task in tasks if is_readable(owner, task.owner) and can_see(principal, task)]


def first_due(facts: Facts) -> datetime | None:
    return min((entry.due for entry in facts.entries if entry.state in CLAIMABLE), default=None)
