"""A move can be interrupted and resumed, refuses unsuitable stores, and finds differences."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence

import pytest

from horae.clock import SystemClock
from horae.errors import Conflict, InvalidTask, Refusal
from horae.model.change import Change
from horae.ports.store import Node, TaskFilter
from horae.ports.transfer import Part, TransferItem
from horae.stores.memory import MemoryStore
from horae.testing.contracts.stores.setup import add_tasks, read_all
from horae.testing.contracts.stores.writes.sample_contents import fill_store
from horae.testing.contracts.stores.writes.transfer import read_all_parts
from horae.testing.decisions import always
from horae.testing.factories import a_node, a_task, an_event
from horae.transfer import MoveProgress, MoveStage, NamedStore, digest, move_store, plan_move
from horae.transfer.idle_check import LivenessCheck
from horae.transfer.move_progress import PROGRESS_KEY

NO_LIVE_NODES = LivenessCheck(SystemClock(), is_gone=lambda _: True, is_running_here=lambda _: False)


class PowerFailure(Exception):  # noqa: N818 - it is planned
    """Power failed."""


class FailingStore(MemoryStore):
    """Dies at the so-manieth write: before it is done, or after."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0
        self.dies_at = -1
        self.done_before = False

    async def import_page(self, part: Part, parcels: Sequence[TransferItem]) -> None:
        await self._perhaps(lambda: super(FailingStore, self).import_page(part, parcels))

    async def write_metadata(self, name: str, value: str) -> None:
        await self._perhaps(lambda: super(FailingStore, self).write_metadata(name, value))

    async def _perhaps(self, write: Callable[[], Awaitable[None]]) -> None:
        self.writes += 1
        dies = self.writes == self.dies_at
        if not dies or self.done_before:
            await write()
        if dies:
            raise PowerFailure


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "PAGE_SIZE", 3)


async def a_source() -> NamedStore:
    store = MemoryStore()
    await fill_store(store)
    return NamedStore("source", store)


async def move(source: NamedStore, target: NamedStore) -> MoveProgress | None:
    return (await move_store(source, target, NO_LIVE_NODES)).resumed_from


async def refused(work: Awaitable[object]) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await work
    return caught.value


@pytest.mark.parametrize("done_before", [False, True])
async def test_interrupted_move_is_resumed(done_before: bool) -> None:  # noqa: FBT001
    source = await a_source()
    whole = await read_all_parts(source.store)
    counting = FailingStore()
    await move(source, NamedStore("target", counting))
    for writes in range(1, counting.writes + 1):
        target = FailingStore()
        target.dies_at, target.done_before = writes, done_before
        with pytest.raises(PowerFailure):
            await move(source, NamedStore("target", target))
        await move(source, NamedStore("target", target))
        assert await read_all_parts(target) == whole, writes
        assert await read_all(target) == await read_all(source.store)
        assert await target.check() == ()
        # Nearly everything was there already, but for the very first write.
        assert target.writes <= counting.writes + 4


async def test_finished_move_is_not_repeated() -> None:
    source, target = await a_source(), NamedStore("target", FailingStore())
    assert await move(source, target) is None
    assert isinstance(target.store, FailingStore)
    before = target.store.writes
    begun = await move(source, target)
    assert begun == MoveProgress("source", None, done=True)
    assert target.store.writes == before + 1
    assert PROGRESS_KEY not in {
        getattr(each, "name", "") for each in (await read_all_parts(source.store))[Part.METADATA]
    }


async def test_progress_metadata_of_a_move_is_not_moved() -> None:
    first, second, third = await a_source(), NamedStore("second", MemoryStore()), NamedStore("third", MemoryStore())
    await move(first, second)
    await move(second, third)
    assert await read_all_parts(third.store) == await read_all_parts(first.store)
    assert "second" in str(await third.store.read_metadata(PROGRESS_KEY))


@pytest.mark.parametrize(
    ("name", "part"),
    [("remembered", Part.METADATA), ("barred", Part.BLOCKED_OWNERS), ("tallies", Part.COUNTERS)],
)
async def test_move_that_an_earlier_version_interrupted_is_resumed(name: str, part: Part) -> None:
    source, target = await a_source(), NamedStore("target", MemoryStore())
    parts = await read_all_parts(source.store)
    for each in list(Part)[: list(Part).index(part)]:
        await target.store.import_page(each, parts[each])
    progress = json.dumps({"source": "source", "part": name, "after": None, "done": False})
    await target.store.write_metadata(PROGRESS_KEY, progress)
    assert await move(source, target) == MoveProgress("source", part)
    assert await read_all_parts(target.store) == parts


async def test_nonempty_target_is_refused() -> None:
    source, target = await a_source(), NamedStore("target", MemoryStore())
    await add_tasks(target.store, a_task())
    before = await read_all_parts(target.store)
    for attempt in (move(source, target), plan_move(source, target)):
        found = await refused(attempt)
        assert (found.code, found.facts["part"], type(found)) == ("move_target_not_empty", Part.TASKS, Conflict)
    assert await read_all_parts(target.store) == before


