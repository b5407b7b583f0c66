"""Operations on an existing task: edit, pause, resume, cancel, delete, run now, skip, backfill."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Self

from ...clock import Clock
from ...errors import Refusal
from ...lifecycle.control import control, edit
from ...model.accounts.account import agent_of
from ...model.accounts.pause_change import PauseChange, pause_change_from
from ...model.accounts.principal import Principal, Scope
from ...model.change import Change, ControlDecision, Facts
from ...model.gate import Gate
from ...model.ids import run_id
from ...model.inputs.run_input import RunInput
from ...model.lanes.lane import agent_lane
from ...model.page import MAX_PAGE_SIZE
from ...model.policy import MissedMode, Notify
from ...model.reason import Reason
from ...model.record import RecordWrite
from ...model.refusals import refuse as refuse_task
from ...model.run import Origin
from ...model.task import Pause, PauseCause, TaskState
from ...ports.full_store import FullStore
from ...ports.store import RunFilter
from ..accounts.refusals import refuse
from ..accounts.rights import check_system_task, refuse_agent
from ..accounts.secret_grants import SecretGrants
from ..events.destinations import check_destinations
from ..query.id_prefix import resolve_run, resolve_task
from ..runs.lane_templates import LaneTemplates
from .cancel_records import read_cancel_record, restore_change, with_cancel_record
from .commit import AttachToChange, AuditAction, Condition, TaskWriter, changed_fields
from .drafts import TaskDrafts
from .edits import EditResult, Edits, Keep, fire_changes
from .functions.functions import Functions, function_of, gate_function_of, with_function
from .functions.records import FormerName
from .group_pins import GroupPins
from .lookup import TaskLookup
from .quotas import check_schedule, refuse_when_used_up
from .run_inputs import RunInputs, input_detail
from .task_request import names_predecessors, read_when


class TaskControls(TaskLookup):
    """`on_write` is called after each write with the first instant at which something may be due, to wake the engine."""

    def __init__(
        self,
        store: FullStore,
        clock: Clock,
        on_write: Callable[[datetime | None], None],
        drafts: TaskDrafts,
        writer: TaskWriter,
        functions: Functions,
    ) -> None:
        super().__init__(store)
        self._clock = clock
        self._on_write = on_write
        self.drafts = drafts
        self._writer = writer
        self._grants = SecretGrants(store)
        self._lane_templates = LaneTemplates(store)
        self._records = store
        self._functions = functions
        self._pins = GroupPins(store)
        self.inputs = RunInputs(store, drafts, functions)

    def with_condition(self, condition: Condition) -> Self:
        """Return the same service for conditional changes: the condition is checked within the transaction."""
        conditional = object.__new__(type(self))
        # A shallow copy, faster than `copy.copy`.
        conditional.__dict__.update(self.__dict__, _writer=self._writer.with_condition(condition))
        return conditional

    def with_attached(self, attach: AttachToChange) -> Self:
        """Return the same service for changes of tasks with which these records are written."""
        attaching = object.__new__(type(self))
        attaching.__dict__.update(self.__dict__, _writer=self._writer.with_attached(attach))
        return attaching

    async def edit(
        self, principal: Principal, task_id: str, edits: Edits, *, expected: int | None = None, dry_run: bool = False
    ) -> EditResult:
        """Change only the given fields. `expected` is the version that the caller has read; another one is refused."""
        principal.require_scope(Scope.WRITE)
        await self._check_references_of_edit(principal, task_id, edits)
        if (
            not isinstance(edits.target, Keep)
            or not isinstance(edits.payload, Keep)
            or gate_function_of(edits.options) is not None
        ):
            before = (await self.get(principal, task_id)).task
            await self._functions.check_edits(before.target, before.payload, edits)
            edits = await self._functions.complete_edits(before.target, edits)
        if edits.options.where is not None or not isinstance(edits.target, Keep):
            edits = await self._pins.pin_edits((await self.get(principal, task_id)).task, edits)
        now = self._clock.now()
        if not isinstance(edits.when, Keep) and names_predecessors(edits.when):
            before = (await self.get(principal, task_id)).task
            schedule = read_when(edits.when, edits.zone or before.schedule.zone, now)
            edits = edits._replace(when=await self._resolve_after(principal, schedule, before.owner))
        results: list[EditResult] = []

        def decide(facts: Facts) -> Change:
            before = facts.task
            if expected is not None and expected != before.version:
                raise refuse_task("stale_version", version=before.version, expected=expected)
            change = self.drafts.plan_edit(principal, facts, edits, now)
            after = change.task or before
            results[:] = [EditResult(before, after, fire_changes(before, after, facts.status, now))]
            return change

        if dry_run:
            facts = await self.get(principal, task_id)
            check_system_task(principal, facts.task, "task.edit")
            decide(facts)
            return results[0]
        moves = not isinstance(edits.lane, Keep) or edits.options.lanes is not None
        if moves:
            current = await self.get(principal, task_id)
            check_system_task(principal, current.task, "task.edit")
            decide(current)
            await self._lane_templates.follow(principal, [results[0].after])
        await self._change(principal, task_id, decide, AuditAction("task.edit", changed_fields))
        if moves:
            await self._lane_templates.follow(principal, [results[0].after])
        return results[0]

    async def rename_declared(self, principal: Principal, task_id: str, key: str, former: FormerName) -> None:
        """Give the declared task of a renamed function the key, target and name of the new function name."""
        refuse_agent(principal, "declared functions")
        principal.require_scope(Scope.WRITE)
        now = self._clock.now()

        def decide(facts: Facts) -> Change:
            task = facts.task
            if function_of(task.target) != former.name:
                return Change()
            name = former.current if task.name == former.name else task.name
            renamed = task._replace(key=key, name=name, target=with_function(task.target, former.current))
            if facts.status.state is TaskState.CANCELLED:
                # It stays cancelled under its new key: otherwise the declaration would create it again.
                return Change(task=renamed._replace(version=task.version + 1))
            return edit.edit(facts, renamed, now)

        await self._change(principal, task_id, decide, AuditAction("task.edit", changed_fields))

    async def _check_references_of_edit(self, principal: Principal, task_id: str, edits: Edits) -> None:
        """Check that a task of an agent references only secrets granted to it, also if its owner edits it.

        A destination that the edit names must exist.
        """
        if isinstance(edits.options.notify, Notify):
            owner = (await self.get(principal, task_id)).task.owner
            await check_destinations(self._records, owner, edits.options.notify)
        if isinstance(edits.options.gate, Gate):
            task = (await self.get(principal, task_id)).task
            await self._grants.check_gate(task.owner, agent_of(task), edits.options.gate)
        if isinstance(edits.target, Keep) and isinstance(edits.payload, Keep):
            return
        task = (await self.get(principal, task_id)).task
        target = task.target if isinstance(edits.target, Keep) else edits.target
        payload = task.payload if isinstance(edits.payload, Keep) else edits.payload
        await self._grants.check(task.owner, agent_of(task), target, payload)

    async def pause(
        self,
        principal: Principal,
        task_id: str,
        *,
        cause: PauseCause = PauseCause.REQUESTED,
        note: str = "",
        until: datetime | None = None,
    ) -> Facts:
        """Pause a task; one that waits for approval, or was stopped with its agent, stays as it is."""
        principal.require_scope(Scope.WRITE)
        now = self._clock.now()

        def decide(facts: Facts) -> Change:
            if cause is PauseCause.REQUESTED and _is_locked_pause(principal, facts.status.pause):
                if until is not None:
                    self._check_may_run(principal, facts)
                return Change()
            return control.pause(facts, now, cause=cause, note=note, until=until)

        return await self._change(principal, task_id, decide, AuditAction("task.pause", _pause_detail))

    async def resume(self, principal: Principal, task_id: str, missed: MissedMode = "skip") -> Facts:
        principal.require_scope(Scope.WRITE)
        now = self._clock.now()

        def decide(facts: Facts) -> Change:
            self._check_may_run(principal, facts)
            change = control.resume(facts, now, missed)
            if change != Change():
                self._check_may_continue(principal, facts, now)
            return change

        return await self._change(
            principal, task_id, decide, AuditAction("task.resume", lambda _facts, _change: {"missed": missed})
        )

    async def restore(self, principal: Principal, change: PauseChange, *, dry_run: bool = False) -> Facts:
        """Undo one pause, resume or cancel; refused if the task was changed since, or was restarted after it had failed."""
        principal.require_scope(Scope.WRITE)
        now = self._clock.now()

        def decide(facts: Facts) -> Change:
            restored = restore_change(facts, change, now)
            if restored.status is not None and restored.status.state is not TaskState.PAUSED:
                self._check_may_run(principal, facts)
                self._check_may_continue(principal, facts, now)
            return restored

        if dry_run:
            facts = await self.get(principal, change.task_id)
            decide(facts)
            return facts
        detail = {"undo": change.operation}
        name = "task.resume" if change.before is None else "task.pause"
        action = AuditAction("task.restore" if change.cancelled else name, lambda _facts, _change: detail)
        return await self._change(principal, change.task_id, decide, action)

    async def cancel(self, principal: Principal, task_id: str) -> Facts:
        """Cancel a task. What an undo needs is recorded with it, unless the cancel is final."""
        principal.require_scope(Scope.WRITE)
        now = self._clock.now()

        def decide(facts: Facts) -> Change:
            return with_cancel_record(facts, control.cancel(facts, now), principal.agent, now)

        return await self._change(principal, task_id, decide, AuditAction("task.cancel"))

    async def undo_cancel(self, principal: Principal, task_id: str) -> Facts:
        """Undo the cancel of a task. An agent can undo its own cancels only, not those of a person or another agent."""
        principal.require_scope(Scope.WRITE)
        facts = await self._get_visible(principal, task_id)
        record = await read_cancel_record(self._records, facts, principal.agent)
        drop = RecordWrite(record, record.version, dropped=True)
        return await self.with_attached(lambda _facts, _change: (drop,)).restore(principal, pause_change_from(record))

    async def can_undo_cancel(self, principal: Principal, task_id: str) -> bool:
        """Whether this caller can undo the cancel of a task now."""
        facts = await self.get(principal, task_id)
        try:
            await read_cancel_record(self._records, facts, principal.agent)
        except Refusal:
            return False
        return Scope.WRITE in principal.scopes

    async def delete(self, principal: Principal, task_id: str, *, force: bool = False) -> None:
        """Delete a task with its history. With `force` also one that others run after: these are then paused."""
        principal.require_scope(Scope.WRITE)
        now = self._clock.now()
        await self._change(
            principal, task_id, lambda facts: control.delete(facts, now, force=force), AuditAction("task.delete")
        )

    async def run_now(
        self,
        principal: Principal,
        task_id: str,
        given: RunInput | None = None,
        *,
        chain: bool = True,
        gate_only: bool = False,
    ) -> str:
        """Add one extra occurrence; return the id that its first run will have. Without `chain`, it starts no successor.

        With `gate_only` the run asks the gate, and does not call the target.
        """
        task_id = await resolve_task(self._book, principal, task_id)
        planned = await self.queue_now(principal, task_id, given, chain=chain, gate_only=gate_only)
        return run_id(task_id, Origin.MANUAL, planned, 1)

    async def queue_now(
        self,
        principal: Principal,
        task_id: str,
        given: RunInput | None = None,
        *,
        chain: bool = True,
        gate_only: bool = False,
    ) -> datetime:
        """Add one extra occurrence; return its planned instant. `given` is the input of its runs."""
        principal.require_scope(Scope.RUN)
        given = await self._check_input(principal, task_id, given)
        now = self._clock.now()
        planned: list[datetime] = []

        def decide(facts: Facts) -> Change:
            self._check_may_run(principal, facts)
            refuse_when_used_up(facts)
            self.inputs.check_again(facts.task, given)
            if gate_only:
                change = control.check_gate(facts, now, given)
            else:
                change = control.run_now(facts, now, given, fires=chain)
            planned[:] = [entry.planned for entry in change.put]
            return change

        await self._change(
            principal, task_id, decide, AuditAction("task.run", lambda _facts, _change: input_detail(given))
        )
        return planned[0]

    async def skip_next(self, principal: Principal, task_id: str, number: int = 1) -> Facts:
        principal.require_scope(Scope.RUN)
        action = AuditAction("task.skip", lambda _facts, _change: {"skips": number})
        return await self._change(principal, task_id, lambda facts: control.skip_next(facts, number), action)

    async def _check_input(self, principal: Principal, task_id: str, given: RunInput | None) -> RunInput | None:
        if given is None:
            return None
        return await self.inputs.check(principal, (await self.get(principal, task_id)).task, given)

    async def backfill(  # noqa: PLR0913 - one argument for each choice of a request
        self,
        principal: Principal,
        task_id: str,
        first: datetime,
        last: datetime,
        *,
        again: bool = False,
        given: RunInput | None = None,
        chain: bool = True,
    ) -> Facts:
        """Add occurrences for a past range, executed one by one. `given` is the input of all their runs.

        Occurrences that were backfilled before stay as they are, or (`again`) are attempted once more. Without `chain`,
        they start no successor.
        """
        principal.require_scope(Scope.RUN)
        now = self._clock.now()
        task_id = await resolve_task(self._book, principal, task_id)
        given = await self._check_input(principal, task_id, given)
        last_attempt = await self._last_backfill_attempt(principal, task_id, first, last) if again else 0

        def decide(facts: Facts) -> Change:
            self._check_may_run(principal, facts)
            refuse_when_used_up(facts)
            self.inputs.check_again(facts.task, given)
            return edit.backfill(facts, first, last, now, last_attempt, given, fires=chain)

        span = {"first": first.isoformat(), "last": last.isoformat(), **input_detail(given)}
        return await self._change(
            principal, task_id, decide, AuditAction("task.backfill", lambda _facts, _change: span)
        )

    async def _last_backfill_attempt(self, principal: Principal, task_id: str, first: datetime, last: datetime) -> int:
        """Return the highest attempt of a backfilled occurrence in this range."""
        highest, after = 0, None
        while True:
            page = await self._book.runs(
                RunFilter(principal.owner_filter, task_id, None, first, last), after, MAX_PAGE_SIZE
            )
            highest = max([highest, *(run.attempt for run in page.items if run.origin is Origin.BACKFILL)])
            after = page.after
            if after is None:
                return highest

    async def cancel_run(self, principal: Principal, task_id: str, run_id: str) -> Facts:
        principal.require_scope(Scope.RUN)
        now = self._clock.now()
        run_id = await resolve_run(self._book, principal, run_id)
        action = AuditAction("run.cancel", lambda _facts, _change: {"run": run_id})
        return await self._change(principal, task_id, lambda facts: control.cancel_run(facts, run_id, now), action)

    def _check_may_run(self, principal: Principal, facts: Facts) -> None:
        """Refuse to run a task that waits for approval, or was stopped or revoked with its agent."""
        self.drafts.approval_policy.check_approved(facts.task)
        pause = facts.status.pause
        if pause is None:
            return
        if principal.agent is not None and pause.cause is PauseCause.AGENT_STOPPED:
            raise refuse("agent_stopped", agent=principal.agent)
        if pause.cause is PauseCause.OWNER_REVOKED and (principal.agent is not None or not _is_restored(facts)):
            raise refuse("agent_revoked", agent=agent_of(facts.task) or "", owner=facts.task.owner)

    def _check_may_continue(self, principal: Principal, facts: Facts, now: datetime) -> None:
        """Refuse the end of a pause after which the task could not run, or would run more often than its owner may."""
        if facts.task.owner == principal.owner:
            check_schedule(principal, facts.task.schedule, now, facts.status.counted)

    async def _change(self, principal: Principal, task_id: str, decide: ControlDecision, action: AuditAction) -> Facts:
        facts = await self._writer.change(principal, task_id, decide, action)
        self._on_write(None)
        return facts


def _is_locked_pause(principal: Principal, pause: Pause | None) -> bool:
    """Whether the principal may not change this pause, because another person must act first."""
    if pause is None:
        return False
    is_stopped = pause.cause in (PauseCause.AGENT_STOPPED, PauseCause.QUOTA) and principal.agent is not None
    return is_stopped or pause.cause in (PauseCause.AWAITING_APPROVAL, PauseCause.OWNER_REVOKED)


def _is_restored(facts: Facts) -> bool:
    """Whether the agent of this task has a token again.

    The block of its own lane says so; in other lanes only a restart does.
    """
    task, agent = facts.task, agent_of(facts.task)
    return (
        agent is not None
        and task.lane == agent_lane(task.owner, agent)
        and facts.block_reason is not Reason.OWNER_REVOKED
    )


def _pause_detail(_facts: Facts | None, change: Change) -> dict[str, Any]:
    pause = None if change.status is None else change.status.pause
    if pause is None:
        return {}
    return {"cause": pause.cause.value, "until": None if pause.until is None else pause.until.isoformat()}
