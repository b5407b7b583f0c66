"""An operation at work: task by task in the background, its progress written down every second, and stopped in good order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Final, NamedTuple, TypeAlias

from ...clock import Clock
from ...errors import HoraeError, Refusal
from ...model.accounts.operation import (
    MOST_REFUSALS,
    OPERATION,
    SILENCE,
    Operation,
    OperationState,
    TurnedDown,
    operation_from,
    operation_record,
)
from ...model.accounts.principal import Principal
from ...model.page import LARGEST_PAGE
from ...ports.records import Records
from ...ports.store import TaskFilter
from .bulk import Action, Listing, Refused, in_turn

LOG: Final = logging.getLogger("horae")
Permission: TypeAlias = Callable[[], Awaitable[bool]]
"""Whether whoever asked for it still may: asked again and again while it goes on."""
_BETWEEN_NOTES: Final = 1.0
_GIVEN_UP: Final = SILENCE - timedelta(seconds=3)
"""Whoever could not write for so long is taken for dead by everybody, and the next one may begin: it must not go on."""
_TRIES: Final = 20
REVOKED: Final = "revoked"
BROKEN: Final = "internal_error"


class Work(NamedTuple):
    """What is to be done, to what, and in whose name."""

    tasks: Listing
    who: Principal
    wanted: TaskFilter
    action: Action
    allowed: Permission


class Carrying:
    """One operation, by whoever carries it: nobody else writes its progress, and others can only ask it to end."""

    def __init__(self, records: Records, clock: Clock, operation: Operation, work: Work) -> None:
        self.operation = operation
        self._records = records
        self._clock = clock
        self._work = work
        self._ending: OperationState | None = None

    def end(self, state: OperationState, problem: str | None = None) -> None:
        """After the task that is under way; the first reason counts."""
        if self._ending is None:
            self._ending = state
            self.operation = self.operation._replace(problem=problem)

    async def run(self, turn: asyncio.Semaphore) -> None:
        noting = asyncio.ensure_future(self._note())
        try:
            async with turn:
                await self._count()
                await self._act()
            self.end(OperationState.FINISHED)
        except asyncio.CancelledError:
            # Nobody awaits this but those who stop it, and what is written below is what they wait for.
            self.end(OperationState.INTERRUPTED)
        except HoraeError as error:
            self.end(OperationState.INTERRUPTED, error.code if isinstance(error, Refusal) else "store_error")
            LOG.warning("operation %s was interrupted: %s", self.operation.id, error)
        except Exception:
            self.end(OperationState.INTERRUPTED, BROKEN)
            LOG.exception("operation %s was interrupted", self.operation.id)
        finally:
            noting.cancel()
            await asyncio.gather(noting, return_exceptions=True)
        await self._conclude()

    async def _count(self) -> None:
        total = 0
        after: str | None = None
        while not self._is_over():
            page = await self._work.tasks.page(self._work.who, self._work.wanted, after, LARGEST_PAGE)
            total, after = total + len(page.items), page.after
            await self._clock.pause(0)
            if after is None:
                self.operation = self.operation._replace(total=total)
                return

    async def _act(self) -> None:
        if self._is_over():
            return
        async for refused in in_turn(self._work.tasks, self._work.who, self._work.wanted, self._work.action):
            self.operation = _counted(self.operation, refused)
            # Requests come first, also where a store answers without letting anybody else have their turn.
            await self._clock.pause(0)
            if self._is_over():
                return

    async def _note(self) -> None:
        """A sign of life, and a look at whether it may go on; a store that is away for a moment changes nothing."""
        while True:
            await self._clock.pause(_BETWEEN_NOTES)
            if self._is_given_up():
                return
            with suppress(HoraeError):
                if not await self._work.allowed():
                    self.end(OperationState.INTERRUPTED, REVOKED)
                await self._write()

    def _is_over(self) -> bool:
        return self._is_given_up() or self._ending is not None

    def _is_given_up(self) -> bool:
        silent = self._clock.now() - self.operation.updated > _GIVEN_UP
        if silent:
            self.end(OperationState.INTERRUPTED)
        return silent

    async def _conclude(self) -> None:
        state = self._ending or OperationState.INTERRUPTED
        self.operation = self.operation._replace(state=state, ended=self._clock.now())
        try:
            await self._write()
        except HoraeError as error:
            # After a while of silence everybody sees that it is over.
            LOG.warning("the end of operation %s could not be written: %s", self.operation.id, error)

    async def _write(self) -> None:
        for _ in range(_TRIES):
            written = self.operation._replace(updated=self._clock.now())
            if await self._records.put_record(operation_record(written), replacing=written.version):
                self.operation = self.operation._replace(updated=written.updated, version=written.version + 1)
                return
            found = await self._records.get_record(OPERATION, written.id)
            if found is None:
                return
            seen = operation_from(found)
            self.operation = self.operation._replace(version=seen.version, cancelling=seen.cancelling)
            if seen.cancelling:
                self.end(OperationState.CANCELLED)


def _counted(operation: Operation, refused: Refused | None) -> Operation:
    if refused is None:
        return operation._replace(done=operation.done + 1)
    number = operation.refused + 1
    if len(operation.refusals) >= MOST_REFUSALS:
        return operation._replace(refused=number)
    task, refusal = refused
    told = TurnedDown(
        task.id, task.name, refusal.code, refusal.in_language("en").message, refusal.in_language("zh").message
    )
    return operation._replace(refused=number, refusals=(*operation.refusals, told))
