"""Runner: executes runs, one asyncio task each, with one deadline timer; each ends in a settlement or a release."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol, TypeAlias

from ..clock import Clock
from ..errors import Refusal, StoreError
from ..model.accounts.account import agent_of
from ..model.gate import DEFAULT_LIMIT, NO_DATA, Gate, GateLimit, GateVerdict, NoVerdictError, check_output
from ..model.inputs.effective_payload import task_of_run
from ..model.inputs.placeholders import TemplateTask
from ..model.inputs.run_input import RunInput, is_gate_check
from ..model.lanes.idle import YieldReason
from ..model.limits import NOTE_CHARACTERS, to_storable
from ..model.messages import DEFAULT_QUOTA, StreamQuota
from ..model.outcome import Cancelled, Failed, Outcome, Settlement, Skipped, TimedOut
from ..model.policy import Policies
from ..model.reason import Reason
from ..model.record import Record
from ..model.run import Run, RunState
from ..model.task import Task
from ..ports.messages import Messages
from ..ports.previous import NO_PREVIOUS
from ..ports.records import Records
from ..ports.store import Agenda, Claimed
from ..ports.target import Target
from .active_run import (
    OUTCOMES,
    ActiveRun,
    DeadlineTimer,
    cancelled_outcome,
    error_outcome,
    invalid_outcome,
    late_outcome,
    unknown_target_outcome,
)
from .gate_call import GateCall, GateFailedError, verdict_of_outcome
from .idle_report import IdleReport
from .journal_writer import JournalWriter
from .settler import Settler
from .shared_jobs import SharedJobs

LOG: Final = logging.getLogger("horae")
Permit: TypeAlias = Callable[[Task, RunInput | None], Awaitable[Outcome | None]]
"""Check right before an agent's run with this input starts: returns the outcome of a run that may not start, or None."""


async def _load_nothing(_run: Run) -> str:
    return NO_PREVIOUS


async def _load_no_state(_run: Run) -> Record | None:
    return None


async def _load_no_quota(_task: Task) -> StreamQuota:
    return DEFAULT_QUOTA


async def _load_no_limit(_task: Task) -> GateLimit:
    return DEFAULT_LIMIT


async def permit_all(_task: Task, _given: RunInput | None) -> Outcome | None:
    return None


FAILURE_LOG: Final = logging.getLogger("horae.runs")
"""Logger of failed runs; a program that prints each failure itself silences it (`runtime/observability.py`)."""


class ToolStore(Messages, Records, Protocol):
    """Store interface of the messages and records of a run."""


class RunnerStore(Agenda, ToolStore, Protocol):
    """Store interface of the runner."""


