"""Record of a simulation: faults, client actions, target calls, claims and settlements, written as they happen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from horae.model.change import Change
from horae.model.entry import Entry
from horae.model.events.event import NumberedEvent
from horae.model.run import Origin, Run
from horae.virtual_time import VirtualClock


class Note(NamedTuple):
    """One line of the replay log."""

    steady: float
    wall: datetime
    who: str
    what: str


class Verdict(StrEnum):
    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Action(NamedTuple):
    """A client action on a task, a lane or an owner.

    `place` is where it stands among all commits, told by the last events before and after it; None when it was not
    committed. The simulation knows it even if the client does not.
    """

    kind: str
    subject: str
    steady: float
    now: datetime
    detail: Any
    verdict: Verdict
    place: tuple[int, int] | None
    change: Change | None = None


class TargetCall(NamedTuple):
    """One call of a target; `ended` is None during the call. Times are of the steady clock."""

    run_id: str
    task_id: str
    origin: Origin
    planned: datetime
    attempt: int
    key: str
    token: int
    alone: bool
    life: str
    started: float
    ended: float | None = None
    died: bool = False
    """Its process went, and took it along."""
    for_good: bool = False
    """It failed, and said that trying again is of no use."""
    payload: str = ""


class GateRecord(NamedTuple):
    """One call of a gate, by run; `answer` is empty until the gate has answered."""

    run_id: str
    occurrence: str
    answer: str = ""


class ClaimRecord(NamedTuple):
    """A claimed run as the store returned it."""

    run: Run
    life: str
    steady: float
    now: datetime


class SettlementRecord(NamedTuple):
    """A report on a run, by token, and whether the store refused it as stale."""

    kind: str
    run_id: str
    token: int
    stale: bool
    probe: bool


class ForeignCall(NamedTuple):
    """A call on a foreign task: its answer, and the answer to the same call on an absent task."""

    who: str
    verb: str
    task_id: str
    foreign: str
    nobodys: str


class AgendaSnapshot(NamedTuple):
    """Agenda of a task right after a claim, when all events up to `number` were written."""

    task_id: str
    number: int
    entries: tuple[Entry, ...]


class History:
    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.notes: list[Note] = []
        self.faults: Counter[str] = Counter()
        self.actions: list[Action] = []
        self.deeds: list[TargetCall] = []
        self.gate_calls: list[GateRecord] = []
        self.claims: list[ClaimRecord] = []
        self.writings: list[SettlementRecord] = []
        self.glimpses: list[AgendaSnapshot] = []
        self.foreign_calls: list[ForeignCall] = []
        self.seen_by: dict[str, set[str]] = {}
        self.overfull: list[tuple[str, int, int]] = []
        self.frozen: dict[str, list[tuple[float, float]]] = {}
        self.feed: list[NumberedEvent] = []
        self.ended_rows: dict[str, Run] = {}
        self._gone: set[str] = set()
        self.on_note: Callable[[Note], None] = lambda _note: None

    def note(self, who: str, what: str) -> None:
        note = Note(self._clock.steady(), self._clock.now(), who, what)
        self.notes.append(note)
        self.on_note(note)

    def fault(self, kind: str, who: str, what: str = "") -> None:
        self.faults[kind] += 1
        self.note(who, f"{kind} {what}".rstrip())

    def begin(self, deed: TargetCall) -> int:
        self.deeds.append(deed)
        return len(self.deeds) - 1

    def finish(self, place: int, *, for_good: bool) -> None:
        """What died with its node has ended already."""
        if self.deeds[place].ended is None:
            self.deeds[place] = self.deeds[place]._replace(ended=self._clock.steady(), for_good=for_good)

    def at_work(self, life: str) -> int:
        """How many targets are at work in that process."""
        return sum(deed.life == life and deed.ended is None for deed in self.deeds)

    def is_gone(self, life: str) -> bool:
        return life in self._gone

    def died(self, life: str) -> None:
        self._gone.add(life)
        for place, deed in enumerate(self.deeds):
            if deed.life == life and deed.ended is None:
                self.deeds[place] = deed._replace(ended=self._clock.steady(), died=True)

    def claimed(self, run: Run, life: str, now: datetime) -> None:
        self.claims.append(ClaimRecord(run, life, self._clock.steady(), now))

    def freeze(self, life: str, length: timedelta) -> None:
        start = self._clock.steady()
        self.frozen.setdefault(life, []).append((start, start + length.total_seconds()))
