"""How every change is written: only what whoever asks may see, within their seats, with the audit row that tells of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ...lifecycle.conclude import facts_after
from ...model.accounts.principal import Principal
from ...model.change import Change, ControlDecision, Facts
from ...model.record import Writing
from ...model.refusals import refuse
from ...model.task import FRESH, Standing, Task, TaskState
from ...ports.store import Book
from ..accounts.audit import Audit
from ..accounts.rights import sees
from ..query.argument_checks import check_id
from ..query.id_prefix import resolve_task
from .quotas import bytes_of
from .task_quota import Move, Pass, Seats

Beside: TypeAlias = Callable[[Sequence[Facts]], Sequence[Writing]]
"""Records that a front end wants to be written with new tasks, or not at all; it sees them as they will stand."""
Detail: TypeAlias = Callable[[Facts | None, Change], Mapping[str, Any]]
Condition: TypeAlias = Callable[[Facts | None], None]
"""Refuses to go on when the task that is to be changed (None: that is to be made) is not as somebody expects it."""


class Deed(NamedTuple):
    """What the audit trail says of a change; `detail` never holds a payload or a secret."""

    action: str
    detail: Detail = lambda _facts, _change: {}


_CREATE: Final = "task.create"
_GONE: Final = Standing(TaskState.CANCELLED)
"""Stands for a task that is deleted: it holds no seat any more."""


def nothing_beside(_made: Sequence[Facts]) -> Sequence[Writing]:
    return ()


def whatever_it_is(_found: Facts | None) -> None:
    return


class Committing:
    """`condition` is looked at within the write, so that nobody comes in between."""

    def __init__(self, book: Book, seats: Seats, audit: Audit, condition: Condition = whatever_it_is) -> None:
        self._book = book
        self._seats = seats
        self._audit = audit
        self._condition = condition

    def when(self, condition: Condition) -> Committing:
        """The same for changes that depend on what is there."""
        return Committing(self._book, self._seats, self._audit, condition)

    async def change(self, who: Principal, task_id: str, decide: ControlDecision, deed: Deed) -> Facts:
        """One task, decided on and written; what is not theirs answers like what is not there."""
        check_id(task_id, "no_such_task")
        task_id = await resolve_task(self._book, who, task_id)

        is_deletion = False

        async def write(room: Pass) -> Facts | None:
            def whole(facts: Facts) -> Change:
                nonlocal is_deletion
                if not sees(who, facts.task):
                    raise refuse("no_such_task", id=task_id)
                self._condition(facts)
                change = self._whole(who, room, facts, decide(facts), deed)
                is_deletion = change.deleted
                return change

            return await self._book.change(task_id, who.scope, whole)

        facts = await self._seats.within(who, write)
        if facts is None:
            raise refuse("no_such_task", id=task_id)
        if is_deletion:
            self._seats.forget_output(facts.task.owner)
        return facts

    async def upsert(
        self, who: Principal, owner: str, key: str, decide: Callable[[Facts | None], Change], beside: Beside
    ) -> Facts:
        async def write(room: Pass) -> Facts:
            def whole(found: Facts | None) -> Change:
                if found is not None and not sees(who, found.task):
                    raise refuse("key_taken", key=key)
                self._condition(found)
                change = self._whole(who, room, found, decide(found), _made_or_edited(found))
                after = _after(found, change)
                return change if after is None else _with(change, beside((after,)))

            return await self._book.upsert(owner, key, whole)

        return await self._seats.within(who, write)

    async def check_room(self, who: Principal, wanted: int) -> None:
        """Refuses what `add` would refuse of so many new tasks, whatever they are."""
        await self._seats.check(who, wanted)

    async def add(
        self,
        who: Principal,
        changes: Sequence[Change],
        beside: Beside,
        add: Callable[[Sequence[Change]], Any] | None = None,
    ) -> None:
        """New tasks, all or none: one row of the audit trail for all of an owner's."""
        tasks = [change.task for change in changes if change.task is not None]

        async def write(room: Pass) -> None:
            seats = room.admit(
                Move(_id(change), None, change.standing or FRESH, _growth(None, change.task)) for change in changes
            )
            more = (*seats, *self._rows_of(who, tasks), *_wanted_beside(beside, changes))
            first, *rest = changes
            await (add or self._book.add)([_with(first, more), *rest])

        await self._seats.within(who, write)

    def _rows_of(self, who: Principal, tasks: Sequence[Task]) -> tuple[Writing, ...]:
        if not who.actor:
            return ()
        by_owner: dict[str, list[Task]] = {}
        for task in tasks:
            by_owner.setdefault(task.owner, []).append(task)
        return tuple(row for owned in by_owner.values() for row in self._row_of(who, owned))

    def _row_of(self, who: Principal, tasks: Sequence[Task]) -> tuple[Writing, ...]:
        detail = {} if len(tasks) == 1 else {"tasks": len(tasks), "last": tasks[-1].id}
        return self._audit.row(who, _CREATE, tasks[0].id, detail, owner=tasks[0].owner)

    def _whole(self, who: Principal, room: Pass, found: Facts | None, change: Change, deed: Deed) -> Change:
        if change == Change():
            return change
        task = change.task or (None if found is None else found.task)
        if task is None:
            return change
        seats: tuple[Writing, ...] = ()
        if room.rooms:
            before = None if found is None else found.standing
            growth = _growth(None if found is None else found.task, None if change.deleted else task)
            after = _GONE if change.deleted else change.standing or before or FRESH
            seats = room.admit([Move(task.id, before, after, growth)])
        row = self._audit.row(who, deed.action, task.id, deed.detail(found, change), owner=task.owner)
        return _with(change, (*seats, *row))


def _growth(before: Task | None, after: Task | None) -> int:
    if before is after:
        return 0
    return (0 if after is None else bytes_of(after)) - (0 if before is None else bytes_of(before))


def _with(change: Change, more: Sequence[Writing]) -> Change:
    return change._replace(beside=(*change.beside, *more)) if more else change


def _wanted_beside(beside: Beside, changes: Sequence[Change]) -> Sequence[Writing]:
    """Nobody needs to see a million tasks as they will stand when nothing is to be written with them."""
    if beside is nothing_beside:
        return ()
    return beside([after for change in changes if (after := _after(None, change)) is not None])


def _after(found: Facts | None, change: Change) -> Facts | None:
    """The task as it will stand."""
    if found is None:
        return None if change.task is None else facts_after(Facts(change.task, FRESH), change)
    return facts_after(found, change)


def _id(change: Change) -> str:
    return "" if change.task is None else change.task.id


def _made_or_edited(found: Facts | None) -> Deed:
    return Deed(_CREATE) if found is None else Deed("task.edit", changed_fields)


def changed_fields(facts: Facts | None, change: Change) -> Mapping[str, Any]:
    """The names of what an edit changed, never what stands in there."""
    if facts is None or change.task is None:
        return {}
    before, after = facts.task, change.task
    pairs = zip(Task._fields, before, after, strict=True)
    return {"fields": [name for name, old, new in pairs if old != new and name != "version"], "version": after.version}
