"""Hypothesis state machine: makes the same calls on a store and on the in-memory store and compares every answer.

The decisions are those of the lifecycle package. Where the ports leave an order open, the machine requires one, because
decisions see it: entries of equal rank by creation of their task, then by slot; in the facts entries by slot, live runs
by id, and a task's own lane before its owner's.

A subclass implements `open_empty`; `run_state_machine_as_test`, or the class's `TestCase`, runs it.
"""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from ....errors import Refusal
from ....lifecycle import control, edit
from ....lifecycle.fire import fire
from ....lifecycle.plan import Draft, build_task, plan
from ....lifecycle.recover import recover, release
from ....lifecycle.settle import settle
from ....lifecycle.start import ClaimContext
from ....model.change import Change, ControlDecision, Facts
from ....model.entry import Entry
from ....model.ids import ENTROPY_BYTES, make_id
from ....model.lane import DEFAULT_LIMIT
from ....model.outcome import Outcome, Settlement
from ....model.policy import MISSED_MODES, MissedMode
from ....model.reason import Reason
from ....model.record import RecordWrite
from ....model.run import Run, RunState
from ....model.task import TaskState
from ....ports.full_store import FullStore
from ....ports.journal import Line
from ....ports.store import DEFAULT_TERMS, RunFilter, TaskFilter
from ....stores.memory import MemoryStore
from ...decisions import PlannedFailure, fail
from ...factories import DAY, HOUR, NOON, a_node
from .paired_stores import PairedStores, Side, all_pages
from .record_rules import RecordRules
from .strategies import (
    KEYS,
    LANES,
    NODES,
    OWNERS,
    ROUTE,
    backward_steps,
    drafts,
    labels,
    numbers,
    optional_records,
    outcomes,
    several,
    steps,
)

_T = TypeVar("_T")
_MOST_TASKS: Final = 12
"""Small enough that a claim batch is never cut: where it is cut is up to the store."""
_MANY_REPEATS: Final = 1_000
_CONTROLS: Final[tuple[Callable[[Facts, datetime], Change], ...]] = (
    control.run_now,
    control.run_now,
    control.cancel,
    control.delete,
    edit.replan,
    lambda facts, _: control.skip_next(facts, 2),
    lambda *_: fail(),
)
_LIVE_STATES: Final = frozenset({RunState.CLAIMED, RunState.RUNNING, RunState.WAITING})


