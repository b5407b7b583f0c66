"""The target port: an adapter that executes one invocation and always returns an outcome; and the secrets it reads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol

from ..clock import Clock
from ..model.accounts.principal import Principal
from ..model.lanes.idle import YieldReason
from ..model.messages import RUN_SOURCE, MessagePage
from ..model.outcome import Outcome
from ..model.record import RecordWrite
from ..model.run import Run
from ..model.task import Task
from .messages import Messages
from .records import Records


class Secrets(Protocol):
    """Values that tasks reference by name; only a target that executes a run of the same owner reads one."""

    async def reveal(self, owner: str, name: str) -> str | None:
        """Return the value of an owner's secret, or None; a secret of another owner answers like an absent one."""


DEFAULT_READER: Final = "handled"


class RunMessages(Protocol):
    """Streams of the run's owner. What is sent, acknowledged and attached commits with a success of the run, or not at all."""

    async def read(
        self, stream: str, *, reader: str = DEFAULT_READER, after: int | None = None, limit: int = 50
    ) -> MessagePage:
        """Return messages after the cursor of a reader, which is registered at the beginning if it is new, or after a number."""

    def send(
        self,
        stream: str,
        text: str,
        *,
        sender: str = "",
        id: str | None = None,  # noqa: A002 - the field of a message
        references: Sequence[Any] = (),
        source: str = RUN_SOURCE,
    ) -> None:
        """Send a message. Without an id it has one of the occurrence: another attempt does not append it again."""

    def acknowledge(self, stream: str, *numbers: int, reader: str = DEFAULT_READER) -> None:
        """Say that messages are handled; the cursor moves over acknowledged numbers without a hole."""

    def attach(self, records: Sequence[RecordWrite]) -> None:
        """Write records with the settlement; a later write of the same record replaces one that is not committed yet."""

    async def commit(self) -> None:
        """Commit all of it now, fenced by the token of the run; refused when the run is no longer live on this node."""


class RunRecords(Protocol):
    """Data that the run's task keeps between its runs: JSON values by name, at most 64 kB together.

    A change commits with a success of the run, or not at all. If another run has changed the data meanwhile, the run fails.
    """

    async def get(self, name: str, default: Any = None) -> Any:
        """Return a value with the changes of this run."""

    async def put(self, name: str, value: Any) -> None: ...

    async def delete(self, name: str) -> None: ...


class RunService(Protocol):
    """Operations on tasks as the run's principal: the owner of its task, or the agent that made it.

    Each takes effect at once, whatever the run's outcome. A task is named by its id, name or key. Tasks and runs are JSON
    objects as in the HTTP API.
    """

    async def schedule(
        self,
        target: str | Mapping[str, Any],
        when: Any,
        payload: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        **options: Any,
    ) -> str:
        """Create a task of a function, by its name, or of a target in wire format; return its id.

        With a `key` it is created once, also by another attempt; the same key again edits that task.
        """

    async def task(self, task: str) -> dict[str, Any]: ...

    async def runs(self, task: str, limit: int = 20) -> list[dict[str, Any]]:
        """Return runs of a task, newest first."""

    async def run_now(self, task: str, payload: Mapping[str, Any] | None = None) -> str:
        """Start one extra run, with this payload in place of the task's; return its id."""

    async def pause(self, task: str, reason: str = "") -> None: ...

    async def resume(self, task: str) -> None: ...

    async def cancel(self, task: str) -> None: ...

    async def delete(self, task: str) -> None: ...


class Invocation(Protocol):
    """A target's view of one run, and the calls that it may make while the run goes on."""

    @property
    def task(self) -> Task: ...
    @property
    def run(self) -> Run: ...
    @property
    def key(self) -> str:
        """The idempotency key: the same for every attempt at this occurrence."""

    @property
    def trace(self) -> str:
        """The W3C trace context of this run; all attempts at an occurrence share one trace."""

    @property
    def previous(self) -> str:
        """The predecessors whose end started this run, as a JSON array: name, run id, state, result; `[]` for any other run."""

    @property
    def gate(self) -> str:
        """The data of the task's gate, which is open, as JSON; `null` without a gate, and while the gate itself is called."""

    @property
    def gate_state(self) -> str | None:
        """The state that the gate keeps, as JSON, while the gate itself is called (`null`: none yet); None in any other call."""

    @property
    def deadline(self) -> datetime:
        """When silence becomes a timeout; each heartbeat moves it."""

    @property
    def cancelled(self) -> bool: ...
    @property
    def yield_requested(self) -> bool:
        """Whether the run should end early if it can: the node is shutting down, or the run is idle and an entry waits."""

    @property
    def yield_reason(self) -> YieldReason | None:
        """Why it should; None while it is not asked to."""

    @property
    def messages(self) -> RunMessages: ...
    @property
    def records(self) -> RunRecords: ...

    def log(self, text: str, level: str = "info") -> None: ...
    def progress(self, done: float, text: str = "") -> None:
        """Report progress between 0 and 1; also counts as a heartbeat."""

    def heartbeat(self) -> None:
        """Report that the run is alive, which moves its deadline."""

    def idle(self, idle: bool = True) -> None:  # noqa: FBT001, FBT002 - the argument is the state
        """Declare that the run is idle, or no longer idle; progress ends the idle state too, a heartbeat does not.

        An idle run is asked to yield as soon as an entry of higher priority, or of another owner, waits in one of its lanes.
        """

    def on_cancel(self, action: Callable[[], None]) -> None:
        """Register a callback for the cancellation of the run: kill a child, close a connection."""


class Target(Protocol):
    async def execute(self, invocation: Invocation) -> Outcome:
        """Execute the run. A cancelled coroutine must stop what it started before it ends."""


class Closable(Protocol):
    """A target that keeps resources open, such as connections, has this method too."""

    async def aclose(self) -> None:
        """Release the resources; every run of this target has ended before."""


class Startable(Protocol):
    """A target that has work to do before its first run, such as a check of its tools, has this method too."""

    async def start(self) -> None:
        """Prepare; raises a `Refusal` if the target does not work on this node, which then leaves its entries alone."""


class Tools(NamedTuple):
    """Dependencies of a target. `settings` are the operator's for its kind, read from files and the environment.

    `publish` sends a JSON object under a topic to the listeners in this process; it returns at once, with their number.
    `reach` counts the event streams, webhooks and terminals of all processes that receive an event, by owner, task and
    topic. `records` and `messages` are those of the store. `service` is the whole service of the deployment, and
    `principal_of` the caller on whose behalf a run acts.
    """

    clock: Clock
    secrets: Secrets
    settings: Mapping[str, Any]
    publish: Callable[[str, Mapping[str, Any]], int | None]
    reach: Callable[[str, str, str], Awaitable[Mapping[str, int]]] | None = None
    records: Records | None = None
    messages: Messages | None = None
    service: Any = None
    principal_of: Callable[[Task], Awaitable[Principal]] | None = None


class TargetKind(Protocol):
    """One kind of target: its spec is checked when a task is created, and it is opened when a node starts.

    Other packages register theirs under the entry point group `horae.targets`; the name of the entry point is the kind.
    """

    @property
    def kind(self) -> str: ...

    def check(self, spec: Mapping[str, Any], payload: Any, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the spec to store, complete and canonical; raise a `Refusal` when it could never work.

        Pure but for reading the machine's own state (is this program on the list?); it never opens a connection.
        """

    def open(self, tools: Tools) -> Target:
        """Return a target that is ready to execute runs; called on the node's event loop."""
