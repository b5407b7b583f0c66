"""Contract of chains: the end of an occurrence starts the tasks that run after it, in one transaction, once for each root."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any

from .....errors import Refusal
from .....lifecycle.control.control import cancel, delete, pause, request_retry, resume, run_now, skip_next
from .....lifecycle.control.edit import backfill, edit
from .....lifecycle.fire import fire
from .....lifecycle.plan import Draft, plan
from .....lifecycle.recover import recover
from .....lifecycle.settle import settle
from .....lifecycle.start import ClaimContext
from .....model.chain_row import DEFAULT_CHAIN_LIMIT, MAX_DEPTH, MAX_SUCCESSORS, ChainLimit, ChainState
from .....model.change import Change, ControlDecision, Facts, SettleDecision
from .....model.counts import OUTCOME_PREFIX, hour_of
from .....model.entry import Entry
from .....model.ids import ENTROPY_BYTES, make_id
from .....model.origin import Origin, RootOccurrence
from .....model.outcome import Cancelled, Failed, Outcome, Settlement, Skipped, Succeeded, TimedOut
from .....model.policy import Policies, RetryPolicy
from .....model.reason import Reason
from .....model.run import Run, RunState
from .....model.task import PauseCause, Target, Task, TaskState
from .....ports.full_store import FullStore
from .....ports.store import Claimed, RunFilter
from .....schedule import After, Every, Link, Schedule
from .....schedule.after import Mode, On
from ....factories import DAY, HOUR, MINUTE, NODE, NOON, OWNER, SECOND, a_node
from ..contract import Contract

ONE_ATTEMPT = Policies(retry=RetryPolicy(attempts=1))
_numbers = count(1)
FAILURE = Failed("it broke", permanent=True)


class ChainBench:
    """A store with a clock: adds tasks of a chain, runs everything that is due, and reads the outcome."""

    def __init__(self, store: FullStore) -> None:
        self.store = store
        self.now = NOON
        self.chain_limit = DEFAULT_CHAIN_LIMIT

    async def join(self) -> None:
        await self.store.join(a_node())

    async def root(self, name: str = "a", **fields: Any) -> Task:
        """Add a task that is due every hour, from an hour after noon on."""
        return await self.add(name, Every(interval=HOUR), **fields)

    async def after(
        self, name: str, *links: Task | Link, mode: Mode = "any", on: On = "succeeded", **fields: Any
    ) -> Task:
        given = tuple(each if isinstance(each, Link) else Link(each.id, on) for each in links)
        return await self.add(name, After(given, mode), **fields)

    async def add(self, name: str, schedule: Schedule, policies: Policies = ONE_ATTEMPT, owner: str = OWNER) -> Task:
        task_id = make_id("tsk", self.now, next(_numbers).to_bytes(ENTROPY_BYTES))
        draft = Draft(owner, name, schedule, Target("function", '{"name":"f"}'), "{}", policies)
        change = plan(draft, task_id, self.now)._replace(chain_limit=self.chain_limit)
        await self.store.add([change])
        return (await self.facts(task_id)).task

    async def facts(self, task: Task | str) -> Facts:
        facts = await self.store.facts(task if isinstance(task, str) else task.id, None)
        assert facts is not None
        return facts

    async def claim(self) -> list[Claimed]:
        claimed: list[Claimed] = []
        while True:
            found = await self.store.claim_due(self.now, NODE, 100, self._fire)
            claimed += found.runs
            if not found.more:
                return claimed

    def _fire(self, facts: Facts, entry: Entry, token: int) -> Change:
        return fire(facts, entry, token, ClaimContext(NODE, self.now, 10 * SECOND))

    async def settle(
        self, *runs: Run, outcome: Outcome | None = None, decide: SettleDecision = settle
    ) -> frozenset[str]:
        """Settle runs a second later."""
        self.now += SECOND
        result = Succeeded('"done"') if outcome is None else outcome
        return await self.store.settle([Settlement(r.id, r.token, result, r.started, self.now) for r in runs], decide)

    async def fire_root(self, task: Task, outcome: Outcome | None = None) -> Run:
        """Let the root come due, and end its run."""
        self.now = (self.now - NOON) // HOUR * HOUR + NOON + HOUR
        (run,) = [claimed.run for claimed in await self.claim() if claimed.task.id == task.id]
        await self.settle(run, outcome=outcome)
        return run

    async def run_due(self, outcomes: dict[str, Outcome] | None = None) -> list[str]:
        """Run everything that is due until nothing is; return the names of the tasks, in the order of their starts."""
        names: list[str] = []
        while claimed := await self.claim():
            for each in claimed:
                names.append(each.task.name)
                await self.settle(each.run, outcome=(outcomes or {}).get(each.task.name))
        return names

    async def change(self, task: Task, decide: ControlDecision) -> Facts:
        facts = await self.store.change(task.id, None, decide)
        assert facts is not None
        return facts

    async def runs(self, task: Task) -> list[Run]:
        """All rows of a task, oldest first."""
        return list((await self.store.runs(RunFilter(task_id=task.id))).items)[::-1]

    async def outcomes(self, task: Task) -> list[RunState | Reason]:
        """The reason of each row, or its state where it ran."""
        return [
            run.reason if run.state is RunState.SKIPPED and run.reason else run.state for run in await self.runs(task)
        ]

    async def row_state(self, task: Task) -> list[ChainState]:
        return [row.state for row in await self.store.chain_rows(task.id, self.now + DAY, 100)]


async def _bench(store: FullStore) -> ChainBench:
    bench = ChainBench(store)
    await bench.join()
    return bench


async def _refusal(request: Awaitable[object]) -> str:
    """Return the code of the refusal; empty where the request was accepted."""
    try:
        await request
    except Refusal as refusal:
        return refusal.code
    return ""


class ChainsContract(Contract):
    async def test_a_link_fires_with_the_end_of_its_predecessor(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        second = await bench.after("b", first)
        assert (await bench.facts(first)).task.successors == (second.id,)
        run = await bench.fire_root(first)
        (entry,) = (await bench.facts(second)).entries
        root = RootOccurrence(first.id, Origin.SCHEDULED, NOON + HOUR)
        assert (entry.due, entry.planned, entry.origin) == (bench.now, bench.now, Origin.CHAIN)
        assert await store.next_due() == bench.now
        (claimed,) = await bench.claim()
        assert claimed.run.chain is not None
        assert (claimed.run.root, claimed.run.chain.parents) == (root, (run.id,))
        await bench.settle(claimed.run)
        assert await store.run(claimed.run.id, None) == (await bench.runs(second))[0]
        assert (await bench.runs(second))[0].root == root
        assert await store.check() == ()

    async def test_every_end_fires_the_links_that_name_it(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        good = await bench.after("good", first)
        bad = await bench.after("bad", first, on="failed")
        both = await bench.after("both", first, on="ended")
        for outcome, fired in (
            (Succeeded(), ["both", "good"]),
            (FAILURE, ["bad", "both"]),
            (TimedOut(), ["bad", "both"]),
            (Cancelled(), []),
            (Skipped(), []),
        ):
            await bench.fire_root(first, outcome)
            assert sorted(await bench.run_due()) == fired
        assert [len(await bench.runs(each)) for each in (good, bad, both)] == [1, 2, 3]

    async def test_a_lost_run_fires_a_link_only_when_its_occurrence_has_ended(self, store: FullStore) -> None:
        bench = await _bench(store)
        careful = replace(ONE_ATTEMPT, guarantee="at_most_once")
        first = await bench.root()
        second = await bench.root("c", policies=careful)
        after_first = await bench.after("b", first, on="failed")
        after_second = await bench.after("d", second, on="failed")
        bench.now += HOUR
        claimed = await bench.claim()
        await store.start([(each.run.id, each.run.token) for each in claimed], bench.now)
        bench.now += MINUTE
        await store.recover(NODE, 0, lambda facts, run: recover(facts, run, bench.now), 10)
        assert (await bench.facts(after_first)).entries == ()
        assert len((await bench.facts(after_second)).entries) == 1

    async def test_a_link_waits_for_the_retries_of_its_predecessor(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root(policies=Policies(retry=RetryPolicy(attempts=2, jitter="none")))
        second = await bench.after("b", first, on="ended")
        await bench.fire_root(first, Failed("once"))
        assert await bench.run_due() == []
        bench.now += MINUTE
        assert await bench.run_due() == ["a", "b"]
        assert [run.root for run in await bench.runs(second)] == [
            RootOccurrence(first.id, Origin.SCHEDULED, NOON + HOUR)
        ]

    async def test_a_repeated_settlement_fires_nothing_twice(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        second = await bench.after("b", first)
        run = await bench.fire_root(first)
        assert await bench.settle(run) == {run.id}
        assert await bench.run_due() == ["b"]
        assert await bench.settle(run) == {run.id}
        assert await bench.run_due() == []
        assert len(await bench.runs(second)) == 1

    async def test_a_failing_decision_writes_neither_the_end_nor_the_link(self, store: FullStore) -> None:
        bench = await _bench(store)
        first, other = await bench.root(), await bench.root("other")
        second, _ = await bench.after("b", first), await bench.after("unused", other, on="failed")
        bench.now += HOUR
        runs = [each.run for each in await bench.claim()]

        def fail_for_other(facts: Facts, run: Run, report: Settlement) -> Change:
            if facts.task.id == other.id:
                raise ValueError(run.id)
            return settle(facts, run, report)

        with suppress(ValueError):
            await bench.settle(*runs, decide=fail_for_other)
        assert len((await bench.facts(first)).live) == 1
        assert (await bench.facts(second)).entries == ()
        await bench.settle(*runs)
        assert await bench.run_due() == ["b"]

    async def test_any_fires_once_for_each_root_occurrence(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        left, right = await bench.after("b", first), await bench.after("c", first)
        last = await bench.after("d", left, right)
        await bench.fire_root(first)
        assert sorted(await bench.run_due()) == ["b", "c", "d"]
        await bench.fire_root(first)
        runs = {each.task.name: each.run for each in await bench.claim()}
        await bench.settle(runs["b"])
        assert await bench.run_due() == ["d"]
        await bench.settle(runs["c"])
        assert await bench.run_due() == []
        assert await bench.outcomes(last) == [RunState.SUCCEEDED] * 2

    async def test_two_roots_that_end_at_one_instant_do_not_collide(self, store: FullStore) -> None:
        bench = await _bench(store)
        first, second = await bench.root("a"), await bench.root("b")
        last = await bench.after("c", first, second, policies=replace(ONE_ATTEMPT, overlap="parallel"))
        bench.now += HOUR
        await bench.settle(*[each.run for each in await bench.claim()])
        assert await bench.run_due() == ["c", "c"]
        assert {run.root.task_id for run in await bench.runs(last)} == {first.id, second.id}

    async def test_a_join_waits_for_all_and_gets_all_parents(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        left, right = await bench.after("b", first), await bench.after("c", first)
        join = await bench.after("d", left, right, mode="all")
        await bench.fire_root(first)
        runs = {each.task.name: each.run for each in await bench.claim()}
        await bench.settle(runs["b"])
        assert (await bench.facts(join)).entries == ()
        assert await bench.row_state(join) == [ChainState.OPEN]
        await bench.settle(runs["c"])
        (claimed,) = await bench.claim()
        assert claimed.run.chain is not None
        assert set(claimed.run.chain.parents) == {runs["b"].id, runs["c"].id}
        assert await bench.row_state(join) == [ChainState.FIRED]

    async def test_predecessors_that_end_in_one_batch_complete_a_join(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        left, right = await bench.after("b", first), await bench.after("c", first)
        await bench.after("d", left, right, mode="all")
        await bench.fire_root(first)
        await bench.settle(*[each.run for each in await bench.claim()])
        assert await bench.run_due() == ["d"]

    async def test_a_join_whose_predecessor_did_not_end_as_it_must_is_skipped(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        left, right = await bench.after("b", first), await bench.after("c", first)
        join = await bench.after("d", left, right, mode="all")
        await bench.fire_root(first)
        assert sorted(await bench.run_due({"b": FAILURE})) == ["b", "c"]
        assert await bench.outcomes(join) == [Reason.PREDECESSOR_SKIPPED]
        assert (await bench.facts(join)).status.state is TaskState.ACTIVE
        hour = hour_of(bench.now)
        for owner in (OWNER, None):
            counts = await store.counts(owner, [hour])
            assert counts[hour, f"{OUTCOME_PREFIX}skipped:{Reason.PREDECESSOR_SKIPPED}"] == 1

    async def test_skips_reach_a_join_through_tasks_that_were_not_started(self, store: FullStore) -> None:
        """b runs only after a failure, so c is not started either, and d must not wait for it."""
        bench = await _bench(store)
        first = await bench.root()
        second = await bench.after("b", first, on="failed")
        third = await bench.after("c", second)
        other = await bench.after("e", first)
        join = await bench.after("d", third, other, mode="all")
        await bench.fire_root(first)
        assert await bench.outcomes(join) == []
        assert await bench.run_due() == ["e"]
        assert await bench.outcomes(join) == [Reason.PREDECESSOR_SKIPPED]
        assert [await bench.row_state(each) for each in (second, third)] == [[ChainState.SKIPPED]] * 2

    async def test_a_cancelled_root_skips_the_joins_after_it(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        left, right = await bench.after("b", first), await bench.after("c", first)
        join = await bench.after("d", left, right, mode="all")
        last = await bench.after("e", join)
        await bench.fire_root(first, Cancelled())
        assert await bench.outcomes(join) == [Reason.PREDECESSOR_SKIPPED]
        assert await bench.row_state(last) == [ChainState.SKIPPED]
        assert await bench.run_due() == []

    async def test_changes_of_linked_tasks_are_reported_after_the_commit(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        second = await bench.after("b", first)
        third = await bench.after("c", first)
        reported: list[Run] = []
        store.observe_links(lambda changes: reported.extend(run for change in changes for run in change.new_runs))
        await bench.change(second, lambda facts: pause(facts, bench.now))
        await bench.fire_root(first)
        assert reported == await bench.runs(second)
        assert [(run.task_id, run.state) for run in reported] == [(second.id, RunState.SKIPPED)]
        (requested,) = [each.run for each in await bench.claim() if each.task.id == third.id]
        await bench.settle(requested)
        assert len(reported) == 1, "nothing runs after it"

    async def test_a_paused_successor_records_the_pause(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        second = await bench.after("b", first)
        third = await bench.after("c", second)
        await bench.change(second, lambda facts: pause(facts, bench.now))
        await bench.fire_root(first)
        assert await bench.outcomes(second) == [Reason.PAUSED]
        assert await bench.row_state(third) == [ChainState.SKIPPED]
        await bench.change(second, lambda facts: resume(facts, bench.now))
        assert await bench.run_due() == []
        await bench.fire_root(first)
        assert await bench.run_due() == ["b", "c"]

    async def test_a_pause_before_the_claim_skips_the_chained_occurrence_with_the_resume(
        self, store: FullStore
    ) -> None:
        bench = await _bench(store)
        first = await bench.root()
        second = await bench.after("b", first)
        await bench.fire_root(first)
        await bench.change(second, lambda facts: pause(facts, bench.now))
        assert await bench.run_due() == []
        bench.now += MINUTE
        await bench.change(second, lambda facts: resume(facts, bench.now))
        assert await bench.outcomes(second) == [Reason.PAUSED]

    async def test_a_requested_skip_takes_the_next_chained_occurrence(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        second = await bench.after("b", first)
        await bench.change(second, lambda facts: skip_next(facts, 1))
        await bench.fire_root(first)
        await bench.fire_root(first)
        await bench.run_due()
        assert await bench.outcomes(second) == [Reason.SKIP_REQUESTED, RunState.SUCCEEDED]

    async def test_a_cancelled_successor_is_no_longer_linked(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        second = await bench.after("b", first)
        await bench.change(second, lambda facts: cancel(facts, bench.now))
        assert (await bench.facts(first)).task.successors == ()
        await bench.fire_root(first)
        assert await bench.outcomes(second) == []
        assert await store.check() == ()

    async def test_overlap_and_staleness_apply_to_a_chained_occurrence(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        second = await bench.after("b", first)
        await bench.fire_root(first)
        (running,) = await bench.claim()
        await bench.fire_root(first)
        assert await bench.claim() == []
        await bench.settle(running.run)
        await bench.fire_root(first)
        bench.now += 25 * HOUR
        assert "b" not in [each.task.name for each in await bench.claim()]
        assert await bench.outcomes(second) == [RunState.SUCCEEDED, Reason.OVERLAP, Reason.STALE]

    async def test_a_manual_retry_fires_only_links_that_have_not_fired_for_that_root(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        good = await bench.after("good", first)
        always = await bench.after("always", first, on="ended")
        run = await bench.fire_root(first, FAILURE)
        assert await bench.run_due() == ["always"]
        failed = await store.run(run.id, None)
        assert failed is not None
        await bench.change(first, lambda facts: request_retry(facts, failed, bench.now))
        assert await bench.run_due() == ["a", "good"]
        assert {each.root for each in [*await bench.runs(good), *await bench.runs(always)]} == {run.root}

    async def test_a_retry_from_a_failed_link_completes_a_join_that_was_skipped(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        left, right = await bench.after("b", first), await bench.after("c", first)
        join = await bench.after("d", left, right, mode="all")
        await bench.fire_root(first)
        await bench.run_due({"b": FAILURE})
        assert await bench.outcomes(join) == [Reason.PREDECESSOR_SKIPPED]
        (failed,) = await bench.runs(left)
        await bench.change(left, lambda facts: request_retry(facts, failed, bench.now))
        assert await bench.run_due() == ["b", "d"]
        assert await bench.outcomes(join) == [Reason.PREDECESSOR_SKIPPED, RunState.SUCCEEDED]
        assert {run.planned for run in await bench.runs(join)} == {(await bench.runs(join))[0].planned}

    async def test_manual_and_backfill_runs_fire_their_chain_unless_told_not_to(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        second = await bench.after("b", first)
        await bench.change(first, lambda facts: run_now(facts, bench.now))
        assert await bench.run_due() == ["a", "b"]
        await bench.change(first, lambda facts: run_now(facts, bench.now, fires=False))
        assert await bench.run_due() == ["a"]
        bench.now = NOON + HOUR + SECOND
        await bench.run_due()
        chained = len(await bench.runs(second))
        await bench.change(first, lambda facts: backfill(facts, NOON + HOUR, NOON + HOUR, bench.now))
        assert await bench.run_due() == ["a", "b"]
        await bench.change(first, lambda facts: backfill(facts, NOON + HOUR, NOON + HOUR, bench.now, 1, fires=False))
        assert await bench.run_due() == ["a"]
        assert len(await bench.runs(second)) == chained + 1

    async def test_a_manual_run_in_the_middle_skips_joins_with_other_predecessors(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        left, right = await bench.after("b", first), await bench.after("c", first)
        join = await bench.after("d", left, right, mode="all")
        inner = await bench.after("e", left, mode="all")
        await bench.change(left, lambda facts: run_now(facts, bench.now))
        assert await bench.run_due() == ["b", "e"]
        assert await bench.outcomes(join) == [Reason.PREDECESSOR_SKIPPED]
        assert (await bench.runs(inner))[0].root.task_id == left.id

    async def test_deleting_a_predecessor_is_refused_unless_forced(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        left = await bench.after("b", first, policies=Policies(retry=RetryPolicy(attempts=2, jitter="none")))
        right = await bench.after("c", first)
        join = await bench.after("d", left, right, mode="all")
        await bench.fire_root(first)
        runs = {each.task.name: each.run for each in await bench.claim()}
        await bench.settle(runs["c"])
        await bench.settle(runs["b"], outcome=Failed("once"))
        assert await bench.row_state(join) == [ChainState.OPEN]
        assert await _refusal(bench.change(left, lambda facts: delete(facts, bench.now))) == "has_successors"
        await bench.change(left, lambda facts: delete(facts, bench.now, force=True))
        assert await store.facts(left.id, None) is None
        facts = await bench.facts(join)
        assert facts.status.pause is not None
        assert (facts.status.state, facts.status.pause.cause) == (TaskState.PAUSED, PauseCause.PREDECESSOR_DELETED)
        assert (await bench.facts(first)).task.successors == (right.id,)
        assert await bench.outcomes(join) == [Reason.PREDECESSOR_SKIPPED]
        assert await store.check() == ()

    async def test_a_deleted_successor_is_no_longer_listed(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        second = await bench.after("b", first)
        await bench.fire_root(first)
        await bench.change(second, lambda facts: delete(facts, bench.now))
        assert (await bench.facts(first)).task.successors == ()
        assert await store.chain_rows(second.id, bench.now, 10) == ()
        await bench.fire_root(first)
        assert await bench.run_due() == []

    async def test_an_edit_moves_the_link_and_closes_what_was_waited_for(self, store: FullStore) -> None:
        bench = await _bench(store)
        first, other = await bench.root(), await bench.root("z")
        left, right = await bench.after("b", first), await bench.after("c", first)
        join = await bench.after("d", left, right, mode="all")
        bench.now += HOUR
        for each in await bench.claim():
            await bench.settle(each.run)
        runs = {each.task.name: each.run for each in await bench.claim()}
        await bench.settle(runs["b"])
        edited = join._replace(schedule=After((Link(other.id),)))
        await bench.change(join, lambda facts: edit(facts, edited, bench.now))
        assert await bench.outcomes(join) == [Reason.PREDECESSOR_SKIPPED]
        assert [(await bench.facts(each)).task.successors for each in (left, right, other)] == [(), (), (join.id,)]
        await bench.settle(runs["c"])
        assert (await bench.facts(join)).entries == ()
        await bench.fire_root(other)
        assert "d" in await bench.run_due()
        scheduled = join._replace(schedule=Every(interval=HOUR))
        facts = await bench.change(join, lambda facts: edit(facts, scheduled, bench.now))
        assert len(facts.entries) == 1
        assert (await bench.facts(other)).task.successors == ()
        assert await store.check() == ()

    async def test_bad_links_are_refused(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        second = await bench.after("b", first)
        third = await bench.after("c", second)
        foreign = await bench.root("f", owner="bob")
        lonely = await bench.root("g")

        async def refusal_of(name: str, links: Sequence[Link], mode: Mode = "any") -> str:
            return await _refusal(bench.add(name, After(tuple(links), mode)))

        assert await refusal_of("x", [Link("tsk_0000000000000000")]) == "unknown_predecessor"
        assert await refusal_of("x", [Link(foreign.id)]) == "unknown_predecessor"
        assert await refusal_of("x", [Link(first.id), Link(lonely.id)], "all") == "join_of_several_roots"
        edited = second._replace(schedule=After((Link(third.id),)))
        assert await _refusal(bench.change(second, lambda facts: edit(facts, edited, bench.now))) == "chain_cycle"
        assert (await bench.facts(second)).task.schedule == second.schedule
        assert (await bench.facts(third)).task.successors == ()

    async def test_the_quota_of_an_owner_bounds_the_depth_further(self, store: FullStore) -> None:
        """Also of the links behind an edited task; the transaction that counts them also writes the link."""
        bench = await _bench(store)
        bench.chain_limit = ChainLimit(2, "chain_depth=")
        first = await bench.root()
        second = await bench.after("b", first)
        third = await bench.after("c", second)
        assert await _refusal(bench.after("d", third)) == "chain_over_quota"
        assert await _refusal(self._deepen(bench, first, second)) == "chain_over_quota"
        assert (await bench.facts(third)).task.successors == ()
        bench.chain_limit = DEFAULT_CHAIN_LIMIT
        await bench.after("d", third)

    async def test_depth_and_fan_out_are_bounded(self, store: FullStore) -> None:
        bench = await _bench(store)
        tasks = [await bench.root()]
        for number in range(MAX_DEPTH):
            tasks.append(await bench.after(f"d{number}", tasks[-1]))
        assert await _refusal(bench.after("deep", tasks[-1])) == "chain_too_deep"
        assert await _refusal(self._deepen(bench, tasks[0], tasks[1])) == "chain_too_deep"
        fan = await bench.root("fan")
        for number in range(MAX_SUCCESSORS):
            await bench.after(f"f{number}", fan)
        assert await _refusal(bench.after("one too many", fan)) == "too_many_successors"
        await bench.fire_root(tasks[0], FAILURE)
        assert [await bench.row_state(task) for task in tasks[1:]] == [[ChainState.SKIPPED]] * MAX_DEPTH

    @staticmethod
    async def _deepen(bench: ChainBench, first: Task, second: Task) -> None:
        """Put one more task between the first two of a chain that is as deep as allowed."""
        between = await bench.after("between", first)
        moved = second._replace(schedule=After((Link(between.id),)))
        limit = bench.chain_limit
        await bench.change(second, lambda facts: edit(facts, moved, bench.now)._replace(chain_limit=limit))

    async def test_chain_rows_are_found_by_root_and_removed_by_retention(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        second = await bench.after("b", first)
        third = await bench.after("c", second)
        run = await bench.fire_root(first)
        await bench.run_due()
        assert [row.task_id for row in await store.chain(run.root)] == [second.id, third.id]
        assert [row.state for row in await store.chain(run.root)] == [ChainState.FIRED] * 2
        assert await store.chain_rows(second.id, bench.now - HOUR, 10) == ()
        later = bench.now + DAY
        await store.trim(later, 1_000, 100)
        assert await store.chain(run.root) == ()

    async def test_retention_keeps_tasks_that_others_run_after(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        second = await bench.after("b", first)
        await bench.change(first, lambda facts: cancel(facts, bench.now))
        for _ in range(3):
            await store.trim(bench.now + DAY, 0, 100)
        assert await store.facts(first.id, None) is not None
        await bench.change(second, lambda facts: cancel(facts, bench.now))
        result = await store.trim(bench.now + DAY, 0, 100)
        while result.more:
            result = await store.trim(bench.now + DAY, 0, 100, result.after)
        assert await store.facts(first.id, None) is None
        assert await store.facts(second.id, None) is None

    async def test_concurrent_settlements_complete_a_join_once(self, store: FullStore) -> None:
        bench = await _bench(store)
        first = await bench.root()
        branches = [await bench.after(f"b{number}", first) for number in range(4)]
        join = await bench.after("j", *branches, mode="all")
        async with self.another(store) as other:
            for _ in range(3):
                await bench.fire_root(first)
                runs = [each.run for each in await bench.claim()]
                bench.now += SECOND
                reports = [Settlement(run.id, run.token, Succeeded(), run.started, bench.now) for run in runs]
                handles = (store, other, store, other)
                pairs = zip(handles, reports, strict=True)
                await asyncio.gather(*(handle.settle([report], settle) for handle, report in pairs))
                assert await bench.run_due() == ["j"]
        assert await bench.outcomes(join) == [RunState.SUCCEEDED] * 3

    async def test_concurrent_edits_of_links_make_no_cycle(self, store: FullStore) -> None:
        """Each of the two links alone is allowed: the transaction that commits second sees the first one."""
        bench = await _bench(store)
        first = await bench.root()
        async with self.another(store) as other:
            for _ in range(5):
                one, two = [await bench.after(name, first) for name in "xy"]
                found = await asyncio.gather(self._move(store, one, two), self._move(other, two, one))
                assert sorted(found) == ["", "chain_cycle"]
        assert await store.check() == ()

    async def test_concurrent_edits_of_links_keep_the_depth(self, store: FullStore) -> None:
        """A chain gets a further link while it is put behind another one: together that would be deeper than allowed."""
        bench = await _bench(store)
        first = await bench.root()
        upper, lower = [[await bench.after(name, first)] for name in "ul"]
        for half in (upper, lower):
            while len(half) < MAX_DEPTH // 2:
                half.append(await bench.after("n", half[-1]))
        async with self.another(store) as other:
            longer = _refusal(ChainBench(other).after("one more", lower[-1]))
            found = await asyncio.gather(longer, self._move(store, lower[0], upper[-1]))
        assert sorted(found) == ["", "chain_too_deep"]
        assert await store.check() == ()

    @staticmethod
    async def _move(store: FullStore, task: Task, predecessor: Task) -> str:
        """Let a task run after another one; return the code of the refusal, empty where it was accepted."""
        moved = task._replace(schedule=After((Link(predecessor.id),)))
        return await _refusal(store.change(task.id, None, lambda facts: edit(facts, moved, NOON)))

    async def test_another_handle_sees_new_links_at_once(self, store: FullStore) -> None:
        """The other handle has cached the task without successors: a settlement must not use that version."""
        bench = await _bench(store)
        first = await bench.root()
        bench.now += HOUR
        (claimed,) = await bench.claim()
        async with self.another(store) as other:
            second = await ChainBench(other).after("b", first)
            await bench.settle(claimed.run)
            facts = await other.facts(second.id, None)
            assert facts is not None
            assert len(facts.entries) == 1
