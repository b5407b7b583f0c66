"""Tasks: create, upsert by natural key, create in bulk, and import history; system tasks; lookup and control are inherited."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from ...clock import Clock
from ...entropy import entropy
from ...model.accounts.principal import LOCAL_OWNER, Principal, Scope
from ...model.accounts.system_owner import system_owner
from ...model.change import Change, Facts
from ...model.ids import EPOCH, run_id
from ...model.limits import BULK_TASKS
from ...model.refusals import refuse
from ...model.run import Run
from ...model.task import Target, Task
from ...ports.full_store import FullStore
from ...schedule import After
from ..accounts.approval_policy import STRICT_POLICY, ApprovalPolicy
from ..accounts.audit import Audit
from ..accounts.rights import can_see, refuse_agent, scoped_key
from ..events.destinations import check_destinations
from .commit import AuditAction, TaskWriter, attach_nothing
from .controls import TaskControls
from .drafts import TaskDrafts
from .functions.functions import Functions
from .group_add import AttachRecords
from .lookup import first_due
from .task_quota import TaskQuota
from .task_request import TaskRequest, names_predecessors, read_when

_T = TypeVar("_T")

_EARLIEST: Final = EPOCH + timedelta(days=1)


class Tasks(TaskControls):
    """`check` checks the target of each new or edited task with its payload, and returns the target to store."""

    def __init__(  # noqa: PLR0913 - dependencies, each by its name
        self,
        store: FullStore,
        clock: Clock,
        zone: str | None = None,
        on_write: Callable[[datetime | None], None] = lambda _due: None,
        *,
        entropy: Callable[[int], bytes] = entropy,
        check: Callable[[Target, str], Target] = lambda target, _payload: target,
        writer: TaskWriter | None = None,
        approval_policy: ApprovalPolicy = STRICT_POLICY,
        functions: Functions | None = None,
    ) -> None:
        writer = writer or TaskWriter(store, TaskQuota(store, clock), Audit(store, clock))
        functions = functions or Functions(store, clock)
        super().__init__(
            store, clock, on_write, TaskDrafts(clock, zone, check, entropy, approval_policy), writer, functions
        )

    async def create(
        self,
        principal: Principal,
        request: TaskRequest,
        *,
        paused: str | None = None,
        using: object | None = None,
        attach_records: AttachRecords = attach_nothing,
    ) -> Task:
        """Create a task; if its key is taken, edit the task that has it.

        `paused` is the reason for which a new task starts paused. `attach_records` builds records to write with it.
        `using` is a connection with an open transaction of the caller: the task is part of that transaction. Then
        nothing is edited: a taken key is refused.
        """
        if request.key is not None and using is None:
            return await self.declare(principal, request, paused=paused, attach_records=attach_records, is_new=True)
        principal.require_scope(Scope.WRITE)
        request = await self._pins.pin((await self._functions.resolve(request)).request)
        now = self._clock.now()
        request = await self._resolve_links(principal, request, now)
        if using is not None and isinstance(request.when, After):
            raise refuse("after_in_caller_transaction")
        change = self.drafts.plan(principal, request, self.drafts.new_id(now), now, paused)
        await self._check_references([change])
        (task,) = await self._add(principal, [change], attach_records, using)
        return task

    async def create_many(
        self,
        principal: Principal,
        requests: Iterable[TaskRequest],
        keep: Callable[[Task], _T],
        attach_records: AttachRecords = attach_nothing,
    ) -> list[_T]:
        """Create tasks, all or none up to a thousand; more are written in chunks of that size, each all or none.

        Every request is checked before the first chunk is written, so that only the store itself can stop halfway.
        `keep` selects what is returned for each task.
        """
        principal.require_scope(Scope.WRITE)
        if isinstance(requests, Sized):
            await self._writer.check_quota(principal, len(requests))
            now = self._clock.now()
            resolved = [(await self._functions.resolve(each)).request for each in requests]
            requests = [await self._resolve_links(principal, each, now) for each in resolved]
        changes = await self.drafts.plan_many(principal, requests, self._pins.pin)
        await self._check_references(changes)
        results: list[_T] = []
        while changes:
            results += map(keep, await self._add(principal, changes[:BULK_TASKS], attach_records))
            # Free memory chunk by chunk: freeing everything at once would block the event loop.
            del changes[:BULK_TASKS]
        return results

    async def _resolve_links(
        self, principal: Principal, request: TaskRequest, now: datetime, *, is_preview: bool = False
    ) -> TaskRequest:
        """Return the request with the ids of the tasks that it runs after, where it names them otherwise.

        `is_preview`: a task that does not exist keeps the name, because it may be made before this one is.
        """
        if not names_predecessors(request.when):
            return request
        zone = self.drafts.zone_of(principal) if request.zone is None else request.zone
        schedule = read_when(request.when, zone, now)
        return request._replace(
            when=await self._resolve_after(principal, schedule, request.owner, is_preview=is_preview)
        )

    async def _check_references(self, changes: Sequence[Change]) -> None:
        tasks = [change.task for change in changes if change.task is not None]
        await self._grants.check_tasks(tasks)
        for task in tasks:
            if task.policies.notify is not None:
                await check_destinations(self._records, task.owner, task.policies.notify)

    async def _add(
        self,
        principal: Principal,
        changes: Sequence[Change],
        attach_records: AttachRecords,
        using: object | None = None,
    ) -> list[Task]:
        due = min((entry.due for change in changes for entry in change.put), default=None)
        if any(change.task is not None and change.task.policies.where for change in changes):
            due = None  # the queue of its route may be new: nodes look at the queues again
        tasks = [change.task for change in changes if change.task is not None]
        await self._lane_templates.follow(principal, tasks, may_write=using is None)
        if using is None:
            await self._writer.add(principal, changes, attach_records)
            # Again: a template that was set meanwhile has not seen the tasks.
            await self._lane_templates.follow(principal, tasks)
            self._on_write(due)
        else:
            # The task is not visible yet: the engine is woken when the caller's transaction has ended.
            def add(all_changes: Sequence[Change]) -> Any:
                return self._book.add_using(using, all_changes, lambda: self._on_write(due))

            await self._writer.add(principal, changes, attach_records, add)
        return tasks

    async def declare(
        self,
        principal: Principal,
        request: TaskRequest,
        *,
        paused: str | None = None,
        attach_records: AttachRecords = attach_nothing,
        is_new: bool = False,
    ) -> Task:
        """Create or edit the task with this natural key; repeating the same request changes nothing.

        `is_new`: a cancelled task that has the key is refused, even if nothing would change.
        """
        principal.require_scope(Scope.WRITE)
        if request.key is None:
            raise refuse("bad_text", name="key", value=None, most=200)
        request, key = await self._with_scoped_key(principal, request, request.key)
        request = await self._pins.pin((await self._functions.resolve(request)).request)
        now, granted_lanes = self._clock.now(), request.granted_lanes
        request = await self._resolve_links(principal, request, now)
        draft = self.drafts.draft(principal, request, now)
        await self._grants.check(draft.owner, principal.agent, draft.target, draft.payload)
        await self._grants.check_gate(draft.owner, principal.agent, draft.policies.gate)
        await check_destinations(self._records, draft.owner, draft.policies.notify)
        task_id = self.drafts.new_id(now)

        def plan_new() -> Change:
            return self.drafts.plan_draft(principal, draft, task_id, now, paused, granted_lanes=granted_lanes)

        def decide(current: Facts | None) -> Change:
            return self.drafts.plan_declared(
                principal, draft, current, now, plan_new, is_new=is_new, granted_lanes=granted_lanes
            )

        if draft.lane is not None or draft.policies.lanes:
            planned = self.drafts.build(principal, draft, task_id, now, granted_lanes)
            await self._lane_templates.follow(principal, [planned])
        facts = await self._writer.upsert(principal, draft.owner, key, decide, attach_records)
        # Again: a template that was set meanwhile has not seen the task.
        await self._lane_templates.follow(principal, [facts.task])
        self._on_write(first_due(facts))
        return facts.task

    async def preview_declaration(
        self, principal: Principal, request: TaskRequest, *, paused: str | None = None
    ) -> tuple[Facts | None, Task]:
        """Dry run of `declare`: return the task that it would find, and the one it would leave."""
        principal.require_scope(Scope.WRITE)
        if request.key is None:
            raise refuse("bad_text", name="key", value=None, most=200)
        request, key = await self._with_scoped_key(principal, request, request.key)
        request = await self._pins.pin((await self._functions.resolve(request)).request)
        now, granted_lanes = self._clock.now(), request.granted_lanes
        request = await self._resolve_links(principal, request, now, is_preview=True)
        draft = self.drafts.draft(principal, request, now)
        await self._grants.check(draft.owner, principal.agent, draft.target, draft.payload)
        await self._grants.check_gate(draft.owner, principal.agent, draft.policies.gate)
        await check_destinations(self._records, draft.owner, draft.policies.notify)
        current = await self._book.find(draft.owner, key)
        if current is not None and not can_see(principal, current.task):
            raise refuse("key_taken", key=key)
        task_id = self.drafts.new_id(now)

        def plan_new() -> Change:
            return self.drafts.plan_draft(principal, draft, task_id, now, paused, granted_lanes=granted_lanes)

        change = self.drafts.plan_declared(principal, draft, current, now, plan_new, granted_lanes=granted_lanes)
        after = change.task or (None if current is None else current.task)
        if after is None:
            raise refuse("no_such_task", id=key)
        return current, after

    async def _with_scoped_key(self, principal: Principal, request: TaskRequest, key: str) -> tuple[TaskRequest, str]:
        """Prefix the key of an agent's request, unless a task that the agent made has the key as given."""
        if principal.agent is None or not isinstance(key, str):
            return request, key
        existing = await self.find_by_key(principal._replace(scopes=principal.scopes | {Scope.READ}), key)
        scoped = scoped_key(principal, key) if existing is None else existing.task.key or key
        return request._replace(key=scoped), scoped

    async def import_history(self, principal: Principal, task_id: str, ended: Sequence[Run]) -> None:
        """Import ended runs of another scheduler as ledger rows; rows that exist already are not written again.

        They are assigned to this task. Live runs are left out, because they would distort the counters.
        """
        refuse_agent(principal, "rows of another scheduler")
        principal.require_scope(Scope.WRITE)
        now = self._clock.now()
        ended_runs = [run for run in ended if not run.live]
        for run in ended_runs:
            check_past(run.planned, run.due, run.started, run.ended, now=now)
        await self._change(
            principal,
            task_id,
            lambda facts: Change(new_runs=tuple(_assign_to(run, facts.task) for run in ended_runs)),
            AuditAction("task.history", lambda _facts, _change: {"runs": len(ended_runs)}),
        )


