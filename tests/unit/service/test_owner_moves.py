"""Writes for an owner that moves are refused with the new place, by every front end; other owners notice nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest

from horae.model.accounts.principal import Principal
from horae.model.messages import NewMessage
from horae.model.record import RecordWrite
from horae.service.accounts.owner_moves import MOVE_KIND, MOVED_KIND, MovePhase, OwnerMove
from horae.testing.factories import NOON
from tests.unit.service.service_harness import ADA, BOB, CHIEF, ROOT, ServiceHarness, code_of, open_harness, refusal_of

CODES = {
    MovePhase.LEAVING: "owner_moving",
    MovePhase.ARRIVING: "owner_arriving",
    MovePhase.LEFT: "owner_moved",
}


async def begin(harness: ServiceHarness, phase: MovePhase, kind: str = MOVE_KIND) -> None:
    """Write the record of a move as another process does, and let the time pass until this process reads it."""
    move = OwnerMove("ada", phase, "https://south.example.com", "south", NOON)
    await harness.store.put_record(move.to_record(kind), replacing=None)
    harness.advance(timedelta(seconds=11))


async def end(harness: ServiceHarness) -> None:
    for kind in (MOVE_KIND, MOVED_KIND):
        record = await harness.store.get_record(kind, "ada")
        if record is not None:
            await harness.store.write_records([RecordWrite(record, record.version, dropped=True)])
    harness.advance(timedelta(seconds=11))


@pytest.mark.parametrize("phase", MovePhase)
async def test_writes_are_refused_in_every_phase_and_reads_are_not(phase: MovePhase) -> None:
    async with open_harness() as harness:
        task = await harness.add()
        await harness.add(who=BOB)
        await begin(harness, phase)
        code = CODES[phase]
        message = NewMessage("chat", "hi", "Ada", "web", "1", NOON)
        for who in (ADA, CHIEF, ROOT):
            assert await code_of(harness.tasks.pause(who, task.id)) == code
            assert await code_of(harness.tasks.delete(who, task.id)) == code
        assert await code_of(harness.add()) == code
        assert await code_of(harness.add(who=ROOT, owner="ada")) == code
        assert await code_of(harness.add(key="k")) == code
        assert await code_of(harness.service.secrets.set(ADA, "KEY", "x")) == code
        assert await code_of(harness.service.views.save(ADA, "tasks", "mine", "state=active")) == code
        assert await code_of(harness.service.accounts.put(CHIEF, "ada", note="new")) == code
        assert await code_of(harness.service.store.append_messages("ada", [message])) == code
        assert (await harness.tasks.get(ADA, task.id)).task == task
        assert await harness.service.secrets.set(BOB, "KEY", "x")
        assert await harness.add(who=BOB)
        await end(harness)
        await harness.tasks.pause(ADA, task.id)


async def test_refusal_names_the_new_place_in_both_languages() -> None:
    async with open_harness() as harness:
        await begin(harness, MovePhase.LEAVING)
        refusal = await refusal_of(harness.add())
        for language in ("en", "zh"):
            assert "https://south.example.com" in refusal.in_language(language).message


async def test_system_tasks_of_the_owner_are_refused_too() -> None:
    async with open_harness() as harness:
        await begin(harness, MovePhase.LEAVING)
        assert await code_of(harness.service.store.append_messages("horae:ada", [])) == "owner_moving"


async def test_token_of_an_owner_that_lives_elsewhere_is_told_its_place() -> None:
    async with open_harness() as harness:
        await harness.service.accounts.put(CHIEF, "ada")
        _, text = await harness.service.tokens.make(CHIEF, owner="ada", name="a test")
        await begin(harness, MovePhase.LEAVING)
        assert (await harness.service.tokens.authenticate(text, via="http")).owner == "ada"
        await end(harness)
        await begin(harness, MovePhase.LEFT, MOVED_KIND)
        refusal = await refusal_of(harness.service.tokens.authenticate(text, via="http"))
        assert refusal.code == "owner_moved"
        assert refusal.facts["place"] == "https://south.example.com"
        assert await code_of(harness.add(who=Principal("ada"))) == "owner_moved"


async def test_owner_that_has_come_back_is_not_told_its_former_place() -> None:
    async with open_harness() as harness:
        await begin(harness, MovePhase.LEFT, MOVED_KIND)
        await begin(harness, MovePhase.ARRIVING)
        assert await code_of(harness.add()) == "owner_arriving"
        for kind in (MOVE_KIND, MOVED_KIND):
            record = await harness.store.get_record(kind, "ada")
            assert record is not None
            await harness.store.drop_record(kind, "ada", record.version)
        # Within the ten seconds for which the list of those that have left is kept.
        harness.advance(timedelta(seconds=1))
        assert await harness.add()
