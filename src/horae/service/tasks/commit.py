"""Transactional writes of tasks: access check, quota check and audit row belong to the transaction of the change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ...model.accounts.principal import Principal
from ...model.change import Change, ControlDecision, Facts, facts_after
from ...model.policy import to_json as policies_to_json
from ...model.record import RecordWrite
from ...model.refusals import refuse
from ...model.task import NEW_TASK_STATUS, Task, TaskState, TaskStatus
from ...ports.store import Book
from ...schedule import to_json
from ..accounts.audit import Audit, changed_values
from ..accounts.rights import can_see, check_system_task
from ..query.argument_checks import check_id
from ..query.id_prefix import resolve_task
from .group_add import AttachRecords, GroupAdd, NewTasks
from .quotas import definition_bytes
from .task_quota import QuotaCheck, TaskQuota, TaskTransition

AttachToChange: TypeAlias = Callable[[Facts, Change], Sequence[RecordWrite]]
"""Returns records to write with the change of an existing task."""
Detail: TypeAlias = Callable[[Facts | None, Change], Mapping[str, Any]]
Condition: TypeAlias = Callable[[Facts | None], None]
"""Refuses the change if the task (None: it does not exist yet) is not as the caller expects."""


class AuditAction(NamedTuple):
    """Audit entry of a change; `detail` never holds a payload or a secret."""

    action: str
    detail: Detail = lambda _facts, _change: {}


_CREATE: Final = "task.create"
_DELETED: Final = TaskStatus(TaskState.CANCELLED)
"""Status of a deleted task: it no longer counts against the quota."""


def attach_nothing(_made: Sequence[Facts]) -> Sequence[RecordWrite]:
    return ()


def attach_no_records(_facts: Facts, _change: Change) -> Sequence[RecordWrite]:
    return ()


def accept_any(_found: Facts | None) -> None:
    return


class TaskWriter:
    """`condition` is checked within the transaction, so that no other write comes in between."""

    def __init__(
        self,
        book: Book,
        quota: TaskQuota,
        audit: Audit,
        condition: Condition = accept_any,
        attach: AttachToChange = attach_no_records,
        group_add: GroupAdd | None = None,
    ) -> None:
        self._book = book
        self._quota = quota
        self._audit = audit
        self._condition = condition
        self._attach = attach
        # Shared with the writers made of this one, so that their requests form groups.
        self._group_add = group_add or GroupAdd(quota, self._add_group)

    def with_condition(self, condition: Condition) -> TaskWriter:
        """Return a writer that also checks this condition."""
        return TaskWriter(self._book, self._quota, self._audit, condition, self._attach, self._group_add)

    def with_attached(self, attach: AttachToChange) -> TaskWriter:
        """Return a writer that writes these records with each change of a task."""
        return TaskWriter(self._book, self._quota, self._audit, self._condition, attach, self._group_add)

    async def change(self, principal: Principal, task_id: str, decide: ControlDecision, action: AuditAction) -> Facts:
        """Decide on one task and write the change; a foreign task is refused like an absent one."""
        check_id(task_id, "no_such_task")
        task_id = await resolve_task(self._book, principal, task_id)

        is_deletion = False

        async def write(quota_check: QuotaCheck) -> Facts | None:
            def decide_with_records(facts: Facts) -> Change:
                nonlocal is_deletion
                if not can_see(principal, facts.task):
                    raise refuse("no_such_task", id=task_id)
                check_system_task(principal, facts.task, action.action)
                self._condition(facts)
                change = decide(facts)
                change = _attach(change, self._attach(facts, change))
                change = self._with_records(principal, quota_check, facts, change, action)
                is_deletion = change.deleted
                return change

            return await self._book.change(task_id, principal.owner_filter, decide_with_records)

        facts = await self._quota.write_within(principal, write)
        if facts is None:
            raise refuse("no_such_task", id=task_id)
        if is_deletion:
            self._quota.forget_output(facts.task.owner)
        return facts

    async def upsert(
        self,
        principal: Principal,
        owner: str,
        key: str,
        decide: Callable[[Facts | None], Change],
        attach_records: AttachRecords,
    ) -> Facts:
        """Create or edit the task with this key; a task that the principal may not see is refused as a taken key."""

        async def write(quota_check: QuotaCheck) -> Facts:
            def decide_with_records(current: Facts | None) -> Change:
                if current is not None and not can_see(principal, current.task):
                    raise refuse("key_taken", key=key)
                self._condition(current)
                change = self._with_records(principal, quota_check, current, decide(current), _upsert_action(current))
                after = _facts_after(current, change)
                return change if after is None else _attach(change, attach_records((after,)))

            return await self._book.upsert(owner, key, decide_with_records)

        return await self._quota.write_within(principal, write)

    async def check_quota(self, principal: Principal, number: int) -> None:
        """Refuse so many new tasks if `add` would refuse them for the quota."""
        await self._quota.check(principal, number)

    async def add(
        self,
        principal: Principal,
        changes: Sequence[Change],
        attach_records: AttachRecords,
        add: Callable[[Sequence[Change]], Any] | None = None,
    ) -> None:
        """Insert new tasks, all or none, with one audit row per owner. Without `add`, other requests may share the
        transaction."""
        request = NewTasks(principal, changes, attach_records)
        if add is None:
            await self._group_add.add(request)
            return

        async def write(quota_check: QuotaCheck) -> None:
            await add(self._admitted_changes(quota_check, (request,)))

        await self._quota.write_within(principal, write)

    async def _add_group(self, quota_check: QuotaCheck, requests: Sequence[NewTasks]) -> None:
        await self._book.add(self._admitted_changes(quota_check, requests))

    def _admitted_changes(self, quota_check: QuotaCheck, requests: Sequence[NewTasks]) -> list[Change]:
        """Return the changes of requests whose caller has the same quotas, with the records to write with them."""
        quota_writings = quota_check.admit(
            TaskTransition(_task_id(change), None, change.status or NEW_TASK_STATUS, _growth(None, change.task))
            for request in requests
            for change in request.changes
        )
        admitted: list[Change] = []
        for principal, changes, attach_records in requests:
            tasks = [change.task for change in changes if change.task is not None]
            first, *rest = changes
            attached = (*self._audit_rows(principal, tasks), *_build_attached(attach_records, changes))
            admitted += (_attach(first, (*quota_writings, *attached)), *rest)
            quota_writings = ()
        return admitted

    def _audit_rows(self, principal: Principal, tasks: Sequence[Task]) -> tuple[RecordWrite, ...]:
        if not principal.actor:
            return ()
        by_owner: dict[str, list[Task]] = {}
        for task in tasks:
            by_owner.setdefault(task.owner, []).append(task)
        return tuple(row for owner_tasks in by_owner.values() for row in self._audit_row(principal, owner_tasks))

    def _audit_row(self, principal: Principal, tasks: Sequence[Task]) -> tuple[RecordWrite, ...]:
        detail = {} if len(tasks) == 1 else {"tasks": len(tasks), "last": tasks[-1].id}
        return self._audit.row(principal, _CREATE, tasks[0].id, detail, owner=tasks[0].owner)

    def _with_records(
        self, principal: Principal, quota_check: QuotaCheck, current: Facts | None, change: Change, action: AuditAction
    ) -> Change:
        """Attach the quota record and the audit row to a change; an empty change stays empty."""
        if change == Change():
            return change
        task = change.task or (None if current is None else current.task)
        if task is None:
            return change
        quota_writings: tuple[RecordWrite, ...] = ()
        if quota_check.uses:
            before = None if current is None else current.status
            growth = _growth(None if current is None else current.task, None if change.deleted else task)
            after = _DELETED if change.deleted else change.status or before or NEW_TASK_STATUS
            quota_writings = quota_check.admit([TaskTransition(task.id, before, after, growth)])
        row = self._audit.row(principal, action.action, task.id, action.detail(current, change), owner=task.owner)
        return _attach(change, (*quota_writings, *row))


def _growth(before: Task | None, after: Task | None) -> int:
    if before is after:
        return 0
    return (0 if after is None else definition_bytes(after)) - (0 if before is None else definition_bytes(before))


def _attach(change: Change, writings: Sequence[RecordWrite]) -> Change:
    return change._replace(attached=(*change.attached, *writings)) if writings else change


def _build_attached(attach_records: AttachRecords, changes: Sequence[Change]) -> Sequence[RecordWrite]:
    """Build attached records only if requested: for many tasks, computing the facts costs time."""
    if attach_records is attach_nothing:
        return ()
    return attach_records([after for change in changes if (after := _facts_after(None, change)) is not None])


def _facts_after(current: Facts | None, change: Change) -> Facts | None:
    """Return the facts of the task after the change."""
    if current is None:
        return None if change.task is None else facts_after(Facts(change.task, NEW_TASK_STATUS), change)
    return facts_after(current, change)


def _task_id(change: Change) -> str:
    return "" if change.task is None else change.task.id


def _upsert_action(current: Facts | None) -> AuditAction:
    return AuditAction(_CREATE) if current is None else AuditAction("task.edit", changed_fields)


def changed_fields(facts: Facts | None, change: Change) -> Mapping[str, Any]:
    """Return the names of edited fields, and the values of those that say when and how the task runs.

    Names, labels, targets and payloads may be private: the trail outlives the task, so it never holds their values.
    """
    if facts is None or change.task is None:
        return {}
    before, after = facts.task, change.task
    pairs = zip(Task._fields, before, after, strict=True)
    fields = [name for name, old, new in pairs if old != new and name != "version"]
    return {"fields": fields, "version": after.version, **changed_values(_audited(before), _audited(after))}


def _audited(task: Task) -> dict[str, Any]:
    return {"when": to_json(task.schedule), "policies": policies_to_json(task.policies), "lane": task.lane}
