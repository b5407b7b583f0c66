"""Simulated clients: add, pause, resume, edit, cancel, skip, backfill and run tasks through the service."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random
from typing import Any, Final, cast

from horae.errors import Refusal, StoreError
from horae.lifecycle.control import edit
from horae.lifecycle.plan import Draft, plan
from horae.lifecycle.settle import settle
from horae.model.accounts.principal import Principal
from horae.model.change import Change
from horae.model.ids import ENTROPY_BYTES, make_id
from horae.model.inputs.run_input import RunInput
from horae.model.outcome import Failed, Settlement, Succeeded
from horae.model.policy import MISSED_MODES
from horae.model.reason import Reason
from horae.model.run import LIVE_STATES
from horae.model.task import Task
from horae.ports.full_store import FullStore
from horae.ports.store import RunFilter
from horae.ports.target import Invocation
from horae.service.tasks.tasks import Tasks
from horae.virtual_time import VirtualClock
from tests.simulation.drafts import (
    HOUR,
    KINDS,
    LANES,
    MODIFIERS,
    OWNERS,
    WORKHORSES,
    Traits,
    make_draft,
    make_schedule,
)
from tests.simulation.faults import Link
from tests.simulation.faulty_store import FaultyStore, behind, timeless
from tests.simulation.history import Action, History, Verdict
from tests.simulation.unauthorized_clients import UnauthorizedClients

ADMIN: Final = Principal("operator", admin=True)


class Clients:
    """Makes one call at a time and records its answer and its effect."""

    def __init__(
        self,
        store: FullStore,
        link: Link,
        clock: VirtualClock,
        history: History,
        dice: Random,
        ring: Callable[[], None],
    ) -> None:
        self._inner = timeless(store)
        self._link = link
        self._clock = clock
        self._history = history
        self._dice = dice
        self._ring = ring
        self._store = FaultyStore(store, link, history, placing=True)
        self._book = cast("FullStore", self._store)
        self._elsewhere = behind(store, link, history)
        self._zombie = FaultyStore(store, link, history, probing=True)
        self._service = Tasks(self._book, clock, on_write=lambda _due: self._notify())
        self._strangers = UnauthorizedClients(store, link, clock, history, dice)
        self._asking = asyncio.Lock()
        self._answers: set[asyncio.Task[None]] = set()
        self.tasks: dict[str, Task] = {}
        self.traits: dict[str, Traits] = {}
        self.mean_seconds = 1_500.0

    def _notify(self) -> None:
        """Notify the engines; a lost notification only delays them."""
        if self._dice.random() < 0.7:
            self._ring()

    async def add_initial_tasks(self, count: int) -> None:
        for name, limit in LANES.items():
            await self._inner.set_lane(name, limit)
        while len(self.tasks) < count:
            await self._add()

    async def run(self) -> None:
        wishes: tuple[tuple[Callable[[], Awaitable[None]], float], ...] = (
            (self._add, 1),
            (self._pause, 4),
            (self._resume, 6),
            (self._cancel, 1),
            (self._run_now, 6),
            (self._skip_next, 3),
            (self._backfill, 3),
            (self._edit, 4),
            (self._cancel_run, 3),
            (self._change_lane, 1),
            (self._block_owner, 1),
            (self._read_ledger, 3),
            (self.read_events, 5),
            (self._probe, 4),
            (self._call_unauthorized, 3),
        )
        while True:
            await self._clock.pause(self._dice.expovariate(1 / self.mean_seconds))
            wish = self._dice.choices([each for each, _ in wishes], [weight for _, weight in wishes])[0]
            await wish()

    async def unblock_all(self) -> None:
        """Unblock all owners at the end of the faults."""
        for owner in OWNERS:
            await self.unblock(owner)

    # --- what they ask for -----------------------------------------------------------------------------------------

    async def _add(self) -> None:
        now = self._clock.now()
        draft, traits = make_draft(self._dice, len(self.tasks) + 1, now)
        task_id = make_id("tsk", now, self._dice.randbytes(ENTROPY_BYTES))
        try:
            change = plan(draft, task_id, now)
        except Refusal:
            return
        self.traits[task_id] = traits
        await self._call("add", task_id, draft, lambda: self._book.add([change]), change)

    async def _pause(self) -> None:
        until = None if self._dice.random() < 0.5 else self._clock.now() + self._dice.uniform(0.2, 5) * HOUR
        task = self._some_task(after=WORKHORSES if until is None else 0)
        await self._call("pause", task.id, until, lambda: self._service.pause(ADMIN, task.id, until=until))

    async def _resume(self) -> None:
        task, missed = self._some_task(), self._dice.choice(MISSED_MODES)
        await self._call("resume", task.id, missed, lambda: self._service.resume(ADMIN, task.id, missed))

    async def _cancel(self) -> None:
        task = self._some_task(after=WORKHORSES)
        await self._call("cancel", task.id, None, lambda: self._service.cancel(ADMIN, task.id))

    async def _run_now(self) -> None:
        task = self._some_task()
        given = self._some_input(task)
        await self._call("run_now", task.id, None, lambda: self._service.run_now(ADMIN, task.id, given))

    def _some_input(self, task: Task) -> RunInput | None:
        """Two of three requests have an input: the payload again, with spaces before it that only its calls have."""
        number = int(self._clock.steady() * 1_000) % 6
        return RunInput("replace", " " * number + task.payload) if number > 1 else None

    async def _skip_next(self) -> None:
        task, wanted = self._some_task(), self._dice.choice((0, 1, 3))
        await self._call("skip_next", task.id, wanted, lambda: self._service.skip_next(ADMIN, task.id, wanted))

    async def _backfill(self) -> None:
        task, last = self._some_task(), self._clock.now() - self._dice.uniform(0, 3) * HOUR
        first = last - self._dice.uniform(1, 5) * HOUR
        given = self._some_input(task)
        await self._call(
            "backfill",
            task.id,
            (first, last),
            lambda: self._service.backfill(ADMIN, task.id, first, last, given=given),
        )

    async def _edit(self) -> None:
        """A new schedule, or the same one with other policies."""
        now, task = self._clock.now(), self._some_task(after=WORKHORSES)
        draft, _ = make_draft(self._dice, 0, now)
        if self._dice.random() < 0.6:
            kind, modifier = self._dice.choice(KINDS[:4]), self._dice.choice(MODIFIERS)
            edited = task._replace(schedule=make_schedule(self._dice, kind, modifier, now))
        else:
            edited = task._replace(policies=draft.policies)
        await self._call(
            "edit",
            task.id,
            edited,
            lambda: self._book.change(task.id, None, lambda facts: edit.edit(facts, edited, now)),
        )
        self._notify()

    async def _cancel_run(self) -> None:
        live = (await self._inner.runs(RunFilter(states=LIVE_STATES))).items
        if live:
            run = self._dice.choice(live)
            await self._call(
                "cancel_run", run.task_id, run.id, lambda: self._service.cancel_run(ADMIN, run.task_id, run.id)
            )

    async def _change_lane(self) -> None:
        name, limit = self._dice.choice(tuple(LANES)), self._dice.choice((1, 2, 4))
        await self._call("set_lane", name, limit, lambda: self._book.set_lane(name, limit))
        self._notify()

    async def _block_owner(self) -> None:
        """Block an owner for a while."""
        owner = self._dice.choice(OWNERS)
        await self._call(
            "bar", owner, Reason.OWNER_REVOKED, lambda: self._book.block_owner(owner, Reason.OWNER_REVOKED)
        )
        await self._clock.pause(self._dice.choice((60.0, 1_800.0)))
        await self.unblock(owner)

    async def unblock(self, owner: str) -> None:
        """Repeat until the store has acknowledged it."""
        while True:
            if (
                await self._call("bar", owner, None, lambda: self._book.block_owner(owner, None))
                is Verdict.ACKNOWLEDGED
            ):
                return
            await self._clock.pause(5)

    async def read_events(self) -> None:
        """Read events from the last number on."""
        feed = self._history.feed
        feed += await self._inner.events(feed[-1].number if feed else 0, self._dice.choice((5, 100, 1_000)))

    async def _read_ledger(self) -> None:
        """Read the ledger and remember ended runs, which must never change."""
        page = await self._inner.runs(RunFilter(states=None), limit=1_000)
        for run in page.items:
            if not run.live:
                self._history.ended_rows.setdefault(run.id, run)

    async def _probe(self) -> None:
        """Settle with a stale token, or a run that has ended."""
        live = self._dice.random() < 0.7
        runs = (await self._inner.runs(RunFilter(states=LIVE_STATES if live else None), limit=50)).items
        if not runs:
            return
        run = self._dice.choice(runs)
        token = run.token - 1 if run.live else run.token
        report = Settlement(run.id, token, Succeeded('"from a zombie"'), run.started, self._clock.now())
        with suppress(StoreError):
            await self._zombie.settle([report], settle)

    async def _call_unauthorized(self) -> None:
        await self._strangers.call_foreign_task(self._some_task())

    # --- work that was handed on -----------------------------------------------------------------------------------

    def on_handed_on(self, invocation: Invocation) -> None:
        """Callback of a target that handed its work on: most of the time an answer follows."""
        if self._dice.random() < 0.7:
            job = asyncio.get_running_loop().create_task(self._answer(invocation))
            self._answers.add(job)
            job.add_done_callback(self._answers.discard)

    async def _answer(self, invocation: Invocation) -> None:
        await self._clock.pause(self._dice.choice((30.0, 600.0)))
        outcome = Succeeded('"by somebody else"') if self._dice.random() < 0.7 else Failed("refused elsewhere")
        run = invocation.run
        report = Settlement(run.id, run.token, outcome, run.started, self._clock.now())
        with suppress(StoreError):
            await self._elsewhere.settle([report], settle)
            self._notify()

    # --- asking, and writing down what came of it --------------------------------------------------------------------

    def _some_task(self, after: int = 0) -> Task:
        return self.tasks[self._dice.choice(tuple(self.tasks)[after:])]

    async def _call(
        self, kind: str, subject: str, detail: Any, wish: Callable[[], Awaitable[object]], change: Change | None = None
    ) -> Verdict:
        async with self._asking:
            self._store.last_change = self._store.place = None
            steady, now = self._clock.steady(), self._clock.now()
            try:
                await wish()
                verdict = Verdict.ACKNOWLEDGED
            except Refusal:
                verdict = Verdict.REFUSED
            except StoreError:
                verdict = Verdict.UNKNOWN
            place, change = self._store.place, change or self._store.last_change
            self._history.actions.append(Action(kind, subject, steady, now, detail, verdict, place, change))
            self._history.note("people", f"{kind} {subject} {_shown(detail)}: {verdict}")
            if place is not None and change is not None and change.task is not None:
                self.tasks[subject] = change.task
            return verdict


def _shown(detail: object) -> str:
    if isinstance(detail, Draft | Task):
        return f"{detail.schedule} {detail.policies}"
    return str(detail)