class Runner:
    def __init__(
        self,
        store: RunnerStore,
        targets: Mapping[str, Target],
        settler: Settler,
        scribe: JournalWriter,
        clock: Clock,
        capacity: int,
    ) -> None:
        self.clock = clock
        self.permit: Permit = permit_all
        self.journal_writer = scribe
        self.load_previous: Callable[[Run], Awaitable[str]] = _load_nothing
        """Reads the results of the predecessors of a chained run."""
        self.load_gate_state: Callable[[Run], Awaitable[Record | None]] = _load_no_state
        """Reads the state of the gate of a run's task."""
        self.load_gate_limit: Callable[[Task], Awaitable[GateLimit]] = _load_no_limit
        """Reads how much a gate of a task's owner may answer, for verdicts with data or a state."""
        self.load_stream_quota: Callable[[Task], Awaitable[StreamQuota]] = _load_no_quota
        """Reads the limits of the streams of a task's owner, for runs that send messages or register readers."""
        self.is_stopping = False
        self._store = store
        self.tool_store: ToolStore = store
        self._targets = targets
        self._settler = settler
        self._capacity = capacity
        self._active: dict[str, ActiveRun] = {}
        self._abandoned: dict[str, ActiveRun] = {}
        self._starting: set[asyncio.Task[None]] = set()
        self._jobs = SharedJobs(self._run_to_settlement)
        self._deadlines = DeadlineTimer(clock, self._active)
        self._idle = asyncio.Event()
        self._idle.set()
        self._no_abandoned = asyncio.Event()
        self._no_abandoned.set()
        self._room_wanted = False
        self.on_room: Callable[[], None] = lambda: None
        self.on_commit: Callable[[], None] = lambda: None
        """Callback: a run that goes on has committed messages or records."""
        self.release: Callable[[Sequence[tuple[str, int]]], None] = lambda _claims: None

    @property
    def free_capacity(self) -> int:
        """Free capacity. Up to `capacity` unrecorded settlements are allowed on top; more of them reduce it (back-pressure)."""
        return self._capacity - len(self._active) - max(0, self._settler.pending - self._capacity)

    @property
    def active_count(self) -> int:
        return len(self._active)

    @property
    def is_idle(self) -> bool:
        """Whether no run is active and no abandoned run is still executing."""
        return not self._active and not self._abandoned

    def has_run(self, run_id: str) -> bool:
        """Return whether a run is active, or abandoned and still executing."""
        return run_id in self._active or run_id in self._abandoned

    def request_room(self) -> None:
        """Call `on_room` once when there is free capacity."""
        self._room_wanted = True
        self.notify_room()

    def notify_room(self) -> None:
        """Call `on_room` if requested and possible; called when a run ended or was abandoned, and after settlements."""
        if self._room_wanted and self.free_capacity > 0:
            self._room_wanted = False
            self.on_room()

    def execute(self, claims: Sequence[Claimed]) -> None:
        """Start all claimed runs now; for `at_most_once` the start is committed first, or when the gate is open."""
        if not claims:
            return
        self._idle.clear()
        now, steady = self.clock.now(), self.clock.steady()
        to_commit: list[ActiveRun] = []
        watched: Policies | None = None
        for task, run in claims:
            active = self._active[run.id] = ActiveRun(self, task, run, now, steady)
            policies = task.policies
            if run.state is RunState.CLAIMED and policies.gate is None:
                to_commit.append(active)
                continue
            self._jobs.start(active)
            if policies is not watched:
                # Runs that begin together under the same policies have the same deadline.
                watched = policies
                self._deadlines.watch(active)
        if to_commit:
            job = asyncio.ensure_future(self._commit_starts(to_commit))
            self._starting.add(job)
            job.add_done_callback(self._starting.discard)

    def request_end(self, run_id: str, reason: Reason) -> None:
        """Ask an active run to end. Orders are repeated with every renewal; a run that already cleans up is left alone."""
        active = self._active.get(run_id)
        if active is not None and active.end_reason is None:
            active.request_end(reason)

    def request_yield(self, run_id: str, since: datetime, reason: YieldReason) -> None:
        """Ask an active run that is idle since that instant to yield. Requests are repeated with every renewal."""
        active = self._active.get(run_id)
        if active is not None:
            active.request_yield(since, reason)

    def new_idle_report(self, active: ActiveRun) -> IdleReport:
        return IdleReport(self._store, self.clock, active, lambda: self._active.get(active.run.id) is active)

    async def wait_idle(self) -> None:
        """Wait until no run is active."""
        await self._idle.wait()

    # --- abandoning --------------------------------------------------------------------------------------------------

    def abandon(self, reason: Reason) -> None:
        """End all active runs without a settlement, because the lease is lost or the grace period is over.

        Each is released when its work has really ended, so that no node starts it again while it still cleans up.
        """
        for active in self._take_all():
            active.request_end(reason)
            if active.job is None:
                self.release([active.claim])
            else:
                self._add_abandoned(active)

    def discard_all(self) -> None:
        """Drop all runs like a process that dies: nothing is settled or released."""
        self._abandoned.clear()
        self._no_abandoned.set()
        for active in self._take_all():
            active.request_end(Reason.LEASE_LOST)

    async def wait_abandoned(self) -> None:
        """Wait until all abandoned runs have ended."""
        await self._no_abandoned.wait()

    def release_abandoned(self) -> None:
        """Release abandoned runs that did not end in time."""
        for active in tuple(self._abandoned.values()):
            LOG.warning("%s goes on after its node has stopped, and is handed back", active.task.name)
            self._release(active)

    def _take_all(self) -> tuple[ActiveRun, ...]:
        runs = tuple(self._active.values())
        self._active.clear()
        self._deadlines.stop()
        self._idle.set()
        self.notify_room()
        return runs

    def _add_abandoned(self, active: ActiveRun) -> None:
        self._abandoned[active.run.id] = active
        self._no_abandoned.clear()

    def _release(self, active: ActiveRun) -> None:
        if self._abandoned.pop(active.run.id, None) is not None:
            self.release([active.claim])
        if not self._abandoned:
            self._no_abandoned.set()

    # --- one run, from its start to its settlement -----------------------------------------------------------------

    def _start_job(self, active: ActiveRun) -> None:
        self._jobs.start(active)
        self._deadlines.watch(active)

    async def _commit_starts(self, runs: Sequence[ActiveRun]) -> None:
        """Commit the start of `at_most_once` runs; only those that the store then has as running are executed."""
        try:
            started = await self._store.start([active.claim for active in runs], self.clock.now())
        except Exception as error:  # noqa: BLE001 - after any error it is unknown whether the start was written
            # Released: the store does not start a run again that it has as running.
            LOG.warning("%d runs could not be started, and are handed back: %s", len(runs), error)
            self.release([active.claim for active in runs if self._remove_active(active)])
            self.notify_room()
            return
        now, steady = self.clock.now(), self.clock.steady()
        for active in runs:
            if active.run.id not in self._active:
                continue
            if active.run.id in started and active.end_reason is None:
                active.started, active.begun_at, active.last_heartbeat = now, steady, steady
                self._start_job(active)
            else:
                self._settle(active, Cancelled())

    async def _run_to_settlement(self, active: ActiveRun) -> None:
        outcome = await self._execute(active)
        if active.log_usage.lines:
            await self.journal_writer.flush()
        if active.has_messages:
            await active.messages.load_quota()
        self._settle(active, outcome)

    async def _execute(self, active: ActiveRun) -> Outcome:
        """Execute the target; every error becomes an outcome."""
        target = self._targets.get(active.task.target.kind)
        if target is None:
            return unknown_target_outcome(active.task.target.kind)
        if active.end_reason is not None:
            return cancelled_outcome(active)
        active.is_cancellable = True
        try:
            outcome = await self._prepare(active) if _needs_preparation(active) else None
            if outcome is None:
                outcome = await target.execute(active)
        except GateFailedError as failure:
            reason = Reason.GATE_CHECKED if is_gate_check(active.run.input) else Reason.GATE_FAILED
            return Skipped(to_storable(str(failure), NOTE_CHARACTERS), reason)
        except asyncio.CancelledError:
            return cancelled_outcome(active)
        except GeneratorExit:  # the loop itself goes down
            raise
        except BaseException as error:  # noqa: BLE001 - a target that raises must not stop the node
            outcome = error_outcome(error)
        finally:
            active.is_cancellable = False
        if outcome.__class__ not in OUTCOMES:
            outcome = invalid_outcome(outcome)
        return late_outcome(active, outcome) if active.cancelled else outcome

    async def _prepare(self, active: ActiveRun) -> Outcome | None:
        """Check the rights of an agent's run, make its payload, and call its gate; return the outcome if it may not go on."""
        task, run = active.task, active.run
        outcome = None if agent_of(task) is None else await self.permit(task, run.input)
        if run.chain is not None:
            active.previous = await self.load_previous(run)
        if outcome is None and (run.input is not None or task.__class__ is TemplateTask):
            outcome = _make_payload(active)
        gate = task.policies.gate
        if outcome is None and is_gate_check(run.input):
            outcome = await self._check_gate(active, gate)
        elif outcome is None and gate is not None:
            outcome = await self._pass_gate(active, gate)
        return outcome

    async def _check_gate(self, active: ActiveRun, gate: Gate | None) -> Outcome:
        """Call the gate for its verdict alone; the target is not called."""
        if gate is None:
            return Skipped("the task has no gate any more", Reason.GATE_CHECKED)
        active.verdict = await self._ask_gate(active, gate)
        return Skipped(active.verdict.reason, Reason.GATE_CHECKED)

    async def _pass_gate(self, active: ActiveRun, gate: Gate) -> Outcome | None:
        """Ask the gate; None if it is open. Under `at_most_once` the start is committed then, before the target is called."""
        active.verdict = await self._ask_gate(active, gate)
        active.gate = active.verdict.data
        if not active.verdict.is_open:
            return Skipped(active.verdict.reason, Reason.GATE_CLOSED)
        return await self._commit_start(active) if active.run.state is RunState.CLAIMED else None

    async def _commit_start(self, active: ActiveRun) -> Outcome | None:
        """Commit the start of one run whose gate is open; the outcome, if it must not go on."""
        try:
            started = await self._store.start([active.claim], active.started)
        except Exception as error:  # noqa: BLE001 - after any error it is unknown whether the start was written
            LOG.warning("the run %s could not be started, and is handed back: %s", active.run.id, error)
            if self._remove_active(active):
                self._add_abandoned(active)
                self.notify_room()
            return Cancelled()
        return None if active.run.id in started and active.end_reason is None else Cancelled()

    async def _ask_gate(self, active: ActiveRun, gate: Gate) -> GateVerdict:
        """Call the gate, or take the verdict that an earlier attempt has kept."""
        kept = None if active.run.input is None or active.run.input.gate is None else active.run.input.gate.verdict
        if kept is not None and (kept.state is None or not gate.state):
            return kept._replace(state=None)
        try:
            record = await self.load_gate_state(active.run) if gate.state else None
        except StoreError as error:
            raise GateFailedError(f"its state cannot be read: {error}") from error
        if kept is None:
            return await self._call_gate(active, gate, record)
        # A state that is older than the stored one is dropped.
        is_current = kept.version == (None if record is None else record.version)
        return kept if is_current else kept._replace(state=None)

    async def _call_gate(self, active: ActiveRun, gate: Gate, record: Record | None) -> GateVerdict:
        target = self._targets.get(gate.kind)
        if target is None:
            raise GateFailedError(f"this node has no target of kind '{gate.kind}'")
        active.gate_deadline_at = self.clock.steady() + gate.timeout.total_seconds()
        self._deadlines.watch(active)
        try:
            outcome = await target.execute(GateCall(active, gate, record))
        except asyncio.CancelledError:
            if active.end_reason is Reason.DEADLINE:
                raise GateFailedError(_late_gate_text(gate)) from None
            raise
        except Exception as error:
            raise GateFailedError(f"{type(error).__name__}: {error}") from error
        finally:
            active.gate_deadline_at = None
            active.heartbeat()
        if active.end_reason is Reason.DEADLINE:
            raise GateFailedError(_late_gate_text(gate))
        if active.end_reason is not None:
            raise asyncio.CancelledError
        self._deadlines.watch(active)
        verdict = verdict_of_outcome(gate, outcome, self.clock.now(), None if record is None else record.version)
        await self._check_gate_output(active.task, verdict)
        return verdict

    async def _check_gate_output(self, task: Task, verdict: GateVerdict) -> None:
        """Refuse a verdict beyond the quota of its owner; nothing is read for one without data and state."""
        if verdict.data == NO_DATA and verdict.state is None:
            return
        try:
            check_output(verdict, await self.load_gate_limit(task))
        except NoVerdictError as problem:
            raise GateFailedError(str(problem)) from None
        except StoreError as error:
            raise GateFailedError(f"the quota of its owner cannot be read: {error}") from error

    def _settle(self, active: ActiveRun, outcome: Outcome) -> None:
        if self._remove_active(active):
            run, now = active.run, self.clock.now()
            if isinstance(outcome, Failed | TimedOut):
                # A target that requests a retry itself is no failure to warn about.
                is_requested = isinstance(outcome, Failed) and outcome.retry_after is not None
                level = logging.INFO if is_requested else logging.WARNING
                FAILURE_LOG.log(
                    level, "%s, attempt %d of %s: %s", active.task.name, run.attempt, run.planned, outcome.error
                )
            verdict, writes = active.verdict, active.collect_writes(now)
            settlement = Settlement(run.id, run.token, outcome, active.started, now, verdict, writes)
            self._settler.add(settlement, run.owner)
            self.notify_room()
        else:
            self._release(active)

    def _remove_active(self, active: ActiveRun) -> bool:
        """Remove a run from the active ones; return False if it was abandoned before, and must not be settled."""
        was_active = self._active.pop(active.run.id, None) is active
        if not self._active:
            self._idle.set()
        return was_active


def _needs_preparation(active: ActiveRun) -> bool:
    task, run = active.task, active.run
    return (
        (bool(task.labels) and agent_of(task) is not None)
        or run.chain is not None
        or run.input is not None
        or task.policies.gate is not None
        or task.__class__ is TemplateTask
    )


def _late_gate_text(gate: Gate) -> str:
    return f"it gave no answer within {gate.timeout.total_seconds():g} s"


def _make_payload(active: ActiveRun) -> Outcome | None:
    """Give the task the input and the placeholders' values of this run; return the outcome where that is not possible."""
    try:
        previous = None if active.run.chain is None else active.previous
        active.task = task_of_run(active.task, active.run, previous)
    except Refusal as refusal:
        return Failed(str(refusal), permanent=True, reason=Reason.NOT_CALLED)
    except RecursionError:
        return Failed("the payload is nested too deeply", permanent=True, reason=Reason.NOT_CALLED)
    return None
