"""A simulated cluster that runs chains: flaky and killing targets, crashes between links, and the check of every root."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from typing import Final

from horae.lifecycle.chain import FIRING_STATES
from horae.lifecycle.plan import Draft, plan
from horae.model.change import Facts
from horae.model.ids import ENTROPY_BYTES, make_id
from horae.model.origin import Origin, RootOccurrence
from horae.model.policy import Missed, Policies, RetryPolicy
from horae.model.reason import Reason
from horae.model.run import Run, RunState
from horae.model.task import Target
from horae.schedule import After, Every, Link, Schedule
from horae.schedule.after import Mode, On
from tests.simulation.clients import Clients
from tests.simulation.evidence import Evidence
from tests.simulation.target_behaviours import Behaviour
from tests.simulation.world import World

MINUTE: Final = timedelta(minutes=1)
_POLICIES: Final = Policies(
    overlap="queue_all", missed=Missed("all", None, 1_000), retry=RetryPolicy(2, MINUTE), give_up_after=None
)
_CHAINS: Final[dict[str, tuple[Behaviour, Mode, dict[str, On]]]] = {
    "b": (Behaviour.FLAKY, "any", {"a": "ended"}),
    "c": (Behaviour.KILLER, "any", {"a": "failed"}),
    "d": (Behaviour.KILLER, "any", {"b": "ended"}),
    "e": (Behaviour.FLAKY, "all", {"b": "ended", "d": "succeeded"}),
    "f": (Behaviour.STEADY, "any", {"b": "ended", "d": "ended"}),
}
"""By name: what its target does, its mode, and how its predecessors must end."""


class ChainClients(Clients):
    """Clients that add the chains and then leave the cluster alone."""

    async def add_initial_tasks(self, count: int) -> None:  # noqa: ARG002 - the chains are always the same
        ids = {"a": await self._add_chained("a", Every(interval=20 * MINUTE), Behaviour.FLAKY)}
        for name, (behaviour, mode, links) in _CHAINS.items():
            schedule = After(tuple(Link(ids[task], on) for task, on in links.items()), mode)
            ids[name] = await self._add_chained(name, schedule, behaviour)

    async def _add_chained(self, name: str, schedule: Schedule, behaviour: Behaviour) -> str:
        now = self._clock.now()
        task_id = make_id("tsk", now, self._dice.randbytes(ENTROPY_BYTES))
        draft = Draft("ada", name, schedule, Target("simulated", "{}"), f'"{behaviour.value}"', _POLICIES)
        await self._inner.add([plan(draft, task_id, now)])
        return task_id

    async def run(self) -> None:
        while True:
            await self._clock.pause(3_600)


class ChainWorld(World):
    make_clients = ChainClients


def check_chains(evidence: Evidence) -> list[str]:
    """Return every contradiction between the ends of predecessors and the occurrences of their successors."""
    facts = {each.task.name: each for each in evidence.facts.values()}
    ends = _final_states(evidence)
    problems = [f"the integrity check found: {doubt}" for doubt in evidence.doubts]
    for root in ends[facts["a"].task.id]:
        problems += _check_root(facts, ends, root)
    return problems


def _final_states(evidence: Evidence) -> dict[str, dict[RootOccurrence, list[Run]]]:
    """By task and root: the last run of each occurrence that has ended."""
    open_occurrences = {
        (task_id, entry.origin, entry.planned) for task_id, facts in evidence.facts.items() for entry in facts.entries
    }
    open_occurrences |= {(run.task_id, run.origin, run.planned) for run in evidence.runs.values() if run.live}
    last: dict[tuple[str, Origin, object], Run] = {}
    for run in evidence.runs.values():
        key = (run.task_id, run.origin, run.planned)
        if key not in open_occurrences and (key not in last or last[key].attempt < run.attempt):
            last[key] = run
    found: dict[str, dict[RootOccurrence, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in last.values():
        found[run.task_id][run.root].append(run)
    return found


def _check_root(
    facts: dict[str, Facts], ends: dict[str, dict[RootOccurrence, list[Run]]], root: RootOccurrence
) -> list[str]:
    problems: list[str] = []
    for name, (_, mode, links) in _CHAINS.items():
        runs = ends[facts[name].task.id].get(root, [])
        predecessors = {task: ends[facts[task].task.id].get(root, []) for task in links}
        states = {task: _state_for(found) for task, found in predecessors.items()}
        if None in states.values():
            # A predecessor has not ended, or was not started for this root.
            continue
        if _has_given_up(facts[name], [run for found in predecessors.values() for run in found]):
            continue
        fired = [state in FIRING_STATES[on] for state, on in zip(states.values(), links.values(), strict=True)]
        is_expected = all(fired) if mode == "all" else any(fired)
        # What waits when its task is quarantined has fired, and is skipped with that reason.
        started = [run for run in runs if run.state is not RunState.SKIPPED or run.reason is Reason.QUARANTINED]
        if len(started) != is_expected and not _is_open(runs):
            problems.append(f"{name} has {len(started)} runs for {root}, although {states} (mode {mode})")
        if mode == "all" and not is_expected and len(runs) != 1:
            problems.append(f"{name} has no record for {root}, although {states}")
    return problems


def _has_given_up(facts: Facts, predecessors: list[Run]) -> bool:
    """Whether the task was quarantined before one of these runs ended: its links fire no more."""
    gave_up = facts.status.ended
    return gave_up is not None and any(run.ended is not None and run.ended >= gave_up for run in predecessors)


def _state_for(runs: list[Run]) -> RunState | None:
    return runs[0].state if len(runs) == 1 else None


def _is_open(runs: list[Run]) -> bool:
    return any(run.live for run in runs)
