"""Agents and the people who answer for them: what one made is approved as it is, and one word stops all that it has."""

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
from ...model.change import Change, ControlDecision, Facts
from ...model.page import LARGEST_PAGE
from ...model.pause_notes import AGENT_STOPPED
from ...model.task import GOING, PauseCause, TaskState
from ...ports.store import TaskFilter
from ..query.argument_checks import check_id
from ..tasks.commit import Committing, Deed
from ..tasks.quotas import check_schedule
from ..tasks.task_quota import Keeping, Seats, seat_of
from .approval_policy import STRICT, Gate, followed, with_approval
from .approval_policy import digest_of as digest_of  # noqa: PLC0414 - whoever approves needs the digest too
from .audit import Audit
from .known_agents import RESTART, STOP, check_agent
from .refusals import refuse
from .rights import refuse_agent, seen_by
from .secret_grants import SecretGrants

_NOTE = AGENT_STOPPED


class Approvals:
    def __init__(  # noqa: PLR0913 - what it stands on, each by its name
        self,
        store: Keeping,
        clock: Clock,
        *,
        commit: Committing,
        seats: Seats,
        audit: Audit,
        gate: Gate = STRICT,
        told: Callable[[datetime | None], None] = lambda _due: None,
    ) -> None:
        self._store = store
        self._gate = gate
        self._clock = clock
        self._commit = commit
        self._seats = seats
        self._audit = audit
        self._told = told

    async def approve(self, who: Principal, task_id: str, digest: str) -> Facts:
        """A person has looked at the task whose digest this is: it may run, exactly as it is."""
        refuse_agent(who, "approvals")
        who.must(Scope.WRITE)
        await self._check_secrets(who, task_id)
        now = self._clock.now()
        deed = Deed("task.approve", lambda _facts, _change: {"digest": digest})
        facts = await self._commit.change(who, task_id, lambda facts: self._approved(who, facts, digest, now), deed)
        self._told(None)
        return facts

    async def _check_secrets(self, who: Principal, task_id: str) -> None:
        """A task that changes after this look has another digest, and is refused for that."""
        check_id(task_id, "no_such_task")
        facts = await self._store.facts(task_id, who.scope)
        if facts is not None and self._gate.is_closed(facts.task):
            await SecretGrants(self._store).check_tasks([facts.task])

    async def stop_agent(self, who: Principal, agent: str, owner: str | None = None) -> int:
        """All of its tasks are paused, and it can neither make nor wake any until it is started again. How many were."""
        return await self._each(who, agent, owner, _stopped, stopped=True)

    async def restart_agent(self, who: Principal, agent: str, owner: str | None = None) -> int:
        """It may go on, and what was paused with it does. How many tasks that were."""
        return await self._each(who, agent, owner, self._restarted, stopped=False)

    async def pause_revoked(self, who: Principal, owner: str, agent: str) -> int:
        """The last token of this agent was revoked: its tasks are paused. How many were."""
        deed = Deed("task.pause", lambda _facts, _change: {"cause": "token.revoke"})
        changed = await self._all(who, TaskFilter(owner, GOING, labels=((AGENT_LABEL, agent),)), _revoked, deed)
        self._told(None)
        return changed

    async def _each(
        self,
        who: Principal,
        agent: str,
        owner: str | None,
        decide: Callable[[Facts, datetime], Change],
        *,
        stopped: bool,
    ) -> int:
        refuse_agent(who, "agents")
        who.must(Scope.WRITE)
        whose = who.owner if owner is None else owner
        if whose != who.owner and who.scope is not None:
            raise refuse("no_such_owner", name=whose)
        if not is_agent_name(agent):
            raise refuse("bad_agent_name", name=agent, most=AGENT_CHARACTERS)
        await check_agent(self._store, who, whose, agent, STOP if stopped else RESTART)
        if not stopped and json.loads((await seat_of(self._store, whose, agent))[0].body).get("revoked"):
            raise refuse("agent_revoked", agent=agent, owner=whose)
        action = "agent.stop" if stopped else "agent.restart"
        row = self._audit.row(who, action, agent, owner=whose)
        # First the word, then the tasks: whatever it made in between is found, and it makes no more.
        await self._seats.stop(whose, agent, row, stopped=stopped)
        deed = Deed("task.pause" if stopped else "task.resume", lambda _facts, _change: {"cause": action})
        changed = await self._all(who, TaskFilter(whose, GOING, labels=((AGENT_LABEL, agent),)), decide, deed)
        self._told(None)
        return changed

    async def _all(
        self, who: Principal, wanted: TaskFilter, decide: Callable[[Facts, datetime], Change], deed: Deed
    ) -> int:
        now, changed, after = self._clock.now(), 0, None
        while True:
            page = await self._store.tasks(seen_by(who, wanted), after, LARGEST_PAGE)
            for facts in page.items:
                changed += await self._one(who, facts.task.id, lambda found: decide(found, now), deed)
            after = page.after
            if after is None:
                return changed

    async def _one(self, who: Principal, task_id: str, decide: ControlDecision, deed: Deed) -> bool:
        """Whether anything changed; what is over meanwhile needs nothing."""
        done: list[bool] = [False]

        def watched(facts: Facts) -> Change:
            change = decide(facts)
            done[0] = change != Change()
            return change

        try:
            await self._commit.change(who, task_id, watched, deed)
        except Refusal:
            return False
        return done[0]

    def _approved(self, who: Principal, facts: Facts, digest: str, now: datetime) -> Change:
        task = facts.task
        if not self._gate.needs_approval(task):
            raise refuse("nothing_to_approve", id=task.id)
        if not compare_digest(digest_of(task).encode(), str(digest).encode(errors="replace")):
            raise refuse("digest_changed", digest=digest_of(task))
        if not self._gate.is_closed(task):
            return Change()
        change = edit.edit(facts, with_approval(task), now)
        pause = facts.standing.pause
        if pause is None or pause.cause is not PauseCause.AWAITING_APPROVAL:
            return change
        if task.owner == who.owner:
            check_schedule(who, task.schedule, now, facts.standing.counted)
        return followed(facts, change, lambda after: control.resume(after, now))

    def _restarted(self, facts: Facts, now: datetime) -> Change:
        pause = facts.standing.pause
        if pause is None or pause.cause not in (PauseCause.AGENT_STOPPED, PauseCause.OWNER_REVOKED):
            return Change()
        if self._gate.is_closed(facts.task):
            return control.pause(facts, now, cause=PauseCause.AWAITING_APPROVAL)
        return control.resume(facts, now)


def _stopped(facts: Facts, now: datetime) -> Change:
    """What somebody paused, or must approve first, cannot run by itself: it stays as it is."""
    if facts.standing.state is not TaskState.ACTIVE and not _wakes(facts):
        return Change()
    return control.pause(facts, now, cause=PauseCause.AGENT_STOPPED, note=_NOTE)


def _wakes(facts: Facts) -> bool:
    return facts.standing.pause is not None and facts.standing.pause.until is not None


def _revoked(facts: Facts, now: datetime) -> Change:
    if facts.standing.state is not TaskState.ACTIVE and not _wakes(facts):
        return Change()
    return control.pause(facts, now, cause=PauseCause.OWNER_REVOKED, note=PauseCause.OWNER_REVOKED.value)
