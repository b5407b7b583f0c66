"""Approval of tasks that agents made, and stopping or restarting all tasks of an agent."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from hmac import compare_digest

from ...clock import Clock
from ...errors import Refusal
from ...lifecycle import control, edit
from ...model.accounts.account import AGENT_CHARACTERS, is_agent_name
from ...model.accounts.principal import AGENT_LABEL, Principal, Scope
from ...model.change import Change, ControlDecision, Facts, combine_decisions
from ...model.field_checks import check_text
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.refusals import refuse as refuse_task
from ...model.task import OPEN_STATES, PauseCause, TaskState
from ...ports.full_store import FullStore
from ...ports.store import TaskFilter
from ..query.argument_checks import check_id, check_page
from ..tasks.commit import AuditAction, TaskWriter
from ..tasks.quotas import check_schedule
from ..tasks.task_quota import TaskQuota, load_agent_record
from .agents import RESTART_COMMAND, STOP_COMMAND, check_agent
from .approval_policy import STRICT_POLICY, ApprovalPolicy, with_approval, with_rejection
from .approval_policy import digest_of as digest_of  # noqa: PLC0414 - callers that approve need the digest too
from .audit import Audit
from .refusals import refuse
from .rights import refuse_agent, restrict_filter
from .secret_grants import SecretGrants

_STOP_NOTE = "its agent was stopped"
REASON_CHARACTERS = 200
"""A reason of a rejection is a label value."""


class Approvals:
    def __init__(  # noqa: PLR0913 - dependencies, each by its name
        self,
        store: FullStore,
        clock: Clock,
        *,
        writer: TaskWriter,
        quota: TaskQuota,
        audit: Audit,
        approval_policy: ApprovalPolicy = STRICT_POLICY,
        on_write: Callable[[datetime | None], None] = lambda _due: None,
    ) -> None:
        self._store = store
        self._policy = approval_policy
        self._clock = clock
        self._writer = writer
        self._quota = quota
        self._audit = audit
        self._on_write = on_write

    async def approve(self, principal: Principal, task_id: str, digest: str) -> Facts:
        """Approve the task with this digest: it may run exactly as it is. Refused if the digest is another one."""
        refuse_agent(principal, "approvals")
        principal.require_scope(Scope.WRITE)
        await self._check_secrets(principal, task_id)
        now = self._clock.now()
        action = AuditAction("task.approve", lambda _facts, _change: {"digest": digest})
        facts = await self._writer.change(
            principal, task_id, lambda facts: self._approve_change(principal, facts, digest, now), action
        )
        self._on_write(None)
        return facts

    async def reject(self, principal: Principal, task_id: str, reason: str = "") -> Facts:
        """Cancel a task that waits for approval: it never runs. The agent reads the reason in a label of the task."""
        refuse_agent(principal, "approvals")
        principal.require_scope(Scope.WRITE)
        if reason:
            check_text("reason", reason, REASON_CHARACTERS)
        now = self._clock.now()
        action = AuditAction("task.reject", lambda _facts, _change: {"reason": reason} if reason else {})
        facts = await self._writer.change(
            principal, task_id, lambda facts: self._reject_change(facts, reason, now), action
        )
        self._on_write(None)
        return facts

    async def _check_secrets(self, principal: Principal, task_id: str) -> None:
        """Check the grants of its secrets. If the task changes after this check, its digest no longer matches."""
        check_id(task_id, "no_such_task")
        facts = await self._store.facts(task_id, principal.owner_filter)
        if facts is not None and self._policy.awaits_approval(facts.task):
            await SecretGrants(self._store).check_tasks([facts.task])

    async def page(self, principal: Principal, after: str | None = None, limit: int = 20) -> Page[Facts]:
        """Return tasks that wait for approval, in the order of creation: for owners that are no admins, their own."""
        refuse_agent(principal, "approvals")
        principal.require_scope(Scope.READ)
        check_page(after, limit)
        waiting = TaskFilter(principal.owner_filter, pause_cause=PauseCause.AWAITING_APPROVAL)
        try:
            return await self._store.tasks(waiting, after, limit)
        except (ValueError, OverflowError):
            # Not a cursor of this store.
            raise refuse_task("bad_page", value=after, wanted="after", most=MAX_PAGE_SIZE) from None

    async def stop_agent(self, principal: Principal, agent: str, owner: str | None = None) -> int:
        """Pause all tasks of the agent and refuse its writes until it is restarted; return how many were paused."""
        return await self._stop_or_restart(principal, agent, owner, _stop_change, stopped=True)

    async def restart_agent(self, principal: Principal, agent: str, owner: str | None = None) -> int:
        """Allow the agent's writes again and resume the tasks that were paused with it; return how many."""
        return await self._stop_or_restart(principal, agent, owner, self._restart_change, stopped=False)

    async def pause_revoked(self, principal: Principal, owner: str, agent: str) -> int:
        """Pause the tasks of an agent whose last token was revoked; return how many were paused."""
        action = AuditAction("task.pause", lambda _facts, _change: {"cause": "token.revoke"})
        changed = await self._change_all(
            principal, TaskFilter(owner, OPEN_STATES, labels=((AGENT_LABEL, agent),)), _revoke_change, action
        )
        self._on_write(None)
        return changed

    async def _stop_or_restart(
        self,
        principal: Principal,
        agent: str,
        owner: str | None,
        decide: Callable[[Facts, datetime], Change],
        *,
        stopped: bool,
    ) -> int:
        refuse_agent(principal, "agents")
        principal.require_scope(Scope.WRITE)
        account = principal.owner if owner is None else owner
        if account != principal.owner and principal.owner_filter is not None:
            raise refuse("no_such_owner", name=account)
        if not is_agent_name(agent):
            raise refuse("bad_agent_name", name=agent, most=AGENT_CHARACTERS)
        await check_agent(self._store, principal, account, agent, STOP_COMMAND if stopped else RESTART_COMMAND)
        if not stopped and json.loads((await load_agent_record(self._store, account, agent))[0].body).get("revoked"):
            raise refuse("agent_revoked", agent=agent, owner=account)
        audit_action = "agent.stop" if stopped else "agent.restart"
        row = self._audit.row(principal, audit_action, agent, owner=account)
        # First the stop record, then the tasks: a task made in between is found, and none is made afterwards.
        await self._quota.set_stopped(account, agent, row, stopped=stopped)
        task_action = AuditAction(
            "task.pause" if stopped else "task.resume", lambda _facts, _change: {"cause": audit_action}
        )
        changed = await self._change_all(
            principal, TaskFilter(account, OPEN_STATES, labels=((AGENT_LABEL, agent),)), decide, task_action
        )
        self._on_write(None)
        return changed

    async def _change_all(
        self,
        principal: Principal,
        task_filter: TaskFilter,
        decide: Callable[[Facts, datetime], Change],
        action: AuditAction,
    ) -> int:
        now, changed, after = self._clock.now(), 0, None
        while True:
            page = await self._store.tasks(restrict_filter(principal, task_filter), after, MAX_PAGE_SIZE)
            for facts in page.items:
                changed += await self._change_one(
                    principal, facts.task.id, lambda current: decide(current, now), action
                )
            after = page.after
            if after is None:
                return changed

    async def _change_one(
        self, principal: Principal, task_id: str, decide: ControlDecision, action: AuditAction
    ) -> bool:
        """Return whether anything changed; a task that ended meanwhile needs no change."""
        is_changed: list[bool] = [False]

        def decide_and_note(facts: Facts) -> Change:
            change = decide(facts)
            is_changed[0] = change != Change()
            return change

        try:
            await self._writer.change(principal, task_id, decide_and_note, action)
        except Refusal:
            return False
        return is_changed[0]

    def _approve_change(self, principal: Principal, facts: Facts, digest: str, now: datetime) -> Change:
        task = facts.task
        if not self._policy.needs_approval(task):
            raise refuse("nothing_to_approve", id=task.id)
        if not compare_digest(digest_of(task).encode(), str(digest).encode(errors="replace")):
            raise refuse("digest_changed", digest=digest_of(task))
        if not self._policy.awaits_approval(task):
            return Change()
        change = edit.edit(facts, with_approval(task), now)
        pause = facts.status.pause
        if pause is None or pause.cause is not PauseCause.AWAITING_APPROVAL:
            return change
        if task.owner == principal.owner:
            check_schedule(principal, task.schedule, now, facts.status.counted)
        return combine_decisions(facts, change, lambda after: control.resume(after, now))

    def _reject_change(self, facts: Facts, reason: str, now: datetime) -> Change:
        if not self._policy.awaits_approval(facts.task):
            raise refuse("nothing_to_approve", id=facts.task.id)
        if facts.status.state is TaskState.CANCELLED:
            return Change()
        labelled = edit.edit(facts, with_rejection(facts.task, reason), now)
        return combine_decisions(facts, labelled, lambda after: control.cancel(after, now))

    def _restart_change(self, facts: Facts, now: datetime) -> Change:
        pause = facts.status.pause
        if pause is None or pause.cause not in (PauseCause.AGENT_STOPPED, PauseCause.OWNER_REVOKED):
            return Change()
        if self._policy.awaits_approval(facts.task):
            return control.pause(facts, now, cause=PauseCause.AWAITING_APPROVAL)
        return control.resume(facts, now)


def _stop_change(facts: Facts, now: datetime) -> Change:
    """A task that a person paused, or must approve first, cannot run by itself: it stays as it is."""
    if facts.status.state is not TaskState.ACTIVE and not _has_timed_pause(facts):
        return Change()
    return control.pause(facts, now, cause=PauseCause.AGENT_STOPPED, note=_STOP_NOTE)


def _has_timed_pause(facts: Facts) -> bool:
    return facts.status.pause is not None and facts.status.pause.until is not None


def _revoke_change(facts: Facts, now: datetime) -> Change:
    if facts.status.state is not TaskState.ACTIVE and not _has_timed_pause(facts):
        return Change()
    return control.pause(facts, now, cause=PauseCause.OWNER_REVOKED, note=PauseCause.OWNER_REVOKED.value)
