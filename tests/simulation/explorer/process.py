"""State of a node process in the explorer: its lease and runs, lost at a crash."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from horae.model.outcome import Cancelled, Failed, Outcome, Skipped, Succeeded
from horae.model.reason import Reason


class Lease(StrEnum):
    HELD = "held"
    LAPSED = "lapsed"
    """It has not renewed for so long that others may take it for dead, whether or not it goes on. It claims nothing more."""
    LOST = "lost"
    """It has learned that others took it for dead, and needs a new name."""


class Phase(StrEnum):
    ASKING = "asking"
    """Its gate has to be asked before it may start."""
    CLAIMED = "claimed"
    """Must be written down as started before it may start."""
    GOING = "going"
    LEAVING = "leaving"
    """Cancelled because its node abandoned it; it may still do work, then it is released."""
    WORKED = "worked"
    """Its work is done; success or failure is chosen at the settlement."""
    CUT = "cut"
    """Cancelled on request before its work was done."""
    CLOSED = "closed"
    """Its gate was closed."""
    GATE_FAILED = "gate failed"
    """Its gate gave no verdict."""


WITHOUT_WORK: Final = (Phase.ASKING, Phase.CLAIMED)
"""Phases in which the target has not been called."""


OUTCOMES: Final[dict[Phase, tuple[Outcome, ...]]] = {
    Phase.WORKED: (Succeeded(), Failed("it failed")),
    Phase.CUT: (Cancelled(),),
    Phase.CLOSED: (Skipped("nothing to do", Reason.GATE_CLOSED),),
    Phase.GATE_FAILED: (Skipped("it broke", Reason.GATE_FAILED),),
}


class ActiveRun(NamedTuple):
    """`ordered`: the node knows the cancel request of the run."""

    run_id: str
    token: int
    phase: Phase
    ordered: bool = False

    @property
    def ended(self) -> bool:
        """The target has returned; the settlement is left."""
        return self.phase in OUTCOMES

    @property
    def claim(self) -> tuple[str, int]:
        return self.run_id, self.token


class Process(NamedTuple):
    """`node` is None while it is down. `handed_back` are the runs that it will release."""

    node: str | None = None
    lease: Lease = Lease.HELD
    stopping: bool = False
    carried: tuple[ActiveRun, ...] = ()
    handed_back: tuple[tuple[str, int], ...] = ()

    @property
    def busy(self) -> bool:
        return bool(self.carried or self.handed_back)

    @property
    def can_let_go(self) -> bool:
        return any(run.phase in (*WITHOUT_WORK, Phase.GOING) for run in self.carried)

    def knows(self, run_id: str) -> bool:
        return any(run.run_id == run_id for run in self.carried) or any(
            known == run_id for known, _ in self.handed_back
        )

    def with_carried(self, run: ActiveRun) -> Process:
        """Copy with this run replaced."""
        others = (each for each in self.carried if each.run_id != run.run_id)
        return self._replace(carried=tuple(sorted((*others, run))))

    def without(self, run_ids: Iterable[str]) -> Process:
        gone = set(run_ids)
        return self._replace(carried=tuple(each for each in self.carried if each.run_id not in gone))

    def handing_back(self, claims: Iterable[tuple[str, int]]) -> Process:
        wanted = tuple(claims)
        left = self.without(run_id for run_id, _ in wanted)
        return left._replace(handed_back=tuple(sorted({*self.handed_back, *wanted})))

    def letting_go(self) -> Process:
        """Abandon all runs: running ones are cancelled, others are released at once."""
        left = self.handing_back(run.claim for run in self.carried if run.phase in WITHOUT_WORK)
        carried = (
            run._replace(phase=Phase.LEAVING, ordered=False) if run.phase is Phase.GOING else run
            for run in left.carried
        )
        return left._replace(carried=tuple(carried))

    def obeying(self, orders: frozenset[str]) -> Process:
        carried = (
            run._replace(ordered=True) if run.phase in (*WITHOUT_WORK, Phase.GOING) and run.run_id in orders else run
            for run in self.carried
        )
        return self._replace(carried=tuple(carried))

    def without_refused(self, live: frozenset[str]) -> Process:
        """Without reports of runs that have ended otherwise. That the store refuses those is tried in every single moment,
        so they need not be carried about to be tried again."""
        return self._replace(
            carried=tuple(run for run in self.carried if not run.ended or run.run_id in live),
            handed_back=tuple(claim for claim in self.handed_back if claim[0] in live),
        )


DOWN: Final = Process()
