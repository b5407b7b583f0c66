"""kill -9 during a gate, and between a gate and its target: judged by the lines that both of them write."""

from __future__ import annotations

from typing import Any, Final

import pytest

from horae import Horae
from horae.model.gate import GATE_STATE_KIND
from horae.model.policy import GUARANTEES
from horae.model.run import RunState
from tests.faults.client import call_app, from_now
from tests.faults.ledger import LinkMark, read_links
from tests.faults.oracle import Series
from tests.faults.processes import Workers
from tests.faults.scenario import has_marks, marks
from tests.faults.testbed import Testbed, wait_until
from tests.faults.worker_config import LEASE, Point

BACK_SECONDS: Final = LEASE + 10


def add_gated(testbed: Testbed, guarantee: Any) -> str:
    async def schedule(app: Horae) -> str:
        when = Series(from_now(0.3)).when
        return (await app.schedule("note", when, gate={"function": "check"}, guarantee=guarantee)).id

    return call_app(testbed, schedule)


def asked(testbed: Testbed, task: str) -> list[LinkMark]:
    """The calls of the gate that began, whether or not they were answered."""
    return [line for line in read_links(testbed.links(task)) if line.phase == "start"]


def stored_state(testbed: Testbed, task: str) -> str | None:
    async def read(app: Horae) -> str | None:
        record = await app.store.get_record(GATE_STATE_KIND, task)
        return None if record is None else record.body

    return call_app(testbed, read)


def states(testbed: Testbed, task: str) -> list[RunState]:
    async def read(app: Horae) -> list[RunState]:
        runs = await (await app.get(task)).runs()
        return [run.state for run in sorted(runs, key=lambda run: run.attempt)]

    return call_app(testbed, read)


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_kill_during_the_gate_asks_it_again_and_calls_the_target_once(
    testbed: Testbed, workers: Workers, guarantee: str
) -> None:
    task = add_gated(testbed, guarantee)
    worker = workers.ready()
    wait_until(lambda: len(asked(testbed, task)) == 1, BACK_SECONDS, "the gate")
    worker.kill()
    assert stored_state(testbed, task) is None
    testbed.open_gate("check")
    workers.ready()
    wait_until(lambda: stored_state(testbed, task) == "1", BACK_SECONDS, "the state of the gate")
    assert states(testbed, task) == [RunState.LOST, RunState.SUCCEEDED]
    calls = asked(testbed, task)
    assert [line.root for line in calls] == ["None", "None"]
    assert {line.key for line in calls} == {mark.key for mark in marks(testbed, "effect")}
    assert len(marks(testbed, "effect")) == 1


@pytest.mark.parametrize(
    ("point", "calls", "effects"), [("starting", 2, 1), ("started", 1, 0)], ids=["start not written", "start written"]
)
def test_kill_between_gate_and_target_under_at_most_once(
    testbed: Testbed, workers: Workers, point: Point, calls: int, effects: int
) -> None:
    task = add_gated(testbed, "at_most_once")
    testbed.open_gate("check")
    worker = workers.ready(point=point)
    worker.expect(f"at {point}")
    worker.kill()
    assert not marks(testbed, "start")
    workers.ready()
    last = RunState.SUCCEEDED if effects else RunState.LOST
    wait_until(lambda: states(testbed, task)[-1:] == [last], BACK_SECONDS, "the end of the occurrence")
    assert (len(asked(testbed, task)), len(marks(testbed, "effect"))) == (calls, effects)
    assert stored_state(testbed, task) == ("1" if effects else None)


@pytest.mark.parametrize(("point", "times"), [("settling", 2), ("settled", 1)])
def test_kill_around_the_settlement_writes_the_state_once(
    testbed: Testbed, workers: Workers, point: Point, times: int
) -> None:
    task = add_gated(testbed, "at_least_once")
    testbed.open_gate("check")
    worker = workers.ready(point=point)
    worker.expect(f"at {point}")
    worker.kill()
    assert stored_state(testbed, task) == (None if point == "settling" else "1"), "state and run commit together"
    workers.ready()
    wait_until(has_marks(testbed, "end", times), BACK_SECONDS, "the end of the run")
    wait_until(lambda: states(testbed, task)[-1:] == [RunState.SUCCEEDED], BACK_SECONDS, "its record")
    assert stored_state(testbed, task) == "1"
    assert [line.root for line in asked(testbed, task)] == ["None"] * times
