"""Invocation that records log lines, and target requests for these tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Event, Lock

from horae.engine.run_messages import RunMessages as EngineMessages
from horae.engine.run_records import RunRecords as EngineRecords
from horae.model.lanes.idle import YieldReason
from horae.model.outcome import Outcome
from horae.model.policy import DEFAULT_POLICIES
from horae.model.run import Origin, Run, RunState, Span
from horae.model.task import Target, Task
from horae.ports.target import RunMessages, RunRecords
from horae.schedule import Now
from horae.stores.memory import MemoryStore
from horae.targets.function.registry import Isolation, Registry, function_spec
from horae.targets.function.target import FunctionTarget

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def a_task(name: str, payload: str = "{}", spec: str | None = None) -> Task:
    target = Target("function", function_spec(name) if spec is None else spec)
    return Task("tsk_1", "local", "nightly", Now(), target, payload, DEFAULT_POLICIES, NOON)


def a_run(*, alone: bool = False, span: Span | None = None) -> Run:
    return Run(
        "run_1",
        "tsk_1",
        "local",
        Origin.SCHEDULED,
        NOON,
        NOON + timedelta(seconds=1),
        2,
        RunState.RUNNING,
        started=NOON + timedelta(seconds=3),
        alone=alone,
        span=span,
    )


class Recorded:
    """`lines` holds the log lines in order; `wait_for` returns as soon as a text is among them."""

    def __init__(self, task: Task, run: Run | None = None) -> None:
        self.task = task
        self.run = a_run() if run is None else run
        self.key = "occ_1"
        self.trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        self.previous = "[]"
        self.gate = "null"
        self.gate_state: str | None = None
        self.deadline = NOON + timedelta(minutes=5)
        self.cancelled = False
        self.yield_requested = False
        self.yield_reason: YieldReason | None = None
        self.idle_states: list[bool] = []
        self.lines: list[tuple[str, str]] = []
        self.beats = 0
        self.actions: list[Callable[[], None]] = []
        store = MemoryStore()
        messages = EngineMessages(store, self, lambda: NOON)
        self.messages: RunMessages = messages
        self.records: RunRecords = EngineRecords(store, self, messages.staged)
        self._lock = Lock()
        self._awaited: list[tuple[str, Event]] = []

    def log(self, text: str, level: str = "info") -> None:
        with self._lock:
            self.lines.append((level, text))
            for wanted, event in self._awaited:
                if wanted in text:
                    event.set()

    def progress(self, done: float, text: str = "") -> None:
        self.log(f"{done} {text}", "progress")

    def heartbeat(self) -> None:
        self.beats += 1
        self.deadline += timedelta(minutes=1)

    def idle(self, idle: bool = True) -> None:  # noqa: FBT001, FBT002 - the argument is the state
        self.idle_states.append(idle)

    def on_cancel(self, action: Callable[[], None]) -> None:
        self.actions.append(action)

    def texts(self, level: str) -> list[str]:
        return [text for each, text in self.lines if each == level]

    async def wait_for(self, wanted: str) -> str:
        """Wait for a line that contains `wanted`, and return the first."""
        event = Event()
        with self._lock:
            self._awaited.append((wanted, event))
            if any(wanted in text for _, text in self.lines):
                event.set()
        assert await asyncio.to_thread(event.wait, 30), f"no line with {wanted!r}: {self.lines}"
        return next(text for _, text in self.lines if wanted in text)


def target_for(
    call: Callable[..., object], isolate: Isolation | None = None, grace: timedelta = timedelta(seconds=20)
) -> FunctionTarget:
    registry = Registry()
    registry.register("it", call, isolate)
    return FunctionTarget(registry, grace=grace)


async def execute(
    call: Callable[..., object],
    payload: str = "{}",
    isolate: Isolation | None = None,
    *,
    alone: bool = False,
) -> tuple[Outcome, Recorded]:
    """Run a function once, from its task to its outcome."""
    invocation = Recorded(a_task("it", payload), a_run(alone=alone))
    target = target_for(call, isolate)
    try:
        return await target.execute(invocation), invocation
    finally:
        target.close()
