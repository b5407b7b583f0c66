"""Ends of commands: cancelled or killed, no process is left, and the run waits for that."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any

import pytest

from horae.model.outcome import Cancelled, Failed, Outcome, Succeeded
from horae.targets.command.process import LaunchRequest, _launch
from horae.testing import RecordingInvocation
from tests.unit.targets.command.command_setup import Watch, a_target, an_invocation, execute, execute_watched, shell

ROOT = Path(__file__).parents[4]
LONG: Mapping[str, Any] = {"allow": "*", "grace": 60}

PATIENT = "echo pids $$; while :; do sleep 60; done"
DEAF = "trap '' TERM HUP INT; echo pids $$; while :; do sleep 60; done"
DEAF_GROUP = "trap '' TERM; sh -c 'sleep 600 & wait' & echo pids $$ $!; wait"
SILENT = "echo pids $$; exec >&- 2>&-; while :; do sleep 60; done"
DAEMON = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
here, there = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        os.write(there, str(os.getpid()).encode())
        while True:
            signal.pause()
    os._exit(0)
os.wait()
print("pids", os.getpid(), int(os.read(here, 10)), flush=True)
"""
LINGER = DAEMON + "signal.pause()\n"


def cancel(execution: asyncio.Task[Outcome], _invocation: object, _target: object, _watch: object) -> None:
    execution.cancel()


def python(script: str) -> dict[str, Any]:
    return {"argv": [sys.executable, "-c", script]}


@pytest.mark.parametrize(
    "spec",
    [shell(PATIENT), shell(DEAF), shell(DEAF_GROUP), shell(SILENT), python(LINGER)],
    ids=["never ends", "ignores the signal", "its children ignore it", "closes its output", "has a daemon"],
)
async def test_cancelled_command_ends_with_its_children(spec: Mapping[str, Any]) -> None:
    outcome, _, watch = await execute_watched(spec, cancel)
    assert outcome is None
    assert watch.all_gone()


async def test_a_daemon_does_not_outlive_the_command_that_made_it() -> None:
    def let_it_end(_carrying: object, _invocation: object, _target: object, watch: Watch) -> None:
        os.kill(watch.pids[0], signal.SIGUSR1)

    outcome, _, watch = await execute_watched(python(DAEMON + "signal.sigwait([signal.SIGUSR1])\n"), let_it_end, LONG)
    assert isinstance(outcome, Succeeded)
    assert len(watch.pids) == 2
    assert watch.all_gone()


async def test_cancelled_command_may_clean_up() -> None:
    spec = shell("trap 'echo cleaned up; exit 0' TERM; echo pids $$; while :; do sleep 0.01; done")
    outcome, invocation, watch = await execute_watched(spec, cancel, LONG)
    assert outcome is None
    assert invocation.texts("output")[-1] == "cleaned up"
    assert watch.all_gone()


async def test_cancel_action_ends_the_run() -> None:
    def order(_carrying: object, invocation: RecordingInvocation, _target: object, _watch: object) -> None:
        invocation.end()
        invocation.end()

    outcome, _, watch = await execute_watched(shell(DEAF), order)
    assert outcome == Cancelled("its process was stopped")
    assert watch.all_gone()


async def test_closing_the_target_leaves_no_process() -> None:
    invocation, target = an_invocation(shell(DEAF_GROUP), LONG), a_target(LONG)
    execution = asyncio.create_task(target.execute(invocation))
    watch = Watch(await invocation.wait_for_text("pids"))
    await target.aclose()
    assert await execution == Cancelled("its process was stopped")
    assert watch.all_gone()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
async def test_death_by_signal_is_reported(number: signal.Signals) -> None:
    def kill(_carrying: object, _invocation: object, _target: object, watch: Watch) -> None:
        os.kill(watch.pids[0], number)

    outcome, _, _ = await execute_watched(shell(PATIENT), kill)
    assert isinstance(outcome, Failed)
    assert outcome.error.startswith(f"killed by signal {number.value} ({number.name})")
    assert not outcome.permanent


