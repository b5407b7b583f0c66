"""`Context` of a running function: the facts of its run, its log, progress, heartbeat and cancellation flag."""

from __future__ import annotations

import json
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from ...model.accounts.system_owner import account_of
from ...model.lanes.idle import YieldReason
from ...model.limits import LOG_LINE_CHARACTERS, to_storable

if TYPE_CHECKING:  # a child process loads this file, and the ports would import the whole schedule package
    from ...ports.target import Invocation, RunMessages, RunRecords, RunService

_T = TypeVar("_T")


class RunFacts(NamedTuple):
    """The facts of one run, as plain values that can be sent to a child process."""

    task_id: str
    run_id: str
    name: str
    owner: str
    key: str
    trace: str
    attempt: int
    planned: datetime
    due: datetime
    started: datetime
    first: datetime
    last: datetime
    times: int
    payload: str
    previous: str = "[]"
    gate: str = "null"
    gate_state: str | None = None


class RunReporter(Protocol):
    """Live connection of a function to its run: deadline and cancellation in, logs and heartbeats out. Thread-safe."""

    @property
    def deadline(self) -> datetime: ...
    @property
    def cancelled(self) -> bool: ...
    @property
    def yield_requested(self) -> bool: ...
    @property
    def yield_reason(self) -> YieldReason | None: ...
    def log(self, text: str, level: str = "info") -> None: ...
    def progress(self, done: float, text: str = "") -> None: ...
    def heartbeat(self) -> None: ...
    def idle(self, idle: bool = True) -> None: ...  # noqa: FBT001, FBT002 - the argument is the state


def run_facts_of(invocation: Invocation) -> RunFacts:
    task, run = invocation.task, invocation.run
    span = run.span
    return RunFacts(
        task.id,
        run.id,
        task.name,
        account_of(run.owner),
        invocation.key,
        invocation.trace,
        run.attempt,
        run.planned,
        run.occurrence_due,
        run.started or run.claimed or run.due,
        run.planned if span is None else span.first,
        run.planned if span is None else span.last,
        1 if span is None else span.count,
        task.payload,
        invocation.previous,
        invocation.gate,
        invocation.gate_state,
    )


class RunLog:
    """The run's own log, with the interface of `logging`: `log.info("%s rows", rows)`."""

    __slots__ = ("_reporter",)

    def __init__(self, reporter: RunReporter) -> None:
        self._reporter = reporter

    def debug(self, text: object, *values: object) -> None:
        self._write("debug", text, values)

    def info(self, text: object, *values: object) -> None:
        self._write("info", text, values)

    def warning(self, text: object, *values: object) -> None:
        self._write("warning", text, values)

    def error(self, text: object, *values: object) -> None:
        self._write("error", text, values)

    def _write(self, level: str, text: object, values: tuple[object, ...]) -> None:
        self._reporter.log(to_storable(_format(str(text), values), LOG_LINE_CHARACTERS), level)


def _format(text: str, values: tuple[object, ...]) -> str:
    try:
        return text % values if values else text
    except (TypeError, ValueError):  # a slip in a log line must not fail the work
        return f"{text} {values!r}"


