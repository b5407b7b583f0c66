"""`app.on`: what happens is told in order, from the log or from a target, and a name goes on where it was."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import cast

import pytest

from horae import Happening, Horae, InvalidTask
from horae.app.listeners import Listeners
from horae.ports.full_store import FullStore
from horae.virtual_time import VirtualClock
from tests.app.virtual_app import an_app
from tests.unit.engine.engine_setup import FaultyStore, add_task

PATIENCE = 60


async def test_events_are_told_in_order_while_the_app_is_open(clock: VirtualClock) -> None:
    heard: list[str] = []

    app = an_app(clock)

    @app.task
    async def work() -> None: ...

    @app.on("task.*")
    def note(happening: Happening) -> None:
        heard.append(happening.kind)

    @app.on("run.succeeded")
    async def later(happening: Happening) -> None:
        await clock.pause(0)
        assert happening.run_id is not None
        assert happening.number is not None
        heard.append(happening.kind)

    async with app:
        task = await app.schedule(work, "in 1m")
        await task.wait()
    assert heard[0] == "task.created"
    assert set(heard) == {"task.created", "run.succeeded", "task.completed"}


async def test_what_a_target_publishes_is_told_with_what_it_brought(clock: VirtualClock) -> None:
    heard: list[Happening] = []

    app = an_app(clock)
    app.on("task.triggered")(heard.append)
    async with app:
        task = await app.schedule({"say": "tick"}, "in 1m", {"sourceType": "reminder"}, name="clock")
        await task.wait()
    (happening,) = heard
    assert happening.data is not None
    assert (happening.data["text"], happening.data["sourceType"], happening.data["title"]) == (
        "tick",
        "reminder",
        "clock",
    )
    assert happening.task_id == happening.data["taskUuid"]


async def test_a_listener_that_fails_keeps_nobody_from_hearing(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []

    with caplog.at_level(logging.ERROR, logger="horae"):
        app = an_app(clock, engine=False)

        def fail(_happening: Happening) -> None:
            raise OSError("no line to the mail server")

        app.on("*")(fail)
        app.on("*")(lambda happening: heard.append(happening.kind))
        async with app:
            await app.schedule({"say": "tick"}, "in 1h")
    assert heard == ["task.created"]
    assert "no line to the mail server" in caplog.text


async def test_listeners_tell_once_that_the_store_does_not_answer(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """And hear what they have missed when it does."""
    heard: list[str] = []

    with caplog.at_level(logging.WARNING, logger="horae"):
        door = FaultyStore()
        listeners = Listeners(lambda: cast(FullStore, door), clock)
        listeners.add("task.created", lambda told: heard.append(told.kind), None)
        await listeners.start()
        await clock.pause(1)
        door.fail_before("events", times=60)
        await add_task(door, clock.now(), clock.now())
        listeners.wake()
        await clock.pause(30)
        assert not heard
        await clock.pause(60)
        assert heard == ["task.created"]
        listeners.stop()
    assert caplog.text.count("telling of listeners is paused") == 1
    assert caplog.text.count("telling of listeners goes on") == 1


async def test_with_a_name_nothing_is_missed_between_two_lives(tmp_path: Path) -> None:
    heard: list[str] = []

    def an_app() -> Horae:
        app = Horae(f"sqlite:///{tmp_path}/horae.db", engine=False)
        app.on("task.created", resume="mailer")(lambda happening: heard.append(happening.task_id))
        return app

    async with asyncio.timeout(PATIENCE):
        async with an_app() as first:
            one = await first.schedule({"say": "1"}, "in 1h")
        async with Horae(f"sqlite:///{tmp_path}/horae.db", engine=False) as nobody_listens:
            two = await nobody_listens.schedule({"say": "2"}, "in 1h")
        async with an_app() as again:
            three = await again.schedule({"say": "3"}, "in 1h")
    assert heard == [one.id, two.id, three.id]


def test_an_event_that_there_is_not_is_refused() -> None:
    app = Horae("memory://", engine=False)
    with pytest.raises(InvalidTask) as refusal:
        app.on("failed")(lambda _happening: None)
    assert "task.created" in refusal.value.hint
