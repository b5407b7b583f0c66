"""World of a task that runs after others: their ends are given, and its links are followed as a store does."""

from __future__ import annotations

import random
from typing import Any

from horae.lifecycle.chain import OccurrenceEnd, follow_link
from horae.model.chain_row import ChainRow
from horae.model.entry import EntryKind, EntryState
from horae.model.origin import Origin, RootOccurrence
from horae.model.outcome import Failed, Outcome, Succeeded
from horae.model.run import RunState
from horae.model.task import TaskState
from horae.schedule import After, Link
from horae.schedule.after import Mode
from tests.unit.lifecycle.task_world import MINUTE, NOON, SECOND, World


class ChainWorld(World):
    def __init__(self, *links: Link, mode: Mode = "any", **chosen: Any) -> None:
        self.rows: dict[RootOccurrence, ChainRow] = {}
        self.skipped: list[OccurrenceEnd] = []
        super().__init__(After(links or (Link("tsk_a"),), mode), **chosen)

    def end_of(
        self, name: str = "tsk_a", state: RunState = RunState.SUCCEEDED, root: int = 0, run_id: str | None = "run_a"
    ) -> OccurrenceEnd:
        return OccurrenceEnd(name, ("tsk_1",), self.root(root), state, run_id, self.now)

    def root(self, number: int) -> RootOccurrence:
        return RootOccurrence("tsk_a", Origin.SCHEDULED, NOON + number * MINUTE)

    def predecessor_ends(
        self,
        name: str = "tsk_a",
        state: RunState = RunState.SUCCEEDED,
        root: int = 0,
        awaited: tuple[str, ...] | None = None,
    ) -> ChainRow | None:
        """Follow the end of a predecessor; return the row of that root."""
        assert isinstance(self.task.schedule, After)
        end = self.end_of(name, state, root)
        planned = max((row.planned for row in self.rows.values() if row.planned is not None), default=None)
        expected = self.task.schedule.predecessors if awaited is None else awaited
        change, skipped = follow_link(self.facts, self.rows.get(end.root), end, expected, planned)
        self.apply(change)
        self.rows.update((row.root, row) for row in change.chain_rows)
        self.skipped += () if skipped is None else (skipped,)
        return self.rows.get(end.root)


def chain_moves() -> set[tuple[EntryKind, EntryState | None, EntryState | None]]:
    """Transitions of chained entries in some lives."""
    moves: set[tuple[EntryKind, EntryState | None, EntryState | None]] = set()
    for seed in range(60):
        dice = random.Random(seed)
        overlap = dice.choice(["skip", "queue", "queue_all", "replace", "parallel"])
        world = ChainWorld(lane=dice.choice([None, "lane"]), overlap=overlap)
        for root in range(12):
            world.now += SECOND
            step = dice.randrange(7)
            if step < 3:
                world.predecessor_ends(root=root)
            elif step == 3:
                world.others = 1 - world.others
                world.fill_lane_slots()
            elif step == 4 and world.held_runs:
                outcome: Outcome = Failed("") if dice.randrange(2) else Succeeded()
                world.settle(outcome, world.held_runs[0])
            elif step == 5 and world.state is TaskState.ACTIVE:
                world.pause()
            elif step == 6 and world.state is TaskState.PAUSED:
                world.resume()
            if dice.randrange(3):
                world.claim_all()
        moves |= {move for move in world.moves if move[0] is EntryKind.CHAIN}
    return moves