class Context:
    """Passed to a function that has a parameter annotated with it, or named `ctx` or `context`."""

    __slots__ = ("_facts", "_reporter", "_service")

    def __init__(self, facts: RunFacts, reporter: RunReporter, service: RunService | None = None) -> None:
        self._facts = facts
        self._reporter = reporter
        self._service = service

    @property
    def task_id(self) -> str:
        return self._facts.task_id

    @property
    def run_id(self) -> str:
        return self._facts.run_id

    @property
    def name(self) -> str:
        """The task's name."""
        return self._facts.name

    @property
    def owner(self) -> str:
        return self._facts.owner

    @property
    def key(self) -> str:
        """The idempotency key: the same for every attempt at this occurrence."""
        return self._facts.key

    @property
    def trace(self) -> str:
        """The W3C trace context, to be sent with outgoing calls."""
        return self._facts.trace

    @property
    def attempt(self) -> int:
        return self._facts.attempt

    @property
    def planned(self) -> datetime:
        """The planned instant of the schedule."""
        return self._facts.planned

    @property
    def due(self) -> datetime:
        """The planned instant with the task's jitter."""
        return self._facts.due

    @property
    def lateness(self) -> timedelta:
        """How long after its due instant the run started."""
        return self._facts.started - self._facts.due

    @property
    def first(self) -> datetime:
        """The first planned instant that this run covers; with `last` and `count`, more than one when merged."""
        return self._facts.first

    @property
    def last(self) -> datetime:
        return self._facts.last

    @property
    def count(self) -> int:
        return self._facts.times

    @property
    def payload(self) -> Any:
        """The payload parsed from JSON, without conversion by annotations; a fresh value each time."""
        return json.loads(self._facts.payload or "null")

    @property
    def previous(self) -> list[dict[str, Any]]:
        """The predecessors whose end started this run: name, run id, state and result of each; empty for any other run."""
        return list(json.loads(self._facts.previous))

    @property
    def gate(self) -> Any:
        """The data of the task's gate, which is open; None without a gate."""
        return json.loads(self._facts.gate)

    @property
    def gate_state(self) -> Any:
        """In a gate: the state that it returned before; None if there is none yet."""
        return json.loads(self._facts.gate_state or "null")

    @property
    def log(self) -> RunLog:
        return RunLog(self._reporter)

    @property
    def deadline(self) -> datetime:
        """When the run times out; each heartbeat moves it."""
        return self._reporter.deadline

    @property
    def cancelled(self) -> bool:
        """Whether the run is being cancelled; a function that works in steps checks it between them."""
        return self._reporter.cancelled

    @property
    def yield_requested(self) -> bool:
        """Whether a function that can end early should: the node is stopping, or the run is idle and an entry waits."""
        return self._reporter.yield_requested

    @property
    def yield_reason(self) -> YieldReason | None:
        """Why it should yield: `kind` (`higher_priority`, `other_owner`, `node_stopping`) and `lane`; None: it need not."""
        return self._reporter.yield_reason

    def progress(self, done: float, text: str = "") -> None:
        """Report visible progress, which is also a heartbeat; `done` is between 0 and 1."""
        self._reporter.progress(min(1.0, max(0.0, float(done))), to_storable(str(text), LOG_LINE_CHARACTERS))

    def heartbeat(self) -> None:
        """Report that the run is still at work, which moves its deadline."""
        self._reporter.heartbeat()

    def idle(self, idle: bool = True) -> None:  # noqa: FBT001, FBT002 - the argument is the state
        """Declare that the run only waits for work, or, with False, that it works again; `progress` says the same.

        An idle run holds its slots. It is asked to yield (`yield_requested`) as soon as an entry of higher priority, or of
        another owner, waits in one of its lanes. It is never stopped for that.
        """
        self._reporter.idle(bool(idle))

    @property
    def messages(self) -> RunMessages:
        """The message streams of the owner: `await read(stream)`, `send(stream, text)`.

        What is sent commits with the success of the run.
        """
        return self._tool("messages")  # type: ignore[no-any-return]

    @property
    def records(self) -> RunRecords:
        """JSON values that the task keeps between its runs: `await get(name)`, `await put(name, value)`.

        What is put commits with the success of the run.
        """
        return self._tool("records")  # type: ignore[no-any-return]

    @property
    def service(self) -> RunService:
        """Operations on tasks as the owner of this task, or as its agent: `await schedule(…)`, `await pause(task)`.

        Each takes effect at once.
        """
        return self._tool("service") if self._service is None else self._service

    def _tool(self, name: str) -> Any:
        tool = getattr(self._reporter, name, None)
        if tool is None:
            from ...model.message_refusals import refuse  # noqa: PLC0415 - no run of a node comes here

            raise refuse("no_run_tools", name=name)
        return tool

    def call(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Wait for a coroutine of this context in a function without `async`: `context.call(context.commit())`."""
        import asyncio  # noqa: PLC0415 - slow to load, and most functions in a process do not need it

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(work)
        work.close()
        raise RuntimeError("this would wait for itself: in an async function, await it instead")

    def acknowledge(self, stream: str, *numbers: int, reader: str = "handled") -> None:
        """Say that messages of a stream are handled: the reader's cursor moves with the success of the run."""
        self.messages.acknowledge(stream, *numbers, reader=reader)

    async def commit(self) -> None:
        """Commit what was sent and acknowledged so far, while the run goes on."""
        await self.messages.commit()
