"""An owner moves between two deployments: nothing is lost, nothing starts twice, and every interruption is resumed."""

from __future__ import annotations

from typing import Any

import pytest

from horae.errors import Refusal
from horae.model.change import Change, Facts
from horae.model.counts import NO_HOUR, STATE_PREFIX
from horae.model.entry import EntryKind, EntryState
from horae.model.run import LIVE_STATES
from horae.model.task import PauseCause
from horae.ports.full_store import FullStore
from horae.ports.store import RunFilter, TaskFilter
from horae.service.accounts.owner_moves import MOVE_KIND, MovePhase, OwnerMove, OwnerMoves
from horae.stores.memory import MemoryStore
from horae.testing.contracts.stores.writes.owner_contents import (
    CLOCK,
    KEYS,
    OTHER,
    OWNER,
    end_runs,
    fill_source,
    fill_target,
    mover,
    read_owner,
    start_run,
)
from horae.testing.decisions import always
from horae.testing.factories import NOON, a_new_task, a_task
from horae.transfer.owner import OwnerMoveStep, content, owner_move, records, source, target
from tests.unit.transfer.power import Power, PowerFailure, powered


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_move, "MOVE_CACHE_SECONDS", 0.0)
    monkeypatch.setattr(source, "_POLL_SECONDS", 0.0)


async def two_stores() -> tuple[MemoryStore, MemoryStore]:
    north, south = MemoryStore(), MemoryStore()
    await fill_source(north, KEYS[0])
    await fill_target(south)
    return north, south


async def states_of(store: FullStore, owner: str) -> dict[str, int]:
    counts = await store.counts(owner, (NO_HOUR,))
    return {name.removeprefix(STATE_PREFIX): number for (_, name), number in counts.items() if number}


async def refused(work: Any) -> str:
    with pytest.raises(Refusal) as caught:
        await work
    return caught.value.code


def can_start(facts: Facts) -> bool:
    return any(entry.state is not EntryState.ASLEEP for entry in facts.entries)


async def runs_here(store: FullStore) -> bool:
    """Whether any task of the owner can start in this deployment."""
    pages = [await store.tasks(TaskFilter(name)) for name in (OWNER, f"horae:{OWNER}")]
    return any(can_start(facts) for page in pages for facts in page.items)


async def move_and_compare() -> None:
    """Move the owner, and compare everything that it has, and what others have, in both deployments."""
    north, south = await two_stores()
    before, others = await read_owner(north, KEYS[0]), await read_owner(north, KEYS[0], OTHER)
    foreign = await read_owner(south, KEYS[1], "cyd")
    states = await states_of(north, OWNER)
    result = await mover(north, south).move()
    assert not result.resumed
    assert await read_owner(south, KEYS[1]) == before
    assert await states_of(south, OWNER) == states
    assert await read_owner(north, KEYS[0], OTHER) == others
    assert await read_owner(south, KEYS[1], "cyd") == foreign
    left = await read_owner(north, KEYS[0])
    assert {name: found for name, found in left.items() if found and name not in ("lanes", "records")} == {}
    assert {kind for kind, *_ in left["records"]} == {"owner", "token"}
    assert await north.check() == await south.check() == ()


async def test_everything_of_the_owner_moves_and_nothing_else() -> None:
    await move_and_compare()


async def test_webhook_begins_after_what_happened_elsewhere() -> None:
    north, south = await two_stores()
    await mover(north, south).move()
    record = await south.get_record("webhook", "whk_1")
    assert record is not None
    assert '"since":6' in record.body
    assert await south.last_event() >= 6


async def test_event_numbers_of_the_owner_go_on() -> None:
    north, south = await two_stores()
    before = await north.owner_event_counts([OWNER], await north.last_event())
    await mover(north, south).move()
    assert await south.owner_event_counts([OWNER], await south.last_event()) == before


async def interrupt_at_every_write(*, after: bool) -> None:
    """Let each write fail once, resume, and compare."""
    north, south = await two_stores()
    power = Power()
    await mover(powered(north, power), powered(south, power)).move()
    for number in range(1, power.writes + 1):
        north, south = await two_stores()
        whole, failing = await read_owner(north, KEYS[0]), Power()
        failing.fails_at, failing.after = number, after
        with pytest.raises(PowerFailure):
            await mover(powered(north, failing), powered(south, failing)).move()
        assert not (await runs_here(north) and await runs_here(south)), number
        await mover(north, south).move()
        assert await read_owner(south, KEYS[1]) == whole, number
        assert not await runs_here(north)
        assert not (await north.tasks(TaskFilter(OWNER))).items
        assert await states_of(south, OWNER) == {"active": 2, "paused": 1}
        assert await north.check() == await south.check() == ()


async def check_all() -> None:
    await move_and_compare()
    await interrupt_at_every_write(after=True)


@pytest.mark.parametrize("after", [False, True])
async def test_move_that_fails_at_any_write_is_resumed(after: bool) -> None:  # noqa: FBT001
    await interrupt_at_every_write(after=after)


@pytest.mark.parametrize(
    ("module", "name", "defect"),
    [
        pytest.param(source, "hold_task", lambda _facts, _now: None, id="nothing is held"),
        pytest.param(target, "release_task", lambda _facts, _since, _now: Change(), id="nothing is released"),
        pytest.param(records, "_KEPT_KINDS", frozenset({"owner", "token", "webhook"}), id="a webhook stays"),
        pytest.param(content, "names_of", lambda owner: (owner,), id="system tasks stay"),
    ],
)
async def test_planted_defect_is_noticed(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, defect: object
) -> None:
    monkeypatch.setattr(module, name, defect)
    with pytest.raises((AssertionError, Refusal)):
        await check_all()


