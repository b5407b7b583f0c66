"""Tasks that code declares: made or edited when it starts, set aside when the code that declared them is gone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from ..errors import Refusal
from ..model.principal import Principal, Scope
from ..model.task import PauseCause, TaskState
from ..ports.records import Record, Records
from ..ports.store import Book
from .rights import refuse_agent
from .tasks import Tasks

CODE_KEY: Final = "code:"
"""The natural key of a task that a decorator declares begins with this."""
_KIND: Final = "code"
_NOTE: Final = "no function of this name is declared any more"


class Code:
    """Which tasks each module declared is kept as a record: what was there at the last start and is not now, is gone.

    A module that is not loaded says nothing about its tasks: another process may have it.
    """

    def __init__(self, tasks: Tasks, book: Book, records: Records) -> None:
        self._tasks = tasks
        self._book = book
        self._records = records

    async def started(
        self, who: Principal, declared: Mapping[str, Iterable[str]], *, alone: bool = True
    ) -> tuple[str, ...]:
        """`declared` are the names of the tasks by module; the names that are orphaned by this start.

        While other nodes run (not `alone`), one of them may have what is not declared here: then nothing is set aside, and
        a later start looks again.
        """
        refuse_agent(who, "declared functions")
        who.must(Scope.WRITE)
        gone: list[str] = []
        by_module = {module: set(names) for module, names in declared.items()}
        # What has moved to another module is still there.
        declared_somewhere = set().union(*by_module.values())
        for module, names in by_module.items():
            before = await self._known(who, module)
            left_out = before - names
            if alone:
                gone += [name for name in sorted(left_out - declared_somewhere) if await self._orphan(who, name)]
            # Last: whoever dies before this finds the same left out again.
            await self._know(who, module, names if alone else names | before)
        return tuple(gone)

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

    async def _orphan(self, who: Principal, name: str) -> bool:
        facts = await self._book.find(who.owner, CODE_KEY + name)
        if facts is None or facts.standing.state is not TaskState.ACTIVE:
            return False
        try:
            await self._tasks.pause(who, facts.task.id, cause=PauseCause.ORPHANED, note=_NOTE)
        except Refusal:
            return False
        return True


def _key(who: Principal, module: str) -> str:
    return f"{who.owner}/{module}"
