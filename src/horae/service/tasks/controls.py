"""What may be done to a task that is there: edited, paused, resumed, cancelled, removed, run now, skipped, backfilled."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Self

from ...clock import Clock
from ...lifecycle import control, edit
from ...model.accounts.agent_label import agent_of
from ...model.accounts.principal import Principal, Scope
from ...model.change import Change, ControlDecision, Facts
from ...model.ids import run_id
from ...model.lane import agent_lane
from ...model.page import LARGEST_PAGE
from ...model.policy import MissedMode
from ...model.reason import Reason
from ...model.refusals import refuse as refuse_task
from ...model.run import Origin
from ...model.task import Pause, PauseCause, TaskState
from ...ports.store import RunFilter
from ..accounts.refusals import refuse
from ..accounts.rights import refuse_agent
from ..accounts.secret_grants import SecretGrants
from ..query.id_prefix import resolve_run, resolve_task
from .commit import Committing, Condition, Deed, changed_fields
from .drafts import Drafting
from .edits import Edited, Edits, Keep, fire_changes
from .function_records import FormerName
from .functions import Functions, function_of, with_function
from .lookup import Finding
from .quotas import check_schedule, refuse_when_used_up
from .task_quota import Keeping


class Controls(Finding):
    """`told` is called after each write with the first instant at which something may be due: the engine listens."""

    def __init__(
        self,
        store: Keeping,
        clock: Clock,
        told: Callable[[datetime | None], None],
        drafting: Drafting,
        commit: Committing,
        functions: Functions,
    ) -> None:
        super().__init__(store)
        self._clock = clock
        self._told = told
        self.drafting = drafting
        self._commit = commit
        self._grants = SecretGrants(store)
        self._functions = functions

    def when(self, condition: Condition) -> Self:
        """The same for whoever wants a change only if the task is as they expect it: looked at within the write."""
        twin = object.__new__(type(self))
        # What `copy` would do, which asks first in how many other ways it could be done.
        twin.__dict__.update(self.__dict__, _commit=self._commit.when(condition))
        return twin

    async def edit(
        self, who: Principal, task_id: str, edits: Edits, *, expected: int | None = None, dry_run: bool = False
    ) -> Edited:
        """Only what is said changes. `expected` is the version that whoever edits has seen; other ones are refused."""
        who.must(Scope.WRITE)
        await self._check_secrets_of_edit(who, task_id, edits)
        if not isinstance(edits.target, Keep) or not isinstance(edits.payload, Keep):
            before = (await self.get(who, task_id)).task
            await self._functions.check_edits(before.target, before.payload, edits)
            edits = await self._functions.complete_edits(before.target, edits)
        now = self._clock.now()
        seen: list[Edited] = []

        def decide(facts: Facts) -> Change:
            before = facts.task
            if expected is not None and expected != before.version:
                raise refuse_task("stale_version", version=before.version, expected=expected)
            change = self.drafting.edited(who, facts, edits, now)
            after = change.task or before
            seen[:] = [Edited(before, after, fire_changes(before, after, facts.standing, now))]
            return change

        if dry_run:
            decide(await self.get(who, task_id))
        else:
            await self._change(who, task_id, decide, Deed("task.edit", changed_fields))
        return seen[0]

    async def rename_declared(self, who: Principal, task_id: str, key: str, former: FormerName) -> None:
        """The declared task of a function gets the key, target and name that belong to the function's present name."""
        refuse_agent(who, "declared functions")
        who.must(Scope.WRITE)
        now = self._clock.now()

        def decide(facts: Facts) -> Change:
            task = facts.task
            if function_of(task.target) != former.name:
                return Change()
            name = former.current if task.name == former.name else task.name
            wanted = task._replace(key=key, name=name, target=with_function(task.target, former.current))
            if facts.standing.state is TaskState.CANCELLED:
                # It stays cancelled under its new key: otherwise the declaration would make it anew.
                return Change(task=wanted._replace(version=task.version + 1))
            return edit.edit(facts, wanted, now)

        await self._change(who, task_id, decide, Deed("task.edit", changed_fields))

    async def _check_secrets_of_edit(self, who: Principal, task_id: str, edits: Edits) -> None:
        """What an agent made stays the agent's, whoever edits it: it references only what the agent was granted."""
        if isinstance(edits.target, Keep) and isinstance(edits.payload, Keep):
            return
        task = (await self.get(who, task_id)).task
        target = task.target if isinstance(edits.target, Keep) else edits.target
        payload = task.payload if isinstance(edits.payload, Keep) else edits.payload
        await self._grants.check(task.owner, agent_of(task), target, payload)

    async def pause(
        self,
        who: Principal,
        task_id: str,
        *,
        cause: PauseCause = PauseCause.REQUESTED,
        note: str = "",
        until: datetime | None = None,
    ) -> Facts:
        """What waits for approval, or was stopped with its agent, stays as it is."""
        who.must(Scope.WRITE)
        now = self._clock.now()

        def decide(facts: Facts) -> Change:
            if cause is PauseCause.REQUESTED and _is_kept(who, facts.standing.pause):
                if until is not None:
                    self._refuse_to_wake(who, facts)
                return Change()
            if until is not None:
                self.drafting.check_carried(facts.task)
            return control.pause(facts, now, cause=cause, note=note, until=until)

        return await self._change(who, task_id, decide, Deed("task.pause", _paused_how))

    async def resume(self, who: Principal, task_id: str, missed: MissedMode = "skip") -> Facts:
        who.must(Scope.WRITE)
        now = self._clock.now()

        def decide(facts: Facts) -> Change:
            self._refuse_to_wake(who, facts)
            change = control.resume(facts, now, missed)
            if change != Change():
                self.drafting.check_carried(facts.task)
            if change != Change() and facts.task.owner == who.owner:
                check_schedule(who, facts.task.schedule, now, facts.standing.counted)
            return change

        return await self._change(who, task_id, decide, Deed("task.resume", lambda _facts, _change: {"missed": missed}))

    async def cancel(self, who: Principal, task_id: str) -> Facts:
        who.must(Scope.WRITE)
        now = self._clock.now()
        return await self._change(who, task_id, lambda facts: control.cancel(facts, now), Deed("task.cancel"))

    async def delete(self, who: Principal, task_id: str) -> None:
        who.must(Scope.WRITE)
        now = self._clock.now()
        await self._change(who, task_id, lambda facts: control.delete(facts, now), Deed("task.delete"))

    async def run_now(self, who: Principal, task_id: str) -> str:
        """One extra occurrence; the id that its first run will have."""
        task_id = await resolve_task(self._book, who, task_id)
        planned = await self.queue_now(who, task_id)
        return run_id(task_id, Origin.MANUAL, planned, 1)

    async def queue_now(self, who: Principal, task_id: str) -> datetime:
        """One extra occurrence; the instant that it is planned for."""
        who.must(Scope.RUN)
        now = self._clock.now()
        planned: list[datetime] = []

        def decide(facts: Facts) -> Change:
            self._refuse_to_wake(who, facts)
            self.drafting.check_carried(facts.task)
            refuse_when_used_up(facts)
            change = control.run_now(facts, now)
            planned[:] = [entry.planned for entry in change.put]
            return change

        await self._change(who, task_id, decide, Deed("task.run"))
        return planned[0]

    async def skip_next(self, who: Principal, task_id: str, wanted: int = 1) -> Facts:
        who.must(Scope.RUN)
        deed = Deed("task.skip", lambda _facts, _change: {"skips": wanted})
        return await self._change(who, task_id, lambda facts: control.skip_next(facts, wanted), deed)

    async def backfill(
        self, who: Principal, task_id: str, first: datetime, last: datetime, *, again: bool = False
    ) -> Facts:
        """Occurrences for a past range, one by one. What was backfilled before is left as it is, or (`again`) is attempted
        once more."""
        who.must(Scope.RUN)
        now = self._clock.now()
        task_id = await resolve_task(self._book, who, task_id)
        before = await self._backfilled_before(who, task_id, first, last) if again else 0

        def decide(facts: Facts) -> Change:
            self._refuse_to_wake(who, facts)
            self.drafting.check_carried(facts.task)
            refuse_when_used_up(facts)
            return edit.backfill(facts, first, last, now, before)

        span = {"first": first.isoformat(), "last": last.isoformat()}
        return await self._change(who, task_id, decide, Deed("task.backfill", lambda _facts, _change: span))

    async def _backfilled_before(self, who: Principal, task_id: str, first: datetime, last: datetime) -> int:
        """The highest attempt that the ledger has of a backfilled occurrence in this range."""
        highest, after = 0, None
        while True:
            page = await self._book.runs(RunFilter(who.scope, task_id, None, first, last), after, LARGEST_PAGE)
            highest = max([highest, *(run.attempt for run in page.items if run.origin is Origin.BACKFILL)])
            after = page.after
            if after is None:
                return highest

    async def cancel_run(self, who: Principal, task_id: str, run_id: str) -> Facts:
        who.must(Scope.RUN)
        now = self._clock.now()
        run_id = await resolve_run(self._book, who, run_id)
        deed = Deed("run.cancel", lambda _facts, _change: {"run": run_id})
        return await self._change(who, task_id, lambda facts: control.cancel_run(facts, run_id, now), deed)

    def _refuse_to_wake(self, who: Principal, facts: Facts) -> None:
        """What waits for approval stays as it is, and so does what was stopped with its agent."""
        self.drafting.gate.check_open(facts.task)
        pause = facts.standing.pause
        if pause is None:
            return
        if who.agent is not None and pause.cause is PauseCause.AGENT_STOPPED:
            raise refuse("agent_stopped", agent=who.agent)
        if pause.cause is PauseCause.OWNER_REVOKED and (who.agent is not None or not _is_restored(facts)):
            raise refuse("agent_revoked", agent=agent_of(facts.task) or "", owner=facts.task.owner)

    async def _change(self, who: Principal, task_id: str, decide: ControlDecision, deed: Deed) -> Facts:
        facts = await self._commit.change(who, task_id, decide, deed)
        self._told(None)
        return facts


def _is_kept(who: Principal, pause: Pause | None) -> bool:
    """Whether this pause is not for whoever asks to change: nothing wakes by itself what somebody else must look at."""
    if pause is None:
        return False
    stopped = pause.cause in (PauseCause.AGENT_STOPPED, PauseCause.QUOTA) and who.agent is not None
    return stopped or pause.cause in (PauseCause.AWAITING_APPROVAL, PauseCause.OWNER_REVOKED)


def _is_restored(facts: Facts) -> bool:
    """Whether the agent of this task has a token again. In its own lane the bar says so; elsewhere a restart has to look."""
    task, agent = facts.task, agent_of(facts.task)
    return agent is not None and task.lane == agent_lane(task.owner, agent) and facts.barred is not Reason.OWNER_REVOKED


def _paused_how(_facts: Facts | None, change: Change) -> dict[str, Any]:
    pause = None if change.standing is None else change.standing.pause
    if pause is None:
        return {}
    return {"cause": pause.cause.value, "until": None if pause.until is None else pause.until.isoformat()}
