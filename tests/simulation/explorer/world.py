"""All moves from a state: by a node, by a fault, by a client, by time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from horae.model.task import TaskState
from tests.simulation.explorer.invariants import InvariantViolation, most_effects
from tests.simulation.explorer.lease_calls import LeaseCalls
from tests.simulation.explorer.node_action import NodeAction, Peer, View
from tests.simulation.explorer.process import DOWN, Process
from tests.simulation.explorer.rules import Rules
from tests.simulation.explorer.run_calls import RunCalls
from tests.simulation.explorer.scope import MADE, Fault, Scope, Verb, Wish, instants
from tests.simulation.explorer.snapshot import SLOTS, mirrored, mirrored_name
from tests.simulation.explorer.store_replay import StoreReplay
from tests.simulation.explorer.value_numbers import ValueNumbers

_NO_FAULTS: Final[frozenset[Fault]] = frozenset()


class State(NamedTuple):
    """All by number: the moment of the store, the time, what each node knows, how often the work of each planned instant
    was really done; then how many faults are left, and which wishes."""

    at: int
    now: int
    nodes: tuple[int, int]
    effects: int
    faults: int
    wishes: int


class Move(NamedTuple):
    """`helpful`: it needs neither a fault nor a person's wish to come about."""

    told: str
    after: State
    helpful: bool


class _Numbered(NamedTuple):
    """A deed as it is remembered: the same for every state in which the node and the store are in this condition."""

    told: str
    at: int
    process: int
    fault: bool
    worked: int | None


_Deeds: TypeAlias = tuple[_Numbered, ...]


