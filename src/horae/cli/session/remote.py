"""Session of a command at a server: the same operations as on a store, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final, TypeVar

from ...client.connection import Connection
from ...client.service import RemoteService, TokenIdentity
from ...clock import Clock, SystemClock
from ...errors import NotFound
from ...lifecycle.explain.explanation import RunningNodes
from ...model.accounts.principal import Principal
from ...model.change import Facts
from ...model.events.event import SequencedEvent
from ...model.run import Run
from ...model.task import Target, Task
from ...service.tasks.advisories import Advisory
from ...service.tasks.edits import EditResult, Edits
from ...service.tasks.functions.functions import ResolvedRequest, function_of
from ...service.tasks.task_request import TaskRequest
from ...settings import DefaultZone
from ..output.printer import Printer
from ..output.readiness import Readiness
from .interruptible import run_interruptible
from .open_store import process_zone
from .servers import Server, connect

T = TypeVar("T")
_UNKNOWN_PRINCIPAL: Final = Principal("")
"""The server takes the principal from the token; the one given here is ignored."""


class RemoteSession:
    principal: Final[Principal] = _UNKNOWN_PRINCIPAL

    def __init__(self, connection: Connection, clock: Clock, default_zone: DefaultZone) -> None:
        self.clock = clock
        self.default_zone = default_zone
        self.zone = default_zone.name
        self.service = RemoteService(connection, clock, self.zone)
        self._identity: TokenIdentity | None = None

    async def caller(self) -> TokenIdentity:
        """Return the identity of the token at the server; requested once per command."""
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
        """Return whether nodes run; the server sends warnings about functions with its responses."""
        del target
        return Readiness(RunningNodes(live=("",) if await self.has_live_node() else ()))

    async def resolve(self, request: TaskRequest) -> ResolvedRequest:
        """Apply the declared zone only, since the schedule is parsed here; the server applies the rest."""
        name = None if request.zone is not None or "zone" in request.cleared else function_of(request.target)
        zone = None if name is None else await self.service.functions.zone(name)
        return ResolvedRequest(request) if zone is None else ResolvedRequest(request._replace(zone=zone), ("zone",))

    def with_advisories(self, resolved: ResolvedRequest) -> ResolvedRequest:
        seen = self.service.tasks.receipt
        return resolved._replace(declared=(*resolved.declared, *seen.declared), warnings=seen.warnings)

    async def review(self, done: EditResult, edits: Edits) -> tuple[Advisory, ...]:
        del done, edits
        return self.service.tasks.receipt.warnings

    async def preview(self, request: TaskRequest) -> Facts:
        return await self.service.tasks.tried(self.principal, request)

    def digest(self, task: Task) -> str:
        return self.service.tasks.digest(task.id)

    async def facts(self, task_id: str) -> Facts | None:
        try:
            return await self.service.tasks.get(self.principal, task_id)
        except NotFound:
            return None

    async def tasks_of(self, runs: Sequence[Run]) -> dict[str, Task]:
        """Return the tasks of these runs by id; the list of runs has most of them, the others are requested once."""
        known = self.service.runs.tasks
        for name in {run.task_id for run in runs} - known.keys():
            facts = await self.facts(name)
            if facts is not None:
                known[name] = facts.task
        return {run.task_id: known[run.task_id] for run in runs if run.task_id in known}

    async def save_session(self, folder: str, owner: str, session: str, *, dry_run: bool) -> bool:
        del folder, owner, session, dry_run
        return False

    async def check_key(self) -> None:
        """Do nothing: the server has the key."""

    def follow_events(self, number: int) -> AsyncIterator[SequencedEvent]:
        return self.service.events.follow(self.principal, number)


def run_remotely(server: Server, out: Printer, work: Callable[[RemoteSession], Awaitable[T]]) -> T:
    return run_interruptible(_within(server, out, work))


async def _within(server: Server, out: Printer, work: Callable[[RemoteSession], Awaitable[T]]) -> T:
    clock = SystemClock()
    async with connect(server, clock, out) as connection:
        session = RemoteSession(connection, clock, process_zone(None, out.command_settings.base))
        # As on a store: moments are read and shown in the zone of the owner, if there is one.
        session.zone = (await session.caller()).owner_zone or session.zone
        try:
            return await work(session)
        except NotFound as refusal:
            if refusal.code != "no_such_task":
                raise
            from ..lookup import with_nearest  # noqa: PLC0415 - only for mistyped names

            raise await with_nearest(session, refusal) from None
