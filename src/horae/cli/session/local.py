"""Session of a command on a store: the service of an opened store, without engine, functions and listeners.

The library's `Horae` would do too, but loading it costs a command a tenth of a second more.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final, TypeVar

from ...clock import Clock, SystemClock
from ...errors import NotFound, Refusal
from ...lifecycle.explain.explanation import RunningNodes
from ...model.accounts.principal import LOCAL, LOCAL_OWNER, Principal
from ...model.change import Facts
from ...model.events.event import SequencedEvent
from ...model.page import MAX_PAGE_SIZE
from ...model.record import RecordWrite
from ...model.run import Run
from ...model.task import Target, Task
from ...outgoing.guard import check_url
from ...outgoing.refusals import refused_networks
from ...ports.full_store import FullStore
from ...runtime.node_policy import merge_policy, read_node_networks
from ...runtime.process_settings import read_wake_mode
from ...runtime.service_factory import make_service
from ...runtime.stores import make_store, make_wakeup
from ...runtime.target_kinds import TargetKinds
from ...service.accounts.approval_policy import digest_of
from ...service.events.listeners import ListenerKind
from ...service.events.webhook_dispatcher import is_signer_without_key
from ...service.tasks.advisories import Advisory, build_advisory, build_bilingual_advisory
from ...service.tasks.default_zone import own_zone
from ...service.tasks.edits import EditResult, Edits
from ...service.tasks.functions.functions import ResolvedRequest
from ...service.tasks.task_request import TaskRequest
from ...settings import Settings
from ..output.readiness import Readiness
from .interruptible import run_interruptible
from .open_store import prepare_url, process_zone

T = TypeVar("T")
"""Kind of the records that hold groups of another scheduler."""
_HTTP: Final = "http"
_POLL_SECONDS: Final = 0.2
"""Events of other processes are polled."""


class LocalSession:
    """Service of an open store with its principal and zone; every write notifies the engines of other processes."""

    principal: Final[Principal] = LOCAL._replace(actor=LOCAL_OWNER, via="cli")

    def __init__(self, url: str, store: FullStore, settings: Settings) -> None:
        self.store = store
        self.default_zone = process_zone(None, settings)
        self.zone = self.default_zone.name
        self.clock: Clock = SystemClock()
        self._wakeup = make_wakeup(url, precise=read_wake_mode(settings, os.environ), clock=self.clock)
        self._url, self._key_file = url, settings.value("key_file")
        self.service = make_service(url, store, self.clock, self.zone, TargetKinds(settings), self.notify)

    def notify(self, _due: datetime | None) -> None:
        self._wakeup.notify()

    async def has_live_node(self) -> bool:
        """Whether a node runs; one that died without removing its lease does not count."""
        from ...engine.process_identity import is_gone  # noqa: PLC0415 - few commands ask

        return not all(is_gone(node.home) for node in await self.store.nodes())

    async def readiness(self, target: Target) -> Readiness:
        from ...engine.process_identity import is_gone  # noqa: PLC0415 - few commands ask

        nodes = [node for node in await self.store.nodes() if not is_gone(node.home)]
        running = RunningNodes(
            tuple(node.id for node in nodes if not node.draining),
            tuple(node.id for node in nodes if node.draining),
            tuple((node.host or node.id, node.labels) for node in nodes if not node.draining),
        )
        return Readiness(running, (await self.service.functions.load(fresh=True)).missing(target))

    async def resolve(self, request: TaskRequest) -> ResolvedRequest:
        resolved = await self.service.resolve(self.principal, request)
        if request.target.kind != _HTTP:
            return resolved
        advisories = await self.network_advisories(json.loads(request.target.spec).get("url"))
        return resolved._replace(warnings=(*resolved.warnings, *advisories))

    async def network_advisories(self, url: object) -> tuple[Advisory, ...]:
        """Warn where this process may call the address, but the nodes that are running may not."""
        if not await self.has_live_node():
            return ()
        try:
            check_url(url, await read_node_networks(self.store))
        except Refusal as refusal:
            if not refused_networks(refusal):
                return ()
            english, chinese = refusal.in_language("en").hint, refusal.in_language("zh").hint
            return (build_bilingual_advisory("network_refused", {"hint": english}, {"hint": chinese}),)
        return ()

    async def webhook_advisories(self, url: object) -> tuple[Advisory, ...]:
        """Warn where the running nodes may not call the address of a webhook, or cannot sign for it."""
        found = await self.network_advisories(url)
        if await is_signer_without_key(self.store) and await self.has_live_node():
            return *found, build_advisory("nodes_without_key")
        return found

    def with_advisories(self, resolved: ResolvedRequest) -> ResolvedRequest:
        return resolved

    async def review(self, done: EditResult, edits: Edits) -> tuple[Advisory, ...]:
        return await self.service.review(self.principal, done, edits)

    async def preview(self, request: TaskRequest) -> Facts:
        """Return the task that the request would create; nothing is written."""
        created: list[Facts] = []

        def keep(made: Sequence[Facts]) -> tuple[RecordWrite, ...]:
            created[:] = made
            return ()

        await self.service.dry_run.tasks.create(self.principal, request, attach_records=keep)
        return created[0]

    async def owner(self) -> str:
        return self.principal.owner

    def digest(self, task: Task) -> str:
        return digest_of(task)

    async def facts(self, task_id: str) -> Facts | None:
        return await self.store.facts(task_id, self.principal.owner_filter)

    async def tasks_of(self, runs: Sequence[Run]) -> dict[str, Task]:
        """Return the tasks of these runs by id; each is read once."""
        found = [await self.facts(name) for name in {run.task_id for run in runs}]
        return {each.task.id: each.task for each in found if each is not None}

    async def save_session(self, folder: str, owner: str, session: str, *, dry_run: bool) -> bool:
        from ...agents.target.records import session_from, session_key, write_session  # noqa: PLC0415 - imports only

        if not dry_run:
            key = session_key(folder)
            # A session that the group has already stays: its record exists.
            await self.store.write_records([write_session(session_from(key, owner, None), session)])
        return True

    async def check_key(self) -> None:
        """Refuse to set a secret if the key file of a store on a server is missing here but secrets exist: setting one would
        create a second key."""
        from ...runtime.service_factory import missing_key_refusal  # noqa: PLC0415 - few commands seal anything

        missing = missing_key_refusal(self._url, self._key_file)
        if missing is not None and (await self.service.secrets.names(self.principal, limit=1)).items:
            raise missing

    async def follow_events(self, number: int) -> AsyncIterator[SequencedEvent]:
        """Yield every event after this number, as it happens, without end."""
        async with self.service.listeners.announce(ListenerKind("terminal")):
            while True:
                found = await self.service.events.after(self.principal, number, MAX_PAGE_SIZE)
                for each in found:
                    number = each.cursor
                    yield each
                if not found:
                    await self.clock.pause(_POLL_SECONDS)

    async def close(self) -> None:
        await self.service.operations.close()
        await self.service.webhooks.close()
        await self._wakeup.finish()


def run_locally(settings: Settings, work: Callable[[LocalSession], Awaitable[T]], *, create: bool = False) -> T:
    """Open the store, run `work` with a session, and close it. A missing file is refused, unless `create`."""
    url = prepare_url(settings, create=create)
    return run_interruptible(_within(url, settings, work))


async def _within(url: str, settings: Settings, work: Callable[[LocalSession], Awaitable[T]]) -> T:
    store = make_store(url)
    try:
        await store.open()
        session = LocalSession(url, store, await merge_policy(store, settings))
        # Moments are read and shown in the zone of the owner; without one, in that of this process.
        session.zone = await own_zone(session.service, session.principal) or session.zone
        try:
            return await work(session)
        except NotFound as refusal:
            if refusal.code != "no_such_task":
                raise
            from ..lookup import with_nearest  # noqa: PLC0415 - only for mistyped names

            raise await with_nearest(session, refusal) from None
        finally:
            await session.close()
    finally:
        await store.close()