class StoreMachine(RecordRules):
    """Random operations of a deployment, applied to both stores."""

    async def open_empty(self) -> FullStore:
        """Open a new, empty store."""
        raise NotImplementedError

    async def another(self, store: FullStore) -> FullStore:
        """Open a second handle on the same data, as another process does. Override it where data outlives the object."""
        return store

    async def close(self, store: FullStore) -> None:
        await store.close()

    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._now = NOON
        self._created = 0
        self._claims = 0
        self._claimed: list[tuple[str, int]] = []
        self._task_ids: list[str] = []
        self._limits: dict[str, int] = {}
        self._handles: list[FullStore] = []

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return self._runner.run(work)

    def _call_both(self, call: Callable[[Side], Coroutine[Any, Any, Any]]) -> Any:
        answer = self._run(self._stores.call(call))
        # With two handles, calls alternate between them.
        self._handles.reverse()
        self._stores.store.store = self._handles[0]
        return answer

    @initialize(wanted=st.lists(drafts, min_size=2, max_size=6))
    def begin(self, wanted: list[Draft]) -> None:
        self._handles = [self._run(self.open_empty())]
        self._stores = PairedStores(MemoryStore(), self._handles[0])
        self.join(NODES[0])
        self.add([draft._replace(key=None) for draft in wanted])

    def teardown(self) -> None:
        for store in self._handles:
            self._run(self.close(store))
        self._runner.close()

    # --- time ----------------------------------------------------------------------------------------------------

    @rule(step=steps)
    def advance_clock(self, step: timedelta) -> None:
        self._now += step

    @rule(step=steps, results=st.lists(outcomes, max_size=4))
    def advance_clock_and_run(self, step: timedelta, results: list[Outcome]) -> None:
        self._now += step
        self.run_next_due(results)

    @rule(step=backward_steps)
    def step_clock_back(self, step: timedelta) -> None:
        self._now = max(NOON, self._now - step)

    def _advance_to_next_due(self) -> None:
        due = self._run(self._stores.reference.store.next_due())
        if due is not None:
            self._now = max(self._now, due)

    # --- tasks ---------------------------------------------------------------------------------------------------

    def _new_id(self) -> str:
        """Ids rise in order of creation, independent of the clock."""
        self._created += 1
        task_id = make_id("tsk", NOON, self._created.to_bytes(ENTROPY_BYTES))
        self._task_ids.append(task_id)
        return task_id

    def _some_task(self, number: int) -> str:
        return self._task_ids[number % len(self._task_ids)] if self._task_ids else "tsk_none"

    @precondition(lambda self: len(self._task_ids) < _MOST_TASKS)
    @rule(wanted=st.lists(drafts, min_size=1, max_size=2), attached=optional_records)
    def add(self, wanted: list[Draft], attached: tuple[RecordWrite, ...] = ()) -> None:
        changes: list[Change] = []
        for draft in wanted:
            try:
                changes.append(plan(draft, self._new_id(), self._now)._replace(attached=attached))
            except Refusal:
                self._task_ids.pop()
        self._call_both(lambda side: side.store.add(changes))

    @precondition(lambda self: len(self._task_ids) < _MOST_TASKS)
    @rule(draft=drafts, owner=st.sampled_from(OWNERS), key=st.sampled_from(KEYS), attached=optional_records)
    def upsert(self, draft: Draft, owner: str, key: str, attached: tuple[RecordWrite, ...]) -> None:
        request, task_id, now = draft._replace(owner=owner, key=key), self._new_id(), self._now

        def decide(facts: Facts | None) -> Change:
            if facts is None:
                return plan(request, task_id, now)._replace(attached=attached)
            return edit.edit(facts, build_task(request, facts.task.id, now), now)._replace(attached=attached)

        self._call_both(lambda side: side.store.upsert(owner, key, decide))
        self._call_both(lambda side: side.store.find(owner, key))

    def _change(self, number: int, decide: ControlDecision, owner: str | None = None) -> None:
        task_id = self._some_task(number)

        def call(side: Side) -> Coroutine[Any, Any, Facts | None]:
            def record(facts: Facts) -> Change:
                side.decision_facts[task_id, "change"] = (facts,)
                return decide(facts)

            return side.store.change(task_id, owner, record)

        self._call_both(call)

    @rule(number=numbers, until=st.sampled_from((None, timedelta(minutes=1), DAY)))
    def pause(self, number: int, until: timedelta | None) -> None:
        end = None if until is None else self._now + until
        self._change(number, partial(control.pause, now=self._now, until=end))

    @rule(number=numbers, missed=st.sampled_from(MISSED_MODES))
    def resume(self, number: int, missed: MissedMode) -> None:
        self._change(number, partial(control.resume, now=self._now, missed=missed))

    @rule(number=numbers, action=st.sampled_from(_CONTROLS), attached=optional_records)
    def control(
        self, number: int, action: Callable[[Facts, datetime], Change], attached: tuple[RecordWrite, ...]
    ) -> None:
        now = self._now
        self._change(number, lambda facts: action(facts, now)._replace(attached=attached))

    @rule(number=numbers, draft=drafts)
    def edit(self, number: int, draft: Draft) -> None:
        now = self._now
        self._change(number, lambda facts: edit.edit(facts, build_task(draft, facts.task.id, now), now))

    @rule(number=numbers, back=backward_steps)
    def replay_past_instants(self, number: int, back: timedelta) -> None:
        """Step the clock back and plan the same instants again: their runs exist already."""
        now = self._now = max(NOON, self._now - back)

        def decide(facts: Facts) -> Change:
            schedule = replace(facts.task.schedule, repeat=None if facts.task.schedule.repeat else _MANY_REPEATS)
            return edit.edit(facts, facts.task._replace(schedule=schedule), now)

        self._change(number, decide)
        self.run_next_due([])

    @rule(number=numbers, back=st.sampled_from((HOUR, DAY)), before=st.integers(0, 2))
    def backfill(self, number: int, back: timedelta, before: int) -> None:
        now = self._now
        self._change(number, lambda facts: edit.backfill(facts, now - back, now, now, before))

    @rule(number=numbers, run=numbers)
    def cancel_run(self, number: int, run: int) -> None:
        now = self._now

        def decide(facts: Facts) -> Change:
            run_id = facts.live[run % len(facts.live)].id if facts.live else "run_none"
            return control.cancel_run(facts, run_id, now)

        self._change(number, decide)

    @rule(number=numbers, owner=st.sampled_from(OWNERS))
    def pause_as_owner(self, number: int, owner: str) -> None:
        """A task of another owner is treated as absent."""
        self._change(number, partial(control.pause, now=self._now), owner)

    # --- runs ----------------------------------------------------------------------------------------------------

    @rule(node=st.sampled_from(NODES), room=st.sampled_from((1_000, 1_000, 2, 1, 0)))
    def claim(self, node: str, room: int) -> None:
        self._claim(node, room)

    @rule(room=st.sampled_from((1_000, 1_000, 1)))
    def claim_on_first_node(self, room: int) -> None:
        """Raises the share of claims that start runs."""
        self._claim(NODES[0], room)

    @rule(results=st.lists(outcomes, max_size=4))
    def run_next_due(self, results: list[Outcome]) -> None:
        """Advance to the next due instant, claim and settle: otherwise few runs would end within one example."""
        self._advance_to_next_due()
        self.join(NODES[0])
        self._claim(NODES[0], 1_000)
        live = {run.id for run in self._live_runs() if run.node is not None}
        runs = [claimed for claimed in self._claimed if claimed[0] in live]
        self._settle(list(zip(runs, results, strict=False)), settle, None)

    @rule(node=st.sampled_from(NODES))
    def claim_without_routes(self, node: str) -> None:
        """Due entries are stranded at their route."""
        self._advance_to_next_due()
        self._claim(node, 1_000, routes=frozenset())

    @rule(routes=st.sampled_from(((ROUTE,), (ROUTE, "target:http"), ("target:http",), ())))
    def admit_routes(self, routes: tuple[str, ...]) -> None:
        self._call_both(lambda side: side.store.admit(routes))

    @rule(at=st.integers(1, 3))
    def fail_claim(self, at: int) -> None:
        self._claim(NODES[0], 1_000, fail_at=at)

    def _claim(self, node: str, room: int, fail_at: int | None = None, routes: frozenset[str] | None = None) -> None:
        self._claims += 1
        claimant = ClaimContext(node, self._now, DEFAULT_TERMS.poll_ceiling, routes)
        number = self._claims

        def call(side: Side) -> Coroutine[Any, Any, Any]:
            decided: set[str] = set()

            def decide(facts: Facts, entry: Entry, token: int) -> Change:
                assert entry.due <= claimant.now, "an entry was claimed early"
                decided.add(facts.task.id)
                if len(decided) == fail_at:
                    raise PlannedFailure
                return fire(facts, entry, token, claimant)

            return side.claim(claimant, room, decide, number=number)

        answer = self._call_both(call)
        if answer and isinstance(answer[0], tuple):
            self._note_claimed([run for _, run in answer[0]])

    def _note_claimed(self, runs: Sequence[Any]) -> None:
        self._claimed += [(run.id, self._claims) for run in runs]
        for lane in {lane for run in runs for lane in run.lanes}:
            limit = self._limits.get(lane, DEFAULT_LIMIT)
            assert self._count_live_in_lane(lane) <= limit, f"more live runs in {lane} than its limit"

    def _live_runs(self) -> tuple[Run, ...]:
        return self._run(self._stores.reference.store.runs(RunFilter(states=_LIVE_STATES), limit=1_000)).items

    def _count_live_in_lane(self, lane: str) -> int:
        return sum(lane in run.lanes for run in self._live_runs())

    def _some_runs(self, chosen: Sequence[int]) -> list[tuple[str, int]]:
        """Runs with the number of their claim: mostly live, sometimes ended, sometimes with the number of another claim."""
        ids = {run.id for run in self._live_runs()}
        live = [claimed for claimed in self._claimed if claimed[0] in ids]
        found: list[tuple[str, int]] = []
        for number in chosen:
            runs = (self._claimed if number % 5 == 0 else live) or self._claimed or [("run_none", 1)]
            run_id, claim = runs[number % len(runs)]
            found.append((run_id, claim - 1 if number % 7 == 0 else claim))
        return found

    @rule(chosen=several)
    def start(self, chosen: list[int]) -> None:
        runs, now = self._some_runs(chosen), self._now
        self._call_both(lambda side: side.store.start([(run_id, side.token(claim)) for run_id, claim in runs], now))

    @rule(chosen=several, results=st.lists(outcomes, min_size=4, max_size=4), started=st.booleans())
    def settle(self, chosen: list[int], results: list[Outcome], started: bool) -> None:  # noqa: FBT001 - drawn by hypothesis
        reports = list(zip(self._some_runs(chosen), results, strict=False))
        self._settle(reports, settle, self._now if started else None)

    @rule(chosen=several, outcome=outcomes)
    def fail_settlement(self, chosen: list[int], outcome: Outcome) -> None:
        self._settle([(run, outcome) for run in self._some_runs(chosen)], fail, None)

    def _settle(
        self,
        reports: Sequence[tuple[tuple[str, int], Outcome]],
        decide: Callable[..., Change],
        started: datetime | None,
    ) -> None:
        now = self._now

        def call(side: Side) -> Coroutine[Any, Any, frozenset[str]]:
            batch = [Settlement(run, side.token(claim), outcome, started, now) for (run, claim), outcome in reports]
            return side.store.settle(batch, side.record_settle(decide))

        self._call_both(call)

    @rule(chosen=several)
    def release(self, chosen: list[int]) -> None:
        runs, decide = self._some_runs(chosen), partial(release, now=self._now)

        def call(side: Side) -> Coroutine[Any, Any, frozenset[str]]:
            claims = [(run_id, side.token(claim)) for run_id, claim in runs]
            return side.store.release(claims, side.record_end(decide))

        self._call_both(call)

    # --- nodes ---------------------------------------------------------------------------------------------------

    @rule(node=st.sampled_from(NODES))
    def join(self, node: str) -> None:
        row = a_node(node, joined=self._now, renewed=self._now)
        self._call_both(lambda side: side.store.join(row))

    @rule(node=st.sampled_from(NODES), load=st.integers(0, 3), offset=backward_steps)
    def renew_lease(self, node: str, load: int, offset: timedelta) -> None:
        async def call(side: Side) -> Any:
            # A store may or may not have a clock of its own.
            return (await side.store.renew_lease(node, self._now, load, -offset))._replace(now=None)

        self._call_both(call)

    @rule(node=st.sampled_from(NODES), draining=st.booleans())
    def drain(self, node: str, draining: bool) -> None:  # noqa: FBT001 - drawn by hypothesis
        self._call_both(lambda side: side.store.drain(node, draining=draining))

    @rule(node=st.sampled_from(NODES))
    def leave(self, node: str) -> None:
        self._call_both(lambda side: side.store.leave(node))

    @rule(node=st.sampled_from(NODES), limit=st.sampled_from((1, 10)), renewals=st.sampled_from((None, None, None, 7)))
    def recover(self, node: str, limit: int, renewals: int | None) -> None:
        seen = renewals if renewals is not None else self._renewals_of(node)
        decide = partial(recover, now=self._now)
        self._call_both(lambda side: side.store.recover(node, seen, side.record_end(decide), limit))

    def _renewals_of(self, node: str) -> int:
        """Renewals of the node as another node sees them."""
        watcher = a_node("watcher", joined=self._now, renewed=self._now)
        self._call_both(lambda side: side.store.join(watcher))
        renewal = self._run(self._stores.reference.store.renew_lease("watcher", self._now))
        self._call_both(lambda side: side.store.leave("watcher"))
        return next((each.renewals for each in renewal.nodes if each.id == node), 0)

    # --- lanes, owners, log lines --------------------------------------------------------------------------------

    @rule(lane=st.sampled_from(LANES), limit=st.integers(0, 3))
    def set_lane(self, lane: str, limit: int) -> None:
        self._limits[lane] = limit
        self._call_both(lambda side: side.store.set_lane(lane, limit))

    @rule(owner=st.sampled_from(OWNERS), reason=st.sampled_from((None, None, Reason.OWNER_REVOKED, Reason.QUOTA)))
    def block_owner(self, owner: str, reason: Reason | None) -> None:
        self._call_both(lambda side: side.store.block_owner(owner, reason))

    @rule(chosen=several, text=st.sampled_from(("so far, so good", "一切正常", "")))
    def write_lines(self, chosen: list[int], text: str) -> None:
        runs = [run_id for run_id, _ in self._some_runs(chosen)]
        lines = [Line(run_id, self._now, "info", text) for run_id in (*runs, "run_none")]
        self._call_both(lambda side: side.store.write_lines(lines))
        for run_id in runs:
            self._call_both(lambda side, run_id=run_id: side.store.lines(run_id, after=0, limit=5))  # type: ignore[misc]

    # --- reads, retention ----------------------------------------------------------------------------------------

    @rule(
        owner=st.sampled_from((None, *OWNERS)),
        states=st.sampled_from(
            (
                None,
                frozenset({TaskState.ACTIVE}),
                frozenset({TaskState.PAUSED, TaskState.FAILED}),
                frozenset({TaskState.CANCELLED, TaskState.COMPLETED}),
            )
        ),
        lane=st.sampled_from((None, "narrow")),
        labels=labels,
        limit=st.integers(1, 5),
    )
    def list_tasks(
        self,
        owner: str | None,
        states: frozenset[TaskState] | None,
        lane: str | None,
        labels: dict[str, str] | None,
        limit: int,
    ) -> None:
        wanted = TaskFilter(owner, states, None, lane, tuple(sorted((labels or {}).items())))
        self._call_both(lambda side: all_pages(lambda after: side.store.tasks(wanted, after, limit)))

    @rule(
        owner=st.sampled_from((None, *OWNERS)),
        number=st.one_of(st.none(), numbers),
        states=st.sampled_from((None, frozenset({RunState.SKIPPED}), frozenset({RunState.RUNNING, RunState.LOST}))),
        since=st.sampled_from((None, HOUR)),
        limit=st.integers(1, 9),
    )
    def list_runs(
        self,
        owner: str | None,
        number: int | None,
        states: frozenset[RunState] | None,
        since: timedelta | None,
        limit: int,
    ) -> None:
        task_id = None if number is None else self._some_task(number)
        wanted = RunFilter(owner, task_id, states, None if since is None else self._now - since, self._now)
        self._call_both(lambda side: all_pages(lambda after: side.store.runs(wanted, after, limit)))

    @rule(chosen=several, owner=st.sampled_from((None, *OWNERS)))
    def read_runs_and_events(self, chosen: list[int], owner: str | None) -> None:
        for run_id, _ in self._some_runs(chosen):
            self._call_both(lambda side, run_id=run_id: side.store.run(run_id, owner))  # type: ignore[misc]

        async def call(side: Side) -> list[Any]:
            return [each.event for each in await side.store.events(0, owner=owner)]

        self._call_both(call)

    @rule(age=st.sampled_from((timedelta(0), HOUR, DAY)), keep=st.sampled_from((0, 2, 100)), limit=st.integers(1, 20))
    def trim(self, age: timedelta, keep: int, limit: int) -> None:
        """Trim in batches from the last cursor; the size of a batch is up to the store."""
        before = self._now - age

        async def call(side: Side) -> tuple[int, ...]:
            total, after = Counter[str](), side.trim_cursors.get(keep)
            while True:
                trimmed = await side.store.trim(before, keep, limit, after)
                counts = {"runs": trimmed.runs, "tasks": trimmed.tasks, "events": trimmed.events}
                assert sum(counts.values()) <= limit
                total.update(counts)
                after = side.trim_cursors[keep] = trimmed.after
                if not trimmed.more:
                    return total["runs"], total["tasks"], total["events"]

        self._call_both(call)

    @rule()
    def toggle_second_handle(self) -> None:
        """Open a second handle, or close it."""
        if len(self._handles) == 1:
            self._handles.append(self._run(self.another(self._handles[0])))
        else:
            other = self._handles.pop()
            if other is not self._handles[0]:
                self._run(self.close(other))

    @rule()
    def reopen(self) -> None:
        """Replace the first handle by a new one: acknowledged writes must be there."""
        old = self._handles[0]
        new = self._run(self.another(old))
        if new is not old:
            self._run(self.close(old))
            self._handles[0] = self._stores.store.store = new

    # --- invariants ----------------------------------------------------------------------------------------------

    @invariant()
    def stores_are_equal(self) -> None:
        found = self._run(self._stores.read_all(self._now))
        assert found["doubts"] == ()
        live = Counter((run.task_id, run.origin, run.planned) for run in found["runs"] if run.live)
        assert [occurrence for occurrence, times in live.items() if times > 1] == []
