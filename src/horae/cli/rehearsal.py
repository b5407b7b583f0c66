"""What a wish would come to, found out by the same code that would do it, without writing anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias, cast

from ..app import Horae
from ..lifecycle import control
from ..model.change import Change, Facts
from ..model.task import Task
from ..ports.store import Book
from ..runtime.choosing import chosen_settings
from ..runtime.kinds import Kinds
from ..service.tasks import Tasks
from ..service.wishes import Wish

Turn: TypeAlias = Literal["new", "changed", "same"]
Decide: TypeAlias = Callable[[Facts | None], Change]


class Planned(NamedTuple):
    """A wish, the task that it meets, and the task that it would leave."""

    wish: Wish
    before: Facts | None
    after: Task

    @property
    def turn(self) -> Turn:
        if self.before is None:
            return "new"
        return "same" if self.before.task == self.after else "changed"


class _Rehearsed:
    """A book in which nothing is written down."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self.met: Facts | None = None

    async def upsert(self, owner: str, key: str, decide: Decide) -> Facts:
        self.met = await self._book.find(owner, key)
        change = decide(self.met)
        task = change.task or (None if self.met is None else self.met.task)
        if task is None:
            raise TypeError("a decision on nothing made no task")
        return Facts(task, change.standing or (self.met and self.met.standing), change.put)  # type: ignore[arg-type]


class _Paused:
    """A book in which new tasks are written down paused: nothing of them starts before somebody says so."""

    def __init__(self, app: Horae, note: str) -> None:
        self._book = app.store
        self._clock = app.clock
        self._note = note

    async def upsert(self, owner: str, key: str, decide: Decide) -> Facts:
        return await self._book.upsert(owner, key, lambda found: self._decided(found, decide))

    def _decided(self, found: Facts | None, decide: Decide) -> Change:
        change = decide(found)
        if found is not None or change.task is None or change.standing is None:
            return change
        made = Facts(change.task, change.standing, change.put)
        pause = control.pause(made, self._clock.now(), note=self._note)
        entries = {entry.slot: entry for entry in (*change.put, *pause.put)}
        kept = tuple(entry for slot, entry in entries.items() if slot not in pause.dropped)
        return change._replace(standing=pause.standing, put=kept, events=(*change.events, *pause.events))


async def planned(app: Horae, wish: Wish) -> Planned:
    """Everything that would refuse it refuses it now."""
    book = _Rehearsed(app.store)
    after = await _tasks(app, book).declare(app.who, wish)
    return Planned(wish, book.met, after)


async def make_paused(app: Horae, wish: Wish, note: str) -> Task:
    return await _tasks(app, _Paused(app, note)).declare(app.who, wish)


def _tasks(app: Horae, book: object) -> Tasks:
    check = Kinds(chosen_settings(os.environ)).check
    # Of a book, this use case asks for nothing but `upsert`.
    return Tasks(cast("Book", book), app.clock, app.zone, check=check)