class World:
    def __init__(self, scope: Scope, rules: Rules) -> None:
        self.stage = StoreReplay(scope, rules)
        self._scope = scope
        self._carrying = RunCalls(self.stage, rules)
        self._keeping = LeaseCalls(self.stage, rules)
        self._instants = [(task, planned) for task in scope.tasks for planned in instants(task)]
        self._places = {(task.id, planned): place for place, (task, planned) in enumerate(self._instants)}
        self._times: ValueNumbers[datetime] = ValueNumbers()
        self._processes: ValueNumbers[Process] = ValueNumbers()
        self._effects: ValueNumbers[tuple[int, ...]] = ValueNumbers()
        self._deeds = cache(self._deeds_of)
        self._tidy = cache(self._tidied)
        self._later = cache(self._next_instant)
        self._image = cache(self._image_of)
        self._image_at = cache(self._image_of_moment)
        self._peer = cache(self._peer_of)
        self._one_more = cache(self._one_more_effect)
        down = self._processes.number(DOWN)
        untouched = self._effects.number((0,) * len(self._instants))
        wishes = (1 << len(scope.wishes)) - 1
        self.beginning = State(0, self._times.number(MADE), (down, down), untouched, scope.faults, wishes)

    def is_over(self, state: State) -> bool:
        """Whether everything has ended: no live run, and no task waits for a client."""
        moment = self.stage.moments[state.at]
        return (
            moment.quiet
            and not any(self._processes[number].busy for number in state.nodes)
            and all(standing.state is not TaskState.PAUSED for standing in moment.standings)
        )

    def canonical(self, state: State) -> State:
        """Canonical one of a state and its mirror image, which behave alike."""
        first, second = state.nodes
        image = self._image(second), self._image(first)
        if image > state.nodes:
            return state
        at = self._image_at(state.at)
        return state if image == state.nodes and at >= state.at else state._replace(at=at, nodes=image)

    def _image_of(self, number: int) -> int:
        process = self._processes[number]
        return self._processes.number(
            process if process.node is None else process._replace(node=mirrored_name(process.node))
        )

    def _image_of_moment(self, at: int) -> int:
        return self.stage.moments.number(mirrored(self.stage.moments[at]))

    def moves(self, state: State) -> Iterator[Move]:
        yield from self._time(state)
        yield from self._people(state)
        for slot in range(len(SLOTS)):
            yield from self._node(state, slot)

    # --- nodes -------------------------------------------------------------------------------------------------------

    def _node(self, state: State, slot: int) -> Iterator[Move]:
        at, now, nodes, effects, faults, wishes = state
        other = nodes[1 - slot]
        kinds = self._scope.kinds if faults else _NO_FAULTS
        for told, after, process, fault, worked in self._deeds(slot, at, now, nodes[slot], self._peer(other), kinds):
            done = effects if worked is None else self._one_more(at, effects, worked)
            peer = other if after == at else self._tidy(after, other)
            pair = (peer, process) if slot else (process, peer)
            yield Move(told, State(after, now, pair, done, faults - fault, wishes), not fault)

    def _deeds_of(self, slot: int, at: int, now: int, process: int, peer: Peer, kinds: frozenset[Fault]) -> _Deeds:
        view = View(at, self._times[now], self._processes[process], SLOTS[slot], peer, kinds)
        return tuple(
            self._numbered(view, deed)
            for deed in self._unnumbered(view)
            if deed.at != at or deed.process != view.process
        )

    def _unnumbered(self, view: View) -> Iterator[NodeAction]:
        node = view.process.node
        if node is None:
            yield self._keeping.joins(view)
        else:
            yield from self._carrying.actions(view, node)
            yield from self._keeping.actions(view, node)

    def _numbered(self, view: View, deed: NodeAction) -> _Numbered:
        at = self.stage.without_the_dead(deed.at, deed.process.node, view.peer.node)
        process = self._tidy(at, self._processes.number(deed.process))
        worked = None if deed.worked is None else self._place_of(view.at, deed.worked)
        return _Numbered(deed.told, at, process, deed.fault is not None, worked)

    def _place_of(self, at: int, run_id: str) -> int:
        run = self.stage.moments[at].run(run_id)
        if run is None:
            raise InvariantViolation("a node carries a run that is in no ledger")
        return self._places[run.task_id, run.planned]

    def _tidied(self, at: int, process: int) -> int:
        return self._processes.number(self._processes[process].without_refused(self.stage.live(at)))

    def _peer_of(self, process: int) -> Peer:
        return Peer(self._processes[process].node, self._processes[process].lease)

    def _one_more_effect(self, at: int, effects: int, place: int) -> int:
        counts = list(self._effects[effects])
        counts[place] += 1
        task, planned = self._instants[place]
        most = most_effects(task, planned, self.stage.moments[at])
        if counts[place] > most:
            self.stage.under_way = f"the work of {task.name} is done once more"
            raise InvariantViolation(
                f"the work of {task.name} was done {counts[place]} times, where {most} were allowed"
            )
        return self._effects.number(tuple(counts))

    # --- time and people ---------------------------------------------------------------------------------------------

    def _time(self, state: State) -> Iterator[Move]:
        later = self._later(state.at, state.now)
        if later is not None:
            yield Move(f"time passes until {self._times[later]:%H:%M:%S}", state._replace(now=later), helpful=True)

    def _next_instant(self, at: int, now: int) -> int | None:
        """The next one at which anything comes due, whether or not it could be claimed as things are."""
        instants = (entry.due for entry in self.stage.moments[at].entries if entry.due > self._times[now])
        later = min(instants, default=None)
        return None if later is None else self._times.number(later)

    def _people(self, state: State) -> Iterator[Move]:
        for place, wish in enumerate(self._scope.wishes):
            if state.wishes >> place & 1:
                yield from self._asked(state, wish, state.wishes ^ 1 << place)
        for place, standing in enumerate(self.stage.moments[state.at].standings):
            if standing.state is TaskState.PAUSED:
                yield from self._asked(state, Wish(Verb.RESUME, place), state.wishes, helpful=True)

    def _asked(self, state: State, wish: Wish, left: int, *, helpful: bool = False) -> Iterator[Move]:
        after = self.stage.ask(state.at, self._times[state.now], wish.verb, wish.place)
        if after is not None:
            first, second = (self._tidy(after, process) for process in state.nodes)
            asked = state._replace(at=after, nodes=(first, second), wishes=left)
            yield Move(f"client: {wish.verb} {self.stage.tasks[wish.place].name}", asked, helpful)
