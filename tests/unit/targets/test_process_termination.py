"""Ends of child processes: cancelled or killed, no process is left, and the run waits for that."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from horae.model.lanes.idle import YieldKind, YieldReason
from horae.model.outcome import Cancelled, Failed, Outcome, Succeeded
from horae.targets.function.registry import Registry
from horae.targets.function.target import FunctionTarget
from tests.unit.targets import functions
from tests.unit.targets.invocations import NOON, Recorded, a_run, a_task, target_for

ROOT = Path(__file__).parents[3]
SHORT = timedelta(milliseconds=100)


class Watch:
    """Processes that should end. Their pidfds are opened while they live, so that a reused pid is not mistaken for one."""

    def __init__(self, text: str) -> None:
        self.pids = [int(word) for word in text.split()[1:]]
        self._open = ExitStack()
        self._numbers = [os.pidfd_open(pid) for pid in self.pids]
        for number in self._numbers:
            self._open.callback(os.close, number)

    def all_gone(self) -> bool:
        with self._open:
            return all(select.select([number], [], [], 30)[0] for number in self._numbers)


async def execute_watched(
    call: Callable[..., object], grace: timedelta, then: Callable[[asyncio.Task[Outcome], Recorded, Watch], None]
) -> tuple[Outcome | None, Recorded, Watch]:
    """Start a function, call `then` once it has printed its pids, and return its outcome; None: cancelled."""
    invocation = Recorded(a_task("it"))
    target = target_for(call, "process", grace)
    execution = asyncio.ensure_future(target.execute(invocation))
    watch = Watch(await invocation.wait_for("pid"))
    then(execution, invocation, watch)
    done, _ = await asyncio.wait((execution,), timeout=60)
    target.close()  # a process that should have ended must not hold up the other tests
    assert done, "it has not ended"
    return None if execution.cancelled() else execution.result(), invocation, watch


def _cancel(execution: asyncio.Task[Outcome], _invocation: Recorded, _watch: Watch) -> None:
    execution.cancel()


async def test_killed_process_is_reported_with_its_signal() -> None:
    def kill(_carrying: asyncio.Task[Outcome], _invocation: Recorded, watch: Watch) -> None:
        os.kill(watch.pids[0], signal.SIGKILL)

    outcome, _, _ = await execute_watched(functions.wait_for_ever, SHORT, kill)
    assert outcome == Failed("the process died with signal 9 (SIGKILL)")


@pytest.mark.parametrize("call", [functions.wait_for_ever, functions.await_for_ever])
async def test_a_cancelled_function_cleans_up_before_the_run_is_over(call: Callable[..., object]) -> None:
    outcome, invocation, watch = await execute_watched(call, timedelta(minutes=5), _cancel)
    assert outcome is None
    assert invocation.texts("info")[-1] == "cleaned up"
    assert watch.all_gone()


@pytest.mark.parametrize("call", [functions.with_grandchild, functions.hold_the_lock])
async def test_cancel_kills_the_whole_process_group(call: Callable[..., object]) -> None:
    outcome, _, watch = await execute_watched(call, SHORT, _cancel)
    assert outcome is None
    assert len(watch.pids) == 2
    assert watch.all_gone()


async def test_cancel_action_ends_the_run() -> None:
    def order(_carrying: asyncio.Task[Outcome], invocation: Recorded, _watch: Watch) -> None:
        for action in invocation.actions:
            action()

    outcome, _, watch = await execute_watched(functions.with_grandchild, SHORT, order)
    assert outcome == Cancelled("its process was stopped")
    assert watch.all_gone()


async def test_a_run_that_is_marked_as_cancelled_is_noticed() -> None:
    def mark(_carrying: asyncio.Task[Outcome], invocation: Recorded, _watch: Watch) -> None:
        invocation.cancelled = True

    outcome, invocation, _ = await execute_watched(functions.wait_for_ever, timedelta(minutes=5), mark)
    assert outcome == Cancelled("its process was stopped")
    assert invocation.texts("info")[-1] == "cleaned up"


@pytest.mark.parametrize(
    ("call", "grace"), [(functions.leave_behind, SHORT), (functions.leave_a_process, timedelta(minutes=5))]
)
async def test_process_that_lingers_after_its_result_is_not_awaited(
    call: Callable[..., object], grace: timedelta
) -> None:
    outcome, _, watch = await execute_watched(call, grace, lambda *_: None)
    assert outcome == Succeeded('"done"')
    assert watch.all_gone()


async def test_closing_the_target_leaves_no_process() -> None:
    invocation = Recorded(a_task("it"))
    target = target_for(functions.with_grandchild, "process", timedelta(minutes=5))
    execution = asyncio.ensure_future(target.execute(invocation))
    watch = Watch(await invocation.wait_for("pids"))
    target.close()
    assert await execution == Cancelled("its process was stopped")
    outcome = watch.all_gone()
    assert outcome


async def test_queued_run_is_cancelled_without_a_process() -> None:
    registry = Registry()
    registry.register("it", functions.wait_for_ever, "process")
    target = FunctionTarget(registry, processes=1, grace=timedelta(minutes=5))
    first, second = Recorded(a_task("it")), Recorded(a_task("it"))
    running = asyncio.ensure_future(target.execute(first))
    await first.wait_for("pid")
    waiting = asyncio.ensure_future(target.execute(second))
    await asyncio.to_thread(str)
    for each in (waiting, running):
        each.cancel()
        with pytest.raises(asyncio.CancelledError):
            await each
    assert second.lines == []
    target.close()


async def test_stop_request_of_the_node_and_the_moved_deadline_reach_the_function() -> None:
    invocation = Recorded(a_task("it"), a_run())
    target = target_for(functions.until_asked_to_yield, "process")
    execution = asyncio.ensure_future(target.execute(invocation))
    await invocation.wait_for("started")
    invocation.yield_requested = True
    try:
        outcome = await execution
    finally:
        target.close()
    assert isinstance(outcome, Succeeded)
    assert invocation.beats > 0
    assert (outcome.result or "").strip('"') > (NOON + timedelta(minutes=5)).isoformat()


async def test_idle_state_and_the_reason_to_yield_cross_the_process_boundary() -> None:
    invocation = Recorded(a_task("it"), a_run())
    target = target_for(functions.idle_until_asked_to_yield, "process")
    execution = asyncio.ensure_future(target.execute(invocation))
    await invocation.wait_for("idle")
    invocation.yield_reason = YieldReason(YieldKind.OTHER_OWNER, "press")
    invocation.yield_requested = True
    try:
        outcome = await execution
    finally:
        target.close()
    assert outcome == Succeeded('"other_owner: press"')
    assert invocation.idle_states == [True, False]


NODE = """
import asyncio, sys
from tests.unit.targets import functions
from tests.unit.targets.invocations import Recorded, a_task, target_for

