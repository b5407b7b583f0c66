"""Where a command does its work: at a store that it opens itself, or at a server; it sees no difference."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

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
from ...service.tasks.functions import ResolvedRequest
from ...service.tasks.task_request import TaskRequest
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
    """The use cases, who asks for them, and in which zone."""

    @property
    def service(self) -> Services: ...

    @property
    def principal(self) -> Principal: ...

    @property
    def zone(self) -> str: ...

    @property
    def clock(self) -> Clock: ...

    async def owner(self) -> str:
        """Whose tasks are made here, where nobody else is named."""

    async def has_live_node(self) -> bool:
        """Whether somebody is there to run what is due."""

    async def readiness(self, target: Target) -> Readiness:
        """The nodes that run now, and what such a target lacks."""

    async def resolve(self, wish: TaskRequest) -> ResolvedRequest:
        """The wish as its function's declaration completes it, as far as this side has to know that."""

    async def network_advisories(self, url: object) -> tuple[Advisory, ...]:
        """Warnings about an address that the nodes may not call; a server checks that itself."""

    async def webhook_advisories(self, url: object) -> tuple[Advisory, ...]:
        """Warnings about a webhook that the running nodes cannot deliver; a server checks that itself."""

    def with_advisories(self, resolved: ResolvedRequest) -> ResolvedRequest:
        """The same with the warnings of the task that was just made or changed."""

    async def review(self, done: EditResult, edits: Edits) -> tuple[Advisory, ...]:
        """Warnings about a task that was just edited."""

    async def preview(self, wish: TaskRequest) -> Facts:
        """The task that such a wish would make; nothing is written."""

    def digest(self, task: Task) -> str:
        """Of a task that was just looked at: what an approval of it, as it is, has to name."""

    async def facts(self, task_id: str) -> Facts | None:
        """None when the task is gone."""

    async def tasks_of(self, runs: Sequence[Run]) -> dict[str, Task]:
        """The tasks of these runs by id, as far as they are still there: at least what each is called, and where."""

    async def groups(self) -> list[Any]:
        """The groups of another scheduler, as they were taken over."""

    async def save_group(self, folder: str, owner: str, body: str) -> None:
        """As it is now, in the place of what was known of it."""

    async def check_key(self) -> None:
        """Refuses where a secret would be sealed with a second key."""

    def follow_events(self, number: int) -> AsyncIterator[SequencedEvent]:
        """Every event after this number, as it happens; for ever."""


def run_in_session(out: Printer, work: Callable[[CommandSession], Awaitable[T]], *, create: bool = False) -> T:
    """Open what was chosen, do it, close it again. A store that is to be made is, a server is there or is not."""
    server = server_of(out)
    if server is None:
        open_store.refuse_memory(out.store)
        return run_locally(out.store, work, create=create)
    from .remote import run_remotely  # noqa: PLC0415 - most commands work at a store

    return run_remotely(server, out.language, work)


def run_in_memory(work: Callable[[CommandSession], Awaitable[T]]) -> T:
    """At a store that is forgotten at once."""
    return run_locally(MEMORY, work)


def has_store(out: Printer) -> bool:
    """Whether there is anything to look at; a server is asked when it is needed."""
    return server_of(out) is not None or open_store.store_exists(out.store)


def has_durable_store(out: Printer) -> bool:
    """Whether there is a store that outlives this command: a rehearsal may do without one."""
    return server_of(out) is not None or (not open_store.is_memory(out.store) and open_store.store_exists(out.store))


def display_location(out: Printer) -> str:
    server = server_of(out)
    return open_store.display_location(out.store) if server is None else server.url


def refuse_memory(out: Printer) -> None:
    if server_of(out) is None:
        open_store.refuse_memory(out.store)
