"""Crashes of the host before and after any write, by seed: no message is lost, and each command is executed and answered once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import count
from random import Random

import pytest

from horae.agents.host import chat_commander, command_records
from horae.agents.host.router import Router
from horae.agents.router.position import RouterPosition
from horae.model.agents.group import Group
from horae.model.events.event import EventKind
from horae.ports.channel import IncomingMessage
from tests.agents.host.host_harness import HostHarness, open_host

SEEDS = range(12)
WRITES = ("append_messages", "put_record", "write_records", "change", "add", "upsert")
STEPS = 40


class CrashError(Exception):
    """The process ends here."""


class CrashingHost:
    """A host whose process ends at random writes, before or after they are in the store, and starts again."""

    def __init__(self, host: HostHarness, seed: int, patch: pytest.MonkeyPatch) -> None:
        self.host = host
        self.random = Random(seed)
        self.share = 0.15
        self.crashes = 0
        for name in WRITES:
            patch.setattr(host.store, name, self._wrap(getattr(host.store, name)))

    def _wrap(self, write: Callable[..., object]) -> Callable[..., object]:
        async def call(*arguments: object, **named: object) -> object:
            is_crash, is_written = self.random.random() < self.share, self.random.random() < 0.5
            if is_crash and not is_written:
                raise CrashError
            result = await write(*arguments, **named)  # type: ignore[misc]
            if is_crash:
                raise CrashError
            return result

        return call

    async def survive(self, step: Callable[[], object]) -> None:
        """Take a step, and again after each crash."""
        while True:
            try:
                await step()  # type: ignore[misc]
            except CrashError:
                self.crashes += 1
                self.host.restart()
            else:
                return

    async def say(self, number: int, text: str) -> None:
        message = IncomingMessage("1", str(number), f"1:{number}", "ada", "Ada", text, self.host.clock.now())
        await self.survive(lambda: self.host.intake.on_message(message))


async def answer_turns(host: HostHarness, group: Group, random: Random) -> None:
    for run in await host.turns():
        if random.random() < 0.3:
            await host.fail(run)
        else:
            await host.answer(run, group)


async def findings(seed: int, patch: pytest.MonkeyPatch, url: str = "memory://") -> list[str]:
    """Run one scenario and return what is wrong after it."""
    async with open_host(url) as host:
        group = await host.add_group()
        await host.add_task(group, "weather")
        crashing = CrashingHost(host, seed, patch)
        commands: list[str] = []
        for number in range(STEPS):
            host.advance(timedelta(seconds=1))
            match crashing.random.randrange(4):
                case 0:
                    await crashing.say(number, f"@Andy message {number}")
                case 1:
                    commands.append(crashing.random.choice(["pause", "resume"]))
                    await crashing.say(number, f"@Andy /{commands[-1]} weather")
                case 2:
                    await crashing.survive(host.look)
                case _:
                    crashing.share, share = 0.0, crashing.share
                    await answer_turns(host, group, crashing.random)
                    crashing.share = share
        crashing.share = 0.0
        host.restart()
        for _ in range(12):
            host.advance(timedelta(seconds=90))
            await host.look()
            for run in await host.turns():
                await host.answer(run, group)
        return await check(host, group, commands)


async def check(host: HostHarness, group: Group, commands: list[str]) -> list[str]:
    wrong = []
    texts = await host.texts(group)
    waiting = [text for text in texts[await host.handled(group) :] if text.startswith("@Andy message")]
    if waiting:
        wrong.append("message")
    answers = [text for text in texts if text.startswith("< ")]
    if (len(answers), len(await host.deliveries())) != (len(commands), len(commands)):
        wrong.append("answer")
    effective = [each for before, each in zip(["resume", *commands], commands, strict=False) if before != each]
    events = [each.event.kind for each in await host.store.events(0, 5_000)]
    changes = [kind for kind in events if kind in (EventKind.TASK_PAUSED, EventKind.TASK_RESUMED)]
    if [kind.value for kind in changes] != [f"task.{each}d" for each in effective]:
        wrong.append("command")
    return wrong


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_crash_at_any_write_loses_nothing_and_repeats_nothing(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await findings(seed, monkeypatch) == []


async def test_a_crash_at_any_write_loses_nothing_on_any_store(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await findings(len(SEEDS), monkeypatch, store_url) == []


# --- planted defects ---------------------------------------------------------------------------------------------------


def forget_waking(patch: pytest.MonkeyPatch) -> None:
    """The position is saved without the message that wakes the agent, which a crash then loses."""
    save = Router._save

    async def save_seen(self: Router, group: Group, position: RouterPosition) -> RouterPosition:
        return await save(self, group, position._replace(waking=0))

    patch.setattr(Router, "_save", save_seen)


def mark_before_executing(patch: pytest.MonkeyPatch) -> None:
    """The position says that commands were executed before they are."""
    save = Router._save

    async def save_executed(self: Router, group: Group, position: RouterPosition) -> RouterPosition:
        return await save(self, group, position._replace(executed=position.seen))

    patch.setattr(Router, "_save", save_executed)


def forget_executed_commands(patch: pytest.MonkeyPatch) -> None:
    """The record of a command is not found again: a command is executed and answered again after a crash."""
    numbers = count()
    patch.setattr(command_records, "command_key", lambda group, number: f"{group.folder}/{number}/{next(numbers)}")
    patch.setattr(chat_commander, "command_key", lambda group, number: f"{group.folder}/{number}/{next(numbers)}")


@pytest.mark.parametrize(
    ("plant", "finding"),
    [(forget_waking, "message"), (mark_before_executing, "answer"), (forget_executed_commands, "answer")],
)
async def test_planted_defect_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], finding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: set[str] = set()
    for seed in SEEDS:
        with monkeypatch.context() as patched:
            plant(patched)
            found |= set(await findings(seed, patched))

    assert finding in found