async def test_command_that_kills_its_own_group_kills_nothing_else() -> None:
    outcome, invocation = await execute(shell("echo goodbye; kill -9 0"))
    assert isinstance(outcome, Failed)
    assert outcome.error == "killed by signal 9 (SIGKILL)\ngoodbye"
    assert invocation.texts("output") == ["goodbye"]


async def test_command_that_kills_its_supervisor_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def kill(_carrying: object, _invocation: object, _target: object, watch: Watch) -> None:
        assert list(tmp_path.iterdir())
        os.kill(_parent_of(watch.pids[0]), signal.SIGKILL)

    outcome, _, watch = await execute_watched(shell(DEAF_GROUP), kill)
    assert isinstance(outcome, Failed)
    assert outcome.error.startswith("its launcher process was killed")
    assert watch.all_gone()
    await asyncio.get_running_loop().shutdown_default_executor()  # its folder is removed in a thread
    assert list(tmp_path.iterdir()) == []


async def test_command_that_stops_itself_can_be_ended() -> None:
    outcome, _, watch = await execute_watched(shell("echo pids $$; kill -STOP $$"), cancel)
    assert outcome is None
    assert watch.all_gone()


async def begun() -> tuple[Coroutine[Any, Any, Outcome], Watch]:
    """A command that runs, and the coroutine that waits for it."""
    invocation = an_invocation(shell(DEAF), LONG)
    waiting = a_target(LONG).execute(invocation)
    waiting.send(None)
    return waiting, Watch(await invocation.wait_for_text("pids"))


def test_closing_the_event_loop_ends_its_commands() -> None:
    waiting, watch = asyncio.run(begun())
    waiting.close()  # as the collector of garbage does it
    assert watch.all_gone()


NODE = """
import asyncio, sys
from horae.testing import RecordingInvocation
from tests.unit.targets.command import command_setup, test_termination

class Loud(RecordingInvocation):
    def log(self, text, level="info"):
        print(text, flush=True)

spec = {"shell": command_setup.shell(test_termination.DEAF_GROUP), "daemon": test_termination.python(test_termination.LINGER)}[sys.argv[1]]
invocation = command_setup.an_invocation(spec, test_termination.LONG)
asyncio.run(command_setup.a_target(test_termination.LONG).execute(Loud(invocation.task)))
"""


@pytest.mark.parametrize("which", ["shell", "daemon"])
def test_killed_node_leaves_no_process(which: str, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", NODE, which]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as node:
        assert node.stdout is not None
        watch = Watch(node.stdout.readline())
        launcher = Watch(f"pids {_parent_of(watch.pids[0])}")
        assert list(tmp_path.iterdir())
        node.kill()
    assert len(watch.pids) == 2
    assert watch.all_gone()
    assert launcher.all_gone()
    assert list(tmp_path.iterdir()) == []


def test_node_killed_before_the_first_read_leaves_no_process(tmp_path: Path) -> None:
    spec = shell(DEAF_GROUP)
    own = str(tmp_path / "own")
    order = LaunchRequest("/bin/sh", spec["argv"], {}, directory=own, is_private=True, limits={}, grace=60, stdin=None)
    channel, launcher = _launch(order)
    with launcher:
        assert launcher.stdout is not None
        watch = Watch(launcher.stdout.readline().decode())
        channel.close()
        assert watch.all_gone()
    assert list(tmp_path.iterdir()) == []


def _parent_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    return int(status.rpartition(")")[2].split()[1])


async def test_command_that_ends_during_cancellation_succeeds() -> None:
    spec = shell("trap 'exit 0' TERM; echo pids $$; while :; do sleep 0.01; done")

    def order(_carrying: object, invocation: RecordingInvocation, _target: object, _watch: object) -> None:
        invocation.end()

    outcome, _, _ = await execute_watched(spec, order, LONG)
    assert isinstance(outcome, Succeeded)


async def test_run_fails_without_file_descriptors() -> None:
    """With no numbers left for pipes, the run fails and may be tried again."""
    import resource  # noqa: PLC0415 - not everywhere

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    target, invocation = a_target(), an_invocation(shell("true"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")), before[1]))  # noqa: PTH208
    try:
        outcome = await target.execute(invocation)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert isinstance(outcome, Failed)
    assert not outcome.permanent
