"""Snapshot of a store as a value: equal snapshots behave alike from there on."""

from __future__ import annotations

from typing import Final, NamedTuple

from horae.model.chain_row import ChainRow
from horae.model.entry import Entry
from horae.model.ids import EPOCH
from horae.model.run import Run
from horae.model.task import TaskState, TaskStatus

SLOTS: Final = "ab"
"""The letters of the two nodes; each stay adds a number."""


class Snapshot(NamedTuple):
    """`standings` are in the order of the scope's tasks; everything else is sorted."""

    standings: tuple[TaskStatus, ...]
    entries: tuple[Entry, ...]
    runs: tuple[Run, ...]
    nodes: tuple[str, ...]
    chain_rows: tuple[ChainRow, ...] = ()

    @property
    def token(self) -> int:
        """No token that is still in use is higher."""
        return max((run.token for run in self.runs), default=0)

    @property
    def quiet(self) -> bool:
        """Nothing will come due any more, and nothing goes on."""
        return not self.entries and not any(run.live for run in self.runs)

    def run(self, run_id: str) -> Run | None:
        for run in self.runs:
            if run.id == run_id:
                return run
        return None


def canonical(raw: Snapshot, known: Snapshot | None = None) -> Snapshot:
    """Without what no decision asks for: when things happened, what came of them, how many renewals and claims there were.

    Rows that are still the very ones of a `known` moment need not be looked at again.
    """
    same = set() if known is None else {id(row) for row in (*known.standings, *known.runs)}
    return raw._replace(
        standings=tuple(each if id(each) in same else _standing(each) for each in raw.standings),
        runs=tuple(run if id(run) in same else _live(run) if run.live else _ended(run) for run in raw.runs),
    )


def canonical_token(run: Run) -> int:
    """A run keeps one token for life, and later attempts have higher ones: the attempt says as much."""
    return run.attempt if run.token else 0


def _standing(standing: TaskStatus) -> TaskStatus:
    pause = standing.pause
    return standing._replace(
        last_end=None,
        last_result=None,
        pause=None if pause is None else pause._replace(since=EPOCH),
        # Instants after a cancellation need no outcome, so that one instant is kept.
        ended=standing.ended if standing.state is TaskState.CANCELLED else None,
    )


def _live(run: Run) -> Run:
    return run._replace(due=run.planned, token=canonical_token(run), claimed=None, started=None, deadline=None)


def _ended(run: Run) -> Run:
    return run._replace(
        due=run.planned,
        token=canonical_token(run),
        node=None,
        claimed=None,
        started=None,
        ended=None,
        deadline=None,
        deaths=0,
        alone=False,
        cancel=None,
        lanes=(),
        result_json=None,
        error=None,
    )


def mirrored(moment: Snapshot) -> Snapshot:
    """The same with the two nodes in each other's place: whatever can happen from one can happen from the other."""
    return moment._replace(
        runs=tuple(run if run.node is None else run._replace(node=mirrored_name(run.node)) for run in moment.runs),
        nodes=tuple(sorted(mirrored_name(node) for node in moment.nodes)),
    )


def mirrored_name(node: str) -> str:
    """`a1` for `b1`, and `b1` for `a1`."""
    return SLOTS[1 - SLOTS.index(node[0])] + node[1:]
