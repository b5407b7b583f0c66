"""`app.on`: event handlers are called in order, with events of the log and of targets; a named handler resumes."""

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

TIMEOUT_SECONDS = 60


async def test_handlers_are_called_in_order_while_the_app_is_open(clock: VirtualClock) -> None:
    received: list[str] = []

    app = an_app(clock)

    @app.task
    async def work() -> None: ...

    @app.on("task.*")
    def note(happening: Happening) -> None:
        received.append(happening.kind)

    @app.on("run.succeeded")
    async def later(happening: Happening) -> None:
        await clock.pause(0)
        assert happening.run_id is not None
        assert happening.number is not None
        received.append(happening.kind)

    async with app:
        task = await app.schedule(work, "in 1m")
        await task.wait()
    assert received[0] == "task.created"
    assert set(received) == {"task.created", "run.succeeded", "task.completed"}


async def test_event_of_a_target_carries_its_payload(clock: VirtualClock) -> None:
    received: list[Happening] = []

    app = an_app(clock)
    app.on("task.triggered")(received.append)
    async with app:
        task = await app.schedule({"say": "tick"}, "in 1m", {"sourceType": "reminder"}, name="clock")
        await task.wait()
    (happening,) = received
    assert happening.data is not None
    assert (happening.data["text"], happening.data["sourceType"], happening.data["title"]) == (
        "tick",
        "reminder",
        "clock",
    )
    assert happening.task_id == happening.data["taskUuid"]


async def test_failing_handler_does_not_affect_other_handlers(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    received: list[str] = []

    with caplog.at_level(logging.ERROR, logger="horae"):
        app = an_app(clock, engine=False)

        def fail(_happening: Happening) -> None:
            raise OSError("no line to the mail server")

        app.on("*")(fail)
        app.on("*")(lambda happening: received.append(happening.kind))
        async with app:
            await app.schedule({"say": "tick"}, "in 1h")
    assert received == ["task.created"]
    assert "no line to the mail server" in caplog.text


async def test_unavailable_store_is_logged_once_and_missed_events_are_delivered(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    received: list[str] = []

    with caplog.at_level(logging.WARNING, logger="horae"):
        store = FaultyStore()
        listeners = Listeners(lambda: cast(FullStore, store), clock)
        listeners.add("task.created", lambda event: received.append(event.kind), None)
        await listeners.start()
        await clock.pause(1)
        store.fail_before("events", times=60)
        await add_task(store, clock.now(), clock.now())
        listeners.wake()
        await clock.pause(30)
        assert not received
        await clock.pause(60)
        assert received == ["task.created"]
        listeners.stop()
    assert caplog.text.count("telling of listeners is paused") == 1
    assert caplog.text.count("telling of listeners goes on") == 1


async def test_named_handler_resumes_where_it_stopped(tmp_path: Path) -> None:
    received: list[str] = []

    def an_app() -> Horae:
        app = Horae(f"sqlite:///{tmp_path}/horae.db", engine=False)
        app.on("task.created", resume="mailer")(lambda happening: received.append(happening.task_id))
        return app

    async with asyncio.timeout(TIMEOUT_SECONDS):
        async with an_app() as first:
            one = await first.schedule({"say": "1"}, "in 1h")
        async with Horae(f"sqlite:///{tmp_path}/horae.db", engine=False) as without_handler:
            two = await without_handler.schedule({"say": "2"}, "in 1h")
        async with an_app() as again:
            three = await again.schedule({"say": "3"}, "in 1h")
    assert received == [one.id, two.id, three.id]


def test_unknown_event_is_refused_with_the_known_ones() -> None:
    app = Horae("memory://", engine=False)
    with pytest.raises(InvalidTask) as refusal:
        app.on("failed")(lambda _happening: None)
    assert "task.created" in refusal.value.hint