class Loud(Recorded):
    def log(self, text, level="info"):
        print(text, flush=True)

asyncio.run(target_for(getattr(functions, sys.argv[1]), "process").execute(Loud(a_task("it"))))
"""


@pytest.mark.parametrize("function", ["with_grandchild", "hold_the_lock"])
def test_killed_node_leaves_no_process(function: str) -> None:
    with subprocess.Popen([sys.executable, "-c", NODE, function], cwd=ROOT, stdout=subprocess.PIPE, text=True) as node:
        assert node.stdout is not None
        watch = Watch(node.stdout.readline())
        node.kill()
    assert len(watch.pids) == 2
    assert watch.all_gone()


SCRIPT = """
import asyncio
from tests.unit.targets.invocations import Recorded, a_task, target_for

def work(number: int) -> int:
    print("loaded as", __name__)
    return number + 1

if __name__ == "__main__":
    invocation = Recorded(a_task("it", '{"number": 4}'))
    target = target_for(work, "process")
    print(asyncio.run(target.execute(invocation)).result, invocation.lines)
    target.close()
"""


def test_a_function_of_a_script_is_found_again_without_running_the_script(tmp_path: Path) -> None:
    script = tmp_path / "my script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, script.name], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    assert ran.stdout == "5 [('output', 'loaded as __horae_script__')]\n"


def test_a_function_of_a_module_that_was_started_as_one_is_found_again(tmp_path: Path) -> None:
    tmp_path.joinpath("chores.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-m", "chores"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    assert ran.stdout == "5 [('output', 'loaded as chores')]\n"
