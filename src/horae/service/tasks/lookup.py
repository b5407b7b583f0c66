"""Tasks found: by id, by name, by filter. Nobody is shown more than is theirs."""

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

_ALL: Final = TaskFilter()
_AMONG: Final = 5
_UNFINISHED: Final = frozenset(TaskState) - FINISHED
_ACTIVE: Final = TaskFilter(states=frozenset({TaskState.ACTIVE}))

COUNTED_UP_TO: Final = 10_000


class Counted(NamedTuple):
    """`more`: there are more than that, and nobody counted further."""

    number: int
    more: bool = False


class Finding:
    def __init__(self, store: Keeping) -> None:
        self._book = store

    async def get(self, who: Principal, task_id: str) -> Facts:
        who.must(Scope.READ)
        check_id(task_id, "no_such_task")
        facts = await self._book.facts(await resolve_task(self._book, who, task_id), who.scope)
        if facts is None or not sees(who, facts.task):
            raise refuse("no_such_task", id=task_id)
        return facts

    async def keyed(self, who: Principal, key: str, owner: str | None = None) -> Facts | None:
        """The one with this natural key; None when there is none, or it is not theirs to see."""
        who.must(Scope.READ)
        check_id(key, "no_such_task")
        whose = who.owner if owner is None else owner
        if who.scope not in (None, whose):
            return None
        for name in dict.fromkeys((own_key(who, key), key)):
            found = await self._book.find(whose, name)
            if found is not None and sees(who, found.task):
                return found
        return None

    async def page(
        self, who: Principal, wanted: TaskFilter = _ALL, after: str | None = None, limit: int = 100
    ) -> Page[Facts]:
        """In the order in which they were made. Whatever owner is asked for, nobody sees more than is theirs."""
        who.must(Scope.READ)
        check_page(after, limit)
        check_wanted(wanted)
        if is_foreign(who, wanted.owner):
            return Page(())
        try:
            return await self._book.tasks(seen_by(who, wanted), after, limit)
        except (ValueError, OverflowError):
            # No page ever ended there.
            raise refuse("bad_page", value=after, wanted="after", most=LARGEST_PAGE) from None

    async def count(self, who: Principal, wanted: TaskFilter = _ALL) -> Counted:
        """How many a filter finds: where it is about owner and state alone, running counts know it; else one by one, up
        to a bound."""
        who.must(Scope.READ)
        check_wanted(wanted)
        if is_foreign(who, wanted.owner):
            return Counted(0)
        seen = seen_by(who, wanted)
        if seen == TaskFilter(seen.owner, seen.states) and seen.owner != EVERYBODY:
            counts = await self._book.counts(seen.owner, [NO_HOUR])
            states = TaskState if seen.states is None else seen.states
            return Counted(sum(counts.get((NO_HOUR, STATE + state), 0) for state in states))
        return await self._counted(seen)

    async def _counted(self, seen: TaskFilter) -> Counted:
        number = 0
        after: str | None = None
        while number < COUNTED_UP_TO:
            page = await self._book.tasks(seen, after, LARGEST_PAGE)
            number, after = number + len(page.items), page.after
            if after is None:
                return Counted(number)
        return Counted(number, bool((await self._book.tasks(seen, after, 1)).items))

    async def upcoming(self, who: Principal, limit: int = 20) -> tuple[Facts, ...]:
        """The tasks of which something comes due next, soonest first."""
        who.must(Scope.READ)
        check_page(None, limit)
        if who.agent is None:
            return await self._book.upcoming(who.scope, limit)
        # A guest has few tasks, and sees no others.
        page = await self._book.tasks(seen_by(who, _ACTIVE), None, LARGEST_PAGE)
        coming = [facts for facts in page.items if first_due(facts) is not None]
        return tuple(sorted(coming, key=lambda facts: (first_due(facts), facts.task.id))[:limit])

    async def latest(self, who: Principal, listed: Sequence[Facts]) -> dict[str, Run]:
        """The newest row of each of these tasks, as far as they have one."""
        who.must(Scope.READ)
        seen = (each.task for each in listed if who.scope in (None, each.task.owner) and sees(who, each.task))
        return await self._book.latest([task.id for task in seen])

    async def named(self, who: Principal, name: str) -> Facts:
        """By id, by key, by name, or by as much of the id or name as is unique. An unfinished task wins over finished ones;
        of several finished tasks with one name, the newest is taken."""
        who.must(Scope.READ)
        check_id(name, "no_such_task")
        found = await self._book.facts(name, who.scope)
        if found is not None and sees(who, found.task):
            return found
        keyed = await self.keyed(who, name)
        if keyed is not None and keyed.standing.state not in FINISHED:
            return keyed
        searches = (self._unfinished_named, self._finished_named, self._by_id_prefix, self._by_name_prefix)
        for number, search in enumerate(searches):
            among = await search(who, name)
            if len(among) == 1:
                return among[0]
            if among:
                raise refuse("ambiguous_name", name=name, found=list_tasks([each.task for each in among]))
            if number == 0 and keyed is not None:
                return keyed
        listed, _, _ = name.partition(" ")
        if listed != name and (is_shortened(TASK, listed) or is_shortened(TASK, listed[:-1])):
            # A candidate as a refusal lists it: id, name and owner.
            return await self.named(who, listed)
        raise refuse("no_such_task", id=name)

    async def _unfinished_named(self, who: Principal, name: str) -> list[Facts]:
        return await self._first(seen_by(who, TaskFilter(name=name, states=_UNFINISHED))) if name else []

    async def _finished_named(self, who: Principal, name: str) -> list[Facts]:
        return await self._newest(seen_by(who, TaskFilter(name=name, states=FINISHED))) if name else []

    async def _by_id_prefix(self, who: Principal, prefix: str) -> list[Facts]:
        return await tasks_by_prefix(self._book, who, prefix) if prefix else []

    async def _by_name_prefix(self, who: Principal, prefix: str) -> list[Facts]:
        if not prefix:
            return []
        wanted = TaskFilter(text=prefix)
        unfinished = await self._first(seen_by(who, wanted._replace(states=_UNFINISHED)))
        return unfinished or await self._newest(seen_by(who, wanted._replace(states=FINISHED)))

    async def _first(self, wanted: TaskFilter) -> list[Facts]:
        return (await self._matching(wanted, _AMONG))[:_AMONG]

    async def _newest(self, wanted: TaskFilter) -> list[Facts]:
        """The newest of each owner and name: pages are in the order in which tasks were made."""
        newest = {(each.task.owner, each.task.name): each for each in await self._matching(wanted, None)}
        return list(newest.values())[:_AMONG]

    async def _matching(self, wanted: TaskFilter, enough: int | None) -> list[Facts]:
        """Of tasks that have a text somewhere in their name, the ones that begin with it.

        Where none does: the ones whose last part it is, so that `report` finds the task of the function `jobs.report`.
        """
        begins = wanted.text or ""
        limit = LARGEST_PAGE if begins or enough is None else enough
        found: list[Facts] = []
        ending: list[Facts] = []
        after: str | None = None
        while enough is None or len(found) < enough:
            page = await self._book.tasks(wanted, after, limit)
            found += [each for each in page.items if each.task.name.startswith(begins)]
            ending += [each for each in page.items if begins and each.task.name.endswith(f".{begins}")][:_AMONG]
            after = page.after
            if after is None:
                break
        return found or ending


def first_due(facts: Facts) -> datetime | None:
    return min((entry.due for entry in facts.entries if entry.stand in CLAIMABLE), default=None)
