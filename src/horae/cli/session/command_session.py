"""Session of a command: one protocol for a store that it opens and for a server, so that commands need not differ."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from ...clock import Clock
from ...model.accounts.principal import Principal
from ...model.change import Facts
from ...model.events.event import SequencedEvent
from ...model.run import Run
from ...model.task import Target, Task
from ...runtime.stores import MEMORY
from ...service.service import Service
from ...service.tasks.advisories import Advisory
from ...service.tasks.edits import EditResult, Edits
from ...service.tasks.functions.functions import ResolvedRequest
from ...service.tasks.task_request import TaskRequest
from ...settings import DefaultZone
from ..output.printer import Printer
from ..output.readiness import Readiness
from . import open_store
from .local import run_locally
from .servers import server_of

if TYPE_CHECKING:
    from ...client.service import RemoteService

T = TypeVar("T")
Services: TypeAlias = "Service | RemoteService"


class CommandSession(Protocol):
    """The service with its principal and zone, and what differs between a store and a server."""

    @property
    def service(self) -> Services: ...

    @property
    def principal(self) -> Principal: ...

    @property
    def zone(self) -> str: ...

    @property
    def default_zone(self) -> DefaultZone:
        """Zone of this process: for schedules that name none, of owners that have none."""

    @property
    def clock(self) -> Clock: ...

    async def owner(self) -> str:
        """Return the owner of new tasks, where no other one is named."""

    async def has_live_node(self) -> bool:
        """Whether a node runs."""

    async def readiness(self, target: Target) -> Readiness:
        """Return the running nodes, and a warning if none has the target's function."""

    async def resolve(self, request: TaskRequest) -> ResolvedRequest:
        """Complete the request with the declaration of its function, as far as the client needs it."""

    async def network_advisories(self, url: object) -> tuple[Advisory, ...]:
        """Return warnings about an address that the nodes may not call; none at a server, which checks it itself."""

    async def webhook_advisories(self, url: object) -> tuple[Advisory, ...]:
        """Return warnings about a webhook that the running nodes cannot deliver; none at a server, which checks it itself."""

    def with_advisories(self, resolved: ResolvedRequest) -> ResolvedRequest:
        """Return the same with the warnings of the task that was just created or changed."""

    async def review(self, done: EditResult, edits: Edits) -> tuple[Advisory, ...]:
        """Return warnings about a task that was just edited."""

    async def preview(self, request: TaskRequest) -> Facts:
        """Return the task that the request would create; nothing is written."""

    def digest(self, task: Task) -> str:
        """Return the digest of a task that was just read; an approval names it, so that it approves this version only."""

    async def facts(self, task_id: str) -> Facts | None:
        """Return the task; None if it does not exist."""

    async def tasks_of(self, runs: Sequence[Run]) -> dict[str, Task]:
        """Return the tasks of these runs by id, as far as they exist: at least with name and zone."""

    async def save_session(self, folder: str, owner: str, session: str, *, dry_run: bool) -> bool:
        """Record the session of a group's agent, unless it has one; False at a server, which has no route for it."""

    async def check_key(self) -> None:
        """Refuse if a secret would be encrypted with a second key."""

    def follow_events(self, number: int) -> AsyncIterator[SequencedEvent]:
        """Yield every event after this number, as it happens, without end."""


def run_in_session(out: Printer, work: Callable[[CommandSession], Awaitable[T]], *, create: bool = False) -> T:
    """Open the chosen store or server, run `work`, and close it. `create`: a missing file is created."""
    server = server_of(out)
    if server is None:
        open_store.refuse_memory(out.settings)
        return run_locally(out.settings, work, create=create)
    from .remote import run_remotely  # noqa: PLC0415 - most commands use a store

    return run_remotely(server, out, work)


def run_in_memory(out: Printer, work: Callable[[CommandSession], Awaitable[T]]) -> T:
    """Run `work` on an empty store in memory."""
    return run_locally(out.command_settings.with_store(MEMORY), work)


def has_store(out: Printer) -> bool:
    """Whether the store exists; a server counts without a request."""
    return server_of(out) is not None or open_store.store_exists(out.settings)


def has_durable_store(out: Printer) -> bool:
    """Whether there is a store that outlives this command; a dry run needs none."""
    return server_of(out) is not None or (
        not open_store.is_memory(out.settings) and open_store.store_exists(out.settings)
    )


def display_location(out: Printer) -> str:
    server = server_of(out)
    return open_store.display_location(out.settings) if server is None else server.url


def refuse_memory(out: Printer) -> None:
    if server_of(out) is None:
        open_store.refuse_memory(out.settings)
