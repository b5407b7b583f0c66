"""Every move that can be made next: by a node, by chance, by a person, by time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cache
from itertools import chain, combinations
from typing import Final, NamedTuple

from ...model.task import TaskState
from .process import CLAIMS_NOTHING, DOWN, MAY_BE_TAKEN_FOR_DEAD, Carried, Lease, Phase, Process
from .promises import BrokenPromise, most_effects
from .rules import Rules
from .scope import MADE, Scope, Verb, Wish, instants
from .stage import Stage

_SLOTS: Final = ("a", "b")
_CAPACITY: Final = 2
_STAYS: Final = 6
"""More names than a slot can ever need at once."""


class State(NamedTuple):
    """`at` is a moment of the stage; `effects` counts how often the work of each planned instant was really done."""

    at: int
    now: datetime
    processes: tuple[Process, ...]
    effects: tuple[int, ...]
    faults: int
    wishes: tuple[Wish, ...]


class Move(NamedTuple):
    """`helpful`: it needs no fault and no person to come about."""

    deed: str
    after: State
    helpful: bool = True


class World:
    def __init__(self, scope: Scope, rules: Rules) -> None:
        self.stage = Stage(scope, rules)
        self._rules = rules
        self._places = {task.id: place for place, task in enumerate(scope.tasks)}
        self._instants = [(task, planned) for task in scope.tasks for planned in instants(task)]
        self._index = {(task.id, planned): number for number, (task, planned) in enumerate(self._instants)}
        self._tidied = cache(self._without_refused)
        self.beginning = State(0, MADE, (DOWN,) * len(_SLOTS), (0,) * len(self._instants), scope.faults, scope.wishes)

    def is_over(self, state: State) -> bool:
        """All has ended, nobody carries anything, and no task waits for a person."""
        moment = self.stage.moments[state.at]
        return (
            moment.quiet
            and not any(process.busy for process in state.processes)
            and all(standing.state is not TaskState.PAUSED for standing in moment.standings)
        )

    def tidied(self, state: State) -> State:
        """Without what nobody can notice any more: reports of runs that have ended otherwise. That the store refuses those
        is tried in every single moment, so they need not be carried about to be tried again."""
        return state._replace(processes=tuple(self._tidied(state.at, each) for each in state.processes))

    def _without_refused(self, at: int, process: Process) -> Process:
        live = {run.id for run in self.stage.moments[at].runs if run.live}
        return process._replace(
            carried=tuple(each for each in process.carried if not each.ended or each.run_id in live),
            handed_back=tuple(each for each in process.handed_back if each[0] in live),
        )

    def moves(self, state: State) -> Iterator[Move]:
        yield from self._time(state)
        yield from self._people(state)
        for slot, process in enumerate(state.processes):
            if process.node is None:
                yield self._joins(state, slot, "starts and joins")
            else:
                yield from self._carries(state, slot, process)
                yield from self._keeps(state, slot, process, process.node)
                yield from self._stops(state, slot, process, process.node)

    # --- time and people ---------------------------------------------------------------------------------------------

    def _time(self, state: State) -> Iterator[Move]:
        later = [entry.due for entry in self.stage.moments[state.at].entries if entry.due > state.now]
        if later:
            yield Move(f"time passes until {min(later):%H:%M:%S}", state._replace(now=min(later)))

    def _people(self, state: State) -> Iterator[Move]:
        for wish in state.wishes:
            after = self.stage.ask(state.at, state.now, wish.verb, wish.place)
            if after is not None:
                left = tuple(other for other in state.wishes if other != wish)
                yield Move(self._wish(wish), state._replace(at=after, wishes=left), helpful=False)
        for place, standing in enumerate(self.stage.moments[state.at].standings):
            if standing.state is TaskState.PAUSED:
                after = self.stage.ask(state.at, state.now, Verb.RESUME, place)
                if after is not None:
                    yield Move(self._wish(Wish(Verb.RESUME, place)), state._replace(at=after))

    def _wish(self, wish: Wish) -> str:
        return f"somebody says: {wish.verb} {self.stage.tasks[wish.place].name}"

    # --- runs, from claim to settlement ------------------------------------------------------------------------------

    def _carries(self, state: State, slot: int, process: Process) -> Iterator[Move]:
        yield from self._claims(state, slot, process)
        for run in process.carried:
            if run.phase is Phase.CLAIMED:
                yield from self._starts(state, slot, process, run)
            elif run.phase is Phase.GOING:
                yield from self._works(state, slot, process, run)
        yield from self._settles(state, slot, process)
        yield from self._hands_back(state, slot, process)

    def _claims(self, state: State, slot: int, process: Process) -> Iterator[Move]:
        if process.node is None or process.stopping or process.lease in CLAIMS_NOTHING:
            return
        for room in range(1, _CAPACITY - len(process.carried) + 1):
            after, runs = self.stage.claim(state.at, state.now, process.node, room)
            if after == state.at:
                return
            told = self._says(state, slot, f"claims {self._named(runs)}")
            # A process that was halted in the middle of a claim looks at its lease before it makes another.
            deaf = process._replace(lease=Lease.NOTICED) if process.lease is Lease.LAPSED else process
            carrying = deaf
            for run in runs:
                carrying = carrying.with_carried(run)
            yield Move(told, _with(state, slot, carrying, after))
            if runs and state.faults:
                yield _fault(f"{told}, and never hears the answer", _with(state, slot, deaf, after))

    def _starts(self, state: State, slot: int, process: Process, run: Carried) -> Iterator[Move]:
        after, may = self.stage.start(state.at, state.now, run.run_id, run.token)
        told = self._says(state, slot, f"asks to start {self._named([run])}")
        next_phase = Phase.GOING if may or not self._rules.heeds_start else Phase.CANCELLED
        started = process.with_carried(run._replace(phase=next_phase))
        yield Move(f"{told}: {'yes' if may else 'no'}", _with(state, slot, started, after))
        if state.faults:
            unsure = process.handing_back([(run.run_id, run.token)])
            yield _fault(f"{told}, and never hears the answer", _with(state, slot, unsure, after))
            yield _fault(f"{told}, and the question is lost", _with(state, slot, unsure, state.at))

    def _works(self, state: State, slot: int, process: Process, run: Carried) -> Iterator[Move]:
        name = self._named([run])
        worked = state._replace(effects=self._one_more_effect(state, run))
        for phase in (Phase.SUCCEEDED, Phase.FAILED):
            told = self._says(state, slot, f"does the work of {name}: it {phase}")
            yield Move(told, _with(worked, slot, process.with_carried(run._replace(phase=phase))))
        if run.ordered:
            ended = process.with_carried(run._replace(phase=Phase.CANCELLED, ordered=False))
            yield Move(self._says(state, slot, f"ends {name} as it was told"), _with(state, slot, ended))

    def _one_more_effect(self, state: State, carried: Carried) -> tuple[int, ...]:
        moment = self.stage.moments[state.at]
        run = moment.run(carried.run_id)
        if run is None:
            raise BrokenPromise("a node carries a run that is in no ledger")
        number = self._index[run.task_id, run.planned]
        effects = list(state.effects)
        effects[number] += 1
        task, planned = self._instants[number]
        most = most_effects(task, planned, moment)
        if effects[number] > most:
            raise BrokenPromise(f"the work of {task.name} was done {effects[number]} times, and {most} were allowed")
        return tuple(effects)

    def _settles(self, state: State, slot: int, process: Process) -> Iterator[Move]:
        ended = [run for run in process.carried if run.ended]
        for batch in chain.from_iterable(combinations(ended, size) for size in range(1, len(ended) + 1)):
            after = self.stage.settle(state.at, state.now, batch)
            told = self._says(state, slot, f"settles {self._named(batch)}")
            settled = process.without(run.run_id for run in batch)
            yield Move(told, _with(state, slot, settled, after))
            if state.faults:
                yield _fault(f"{told}, and never hears the answer", _with(state, slot, process, after))

    def _hands_back(self, state: State, slot: int, process: Process) -> Iterator[Move]:
        if not process.handed_back:
            return
        after = self.stage.release(state.at, state.now, process.handed_back)
        told = self._says(state, slot, f"hands back {self._named_ids(run_id for run_id, _ in process.handed_back)}")
        yield Move(told, _with(state, slot, process._replace(handed_back=()), after))
        if state.faults:
            yield _fault(f"{told}, and never hears the answer", _with(state, slot, process, after))

    # --- the lease ---------------------------------------------------------------------------------------------------

    def _keeps(self, state: State, slot: int, process: Process, node: str) -> Iterator[Move]:
        if process.lease is Lease.LOST:
            yield self._joins(state, slot, "joins again under a new name")
            if state.faults:
                lost = self._joins(state, slot, "joins again, and never hears the answer")
                yield _fault(lost.deed, _with(lost.after, slot, process))
            return
        yield self._renews(state, slot, process, node)
        if process.lease in MAY_BE_TAKEN_FOR_DEAD and process.has_unended:
            stopped = process.letting_go()._replace(lease=Lease.NOTICED)
            yield Move(self._says(state, slot, "stops what it can no longer hold"), _with(state, slot, stopped))
        if process.lease not in MAY_BE_TAKEN_FOR_DEAD and state.faults:
            lapsed = process._replace(lease=Lease.LAPSED)
            yield _fault(f"the lease of {node} lapses while it goes on", _with(state, slot, lapsed))
        yield from self._looks_back(state, slot, process)
        yield from self._recovers(state, slot, node)

    def _joins(self, state: State, slot: int, deed: str) -> Move:
        taken = {*self.stage.moments[state.at].nodes, state.processes[slot].node}
        node = next(name for number in range(_STAYS) if (name := f"{_SLOTS[slot]}{number + 1}") not in taken)
        after = self.stage.join(state.at, node)
        process = state.processes[slot]._replace(node=node, lease=Lease.HELD)
        return Move(f"{node} {deed}", _with(state, slot, process, after))

    def _renews(self, state: State, slot: int, process: Process, node: str) -> Move:
        extended = self.stage.extend(state.at, node)
        if not extended.held:
            lost = process.letting_go()._replace(lease=Lease.LOST)
            return Move(
                self._says(state, slot, "renews its lease: it is gone"), _with(state, slot, lost, extended.after)
            )
        renewed = process
        if process.lease in MAY_BE_TAKEN_FOR_DEAD:
            renewed = process.letting_go()._replace(lease=Lease.RENEWED_LATE)
        told = self._says(state, slot, "renews its lease")
        return Move(told, _with(state, slot, renewed.obeying(extended.orders), extended.after))

    def _looks_back(self, state: State, slot: int, process: Process) -> Iterator[Move]:
        """What the store has under its name and it does not carry must have come from a claim without an answer."""
        if not self._rules.looks_back:
            return
        known = {run.run_id for run in process.carried} | {run_id for run_id, _ in process.handed_back}
        forgotten = [
            (run.id, run.token)
            for run in self.stage.moments[state.at].runs
            if run.live and run.node == process.node and run.id not in known
        ]
        if forgotten:
            told = self._says(state, slot, f"finds {self._named_ids(run_id for run_id, _ in forgotten)} under its name")
            yield Move(told, _with(state, slot, process.handing_back(forgotten)))

    def _recovers(self, state: State, slot: int, node: str) -> Iterator[Move]:
        for other in self.stage.moments[state.at].nodes:
            if other == node:
                continue
            holder = next((place for place, each in enumerate(state.processes) if each.node == other), None)
            lease = Lease.LAPSED if holder is None else state.processes[holder].lease
            if lease in MAY_BE_TAKEN_FOR_DEAD:
                after, _ = self.stage.recover(state.at, state.now, other, outdated=False)
                yield Move(self._says(state, slot, f"recovers {other}"), state._replace(at=after))
            elif lease is Lease.RENEWED_LATE and holder is not None:
                after, _ = self.stage.recover(state.at, state.now, other, outdated=True)
                seen = state.processes[holder]._replace(lease=Lease.HELD)
                yield Move(
                    self._says(state, slot, f"tries to recover {other}, too late"), _with(state, holder, seen, after)
                )

    # --- the end of a process ----------------------------------------------------------------------------------------

    def _stops(self, state: State, slot: int, process: Process, node: str) -> Iterator[Move]:
        if state.faults:
            yield _fault(f"{node} crashes", _with(state, slot, DOWN))
            if not process.stopping:
                stopping = process._replace(stopping=True)
                yield _fault(f"{node} is told to stop", _with(state, slot, stopping))
        if not process.stopping:
            return
        if process.has_unended:
            yield Move(self._says(state, slot, "waits no longer"), _with(state, slot, process.letting_go()))
        if not process.busy:
            after = self.stage.leave(state.at, node)
            yield Move(self._says(state, slot, "leaves"), _with(state, slot, DOWN, after))

    # --- words -------------------------------------------------------------------------------------------------------

    def _says(self, state: State, slot: int, deed: str) -> str:
        return f"{state.processes[slot].node} {deed}"

    def _named(self, runs: Iterable[Carried]) -> str:
        return self._named_ids(run.run_id for run in runs)

    def _named_ids(self, run_ids: Iterable[str]) -> str:
        return " and ".join(self.stage.names[run_id] for run_id in run_ids) or "nothing"


def _with(state: State, slot: int, process: Process, at: int | None = None) -> State:
    """One process in another state, and the store in another moment if there is one."""
    processes = (*state.processes[:slot], process, *state.processes[slot + 1 :])
    return state._replace(processes=processes, at=state.at if at is None else at)


def _fault(deed: str, after: State) -> Move:
    return Move(deed, after._replace(faults=after.faults - 1), helpful=False)
