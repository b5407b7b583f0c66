"""Rules of a unit of work, and of the facts that it updates, that all SQL stores share."""

from __future__ import annotations

import pytest

from horae.errors import Conflict, HoraeError, StoreError
from horae.model.change import Change
from horae.model.entry import Entry, EntryState
from horae.model.lanes.lane import LaneUse, agent_lane
from horae.model.lanes.route import function_route
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.model.task import TaskStatus
from horae.stores.codec.rows import Row, encode_task
from horae.stores.loaded_facts import LaneCounts, TaskFacts
from horae.stores.pending_changes import (
    PendingChanges,
    find_clash,
    lanes_taken,
    list_identities,
    require_definition,
    require_live,
    require_same_task,
)
from horae.stores.task_cache import CachedTask
from horae.testing.factories import HOUR, NOON, a_run, a_task, an_entry


class Counts(LaneCounts):
    def __init__(self, **taken: int) -> None:
        super().__init__()
        self._limits = dict.fromkeys(taken, 2)
        self._taken = dict(taken)
        self.is_unrestricted = not taken

    def limit_owner(self, owner: str, lane: str) -> None:
        self._lane_of_owner[owner] = lane

    def block(self, name: str, reason: Reason) -> None:
        self._block_reasons[name] = reason


class Loaded(TaskFacts[Counts]):
    def __init__(self, lane_state: Counts) -> None:
        self.tasks, self.entries, self.lane_state = {}, {}, lane_state


class Unit(PendingChanges):
    def freed_by(
        self, entries: tuple[Entry, ...], change: Change
    ) -> tuple[set[str], dict[tuple[int, str], Row | None]]:
        rows: dict[tuple[int, str], Row | None] = {}
        self._add_entry_changes(rows, 7, entries, change)
        return self._freed_lanes, rows


def test_only_the_lane_of_a_changed_claimable_entry_is_offered() -> None:
    task = a_task()
    entries = (
        an_entry(task, slot="used", lane="kitchen"),
        an_entry(task, slot="waits", lane="hall", state=EntryState.PARKED),
        an_entry(task, slot="same", lane="attic"),
        an_entry(task, slot="route", lane=function_route("garden.water")),
    )
    moved = entries[1]._replace(due=NOON + HOUR)
    freed, rows = Unit().freed_by(entries, Change(put=(moved,), dropped=("used", "route")))
    assert freed == {"kitchen"}
    assert {slot: row is None for (_, slot), row in rows.items()} == {"used": True, "route": True, "waits": False}


def test_run_that_has_ended_takes_no_slot() -> None:
    run = a_run(a_task(), lanes=("kitchen",))
    assert lanes_taken(run) == ("kitchen",)
    assert lanes_taken(run._replace(state=RunState.SUCCEEDED)) == ()


def test_invalid_change_is_refused() -> None:
    task = a_task()
    run = a_run(task)
    cached = CachedTask(7, 1, task, TaskStatus(), (run,))
    assert require_live(cached, run.id) == run
    assert require_definition(Change(task=task)) == task
    require_same_task(task, task._replace(name="other"))
    for broken in (
        lambda: require_live(cached, "run_other"),
        lambda: require_definition(Change()),
        lambda: require_same_task(task, a_task()),
    ):
        with pytest.raises(StoreError, match="nothing was written"):
            broken()


def clash_of(*numbered: tuple[int, str, str | None], ids: dict[str, int] | None = None) -> HoraeError | None:
    tasks = [(number, a_task(id=task_id, owner="ada", key=key)) for number, task_id, key in numbered]
    *new, (number, edited) = tasks
    values = [value for seq, task in new for value in (seq, *encode_task(task))]
    identities = list_identities(values, [(*encode_task(edited), number)])
    assert [each[:2] for each in identities] == [each[:2] for each in numbered]
    return find_clash(identities, ids or {}, {("ada", "taken"): 9, ("eve", "free"): 8})


def test_id_and_key_belong_to_one_task() -> None:
    assert clash_of((1, "tsk_a", None), (2, "tsk_b", "free"), (9, "tsk_c", "taken")) is None
    assert isinstance(clash_of((1, "tsk_a", None), (2, "tsk_a", None)), StoreError)
    assert isinstance(clash_of((1, "tsk_a", None), (2, "tsk_b", None), ids={"tsk_b": 5}), StoreError)
    for clash in (
        clash_of((1, "tsk_a", "taken"), (2, "tsk_b", None)),
        clash_of((1, "tsk_a", "twice"), (2, "tsk_b", "twice")),
    ):
        assert isinstance(clash, Conflict)
        assert clash.code == "key_taken"


def test_decision_sees_the_lanes_that_the_ones_before_it_took() -> None:
    task = a_task(lane="kitchen")
    lanes = Counts(kitchen=1, quota=0)
    lanes.limit_owner(task.owner, "quota")
    loaded = Loaded(lanes)
    lanes.add_taken(("kitchen", "never read"), 1)
    facts = loaded.build_facts(CachedTask(7, 1, task, TaskStatus()), ())
    assert facts.lanes == (LaneUse("kitchen", 2, 2), LaneUse("quota", 2, 0))
    assert (lanes.free_slots("kitchen"), lanes.free_slots("quota")) == (0, 2)
    assert loaded.build_facts(CachedTask(8, 1, task._replace(lane=None), TaskStatus()), ()).lanes == (
        LaneUse("quota", 2, 0),
    )


def test_task_is_blocked_by_its_owner_or_by_the_lane_of_its_agent() -> None:
    reason = next(iter(Reason))
    lanes = Counts(kitchen=0)
    task = a_task(lane="kitchen")
    of_agent = a_task(lane=agent_lane(task.owner, "helper"))
    assert lanes.block_reason(task) is None
    lanes.block("kitchen", reason)
    lanes.block(agent_lane(task.owner, "helper"), reason)
    assert lanes.block_reason(task) is None, "a lane may have the name of an owner"
    assert lanes.block_reason(of_agent) is reason
    lanes.block(task.owner, reason)
    assert lanes.block_reason(task) is reason


def test_entries_of_a_task_stay_current_in_the_order_of_their_slots() -> None:
    task = a_task()
    loaded = Loaded(Counts())
    old, gone = an_entry(task, slot="b"), an_entry(task, slot="c")
    new = an_entry(task, slot="a")
    loaded.update_entries(7, Change(put=(new, old._replace(due=NOON + HOUR)), dropped=("c",)), (old, gone))
    assert loaded.entries[7] == (new, old._replace(due=NOON + HOUR))
