"""Tasks declared in code: created or edited when a process starts, paused as orphaned when their declaration is gone."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from ....errors import Refusal
from ....model.accounts.principal import Principal, Scope
from ....model.task import PauseCause, Task, TaskState
from ....ports.records import Record, Records
from ....ports.store import Book
from ...accounts.rights import refuse_agent
from ..tasks import Tasks
from .functions import Functions, function_of
from .records import FormerName

CODE_KEY_PREFIX: Final = "code:"
"""Prefix of the natural key of a task that a decorator declares."""
_KIND: Final = "code"
_ORPHAN_NOTE: Final = "no function of this name is declared any more"


class DeclaredTasks:
    """Compares declarations with the record of the last start, per module: a name that is missing now is orphaned.

    A module that is not loaded leaves its tasks alone: another process may have it.
    """

    def __init__(self, tasks: Tasks, book: Book, records: Records, functions: Functions) -> None:
        self._tasks = tasks
        self._functions = functions
        self._book = book
        self._records = records

    async def register_start(
        self,
        principal: Principal,
        declared: Mapping[str, Iterable[str]],
        *,
        elsewhere: Collection[str] = (),
        former_modules: Mapping[str, Iterable[str]] = MappingProxyType({}),
    ) -> tuple[str, ...]:
        """Process the declarations of a start: `declared` are task names by module.

        Returns the names that became orphans.

        `elsewhere` are the functions of other running nodes: a task of one of those is not orphaned, and a later start
        checks again. `former_modules` are identities of a module in earlier versions.
        """
        refuse_agent(principal, "declared functions")
        principal.require_scope(Scope.WRITE)
        orphaned: list[str] = []
        by_module = {module: set(names) for module, names in declared.items()}
        # A declaration that moved to another module is still there.
        declared_somewhere = set().union(*by_module.values())
        for module, names in by_module.items():
            before = await self._read_names(principal, module)
            for former in former_modules.get(module, ()):
                before |= await self._read_names(principal, former)
            running = before & set(elsewhere)
            missing = before - names - running - declared_somewhere
            orphaned += [name for name in sorted(missing) if await self._orphan(principal, name)]
            # Written last: after a crash before this, the next start finds the same names missing.
            await self._write_names(principal, module, names | running)
            for former in former_modules.get(module, ()):
                await self._drop_names(principal, former)
        return tuple(orphaned)

    async def rename(self, principal: Principal, former: FormerName) -> None:
        """Move the declared task of a function to its new name.

        If tasks of both names exist, the former one is paused as orphaned, so that the function is not run twice.
        """
        refuse_agent(principal, "declared functions")
        principal.require_scope(Scope.WRITE)
        facts = await self._book.find(principal.owner, CODE_KEY_PREFIX + former.name)
        if facts is None or not await self._is_declared_by(principal, facts.task, former):
            return
        if await self._book.find(principal.owner, CODE_KEY_PREFIX + former.current) is None:
            await self._tasks.rename_declared(principal, facts.task.id, CODE_KEY_PREFIX + former.current, former)
        else:
            await self._orphan(principal, former.name, f"it is declared as {former.current} now")

    async def _is_declared_by(self, principal: Principal, task: Task, former: FormerName) -> bool:
        if function_of(task.target) != former.name:
            return False
        recorded = [await self._read_names(principal, module) for module in former.modules]
        return any(former.name in names for names in recorded) or (
            (await self._functions.load()).aliases.get(former.name) == former.current
        )

    async def restore(self, principal: Principal, name: str) -> None:
        """Resume the orphaned task of a function that is declared again."""
        refuse_agent(principal, "declared functions")
        principal.require_scope(Scope.WRITE)
        facts = await self._book.find(principal.owner, CODE_KEY_PREFIX + name)
        pause = None if facts is None else facts.status.pause
        if facts is not None and pause is not None and pause.cause is PauseCause.ORPHANED:
            await self._tasks.resume(principal, facts.task.id)

    async def _read_names(self, principal: Principal, module: str) -> set[str]:
        record = await self._records.get_record(_KIND, _key(principal, module), principal.owner)
        return set() if record is None else set(json.loads(record.body))

    async def _write_names(self, principal: Principal, module: str, names: set[str]) -> None:
        body = json.dumps(sorted(names))
        while True:
            record = await self._records.get_record(_KIND, _key(principal, module), principal.owner)
            if record is not None and record.body == body:
                return
            version = None if record is None else record.version
            fresh = Record(_KIND, _key(principal, module), principal.owner, body)
            if await self._records.put_record(fresh, replacing=version):
                return

    async def _drop_names(self, principal: Principal, module: str) -> None:
        record = await self._records.get_record(_KIND, _key(principal, module), principal.owner)
        if record is not None:
            await self._records.drop_record(_KIND, record.key, record.version)

    async def _orphan(self, principal: Principal, name: str, note: str = _ORPHAN_NOTE) -> bool:
        facts = await self._book.find(principal.owner, CODE_KEY_PREFIX + name)
        if facts is None or facts.status.state is not TaskState.ACTIVE:
            return False
        try:
            await self._tasks.pause(principal, facts.task.id, cause=PauseCause.ORPHANED, note=note)
        except Refusal:
            return False
        return True


def _key(principal: Principal, module: str) -> str:
    return f"{principal.owner}/{module}"