@pytest.mark.parametrize("part", [Part.METADATA, Part.RECORDS, Part.LANES, Part.BLOCKED_OWNERS, Part.NODES, Part.MARKS])
async def test_target_with_any_part_is_not_empty(part: Part) -> None:
    source, target = await a_source(), NamedStore("target", MemoryStore())
    await target.store.import_page(part, (await read_all_parts(source.store))[part])
    assert (await refused(move(source, target))).code == "move_target_not_empty"


async def test_move_from_another_source_is_refused() -> None:
    target = FailingStore()
    target.dies_at = 5
    with pytest.raises(PowerFailure):
        await move(await a_source(), NamedStore("target", target))
    other = (await a_source())._replace(name="other")
    before = await read_all_parts(target)
    found = await refused(move(other, NamedStore("target", target)))
    assert (found.code, found.facts["source"]) == ("move_begun_elsewhere", "source")
    assert await read_all_parts(target) == before


async def test_a_store_cannot_move_to_itself() -> None:
    source = await a_source()
    for target in (source._replace(name="another"), NamedStore("source", MemoryStore())):
        found = await refused(move(source, target))
        assert (found.code, type(found)) == ("move_same_store", InvalidTask)


async def test_target_used_since_the_move_is_refused() -> None:
    source, target = await a_source(), NamedStore("target", MemoryStore())
    await move(source, target)
    await add_tasks(target.store, a_task())
    before = await read_all_parts(target.store)
    assert (await refused(move(source, target))).code == "move_target_in_use"
    assert await read_all_parts(target.store) == before


async def test_source_changed_during_a_move_is_noticed_and_copied_by_the_next() -> None:
    source, target = await a_source(), FailingStore()
    target.dies_at = 40
    with pytest.raises(PowerFailure):
        await move(source, NamedStore("target", target))
    task = (await source.store.tasks(TaskFilter())).items[0].task
    edited = Change(task=task._replace(name="another", version=2), events=(an_event(task),))
    await source.store.change(task.id, None, always(edited))
    found = await refused(move(source, NamedStore("target", target)))
    assert (found.code, found.facts["part"]) == ("move_differs", Part.TASKS)
    await move(source, NamedStore("target", target))
    assert await read_all_parts(target) == await read_all_parts(source.store)
    assert await target.check() == ()


async def test_items_lost_by_the_target_are_found_by_the_digest() -> None:
    class LosesSomeLines(MemoryStore):
        async def import_page(self, part: Part, parcels: Sequence[TransferItem]) -> None:
            await super().import_page(part, parcels)
            if part is Part.EVENTS:
                with self._data.transaction():
                    for run_id in self._data.lines.all_keys()[:1]:
                        self._data.lines.write(run_id, None)

    found = await refused(move(await a_source(), NamedStore("target", LosesSomeLines())))
    assert (found.code, found.facts["part"]) == ("move_differs", Part.LINES)


async def test_node_that_joins_during_a_move_stops_it_and_it_can_be_resumed() -> None:
    class Joined(FailingStore):
        async def import_page(self, part: Part, parcels: Sequence[TransferItem]) -> None:
            await super().import_page(part, parcels)
            if self.writes == 30:
                await self.join(late)

    late: Node = a_node("late")

    source, target = await a_source(), NamedStore("target", Joined())
    found = await refused(move(source, target))
    assert (found.code, found.facts["nodes"]) == ("move_node_is_live", "late")
    assert (await read_all_parts(target.store))[Part.EVENTS] == []
    await target.store.leave("late")
    await move(source, target)
    assert await read_all_parts(target.store) == await read_all_parts(source.store)


async def test_survey_changes_nothing_and_reports_progress() -> None:
    source, target = await a_source(), FailingStore()
    plan = await plan_move(source, NamedStore("target", target))
    assert (plan.progress, plan.stock, target.writes) == (None, await source.store.count_parts(), 0)
    assert await plan_move(source, None) == plan
    target.dies_at = 40
    with pytest.raises(PowerFailure):
        await move(source, NamedStore("target", target))
    begun = (await plan_move(source, NamedStore("target", target))).progress
    assert begun is not None
    assert begun.part is not None
    assert (begun.source, begun.done, target.writes) == ("source", False, 40)


async def test_move_reports_its_stages_in_order() -> None:
    told: list[tuple[MoveStage, float]] = []

    await move_store(
        await a_source(), NamedStore("target", MemoryStore()), NO_LIVE_NODES, lambda *each: told.append(each)
    )
    for stage in (MoveStage.COPYING, MoveStage.COMPARING):
        shares = [share for each, share in told if each is stage]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
    assert list(dict.fromkeys(stage for stage, _ in told)) == [MoveStage.COPYING, MoveStage.COMPARING]
