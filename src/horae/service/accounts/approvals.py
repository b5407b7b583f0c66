"""Approval of tasks that agents made, and stopping or restarting all tasks of an agent."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import datetime
from hmac import compare_digest

from ...clock import Clock
from ...lifecycle.control import control, edit
from ...model.accounts.account import AGENT_CHARACTERS, is_agent_name
from ...model.accounts.principal import AGENT_LABEL, Principal, Scope
from ...model.agents.agent_task import AGENT_KIND
from ...model.agents.group import GROUP_KIND, GROUP_OWNER_PREFIX, Group, folder_of_owner, group_from
from ...model.change import Change, Facts, combine_decisions
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.pauses import GROUP_STOPPED_NOTE
from ...model.refusals import refuse as refuse_task
from ...model.task import OPEN_STATES, PauseCause, TaskState
from ...model.text.field_checks import check_text
from ...ports.full_store import FullStore
from ...ports.store import TaskFilter
from ..query.argument_checks import check_id, check_page
from ..tasks.commit import AuditAction, TaskWriter
from ..tasks.quotas import check_schedule
from ..tasks.task_quota import TaskQuota, load_agent_record
from .agent_switch import load_switch
from .agents import RESTART_COMMAND, STOP_COMMAND, check_agent
from .approval_policy import STRICT_POLICY, ApprovalPolicy, with_approval, with_rejection
from .approval_policy import digest_of as digest_of  # noqa: PLC0414 - callers that approve need the digest too
from .audit import Audit
from .refusals import refuse
from .rights import is_foreign, listed_owner, refuse_agent
from .secret_grants import SecretGrants
from .stopped_tasks import StoppedTasks

REASON_CHARACTERS = 200
"""A reason of a rejection is a label value."""


def _note_of(facts: Facts, group: Group | None) -> str | None:
    """Return why a task stays paused although its agent goes on; None: it goes on."""
    is_stopped = group is not None and group.is_stopped and facts.task.target.kind == AGENT_KIND
    return GROUP_STOPPED_NOTE if is_stopped else None


async def _ignore_agent(_principal: Principal, _owner: str, _agent: str) -> None: ...


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
        self._stopped_tasks = StoppedTasks(store, clock, writer, approval_policy)
        self.on_agent_stopped: Callable[[Principal, str, str], Awaitable[object]] = _ignore_agent
        """Called with the owner and the name of an agent after it was stopped: its live runs end."""

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

    async def page(
        self, principal: Principal, after: str | None = None, limit: int = 20, *, owner: str | None = None
    ) -> Page[Facts]:
        """Return tasks that wait for approval, in the order of creation: for owners that are no admins, their own.

        With an `owner`, only those of that one.
        """
        refuse_agent(principal, "approvals")
        principal.require_scope(Scope.READ)
        check_page(after, limit)
        if is_foreign(principal, owner):
            return Page((), None)
        waiting = TaskFilter(listed_owner(principal, owner), pause_cause=PauseCause.AWAITING_APPROVAL)
        try:
            return await self._store.tasks(waiting, after, limit)
        except (ValueError, OverflowError):
            # Not a cursor of this store.
            raise refuse_task("bad_page", value=after, wanted="after", most=MAX_PAGE_SIZE) from None

    async def stop_agent(self, principal: Principal, agent: str, owner: str | None = None) -> int:
        """Pause all tasks of the agent and refuse its writes until it is restarted; return how many were paused."""
        return await self._stop_or_restart(principal, agent, owner, stopped=True)

    async def restart_agent(self, principal: Principal, agent: str, owner: str | None = None) -> int:
        """Allow the agent's writes again and resume the tasks that were paused with it; return how many."""
        return await self._stop_or_restart(principal, agent, owner, stopped=False)

    async def pause_revoked(self, principal: Principal, owner: str, agent: str) -> int:
        """Pause the tasks of an agent whose last token was revoked; return how many were paused."""
        own = TaskFilter(owner, OPEN_STATES, labels=((AGENT_LABEL, agent),))
        changed = await self._stopped_tasks.pause_revoked(principal, own, "token.revoke")
        self._on_write(None)
        return changed

    async def _stop_or_restart(self, principal: Principal, agent: str, owner: str | None, *, stopped: bool) -> int:
        refuse_agent(principal, "agents")
        principal.require_scope(Scope.WRITE)
        if not is_agent_name(agent):
            raise refuse("bad_agent_name", name=agent, most=AGENT_CHARACTERS)
        account = await self._owner_of_agent(principal, agent) if owner is None else owner
        if account != principal.owner and principal.owner_filter is not None:
            raise refuse("no_such_owner", name=account)
        group = await self._find_group(account, agent)
        if group is None:
            await check_agent(self._store, principal, account, agent, STOP_COMMAND if stopped else RESTART_COMMAND)
        if not stopped and await load_switch(self._store) is not None:
            raise refuse("agents_stopped")
        if not stopped and json.loads((await load_agent_record(self._store, account, agent))[0].body).get("revoked"):
            raise refuse("agent_revoked", agent=agent, owner=account)
        audit_action = "agent.stop" if stopped else "agent.restart"
        row = self._audit.row(principal, audit_action, agent, owner=account)
        # First the stop record, then the tasks: a task made in between is found, and none is made afterwards.
        await self._quota.set_stopped(account, agent, row, stopped=stopped)
        filters = [TaskFilter(account, OPEN_STATES, labels=((AGENT_LABEL, agent),))]
        if group is not None:
            # Prompts that people made for the group are executed by its agent, too.
            filters.append(TaskFilter(account, OPEN_STATES, kind=AGENT_KIND))
        changed = 0
        for each in filters:
            if stopped:
                changed += await self._stopped_tasks.pause(principal, each, audit_action)
            else:
                changed += await self._stopped_tasks.resume(
                    principal, each, audit_action, lambda facts: _note_of(facts, group)
                )
        if stopped:
            await self.on_agent_stopped(principal, account, agent)
        self._on_write(None)
        return changed

    async def _owner_of_agent(self, principal: Principal, agent: str) -> str:
        """Return the owner of an agent that was named without one: the caller, or the group that has this folder."""
        group = (
            None if principal.owner_filter is not None else await self._find_group(GROUP_OWNER_PREFIX + agent, agent)
        )
        return principal.owner if group is None else group.owner

    async def _find_group(self, account: str, agent: str) -> Group | None:
        """Return the group that is this owner, if the agent is its own."""
        record = await self._store.get_record(GROUP_KIND, agent) if folder_of_owner(account) == agent else None
        return None if record is None else group_from(record)

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