def check_past(*instants: datetime | None, now: datetime) -> None:
    """Refuse an instant that no past run can have: without a zone, before 1970, or in the future."""
    for at in instants:
        if at is not None and (at.tzinfo is None or not _EARLIEST <= at <= now):
            raise refuse("not_past", value=at.isoformat())


def _assign_to(run: Run, task: Task) -> Run:
    name = run_id(task.id, run.origin, run.planned, run.attempt)
    return run._replace(id=name, task_id=task.id, owner=task.owner)


def system_principal(account: str = LOCAL_OWNER, zone: str | None = None) -> Principal:
    """Return the principal that writes the system tasks of an account; no token and no front end acts as it."""
    return Principal(system_owner(account), via="system", zone=zone)


class SystemTasks:
    """For Horae's own code: there is no route, command or tool for it.

    All other operations of `Tasks` and `Runs` take the principal of `system_principal`.
    """

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks

    async def create(self, account: str, request: TaskRequest) -> Task:
        """Create a system task; if its key is taken, edit the one that has it."""
        return await self._tasks.create(system_principal(account), request)

    async def declare(self, account: str, request: TaskRequest) -> Task:
        """Create or edit the system task with this key; repeating the same request changes nothing."""
        return await self._tasks.declare(system_principal(account), request)

    async def delete(self, account: str, task_id: str) -> None:
        """Delete a system task with its history."""
        await self._tasks.delete(system_principal(account), task_id)
