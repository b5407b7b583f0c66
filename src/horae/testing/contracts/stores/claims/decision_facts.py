"""Contract of the facts that a store passes to a decision: current and complete for its task."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from .....model.change import Change, Facts
from .....model.entry import Entry
from .....model.lanes.lane import DEFAULT_LIMIT, LaneUse, agent_lane, owner_lane
from .....model.outcome import Settlement
from .....model.reason import Reason
from .....model.run import Run
from .....model.task import Task, TaskStatus
from .....ports.full_store import FullStore
from ....decisions import always, lose, start_everything, start_within_lanes, succeed
from ....factories import HOUR, NOON, a_new_task, a_node, a_settlement, a_task, an_entry, an_extra_entry
from ..contract import Contract
from ..setup import add_tasks, claim, claim_all, fill_lane, get_facts, settle, start_run


class _RecordedFacts:
    """Records the facts passed to its decisions, by task. A store may call a decision again; the last call counts."""

    def __init__(self) -> None:
        self.facts: dict[str, Facts] = {}

    def start(self, facts: Facts, entry: Entry, token: int) -> Change:
        self.facts[facts.task.id] = facts
        return start_everything(facts, entry, token)

    def seat(self, facts: Facts, entry: Entry, token: int) -> Change:
        self.facts[facts.task.id] = facts
        return start_within_lanes()(facts, entry, token)

    def succeed(self, facts: Facts, run: Run, report: Settlement) -> Change:
        self.facts[run.id] = facts
        return succeed(facts, run, report)


class DecisionFactsContract(Contract):
    async def test_a_claim_decision_receives_the_task_its_status_and_entries(self, store: FullStore) -> None:
        task, status = a_task(), TaskStatus(counted=7, failures=2, last_end=NOON - HOUR)
        entries = [an_entry(task), an_extra_entry(task, due=NOON + HOUR)]
        await store.join(a_node())
        await store.add([a_new_task(task, entries=entries, status=status)])
        await claim(store, decide=(notes := _RecordedFacts()).start)
        facts = notes.facts[task.id]
        assert (facts.task, facts.status) == (task, status)
        assert sorted(facts.entries) == sorted(entries)
        assert (facts.live, facts.lanes, facts.block_reason) == ((), (), None)

    async def test_a_claim_decision_receives_the_live_runs_of_the_task(self, store: FullStore) -> None:
        task = a_task()
        run = await start_run(store, task)
        await store.change(task.id, None, always(Change(put=(an_extra_entry(task),))))
        await claim(store, decide=(notes := _RecordedFacts()).start)
        assert notes.facts[task.id].live == (run,)

    async def test_a_decision_receives_nothing_of_other_tasks(self, store: FullStore) -> None:
        tasks = [a_task() for _ in range(3)]
        await store.join(a_node())
        await add_tasks(store, *tasks)
        await claim_all(store, decide=(notes := _RecordedFacts()).start)
        for task in tasks:
            assert {entry.task_id for entry in notes.facts[task.id].entries} == {task.id}
            assert notes.facts[task.id].live == ()

    async def test_lane_use_is_counted_within_a_claim_batch(self, store: FullStore) -> None:
        tasks = [a_task(lane="press", priority=-place) for place in range(4)]
        await store.set_lane("press", 2)
        await store.join(a_node())
        await add_tasks(store, *tasks)
        await claim_all(store, decide=(notes := _RecordedFacts()).seat)
        lanes = [notes.facts[task.id].lanes for task in tasks]
        counted = [LaneUse("press", 2, taken) for taken in (0, 1, 2, 2)]
        counted[-1] = counted[-1]._replace(has_waiting=True)
        assert lanes == [(use,) for use in counted]

    async def test_a_lane_without_a_limit_holds_one(self, store: FullStore) -> None:
        task = a_task(lane="press")
        await store.join(a_node())
        await add_tasks(store, task)
        await claim(store, decide=(notes := _RecordedFacts()).start)
        assert notes.facts[task.id].lanes == (LaneUse("press", DEFAULT_LIMIT, 0),)

    async def test_an_owner_has_a_lane_only_where_a_limit_was_set(self, store: FullStore) -> None:
        limited, free = a_task(owner="limited", lane="press"), a_task(owner="free")
        await store.set_lane(owner_lane("limited"), 5)
        await store.join(a_node())
        await add_tasks(store, limited, free)
        await claim_all(store, decide=(notes := _RecordedFacts()).start)
        expected = {LaneUse("press", DEFAULT_LIMIT, 0), LaneUse(owner_lane("limited"), 5, 0)}
        assert set(notes.facts[limited.id].lanes) == expected
        assert notes.facts[free.id].lanes == ()

    async def test_a_decision_receives_the_block_reason_of_the_owner(self, store: FullStore) -> None:
        barred, other = a_task(owner="barred"), a_task(owner="other")
        await store.join(a_node())
        await add_tasks(store, barred, other)
        await store.block_owner("barred", Reason.OWNER_REVOKED)
        await claim_all(store, decide=(notes := _RecordedFacts()).start)
        assert notes.facts[barred.id].block_reason is Reason.OWNER_REVOKED
        assert notes.facts[other.id].block_reason is None
        assert (await get_facts(store, barred)).block_reason is Reason.OWNER_REVOKED
        await store.block_owner("barred", None)
        assert (await get_facts(store, barred)).block_reason is None

    async def test_only_the_lane_of_an_agent_can_be_blocked(self, store: FullStore) -> None:
        robots, own, shared = (
            a_task(owner="ada", lane=agent_lane("ada", "robot")),
            a_task(owner="ada", lane="ada/press"),
            a_task(owner="bob", lane="ada"),
        )
        await store.join(a_node())
        await add_tasks(store, robots, own, shared)
        await store.block_owner(agent_lane("ada", "robot"), Reason.AGENT_QUOTA)
        await claim_all(store, decide=(notes := _RecordedFacts()).start)
        assert notes.facts[robots.id].block_reason is Reason.AGENT_QUOTA
        assert notes.facts[own.id].block_reason is None
        assert (await get_facts(store, robots)).block_reason is Reason.AGENT_QUOTA
        await store.block_owner("ada", Reason.OWNER_REVOKED)
        assert (await get_facts(store, robots)).block_reason is Reason.OWNER_REVOKED
        assert (await get_facts(store, shared)).block_reason is None, "a lane with the name of an owner"
        await store.block_owner("ada", None)
        await store.block_owner(agent_lane("ada", "robot"), None)
        assert (await get_facts(store, robots)).block_reason is None

    async def test_two_runs_of_one_task_settled_in_one_batch_see_each_other_end(self, store: FullStore) -> None:
        task = a_task()
        first = await start_run(store, task)
        await store.change(task.id, None, always(Change(put=(an_extra_entry(task),))))
        second = (await claim(store)).runs[0].run
        await settle(store, first, second, decide=(notes := _RecordedFacts()).succeed)
        assert {run.id for run in notes.facts[first.id].live} == {first.id, second.id}
        assert [run.id for run in notes.facts[second.id].live] == [second.id]

    async def test_a_settle_decision_receives_the_current_run(self, store: FullStore) -> None:
        run = await start_run(store)
        await store.change(run.task_id, None, always(Change(cancelled=((run.id, Reason.REPLACED),))))
        seen: list[Run] = []

        def look(facts: Facts, run: Run, report: Settlement) -> Change:
            seen.append(run)
            return succeed(facts, run, report)

        report = a_settlement(run)
        await store.settle([report], look)
        assert seen[-1] == run._replace(cancel=Reason.REPLACED)

    async def test_settle_and_recover_decisions_receive_lane_use(self, store: FullStore) -> None:
        await store.set_lane("press", 2)
        first, second = await fill_lane(store, "press", a_task(), a_task())
        await settle(store, first, decide=(notes := _RecordedFacts()).succeed)
        assert notes.facts[first.id].lanes == (LaneUse("press", 2, 2),)
        seen: list[Facts] = []

        def look(facts: Facts, run: Run) -> Change:
            seen.append(facts)
            return lose(facts, run)

        await store.release([(second.id, second.token)], look)
        assert seen[-1].lanes == (LaneUse("press", 2, 1),)

    async def test_a_claim_returns_the_task_after_the_change(self, store: FullStore) -> None:
        task = a_task()
        await store.join(a_node())
        await add_tasks(store, task)

        def rename(facts: Facts, entry: Entry, token: int) -> Change:
            renamed: Task = facts.task._replace(name="renamed", version=2)
            return start_everything(facts, entry, token)._replace(task=renamed)

        (claimed,) = (await claim(store, decide=rename)).runs
        assert (claimed.task.name, claimed.task.version) == ("renamed", 2)
        assert (await get_facts(store, task)).task == claimed.task
