"""Pause and resume of all tasks of a stopped agent: each in a transaction of its own, with an audit row."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from ...clock import Clock
from ...errors import Refusal
from ...lifecycle.control import control
from ...model.accounts.principal import Principal
from ...model.change import Change, ControlDecision, Facts
from ...model.page import MAX_PAGE_SIZE
from ...model.pauses import AGENT_STOPPED_NOTE
from ...model.task import PauseCause, TaskState
from ...ports.full_store import FullStore
from ...ports.store import TaskFilter
from ..tasks.commit import AuditAction, TaskWriter
from .approval_policy import ApprovalPolicy
from .rights import restrict_filter

_RESUMABLE: Final = (PauseCause.AGENT_STOPPED, PauseCause.OWNER_REVOKED)


class StoppedTasks:
    """`cause` is the audit action of which each pause or resume is a part."""

    def __init__(self, store: FullStore, clock: Clock, writer: TaskWriter, approval_policy: ApprovalPolicy) -> None:
        self._store = store
        self._clock = clock
        self._writer = writer
        self._policy = approval_policy

    async def pause(
        self, principal: Principal, task_filter: TaskFilter, cause: str, note: str = AGENT_STOPPED_NOTE
    ) -> int:
        """Pause the tasks of a stopped agent; return how many changed."""
        return await self._change_all(
            principal,
            task_filter,
            lambda facts, now: _pause_change(facts, now, PauseCause.AGENT_STOPPED, note),
            AuditAction("task.pause", lambda _facts, _change: {"cause": cause}),
        )

    async def pause_revoked(self, principal: Principal, task_filter: TaskFilter, cause: str) -> int:
        """Pause the tasks of an agent whose last token was revoked; return how many changed."""
        return await self._change_all(
            principal,
            task_filter,
            lambda facts, now: _pause_change(facts, now, PauseCause.OWNER_REVOKED, PauseCause.OWNER_REVOKED.value),
            AuditAction("task.pause", lambda _facts, _change: {"cause": cause}),
        )

    async def resume(
        self,
        principal: Principal,
        task_filter: TaskFilter,
        cause: str,
        note_of: Callable[[Facts], str | None] = lambda _facts: None,
    ) -> int:
        """Resume tasks that were paused with their agent; return how many changed.

        `note_of` returns the note of a pause that stays because of another stop, None for a task that goes on.
        """
        return await self._change_all(
            principal,
            task_filter,
            lambda facts, now: self._resume_change(facts, now, note_of(facts)),
            AuditAction("task.resume", lambda _facts, _change: {"cause": cause}),
        )

    def _resume_change(self, facts: Facts, now: datetime, note: str | None) -> Change:
        pause = facts.status.pause
        if pause is None or pause.cause not in _RESUMABLE:
            return Change()
        if note is not None:
            return Change() if note == pause.note else control.pause(facts, now, cause=pause.cause, note=note)
        if self._policy.awaits_approval(facts.task):
            return control.pause(facts, now, cause=PauseCause.AWAITING_APPROVAL)
        return control.resume(facts, now)

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


def _pause_change(facts: Facts, now: datetime, cause: PauseCause, note: str) -> Change:
    """A task that a person paused, or must approve first, cannot run by itself: it stays as it is."""
    if facts.status.state is not TaskState.ACTIVE and not _has_timed_pause(facts):
        return Change()
    return control.pause(facts, now, cause=cause, note=note)


def _has_timed_pause(facts: Facts) -> bool:
    return facts.status.pause is not None and facts.status.pause.until is not None
