"""Tasks that code declares: made or edited when it starts, set aside when the code that declared them is gone."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from ...errors import Refusal
from ...model.accounts.principal import Principal, Scope
from ...model.pause_notes import ORPHANED
from ...model.task import PauseCause, Task, TaskState
from ...ports.records import Record, Records
from ...ports.store import Book
from ..accounts.rights import refuse_agent
from .function_records import FormerName
from .functions import Functions, function_of
from .tasks import Tasks

CODE_KEY: Final = "code:"
"""The natural key of a task that a decorator declares begins with this."""
_KIND: Final = "code"
_NOTE: Final = ORPHANED


class Code:
    """Which tasks each module declared is kept as a record: what was there at the last start and is not now, is gone.

    A module that is not loaded says nothing about its tasks: another process may have it.
    """

    def __init__(self, tasks: Tasks, book: Book, records: Records, functions: Functions) -> None:
        self._tasks = tasks
        self._functions = functions
        self._book = book
        self._records = records

    async def started(
        self,
        who: Principal,
        declared: Mapping[str, Iterable[str]],
        *,
        elsewhere: Collection[str] = (),
        former_modules: Mapping[str, Iterable[str]] = MappingProxyType({}),
    ) -> tuple[str, ...]:
        """`declared` are the names of the tasks by module; the names that are orphaned by this start.

        `elsewhere` are the functions of other running nodes: a task of one of those is not set aside, and a later start
        checks again. `former_modules` are other identities that earlier versions noted for a module.
        """
        refuse_agent(who, "declared functions")
        who.must(Scope.WRITE)
        gone: list[str] = []
        by_module = {module: set(names) for module, names in declared.items()}
        # What has moved to another module is still there.
        declared_somewhere = set().union(*by_module.values())
        for module, names in by_module.items():
            before = await self._known(who, module)
            for former in former_modules.get(module, ()):
                before |= await self._known(who, former)
            running = before & set(elsewhere)
            left_out = before - names - running - declared_somewhere
            gone += [name for name in sorted(left_out) if await self._orphan(who, name)]
            # Last: whoever dies before this finds the same left out again.
            await self._know(who, module, names | running)
            for former in former_modules.get(module, ()):
                await self._forget(who, former)
        return tuple(gone)

    async def rename(self, who: Principal, former: FormerName) -> None:
        """The declared task of a function that an earlier version registered under another name goes on under the new one.

        Where both exist, the former one is set aside, so that the function is not run twice.
        """
        refuse_agent(who, "declared functions")
        who.must(Scope.WRITE)
        facts = await self._book.find(who.owner, CODE_KEY + former.name)
        if facts is None or not await self._is_declared_by(who, facts.task, former):
            return
        if await self._book.find(who.owner, CODE_KEY + former.current) is None:
            await self._tasks.rename_declared(who, facts.task.id, CODE_KEY + former.current, former)
        else:
            await self._orphan(who, former.name, f"it is declared as {former.current} now")

    async def _is_declared_by(self, who: Principal, task: Task, former: FormerName) -> bool:
        if function_of(task.target) != former.name:
            return False
        noted = [await self._known(who, module) for module in former.modules]
        return any(former.name in names for names in noted) or (
            (await self._functions.load()).aliases.get(former.name) == former.current
        )

    async def found_again(self, who: Principal, name: str) -> None:
        """It is declared once more: what was set aside for want of code goes on."""
        refuse_agent(who, "declared functions")
        who.must(Scope.WRITE)
        facts = await self._book.find(who.owner, CODE_KEY + name)
        pause = None if facts is None else facts.standing.pause
        if facts is not None and pause is not None and pause.cause is PauseCause.ORPHANED:
            await self._tasks.resume(who, facts.task.id)

    async def _known(self, who: Principal, module: str) -> set[str]:
        record = await self._records.get_record(_KIND, _key(who, module), who.owner)
        return set() if record is None else set(json.loads(record.body))

    async def _know(self, who: Principal, module: str, names: set[str]) -> None:
        body = json.dumps(sorted(names))
        while True:
            record = await self._records.get_record(_KIND, _key(who, module), who.owner)
            if record is not None and record.body == body:
                return
            version = None if record is None else record.version
            fresh = Record(_KIND, _key(who, module), who.owner, body)
            if await self._records.put_record(fresh, replacing=version):
                return

    async def _forget(self, who: Principal, module: str) -> None:
        record = await self._records.get_record(_KIND, _key(who, module), who.owner)
        if record is not None:
            await self._records.drop_record(_KIND, record.key, record.version)

    async def _orphan(self, who: Principal, name: str, note: str = _NOTE) -> bool:
        facts = await self._book.find(who.owner, CODE_KEY + name)
        if facts is None or facts.standing.state is not TaskState.ACTIVE:
            return False
        try:
            await self._tasks.pause(who, facts.task.id, cause=PauseCause.ORPHANED, note=note)
        except Refusal:
            return False
        return True


def _key(who: Principal, module: str) -> str:
    return f"{who.owner}/{module}"
