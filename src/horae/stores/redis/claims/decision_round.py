"""Decisions of one claim in their order: by the class of an entry where it has one, else by all facts of its task."""

from __future__ import annotations

from time import thread_time
from typing import TYPE_CHECKING, Final

from ....lifecycle.batch import ClaimDecision
from ....model.change import Change, Start
from ....model.entry import CLAIMABLE, Entry
from ....model.ids import to_microseconds
from ....model.run import LIVE_STATES
from ....ports.store import Claimed
from ...claim_rules import check_entry_moved
from ...codec.columns import entry_lane, entry_priority, entry_rank, entry_state
from ...codec.rows import ENTRY_STATES, new_tuple
from ...start_classes import StartClasses
from ...task_cache import CachedTask
from ..layout.documents import StoredTask
from ..layout.keys import EntryName, entry_member, plain_entry_member
from ..transactions.unit_of_work import UnitOfWork

if TYPE_CHECKING:
    from .claim import ClaimRequest

_MAX_DECIDE_SECONDS: Final = 0.05
_CLOCK_CHECK_INTERVAL: Final = 16


class DecisionRound:
    """Decisions of one claim in their order, until there is no room left or the time limit is reached."""

    def __init__(self, request: ClaimRequest, token: int, unit: UnitOfWork, singles: dict[str, StoredTask]) -> None:
        self.now = request.now
        self.unit = unit
        self._now = to_microseconds(request.now)
        self._room = request.room
        self._decide = request.decide
        self._token = token
        self._singles = singles
        is_unrestricted = unit.lanes.is_owner_unrestricted
        self._classes = (
            StartClasses(request.decide, token, is_unrestricted) if isinstance(request.decide, ClaimDecision) else None
        )
        self._deadline = thread_time() + _MAX_DECIDE_SECONDS
        self.claimed: list[Claimed] = []
        self.returned: list[str] = []
        """Entries that go back to the agenda."""
        self.decided = 0
        self.last_owner: str | None = None
        self.is_over = False

    def start_single(self, member: str, task_id: str) -> bool:
        """Start the only entry of a task by its class; return False, with the task loaded, if it is to be decided by all facts."""
        stored = self._singles.pop(task_id, None)
        if stored is None:
            return False
        start = None if self._classes is None else self._decide_single(self._classes, stored, member)
        if start is None or not self.unit.add_start(stored, member, start):
            self.unit.take(stored.document, stored.state_at)
            return False
        self.claimed.append(new_tuple(Claimed, (stored.task, start.run)))
        self._count(stored.task.owner)
        return True

    def _decide_single(self, classes: StartClasses, stored: StoredTask, member: str) -> Start | None:
        (row,) = stored.entry_rows
        priority, due, owner, slot = entry_rank(row)
        if due > self._now or plain_entry_member(stored.number, priority, due, owner, stored.task.id, slot) != member:
            return None
        known = CachedTask(stored.number, 0, stored.task, stored.status)
        return classes.decide(row, known)

    async def decide(self, entry: Entry) -> Change:
        task_id, unit = entry.task_id, self.unit
        change = self._decide_entry(unit, entry)
        task = change.task or unit.require_facts(task_id).task
        await unit.apply(task_id, change)
        self.claimed.extend([Claimed(task, run) for run in change.new_runs if run.state in LIVE_STATES])
        self._count(entry.owner)
        return change

    def _count(self, owner: str) -> None:
        self.decided += 1
        self.last_owner = owner
        is_late = self.decided % _CLOCK_CHECK_INTERVAL == 0 and thread_time() > self._deadline
        self.is_over = is_late or len(self.claimed) >= self._room

    def _decide_entry(self, unit: UnitOfWork, entry: Entry) -> Change:
        decide, token = self._decide, self._token
        facts = unit.require_facts(entry.task_id)
        change = decide(facts, entry, token)
        if change.new_runs and (existing := unit.find_existing_runs(entry.task_id, change)):
            change = decide(facts._replace(existing_run_ids=existing), entry, token)
            change = unit.deduplicate(entry.task_id, change)
        if entry.slot not in change.dropped:
            check_entry_moved(entry, change)
        return change

    def release_guard(self, task_id: str) -> None:
        """Do not check the version of a task that was not decided."""
        known = self.unit.tasks.get(task_id)
        if task_id in self._singles or (known is not None and known.before is known.after):
            self.unit.transaction.forget(self.unit.transaction.keys.task(task_id))


def find_entry(unit: UnitOfWork, member: str, name: EntryName) -> Entry | None:
    """Return the claimable entry that has this member."""
    known = unit.tasks.get(name.task_id)
    if known is None or known.after is None:
        return None
    for entry in known.after.entries:
        if entry.slot == name.slot and entry.state in CLAIMABLE and entry_member(known.after.number, entry) == member:
            return entry
    return None


def is_single(stored: StoredTask) -> bool:
    """Whether a task has one claimable entry, no live run and no lane, and the entry is on the agenda of all nodes alone."""
    if len(stored.entry_rows) != 1 or stored.run_rows or stored.task.lane is not None:
        return False
    (row,) = stored.entry_rows
    return entry_lane(row) is None and not entry_priority(row) and ENTRY_STATES[entry_state(row)] in CLAIMABLE
