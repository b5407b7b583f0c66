"""A workplace at a server: the same use cases, asked over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from ...choices import Language
from ...client.connection import Connection
from ...client.refusals import refuse
from ...client.service import RemoteService, TokenIdentity
from ...clock import Clock, SystemClock
from ...errors import NotFound
from ...lifecycle.explain import RunningNodes
from ...model.accounts.principal import Principal
from ...model.change import Facts
from ...model.events.event import SequencedEvent
from ...model.run import Run
from ...model.task import Target, Task
from ...service.tasks.advisories import Advisory
from ...service.tasks.edits import EditResult, Edits
from ...service.tasks.functions import ResolvedRequest, function_of
from ...service.tasks.task_request import TaskRequest
from ..output.readiness import Readiness
from .open_store import process_zone, settings_of
from .servers import Server, connect

T = TypeVar("T")
_UNKNOWN_PRINCIPAL: Final = Principal("")
"""The server knows who is asking, by the token; nothing that is said here counts."""


class RemoteSession:
    principal: Final[Principal] = _UNKNOWN_PRINCIPAL

    def __init__(self, connection: Connection, clock: Clock, zone: str) -> None:
        self.clock = clock
        self.zone = zone
        self.service = RemoteService(connection, clock, zone)
        self._identity: TokenIdentity | None = None

    async def caller(self) -> TokenIdentity:
        """As the server knows it; asked once for a command."""
        if self._identity is None:
            self._identity = await self.service.whoami()
        return self._identity

    async def owner(self) -> str:
        return (await self.caller()).owner

    async def network_advisories(self, _url: object) -> tuple[Advisory, ...]:
        return ()

    async def webhook_advisories(self, _url: object) -> tuple[Advisory, ...]:
        return ()

    async def has_live_node(self) -> bool:
        return await self.service.has_engine()

    async def readiness(self, target: Target) -> Readiness:
        """A server says what a function lacks with the warnings of its answer."""
        del target
        return Readiness(RunningNodes(live=("",) if await self.has_live_node() else ()))

    async def resolve(self, wish: TaskRequest) -> ResolvedRequest:
        """Only the zone: a schedule is read here, and the server applies the rest."""
        name = None if wish.zone is not None or "zone" in wish.cleared else function_of(wish.target)
        zone = None if name is None else await self.service.functions.zone(name)
        return ResolvedRequest(wish) if zone is None else ResolvedRequest(wish._replace(zone=zone), ("zone",))

    def with_advisories(self, resolved: ResolvedRequest) -> ResolvedRequest:
        seen = self.service.tasks.receipt
        return resolved._replace(declared=(*resolved.declared, *seen.declared), warnings=seen.warnings)

    async def review(self, done: EditResult, edits: Edits) -> tuple[Advisory, ...]:
        del done, edits
        return self.service.tasks.receipt.warnings

    async def preview(self, wish: TaskRequest) -> Facts:
        return await self.service.tasks.tried(self.principal, wish)

    def digest(self, task: Task) -> str:
        return self.service.tasks.digest(task.id)

    async def facts(self, task_id: str) -> Facts | None:
        try:
            return await self.service.tasks.get(self.principal, task_id)
        except NotFound:
            return None

    async def tasks_of(self, runs: Sequence[Run]) -> dict[str, Task]:
        """A list of runs says what their tasks are called; only of others the server is asked, once."""
        known = self.service.runs.tasks
        for name in {run.task_id for run in runs} - known.keys():
            facts = await self.facts(name)
            if facts is not None:
                known[name] = facts.task
        return {run.task_id: known[run.task_id] for run in runs if run.task_id in known}

    async def groups(self) -> list[Any]:
        """They are the operator's business, and stay where the store is."""
        return []

    async def save_group(self, folder: str, owner: str, body: str) -> None:
        del folder, owner, body
        raise refuse("not_over_http", what="the groups of another scheduler", what_zh="其他调度器的群组")

    async def check_key(self) -> None:
        """The server has its own."""

    def follow_events(self, number: int) -> AsyncIterator[SequencedEvent]:
        return self.service.events.follow(self.principal, number)


def run_remotely(server: Server, language: Language, work: Callable[[RemoteSession], Awaitable[T]]) -> T:
    return asyncio.run(_within(server, language, work))


async def _within(server: Server, language: Language, work: Callable[[RemoteSession], Awaitable[T]]) -> T:
    clock = SystemClock()
    async with connect(server, clock, language) as connection:
        desk = RemoteSession(connection, clock, _zone())
        # As at a store: moments are read and shown in the zone of the owner, if there is one.
        desk.zone = (await desk.caller()).owner_zone or desk.zone
        try:
            return await work(desk)
        except NotFound as refusal:
            if refusal.code != "no_such_task":
                raise
            from ..nearest_name import with_nearest  # noqa: PLC0415 - only for what was mistyped

            raise await with_nearest(desk, refusal) from None


def _zone() -> str:
    return process_zone(None, settings_of(None)).name