async def test_move_that_fails_at_any_write_can_be_given_up_before_the_switch() -> None:
    given_up, number = 0, 0
    while True:
        number += 1
        north, south = await two_stores()
        whole, failing = await read_owner(north, KEYS[0]), Power()
        failing.fails_at = number
        try:
            await mover(powered(north, failing), powered(south, failing)).move()
            break
        except PowerFailure:
            pass
        move = await mover(north, south).check()
        if move is None:
            assert await refused(mover(north, south).abort()) == "owner_not_moving"
            continue
        if move.phase is MovePhase.LEFT:
            assert await refused(mover(north, south).abort()) == "owner_move_past"
            continue
        await mover(north, south).abort()
        given_up += 1
        assert await read_owner(north, KEYS[0]) == whole, number
        assert not (await south.tasks(TaskFilter(OWNER))).items
        assert await north.check() == await south.check() == ()
        await mover(north, south).move()
        assert await read_owner(south, KEYS[1]) == whole
    assert given_up > 10


async def test_owner_comes_back() -> None:
    north, south = await two_stores()
    whole = await read_owner(north, KEYS[0])
    await mover(north, south).move()
    await mover(south, north, (KEYS[1], KEYS[0]), names=("south", "north")).move()
    assert await read_owner(north, KEYS[0]) == whole
    await OwnerMoves(north, CLOCK).check_writes([OWNER])
    assert await refused(OwnerMoves(south, CLOCK).check_writes([OWNER])) == "owner_moved"
    assert await north.check() == await south.check() == ()


async def test_finished_move_is_not_repeated() -> None:
    north, south = await two_stores()
    await mover(north, south).move()
    assert (await mover(north, south).move()).moved_before


async def test_live_run_is_waited_for_while_nothing_else_starts() -> None:
    north, south = await two_stores()
    first = (await north.tasks(TaskFilter(OWNER))).items[0]
    await start_run(north, first)
    assert await refused(mover(north, south).move()) == "owner_runs_live"
    assert not await runs_here(north)
    assert not (await south.tasks(TaskFilter(OWNER))).items
    await end_runs(north)
    await mover(north, south).move()
    assert not (await south.runs(RunFilter(OWNER, states=LIVE_STATES))).items
    # The end of the run has started its successor, which waits.
    assert len((await south.runs(RunFilter(OWNER))).items) == 4
    assert await states_of(south, OWNER) == {"active": 2, "paused": 1}
    chained = [entry for facts in (await south.tasks(TaskFilter(OWNER))).items for entry in facts.entries]
    assert (EntryKind.CHAIN, EntryState.TIMED) in {(entry.kind, entry.state) for entry in chained}


async def test_task_that_changes_after_the_comparison_is_copied_again() -> None:
    north, south = await two_stores()

    async def edit() -> None:
        first = (await north.tasks(TaskFilter(OWNER))).items[0]
        await north.change(first.task.id, None, always(Change(task=first.task._replace(name="late"))))
        await north.add([a_new_task(a_task(owner=OWNER, name="later still"))])

    late: list[Any] = []

    def on_step(step: OwnerMoveStep) -> None:
        if step is OwnerMoveStep.CLEARING:
            late.append(edit())

    moving = mover(north, south, on_step=on_step)
    clear = moving._records.clear_source

    async def clear_late() -> None:
        await late.pop()
        await clear()

    moving._records.clear_source = clear_late  # type: ignore[method-assign]
    await moving.move()
    names = {facts.task.name for facts in (await south.tasks(TaskFilter(OWNER))).items}
    assert {"late", "later still"} <= names
    assert not (await north.tasks(TaskFilter(OWNER))).items
    assert not any(
        facts.status.pause is not None and facts.status.pause.cause is PauseCause.OWNER_MOVING
        for facts in (await south.tasks(TaskFilter(OWNER))).items
    )


async def test_unsuitable_moves_are_refused_and_change_nothing() -> None:
    north, south = await two_stores()
    assert await refused(mover(north, north, names=("north", "north")).move()) == "move_same_store"
    await south.add([a_new_task(a_task(owner=OWNER))])
    assert await refused(mover(north, south).move()) == "owner_exists_there"
    assert await north.get_record(MOVE_KIND, OWNER) is None


async def test_other_moves_of_the_owner_are_refused_meanwhile() -> None:
    north, south = await two_stores()
    third = MemoryStore()
    await start_run(north, (await north.tasks(TaskFilter(OWNER))).items[0])
    assert await refused(mover(north, south).move()) == "owner_runs_live"
    assert await refused(mover(north, third, names=("north", "west")).move()) == "owner_moves_elsewhere"
    assert await refused(mover(third, south, names=("west", "south")).move()) == "owner_moves_elsewhere"
    assert await refused(mover(south, third, names=("south", "west")).move()) == "owner_arrives_here"


async def test_secret_of_another_key_is_refused_before_anything_is_switched() -> None:
    north, south = await two_stores()
    assert await refused(mover(north, south, (KEYS[1], KEYS[1])).move()) == "secret_sealed_otherwise"
    await mover(north, south).abort()
    assert await runs_here(north)


async def test_record_of_a_move_survives_its_encoding() -> None:
    move = OwnerMove(OWNER, MovePhase.LEAVING, "south", "south", NOON)
    assert OwnerMove.from_record(move.to_record())._replace(version=None) == move
