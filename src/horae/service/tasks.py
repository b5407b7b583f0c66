"""Tasks in and out: made, found, paused, resumed, edited, cancelled, run now."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeVar

from ..clock import Clock
from ..errors import Refusal
from ..lifecycle import control, editing
from ..lifecycle.plan import Draft, drafted, plan
from ..model.change import Change, ControlDecision, Facts
from ..model.checks import check_text
from ..model.entry import CLAIMABLE
from ..model.ids import ENTROPY, EPOCH, named, rising, run_id
from ..model.limits import BULK_TASKS, KEY_CHARACTERS
from ..model.page import LARGEST_PAGE, Page
from ..model.policy import MissedMode
from ..model.principal import Principal
from ..model.refusals import refuse
from ..model.run import Origin, Run
from ..model.task import PauseCause, Target, Task
from ..ports.store import Book, RunFilter, TaskFilter
from ..schedule import Schedule
from .checks import check_id, check_page, check_wanted
from .edits import Edited, Edits, edited_task, fire_changes
from .wishes import Wish, read_policies, read_when

_T = TypeVar("_T")

_ALL: Final = TaskFilter()
_AMONG: Final = 5
_FIRST_PAST: Final = EPOCH + timedelta(days=1)
_BETWEEN_TURNS: Final = 64
"""So many tasks are planned before others have their turn: about two milliseconds."""


class Tasks:
    """`told` is called after each write with the first instant at which something may be due: the engine listens.

    `check` looks at the target of each new or edited task, with its payload, and says how it is to be kept.
    """

    def __init__(
        self,
        book: Book,
        clock: Clock,
        zone: str | None = None,
        told: Callable[[datetime | None], None] = lambda _due: None,
        entropy: Callable[[int], bytes] = os.urandom,
        check: Callable[[Target, str], Target] = lambda target, _payload: target,
    ) -> None:
        self._book = book
        self._check = check
        self._clock = clock
        self._zone = zone
        self._told = told
        self._entropy = entropy

    async def create(
        self, who: Principal, wish: Wish, *, paused: str | None = None, using: object | None = None
    ) -> Task:
        """A new task; with a key, the one that has it is edited instead. With `paused`, the reason why, a new one is
        paused from its first moment on.

        `using` is a connection in a transaction of whoever asks: the task is part of it, and is there for others when
        it is committed. Then nothing is edited: a key that is taken is refused.
        """
        if wish.key is not None and using is None:
            return await self.declare(who, wish, paused=paused)
        now = self._clock.now()
        change = plan(self._drafted(who, wish, now), self._new_id(now), now)
        (task,) = await self._add([change if paused is None else control.made_paused(change, now, paused)], using)
        return task

    async def create_many(self, who: Principal, wishes: Iterable[Wish], keep: Callable[[Task], _T]) -> list[_T]:
        """All or none up to a thousand; more are written in chunks of that size, each all or none. `keep` what of each?

        Every wish is checked before the first chunk is written, so that only the store itself can stop halfway.
        """
        changes = await self._planned_many(who, wishes)
        made: list[_T] = []
        while changes:
            made += map(keep, await self._add(changes[:BULK_TASKS]))
            # What is written is let go of chunk by chunk: to free it all at once would hold everything up.
            del changes[:BULK_TASKS]
        return made

    async def _add(self, changes: Sequence[Change], using: object | None = None) -> list[Task]:
        due = min(entry.due for change in changes for entry in change.put)
        if using is None:
            await self._book.add(changes)
            self._told(due)
        else:
            # Whoever looked now would find nothing: the engine hears of it when their transaction is over.
            await self._book.add_using(using, changes, lambda: self._told(due))
        return [change.task for change in changes if change.task is not None]

    async def _planned_many(self, who: Principal, wishes: Iterable[Wish]) -> list[Change]:
        """Read at one instant, so that the same words mean the same; runs that are due have their turn in between."""
        now = self._clock.now()
        names = rising("tsk", now, self._entropy)
        known: dict[tuple[str, str | None], Schedule] = {}
        changes: list[Change] = []
        try:
            for wish in wishes:
                if len(changes) % _BETWEEN_TURNS == _BETWEEN_TURNS - 1:
                    await self._clock.pause(0)
                if isinstance(wish.when, str):
                    said = wish.when, wish.zone or self._zone
                    if said not in known:
                        known[said] = read_when(*said, now)
                    wish = wish._replace(when=known[said])
                changes.append(plan(self._drafted(who, wish, now), next(names), now))
        except Refusal as refusal:
            refusal.add_note(f"This was number {len(changes) + 1}; nothing was written.")
            raise
        return changes

    async def declare(self, who: Principal, wish: Wish, *, paused: str | None = None) -> Task:
        """The task with this natural key, made or edited: saying the same twice changes nothing."""
        if wish.key is None:
            raise refuse("bad_text", name="key", value=None, most=200)
        now = self._clock.now()
        draft = self._drafted(who, wish, now)
        task_id = self._new_id(now)

        def decide(found: Facts | None) -> Change:
            change = _declared(found, draft, task_id, now)
            return change if paused is None or found is not None else control.made_paused(change, now, paused)

        facts = await self._book.upsert(draft.owner, wish.key, decide)
        self._told(_first_due(facts))
        return facts.task

    async def rehearse(self, who: Principal, wish: Wish) -> tuple[Facts | None, Task]:
        """What `declare` would meet, and what it would leave: refused as that would be, and nothing is written."""
        if wish.key is None:
            raise refuse("bad_text", name="key", value=None, most=200)
        now = self._clock.now()
        draft = self._drafted(who, wish, now)
        found = await self._book.find(draft.owner, wish.key)
        change = _declared(found, draft, self._new_id(now), now)
        after = change.task or (None if found is None else found.task)
        if after is None:
            raise refuse("no_such_task", id=wish.key)
        return found, after

    async def keep_history(self, who: Principal, task_id: str, ended: Sequence[Run]) -> None:
        """Runs of another scheduler, as rows that have ended; what the ledger has already is not written again.

        They become this task's, whatever they say. What is not over yet would make the counts forget the present.
        """
        now = self._clock.now()
        past = [run for run in ended if not run.live]
        for run in past:
            check_past(run.planned, run.due, run.started, run.ended, now=now)
        await self._change(who, task_id, lambda facts: Change(born=tuple(_owned(run, facts.task) for run in past)))

    async def get(self, who: Principal, task_id: str) -> Facts:
        check_id(task_id, "no_such_task")
        facts = await self._book.facts(task_id, who.scope)
        if facts is None:
            raise refuse("no_such_task", id=task_id)
        return facts

    async def page(
        self, who: Principal, wanted: TaskFilter = _ALL, after: str | None = None, limit: int = 100
    ) -> Page[Facts]:
        """In the order in which they were made. Whatever owner is asked for, nobody sees more than is theirs."""
        check_page(after, limit)
        check_wanted(wanted)
        try:
            return await self._book.tasks(_seen_by(who, wanted), after, limit)
        except (ValueError, OverflowError):
            # No page ever ended there.
            raise refuse("bad_page", value=after, wanted="after", most=LARGEST_PAGE) from None

    async def upcoming(self, who: Principal, limit: int = 20) -> tuple[Facts, ...]:
        """The tasks of which something comes due next, soonest first."""
        check_page(None, limit)
        return await self._book.upcoming(who.scope, limit)

    async def latest(self, who: Principal, listed: Sequence[Facts]) -> dict[str, Run]:
        """The newest row of each of these tasks, as far as they have one."""
        return await self._book.latest([each.task.id for each in listed if who.scope in (None, each.task.owner)])

    async def named(self, who: Principal, name: str) -> Facts:
        """By id, by name, by key, or by as much of the id or name as is unique."""
        check_id(name, "no_such_task")
        if found := await self._book.facts(name, who.scope):
            return found
        if found := await self._book.find(who.owner, name):
            return found
        for wanted in (TaskFilter(name=name), TaskFilter(prefix=name), TaskFilter(text=name)):
            among = await self._among(_seen_by(who, wanted))
            if len(among) == 1:
                return among[0]
            if among:
                found_ids = ", ".join(each.task.id for each in among)
                raise refuse("ambiguous_name", name=name, found=found_ids)
        raise refuse("no_such_task", id=name)

    async def _among(self, wanted: TaskFilter) -> list[Facts]:
        """The first few; of those that have a text somewhere in their name, the ones that begin with it."""
        begins = wanted.text or ""
        if not (wanted.name or wanted.prefix or wanted.text):
            # Everything begins with nothing, and nobody means that.
            return []
        found: list[Facts] = []
        after: str | None = None
        while len(found) < _AMONG:
            page = await self._book.tasks(wanted, after, LARGEST_PAGE if begins else _AMONG)
            found += [each for each in page.items if each.task.name.startswith(begins)]
            after = page.after
            if after is None:
                break
        return found[:_AMONG]

    async def edit(
        self, who: Principal, task_id: str, edits: Edits, *, expected: int | None = None, dry_run: bool = False
    ) -> Edited:
        """Only what is said changes. `expected` is the version that whoever edits has seen; other ones are refused."""
        now = self._clock.now()
        seen: list[Edited] = []

        def decide(facts: Facts) -> Change:
            before = facts.task
            if expected is not None and expected != before.version:
                raise refuse("stale_version", version=before.version, expected=expected)
            wanted = edited_task(before, edits, self._zone, now)
            wanted = wanted._replace(target=self._check(wanted.target, wanted.payload))
            change = Change() if wanted == before else editing.edit(facts, wanted, now)
            after = change.task or before
            seen[:] = [Edited(before, after, fire_changes(before, after, facts.standing, now))]
            return change

        if dry_run:
            decide(await self.get(who, task_id))
        else:
            await self._change(who, task_id, decide)
        return seen[0]

    async def pause(
        self,
        who: Principal,
        task_id: str,
        *,
        cause: PauseCause = PauseCause.REQUESTED,
        note: str = "",
        until: datetime | None = None,
    ) -> Facts:
        now = self._clock.now()
        return await self._change(
            who, task_id, lambda facts: control.pause(facts, now, cause=cause, note=note, until=until)
        )

    async def resume(self, who: Principal, task_id: str, missed: MissedMode = "skip") -> Facts:
        now = self._clock.now()
        return await self._change(who, task_id, lambda facts: control.resume(facts, now, missed))

    async def cancel(self, who: Principal, task_id: str) -> Facts:
        now = self._clock.now()
        return await self._change(who, task_id, lambda facts: control.cancel(facts, now))

    async def delete(self, who: Principal, task_id: str) -> None:
        now = self._clock.now()
        await self._change(who, task_id, lambda facts: control.delete(facts, now))

    async def run_now(self, who: Principal, task_id: str) -> str:
        """One extra occurrence; the id that its first run will have."""
        now = self._clock.now()
        planned: list[datetime] = []

        def decide(facts: Facts) -> Change:
            change = control.run_now(facts, now)
            planned[:] = [entry.planned for entry in change.put]
            return change

        await self._change(who, task_id, decide)
        return run_id(task_id, Origin.MANUAL, planned[0], 1)

    async def skip_next(self, who: Principal, task_id: str, wanted: int = 1) -> Facts:
        return await self._change(who, task_id, lambda facts: control.skip_next(facts, wanted))

    async def backfill(
        self, who: Principal, task_id: str, first: datetime, last: datetime, *, again: bool = False
    ) -> Facts:
        """Occurrences for a past range, one by one. What was backfilled before is left as it is, or (`again`) is attempted
        once more."""
        now = self._clock.now()
        before = await self._backfilled_before(who, task_id, first, last) if again else 0
        return await self._change(who, task_id, lambda facts: editing.backfill(facts, first, last, now, before))

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
        now = self._clock.now()
        return await self._change(who, task_id, lambda facts: control.cancel_run(facts, run_id, now))

    async def _change(self, who: Principal, task_id: str, decide: ControlDecision) -> Facts:
        check_id(task_id, "no_such_task")
        facts = await self._book.change(task_id, who.scope, decide)
        if facts is None:
            raise refuse("no_such_task", id=task_id)
        self._told(None)
        return facts

    def _drafted(self, who: Principal, wish: Wish, now: datetime) -> Draft:
        owner = who.owner if wish.owner is None else wish.owner
        if owner != who.owner and not who.admin:
            raise refuse("foreign_owner", owner=owner)
        # They are looked for before the rest of the wish is looked at.
        check_text("owner", owner, KEY_CHARACTERS)
        if wish.key is not None:
            check_text("key", wish.key, KEY_CHARACTERS)
        schedule = read_when(wish.when, wish.zone or self._zone, now)
        policies = read_policies(schedule, wish.options)
        target = self._check(wish.target, wish.payload)
        return Draft(owner, wish.name, schedule, target, wish.payload, policies, wish.key, wish.lane, wish.labels)

    def _new_id(self, now: datetime) -> str:
        return named("tsk", now, self._entropy(ENTROPY))


def check_past(*instants: datetime | None, now: datetime) -> None:
    """Refuses what no run of the past can say of itself: an instant without a zone, before 1970, or still to come."""
    for at in instants:
        if at is not None and (at.tzinfo is None or not _FIRST_PAST <= at <= now):
            raise refuse("not_past", value=at.isoformat())


def _owned(run: Run, task: Task) -> Run:
    name = run_id(task.id, run.origin, run.planned, run.attempt)
    return run._replace(id=name, task_id=task.id, owner=task.owner)


def _seen_by(who: Principal, wanted: TaskFilter) -> TaskFilter:
    return wanted if who.scope is None else wanted._replace(owner=who.scope)


def _declared(found: Facts | None, draft: Draft, task_id: str, now: datetime) -> Change:
    if found is None:
        return plan(draft, task_id, now)
    before = found.task
    wanted = drafted(draft, before.id, before.created)._replace(version=before.version)
    return Change() if wanted == before else editing.edit(found, wanted, now)


def _first_due(facts: Facts) -> datetime | None:
    return min((entry.due for entry in facts.entries if entry.stand in CLAIMABLE), default=None)
