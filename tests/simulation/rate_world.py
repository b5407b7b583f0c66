"""A simulated cluster whose tasks share a lane with a rate: crashes, retries, skewed clocks, and the check of every window."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from horae.lifecycle.plan import Draft, plan
from horae.model.entry import EntryState
from horae.model.ids import ENTROPY_BYTES, make_id
from horae.model.lanes.rate import Rate
from horae.model.policy import Missed, Policies, RetryPolicy
from horae.model.task import Target
from horae.schedule import Every
from tests.simulation.clients import Clients
from tests.simulation.evidence import Evidence
from tests.simulation.target_behaviours import Behaviour
from tests.simulation.world import World

MINUTE: Final = timedelta(minutes=1)
LANE: Final = "api"
RATE: Final = Rate(3, 5 * MINUTE)
_POLICIES: Final = Policies(
    overlap="queue_all", missed=Missed("all", None, 1_000), retry=RetryPolicy(2, MINUTE), give_up_after=None
)
_BEHAVIOURS: Final = (Behaviour.FLAKY, Behaviour.KILLER, Behaviour.STEADY, Behaviour.FLAKY, Behaviour.STEADY)
_LONGEST_PAUSE: Final = 4 * RATE.period
"""While entries wait, something starts at least so often, once there are no more faults."""


class RateClients(Clients):
    """Clients that add tasks of one lane, all due at the same instants, and then leave the cluster alone."""

    async def add_initial_tasks(self, count: int) -> None:  # noqa: ARG002 - the tasks are always the same
        await self._inner.set_lane(LANE, None, rate=RATE)
        now = self._clock.now()
        for number, behaviour in enumerate(_BEHAVIOURS):
            task_id = make_id("tsk", now, self._dice.randbytes(ENTROPY_BYTES))
            target = Target("simulated", "{}")
            draft = Draft(
                "ada" if number % 2 else "bob",
                f"task {number}",
                Every(interval=20 * MINUTE),
                target,
                f'"{behaviour.value}"',
                _POLICIES,
                lane=LANE,
            )
            await self._inner.add([plan(draft, task_id, now)])

    async def run(self) -> None:
        while True:
            await self._clock.pause(3_600)


class RateWorld(World):
    make_clients = RateClients


def check_rate(evidence: Evidence) -> list[str]:
    """Return every window with more claims than the rate, and whether entries were left waiting."""
    problems = list(evidence.doubts)
    claimed = sorted(run.claimed for run in evidence.runs.values() if run.claimed is not None)
    for first, beyond in zip(claimed, claimed[RATE.starts :], strict=False):
        if beyond - first < RATE.period:
            problems.append(f"rate exceeded in a window: {RATE.starts + 1} starts from {first} to {beyond}")
    is_waiting = any(entry.state is EntryState.PARKED for facts in evidence.facts.values() for entry in facts.entries)
    if is_waiting and max(claimed) < evidence.now - _LONGEST_PAUSE:
        problems.append(f"entries wait, and nothing has started since {max(claimed)}")
    return problems
