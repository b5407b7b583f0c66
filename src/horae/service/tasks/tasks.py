"""Tasks in and out: made, found, paused, resumed, edited, cancelled, run now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from ...clock import Clock
from ...entropy import entropy
from ...model.accounts.principal import Principal, Scope
from ...model.change import Change, Facts
from ...model.ids import EPOCH, run_id
from ...model.limits import BULK_TASKS
from ...model.refusals import refuse
from ...model.run import Run
from ...model.task import Target, Task
from ..accounts.approval_policy import STRICT, Gate
from ..accounts.audit import Audit
from ..accounts.rights import own_key, refuse_agent, sees
from .commit import Beside, Committing, Deed, nothing_beside
from .controls import Controls
from .drafts import Drafting
from .functions import Functions
from .lookup import first_due
from .task_quota import Keeping, Seats
from .task_request import Wish

_T = TypeVar("_T")

_FIRST_PAST: Final = EPOCH + timedelta(days=1)


class Tasks(Controls):
    """`check` looks at the target of each new or edited task, with its payload, and says how it is to be kept."""

    def __init__(  # noqa: PLR0913 - what it stands on, each by its name
        self,
        store: Keeping,
        clock: Clock,
        zone: str | None = None,
        told: Callable[[datetime | None], None] = lambda _due: None,
        *,
        entropy: Callable[[int], bytes] = entropy,
        check: Callable[[Target, str], Target] = lambda target, _payload: target,
        commit: Committing | None = None,
        gate: Gate = STRICT,
        functions: Functions | None = None,
    ) -> None:
        commit = commit or Committing(store, Seats(store, clock), Audit(store, clock))
        functions = functions or Functions(store, clock)
        super().__init__(store, clock, told, Drafting(clock, zone, check, entropy, gate), commit, functions)

    async def create(
        self,
        who: Principal,
        wish: Wish,
        *,
        paused: str | None = None,
        using: object | None = None,
        beside: Beside = nothing_beside,
    ) -> Task:
        """A new task; with a key, the one that has it is edited instead. With `paused`, the reason why, a new one is
        paused from its first moment on. `beside` are records that are written with it.

        `using` is a connection in a transaction of whoever asks: the task is part of it, and is there for others when
        it is committed. Then nothing is edited: a key that is taken is refused.
        """
        if wish.key is not None and using is None:
            return await self.declare(who, wish, paused=paused, beside=beside, is_new=True)
        who.must(Scope.WRITE)
        wish = (await self._functions.resolve(wish)).wish
        now = self._clock.now()
        change = self.drafting.planned(who, wish, self.drafting.new_id(now), now, paused)
        await self._check_secrets([change])
        (task,) = await self._add(who, [change], beside, using)
        return task

    async def create_many(
        self, who: Principal, wishes: Iterable[Wish], keep: Callable[[Task], _T], beside: Beside = nothing_beside
    ) -> list[_T]:
        """All or none up to a thousand; more are written in chunks of that size, each all or none. `keep` what of each?

        Every wish is checked before the first chunk is written, so that only the store itself can stop halfway.
        """
        who.must(Scope.WRITE)
        if isinstance(wishes, Sized):
            await self._commit.check_room(who, len(wishes))
            wishes = [(await self._functions.resolve(each)).wish for each in wishes]
        changes = await self.drafting.planned_many(who, wishes)
        await self._check_secrets(changes)
        made: list[_T] = []
        while changes:
            made += map(keep, await self._add(who, changes[:BULK_TASKS], beside))
            # What is written is let go of chunk by chunk: to free it all at once would hold everything up.
            del changes[:BULK_TASKS]
        return made

    async def _check_secrets(self, changes: Sequence[Change]) -> None:
        await self._grants.check_tasks(change.task for change in changes if change.task is not None)

    async def _add(
        self, who: Principal, changes: Sequence[Change], beside: Beside, using: object | None = None
    ) -> list[Task]:
        due = min(entry.due for change in changes for entry in change.put)
        if using is None:
            await self._commit.add(who, changes, beside)
            self._told(due)
        else:
            # Whoever looked now would find nothing: the engine hears of it when their transaction is over.
            def add(whole: Sequence[Change]) -> Any:
                return self._book.add_using(using, whole, lambda: self._told(due))

            await self._commit.add(who, changes, beside, add)
        return [change.task for change in changes if change.task is not None]

    async def declare(
        self,
        who: Principal,
        wish: Wish,
        *,
        paused: str | None = None,
        beside: Beside = nothing_beside,
        is_new: bool = False,
    ) -> Task:
        """The task with this natural key, made or edited: saying the same twice changes nothing. `is_new`: a cancelled
        task that has the key is refused, also where nothing would change."""
        who.must(Scope.WRITE)
        if wish.key is None:
            raise refuse("bad_text", name="key", value=None, most=200)
        wish, key = await self._with_own_key(who, wish, wish.key)
        wish = (await self._functions.resolve(wish)).wish
        now, granted_lane = self._clock.now(), wish.granted_lane
        draft = self.drafting.draft(who, wish, now, paused)
        await self._grants.check(draft.owner, who.agent, draft.target, draft.payload)
        task_id = self.drafting.new_id(now)

        def made() -> Change:
            return self.drafting.planned_from(who, draft, task_id, now, paused, granted_lane=granted_lane)

        def decide(found: Facts | None) -> Change:
            return self.drafting.declared(who, draft, found, now, made, is_new=is_new, granted_lane=granted_lane)

        facts = await self._commit.upsert(who, draft.owner, key, decide, beside)
        self._told(first_due(facts))
        return facts.task

    async def rehearse(self, who: Principal, wish: Wish, *, paused: str | None = None) -> tuple[Facts | None, Task]:
        """What `declare` would meet, and what it would leave: refused as that would be, and nothing is written."""
        who.must(Scope.WRITE)
        if wish.key is None:
            raise refuse("bad_text", name="key", value=None, most=200)
        wish, key = await self._with_own_key(who, wish, wish.key)
        wish = (await self._functions.resolve(wish)).wish
        now, granted_lane = self._clock.now(), wish.granted_lane
        draft = self.drafting.draft(who, wish, now, paused)
        await self._grants.check(draft.owner, who.agent, draft.target, draft.payload)
        found = await self._book.find(draft.owner, key)
        if found is not None and not sees(who, found.task):
            raise refuse("key_taken", key=key)
        task_id = self.drafting.new_id(now)

        def made() -> Change:
            return self.drafting.planned_from(who, draft, task_id, now, granted_lane=granted_lane)

        change = self.drafting.declared(who, draft, found, now, made, granted_lane=granted_lane)
        after = change.task or (None if found is None else found.task)
        if after is None:
            raise refuse("no_such_task", id=key)
        return found, after

    async def _with_own_key(self, who: Principal, wish: Wish, key: str) -> tuple[Wish, str]:
        """The wish of an agent with a key of its own, unless a task that it made has the key as it stands."""
        if who.agent is None or not isinstance(key, str):
            return wish, key
        found = await self.keyed(who._replace(scopes=who.scopes | {Scope.READ}), key)
        own = own_key(who, key) if found is None else found.task.key or key
        return wish._replace(key=own), own

    async def keep_history(self, who: Principal, task_id: str, ended: Sequence[Run]) -> None:
        """Runs of another scheduler, as rows that have ended; what the ledger has already is not written again.

        They become this task's, whatever they say. What is not over yet would make the counts forget the present.
        """
        refuse_agent(who, "rows of another scheduler")
        who.must(Scope.WRITE)
        now = self._clock.now()
        past = [run for run in ended if not run.live]
        for run in past:
            check_past(run.planned, run.due, run.started, run.ended, now=now)
        await self._change(
            who,
            task_id,
            lambda facts: Change(born=tuple(_owned(run, facts.task) for run in past)),
            Deed("task.history", lambda _facts, _change: {"runs": len(past)}),
        )


def check_past(*instants: datetime | None, now: datetime) -> None:
    """Refuses what no run of the past can say of itself: an instant without a zone, before 1970, or still to come."""
    for at in instants:
        if at is not None and (at.tzinfo is None or not _FIRST_PAST <= at <= now):
            raise refuse("not_past", value=at.isoformat())


def _owned(run: Run, task: Task) -> Run:
    name = run_id(task.id, run.origin, run.planned, run.attempt)
    return run._replace(id=name, task_id=task.id, owner=task.owner)
