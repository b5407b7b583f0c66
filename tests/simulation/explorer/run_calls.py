"""Store calls of a node for its runs, from claim to settlement: dispatcher, runner, settler and releaser."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, combinations, product
from typing import Final

from tests.simulation.explorer.node_action import NodeAction, View
from tests.simulation.explorer.process import OUTCOMES, ActiveRun, Lease, Phase, Process
from tests.simulation.explorer.rules import Rules
from tests.simulation.explorer.scope import Fault
from tests.simulation.explorer.store_replay import Report, StoreReplay

_CAPACITY: Final = 2
_LOST_ANSWER: Final = ", and the answer is lost"


class RunCalls:
    def __init__(self, stage: StoreReplay, rules: Rules) -> None:
        self._stage = stage
        self._rules = rules

    def actions(self, view: View, node: str) -> Iterator[NodeAction]:
        process = view.process
        if not process.stopping and process.lease is Lease.HELD:
            yield from self._claims(view, node)
        for run in process.carried:
            if run.phase is Phase.ASKING:
                yield from self._asks(view, run)
            elif run.phase is Phase.CLAIMED:
                yield from self._starts(view, run)
            elif run.phase is Phase.GOING:
                yield from self._works(view, run)
            elif run.phase is Phase.LEAVING:
                yield from self._leaves_off(view, run)
        yield from self._settles(view)
        if process.handed_back:
            yield from self._hands_back(view)

    def _claims(self, view: View, node: str) -> Iterator[NodeAction]:
        process = view.process
        for room in range(1, _CAPACITY - len(process.carried) + 1):
            after, runs = self._stage.claim(view.at, view.now, node, room)
            if after == view.at:
                return
            told = f"{node} claims {self._named(runs)}, with room for {room}"
            yield NodeAction(told, after, _claimed(process, runs))
            if runs and Fault.SILENCE in view.kinds:
                yield NodeAction(told + _LOST_ANSWER, after, process, Fault.SILENCE)

    def _starts(self, view: View, run: ActiveRun) -> Iterator[NodeAction]:
        after, may = self._stage.start(view.at, view.now, run.run_id, run.token)
        told = f"{view.process.node} asks to start {self._named([run])}"
        begins = (may or not self._rules.heeds_start) and not run.ordered
        phase = Phase.GOING if begins else Phase.CUT
        yield NodeAction(
            f"{told}: {'yes' if may else 'no'}",
            after,
            view.process.with_carried(run._replace(phase=phase, ordered=False)),
        )
        if Fault.SILENCE in view.kinds:
            unsure = view.process.handing_back([run.claim])
            yield NodeAction(told + _LOST_ANSWER, after, unsure, Fault.SILENCE)
            yield NodeAction(f"{told}, and the question gets lost", view.at, unsure, Fault.SILENCE)

    def _asks(self, view: View, run: ActiveRun) -> Iterator[NodeAction]:
        """Ask the gate of a run: any answer may come."""
        process, name = view.process, self._named([run])
        at, is_careful = view.at, self._stage.is_careful(view.at, run.run_id)
        if is_careful and not self._rules.asks_first:
            at, _ = self._stage.start(view.at, view.now, run.run_id, run.token)
        self._stage.check_asked(at, run.run_id)
        is_started = not is_careful or not self._rules.asks_first
        opened = Phase.CUT if run.ordered else Phase.GOING if is_started else Phase.CLAIMED
        for answer, phase in (("open", opened), ("closed", Phase.CLOSED), ("failing", Phase.GATE_FAILED)):
            after = process.with_carried(run._replace(phase=phase, ordered=run.ordered and phase is Phase.CLAIMED))
            yield NodeAction(f"the gate of {name} is {answer}", at, after)

    def _works(self, view: View, run: ActiveRun) -> Iterator[NodeAction]:
        process, name = view.process, self._named([run])
        worked = process.with_carried(run._replace(phase=Phase.WORKED, ordered=False))
        yield NodeAction(f"{process.node} does the work of {name}", view.at, worked, worked=run.run_id)
        if run.ordered:
            cut = process.with_carried(run._replace(phase=Phase.CUT, ordered=False))
            yield NodeAction(f"{process.node} ends {name} on request", view.at, cut)

    def _leaves_off(self, view: View, run: ActiveRun) -> Iterator[NodeAction]:
        """It may or may not have done its work before it stopped."""
        process, name = view.process, self._named([run])
        left = process.handing_back([run.claim])
        yield NodeAction(f"{process.node} has stopped {name}", view.at, left)
        yield NodeAction(
            f"{process.node} has stopped {name} too late: its work is done", view.at, left, worked=run.run_id
        )

    def _settles(self, view: View) -> Iterator[NodeAction]:
        """Settle any batch of ended runs with any outcomes."""
        process = view.process
        ended = [run for run in process.carried if run.ended]
        for batch in chain.from_iterable(combinations(ended, size) for size in range(1, len(ended) + 1)):
            left = process.without(run.run_id for run in batch)
            for outcomes in product(*(OUTCOMES[run.phase] for run in batch)):
                reports = tuple((*run.claim, outcome) for run, outcome in zip(batch, outcomes, strict=True))
                after = self._stage.settle(view.at, view.now, reports)
                told = f"{process.node} settles {self._reported(reports)}"
                yield NodeAction(told, after, left)
                if Fault.SILENCE in view.kinds:
                    yield NodeAction(told + _LOST_ANSWER, after, process, Fault.SILENCE)

    def _hands_back(self, view: View) -> Iterator[NodeAction]:
        process = view.process
        after = self._stage.release(view.at, view.now, process.handed_back)
        told = f"{process.node} hands back {self._stage.named(run_id for run_id, _ in process.handed_back)}"
        yield NodeAction(told, after, process._replace(handed_back=()))
        if Fault.SILENCE in view.kinds:
            yield NodeAction(told + _LOST_ANSWER, after, process, Fault.SILENCE)

    def _reported(self, reports: Iterable[Report]) -> str:
        named = ((self._stage.named([run_id]), type(outcome).__name__.lower()) for run_id, _, outcome in reports)
        return " and ".join(f"{name} as {outcome}" for name, outcome in named)

    def _named(self, runs: Iterable[ActiveRun]) -> str:
        return self._stage.named(run.run_id for run in runs)


def _claimed(process: Process, runs: tuple[ActiveRun, ...]) -> Process:
    for run in runs:
        process = process.with_carried(run)
    return process
