"""Change of the node of a group: its tasks follow, each in a transaction of its own, with an audit row."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Final

from ...clock import Clock
from ...errors import Refusal, StoreError
from ...lifecycle.control import edit
from ...model.accounts.principal import Principal, Scope
from ...model.accounts.system_owner import system_owner
from ...model.agents.agent_task import AGENT_KIND, pin_to_node
from ...model.agents.group import Group
from ...model.change import Change, Facts
from ...model.page import MAX_PAGE_SIZE
from ...model.task import TaskState
from ...ports.full_store import FullStore
from ...ports.store import TaskFilter
from ..accounts.approval_policy import ApprovalPolicy, with_approval
from ..accounts.rights import refuse_agent
from ..tasks.commit import AuditAction, TaskWriter, changed_fields
from ..tasks.tasks import system_principal

LOG: Final = logging.getLogger("horae.agents")


class GroupNodes:
    def __init__(
        self,
        store: FullStore,
        clock: Clock,
        *,
        writer: TaskWriter,
        approval_policy: ApprovalPolicy,
        on_write: Callable[[datetime | None], None] = lambda _due: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._writer = writer
        self._policy = approval_policy
        self._on_write = on_write

    async def apply(self, principal: Principal, group: Group, former: str | None = None) -> int:
        """Let the tasks of the agent of a group require its node instead of the former one; return how many changed.

        A run that goes on ends where it is.
        """
        refuse_agent(principal, "groups")
        principal.require_scope(Scope.ADMIN)
        changed = await self._apply(principal, group.owner, group.node, former)
        system = system_owner(group.owner)
        changed += await self._apply(system_principal(group.owner), system, group.node, former)
        if changed:
            self._on_write(None)
        return changed

    async def _apply(self, principal: Principal, owner: str, node: str | None, former: str | None) -> int:
        now, changed, after = self._clock.now(), 0, None

        def decide(facts: Facts) -> Change:
            return self._pin(facts, node, former, now)

        while True:
            page = await self._store.tasks(TaskFilter(owner, kind=AGENT_KIND), after, MAX_PAGE_SIZE)
            for facts in page.items:
                try:
                    if decide(facts) != Change():
                        action = AuditAction("task.edit", changed_fields)
                        await self._writer.change(principal, facts.task.id, decide, action)
                        changed += 1
                except StoreError:
                    raise
                except Refusal as refusal:
                    LOG.warning("the task %s does not follow its group to its node: %s", facts.task.id, refusal)
            after = page.after
            if after is None:
                return changed

    def _pin(self, facts: Facts, node: str | None, former: str | None, now: datetime) -> Change:
        before = facts.task
        where = pin_to_node(before.policies.where, node, former)
        if where == before.policies.where or facts.status.state is TaskState.CANCELLED:
            return Change()
        after = before._replace(policies=replace(before.policies, where=where))
        if self._policy.needs_approval(before) and not self._policy.awaits_approval(before):
            # An operator has moved it: its approval stays.
            after = with_approval(after)
        return edit.edit(facts, after, now)
