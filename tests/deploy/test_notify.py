"""What a service manager hears: ready when all parts are, signs of life while each of them is well, and the end."""

from __future__ import annotations

import asyncio
import os
import signal
from datetime import timedelta

from horae import Horae
from horae.node.heartbeat import EngineHealth
from horae.node.sd_notify import NotifySocket, ServiceNotifier
from horae.wire.tasks import read_task
from tests.cli.operating.deployment import Deployment
from tests.deploy.manager import Ears


def test_up_says_that_it_is_ready_alive_and_about_to_end(deployment: Deployment, ears: Ears) -> None:
    up = deployment.up("--port", "0", environment=ears.environment(watchdog=0.4))
    assert ears.until("READY=1").splitlines() == ["READY=1", "STATUS=Ready: API, engine."]
    up.ready()
    ears.until("WATCHDOG=1")
    ears.until("WATCHDOG=1")
    up.signal(signal.SIGTERM)
    ears.until("STOPPING=1")
    assert up.ends() == 0
    assert sum("READY=1" in said or "STOPPING=1" in said for said in ears.heard + ears.rest()) == 2


def test_a_worker_alone_speaks_for_itself_and_is_silent_of_life_where_nobody_asked(
    deployment: Deployment, ears: Ears
) -> None:
    up = deployment.up(environment=ears.environment(), command="worker")
    assert "STATUS=Ready: engine." in ears.until("READY=1")
    up.ready()
    up.signal(signal.SIGTERM)
    ears.until("STOPPING=1")
    assert up.ends() == 0
    assert not [said for said in ears.heard + ears.rest() if "WATCHDOG=1" in said]


def test_what_tasks_start_cannot_speak_for_us(deployment: Deployment, ears: Ears) -> None:
    deployment.write(
        "jobs.py",
        "import os\nfrom horae import Horae\n"
        f"app = Horae({deployment.url!r})\n"
        "@app.task\ndef look():\n    print('sees', sorted(set(os.environ) & {'NOTIFY_SOCKET', 'WATCHDOG_USEC'}), flush=True)\n",
    )
    up = deployment.up("jobs.py", "--no-api", environment=ears.environment(watchdog=60)).ready()
    deployment.add(name="look", when="now", function="look")
    assert up.expect("sees").endswith("sees []")
    up.signal(signal.SIGTERM)
    assert up.ends() == 0


def test_one_of_two_that_is_silent_is_silence(ears: Ears) -> None:
    notifier = ServiceNotifier(NotifySocket(ears.address, beat_seconds=1.0), ("engine", "API"))
    notifier.on_status("API", "ready")
    assert ears.rest() == []
    notifier.on_status("engine", "ready")
    assert [said.splitlines()[0] for said in ears.rest()] == ["READY=1", "WATCHDOG=1"]
    for _ in range(5):
        notifier.on_status("API", "alive")
    assert ears.rest() == []
    notifier.on_status("engine", "alive")
    assert ears.rest() == ["WATCHDOG=1"]


def test_who_is_begun_again_is_not_ready_a_second_time(ears: Ears) -> None:
    notifier = ServiceNotifier(NotifySocket(ears.address), ("engine",))
    notifier.on_status("engine", "ready")
    notifier.on_status("engine", "ready")
    notifier.on_status("engine", "stopping")
    notifier.on_status("engine", "stopping")
    assert [said.splitlines()[0] for said in ears.rest()] == ["READY=1", "STOPPING=1"]


def test_the_line_is_taken_from_the_environment_and_is_ours_alone() -> None:
    around = {"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid()), "HOME": "/"}
    assert NotifySocket.from_environment(around).beat_seconds == 15.0
    assert around == {"HOME": "/"}
    foreign = {"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}
    assert NotifySocket.from_environment(foreign).beat_seconds is None
    assert NotifySocket.from_environment({"WATCHDOG_USEC": "60000000"}).beat_seconds is None
    assert NotifySocket.from_environment({"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "soon"}).beat_seconds is None


def test_a_manager_that_is_gone_is_no_reason_to_stop(ears: Ears) -> None:
    ears.close()
    NotifySocket(ears.address).send("READY=1")
    NotifySocket("@horae-nobody-listens-here").send("READY=1")


async def test_an_engine_that_leaves_what_is_due_is_noticed_and_one_that_works_is_not() -> None:
    async with Horae("memory://", zone="UTC") as app:
        health = EngineHealth(app, timedelta(0))
        await health.check()
        kept = [health.is_healthy]
        engine = app.engine
        assert engine is not None
        # As if it were stuck for good: nobody looks at the agenda any more.
        engine._actors["dispatcher"].cancel()
        await asyncio.gather(engine._actors["dispatcher"], return_exceptions=True)
        await app.service.tasks.create(app.who, read_task({"name": "left", "when": "now", "say": "x"}))
        for _ in range(2):
            await health.check()
            kept.append(health.is_healthy)
        # What was told to claim nothing does well to leave it.
        engine.dispatcher.is_draining = True
        await health.check()
        outcome = [*kept, health.is_healthy]
    assert outcome == [True, True, False, True]
