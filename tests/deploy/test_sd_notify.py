"""sd_notify: ready when all parts are ready, watchdog pings while every part is healthy, and stopping."""

from __future__ import annotations

import asyncio
import os
import signal
from datetime import timedelta

from horae import Horae
from horae.node.heartbeat import EngineHealth
from horae.node.sd_notify import NotifySocket, ServiceNotifier
from horae.wire.tasks.task import read_task
from tests.cli.operating.deployment import Deployment
from tests.deploy.notify_receiver import NotifyReceiver


def test_up_notifies_systemd_of_ready_watchdog_and_stopping(deployment: Deployment, receiver: NotifyReceiver) -> None:
    up = deployment.up("--port", "0", environment=receiver.environment(watchdog=0.4))
    assert receiver.wait_for("READY=1").splitlines() == ["READY=1", "STATUS=Ready: API, engine."]
    up.ready()
    receiver.wait_for("WATCHDOG=1")
    receiver.wait_for("WATCHDOG=1")
    up.signal(signal.SIGTERM)
    receiver.wait_for("STOPPING=1")
    assert up.ends() == 0
    assert sum("READY=1" in message or "STOPPING=1" in message for message in receiver.messages + receiver.drain()) == 2


def test_worker_notifies_systemd_and_sends_no_watchdog_pings_without_a_watchdog(
    deployment: Deployment, receiver: NotifyReceiver
) -> None:
    up = deployment.up(environment=receiver.environment(), command="worker")
    assert "STATUS=Ready: engine." in receiver.wait_for("READY=1")
    up.ready()
    up.signal(signal.SIGTERM)
    receiver.wait_for("STOPPING=1")
    assert up.ends() == 0
    assert not [message for message in receiver.messages + receiver.drain() if "WATCHDOG=1" in message]


def test_tasks_do_not_inherit_the_notify_socket(deployment: Deployment, receiver: NotifyReceiver) -> None:
    deployment.write(
        "jobs.py",
        "import os\nfrom horae import Horae\n"
        f"app = Horae({deployment.url!r})\n"
        "@app.task\ndef look():\n    print('sees', sorted(set(os.environ) & {'NOTIFY_SOCKET', 'WATCHDOG_USEC'}), flush=True)\n",
    )
    up = deployment.up("jobs.py", "--no-api", environment=receiver.environment(watchdog=60)).ready()
    deployment.add(name="look", when="now", function="look")
    assert up.expect("sees").endswith("sees []")
    up.signal(signal.SIGTERM)
    assert up.ends() == 0


def test_watchdog_ping_needs_a_heartbeat_of_every_part(receiver: NotifyReceiver) -> None:
    notifier = ServiceNotifier(NotifySocket(receiver.address, beat_seconds=1.0), ("engine", "API"))
    notifier.on_status("API", "ready")
    assert receiver.drain() == []
    notifier.on_status("engine", "ready")
    assert [message.splitlines()[0] for message in receiver.drain()] == ["READY=1", "WATCHDOG=1"]
    for _ in range(5):
        notifier.on_status("API", "alive")
    assert receiver.drain() == []
    notifier.on_status("engine", "alive")
    assert receiver.drain() == ["WATCHDOG=1"]


def test_ready_and_stopping_are_sent_once(receiver: NotifyReceiver) -> None:
    notifier = ServiceNotifier(NotifySocket(receiver.address), ("engine",))
    notifier.on_status("engine", "ready")
    notifier.on_status("engine", "ready")
    notifier.on_status("engine", "stopping")
    notifier.on_status("engine", "stopping")
    assert [message.splitlines()[0] for message in receiver.drain()] == ["READY=1", "STOPPING=1"]


def test_notify_variables_are_removed_from_the_environment_and_checked() -> None:
    around = {"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid()), "HOME": "/"}
    assert NotifySocket.from_environment(around).beat_seconds == 15.0
    assert around == {"HOME": "/"}
    foreign = {"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}
    assert NotifySocket.from_environment(foreign).beat_seconds is None
    assert NotifySocket.from_environment({"WATCHDOG_USEC": "60000000"}).beat_seconds is None
    assert NotifySocket.from_environment({"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "soon"}).beat_seconds is None


def test_missing_notify_socket_is_ignored(receiver: NotifyReceiver) -> None:
    receiver.close()
    NotifySocket(receiver.address).send("READY=1")
    NotifySocket("@horae-no-such-socket").send("READY=1")


async def test_engine_with_overdue_entries_is_unhealthy_unless_it_is_draining() -> None:
    async with Horae("memory://", zone="UTC") as app:
        health = EngineHealth(app, timedelta(0))
        await health.check()
        healthy = [health.is_healthy]
        engine = app.engine
        assert engine is not None
        # A stuck dispatcher: due entries are not claimed any more.
        engine._actors["dispatcher"].cancel()
        await asyncio.gather(engine._actors["dispatcher"], return_exceptions=True)
        await app.service.tasks.create(app.who, read_task({"name": "left", "when": "now", "say": "x"}))
        for _ in range(2):
            await health.check()
            healthy.append(health.is_healthy)
        # A draining dispatcher claims nothing on purpose.
        engine.dispatcher.is_draining = True
        await health.check()
        outcome = [*healthy, health.is_healthy]
    assert outcome == [True, True, False, True]
