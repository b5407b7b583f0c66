"""Checker of fault tests: compares the target's ledger and the store's rows with the due instants of the oracle.

Every rule yields one sentence per violation; no sentence means that every guarantee held.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Final, NamedTuple

from tests.faults.ledger import Mark
from tests.faults.oracle import Due
from tests.faults.store_snapshot import Row, Snapshot

_ENDS: Final = frozenset({"succeeded", "failed", "timed_out", "lost", "cancelled", "skipped"})


class Case(NamedTuple):
    due: tuple[Due, ...]
    marks: tuple[Mark, ...]
    snapshot: Snapshot

    @property
    def rows(self) -> dict[str, list[Row]]:
        """Rows by task."""
        found: dict[str, list[Row]] = defaultdict(list)
        for row in self.snapshot.rows:
            found[row.task].append(row)
        return found

    @property
    def occurrences(self) -> dict[tuple[str, datetime], list[Row]]:
        """Attempts of each occurrence that was given a run, in order; the last one may be superseded."""
        found: dict[tuple[str, datetime], list[Row]] = defaultdict(list)
        for row in self.snapshot.rows:
            if row.token or row.attempt > 1:
                found[row.task, row.planned].append(row)
        return found


def find_violations(due: Sequence[Due], marks: Sequence[Mark], snapshot: Snapshot) -> list[str]:
    case = Case(tuple(due), tuple(marks), snapshot)
    return [fault for rule in RULES for fault in rule(case)]


def nothing_is_lost(case: Case) -> Iterator[str]:
    """Each due instant has exactly one row, and a skipped stretch counts exactly the instants that it covers."""
    rows = case.rows
    for task in case.due:
        accounts = Counter[datetime]()
        for row in _last_attempts(rows[task.task]):
            covered = _covered(row, task.instants)
            if row.span is not None and len(covered) != row.span[2]:
                yield f"miscounted: {row.run} says {row.span[2]} instants, and there were {len(covered)}"
            if not covered:
                yield f"invented: {row.run} is of {row.planned}, when nothing was due"
            accounts.update(covered)
        for instant in task.instants:
            if not accounts[instant]:
                yield f"lost: {task.task} at {instant} has no row"
            if accounts[instant] > 1:
                yield f"twice: {task.task} at {instant} has {accounts[instant]} accounts"


def every_run_ends_with_a_reason(case: Case) -> Iterator[str]:
    """Every run ends, with a reason unless it succeeded; a lost attempt is retried, except under `at_most_once`."""
    at_most_once = {task.task for task in case.due if task.at_most_once}
    for row in case.snapshot.rows:
        if row.state not in _ENDS:
            yield f"unended: {row.run} is still {row.state}"
        if row.state != "succeeded" and row.state in _ENDS and row.reason is None:
            yield f"unexplained: {row.run} is {row.state} without a reason"
    for (task, planned), rows in case.occurrences.items():
        if rows[-1].state == "lost" and task not in at_most_once:
            yield f"dropped: {task} at {planned} was lost, and was not retried"


def required_instants_have_effects(case: Case) -> Iterator[str]:
    done = {(mark.task, mark.planned) for mark in case.marks if mark.phase == "effect"}
    for task in case.due:
        for instant in task.instants if task.must_run else ():
            if (task.task, instant) not in done:
                yield f"undone: {task.task} at {instant} had no effect"


def both_ledgers_agree(case: Case) -> Iterator[str]:
    """A succeeded run had its effect, and every effect has a run in the store."""
    known = {row.run: row for row in case.snapshot.rows}
    effects = {mark.run for mark in case.marks if mark.phase == "effect"}
    for row in case.snapshot.rows:
        if row.state == "succeeded" and row.run not in effects:
            yield f"hollow: {row.run} succeeded, and its target knows nothing of it"
    for mark in case.marks:
        if mark.run not in known or known[mark.run][:4] != (mark.task, mark.run, mark.planned, mark.attempt):
            yield f"unrecorded: {mark.run} ran, and the store does not know it so"


def effects_repeat_only_after_a_death(case: Case) -> Iterator[str]:
    """Each attempt has at most one effect, and only a lost attempt is repeated; under `at_most_once` none is."""
    effects = Counter(mark.run for mark in case.marks if mark.phase == "effect")
    at_most_once = {task.task for task in case.due if task.at_most_once}
    for run, times in effects.items():
        if times > 1:
            yield f"repeated: {run} had {times} effects"
    for (task, planned), rows in case.occurrences.items():
        for before, after in pairwise(rows):
            if before.state != "lost":
                yield f"repeated: {task} at {planned} was tried again after it {before.state}"
            elif after.token and (before.ended is None or after.claimed is None or after.claimed < before.ended):
                yield f"two at once: {task} at {planned}, attempt {after.attempt}"
        if task in at_most_once and sum(effects[row.run] for row in rows) > 1:
            yield f"repeated: {task} at {planned} had more than one effect, and one was the most"


def keys_belong_to_occurrences(case: Case) -> Iterator[str]:
    keys: dict[tuple[str, datetime], set[str]] = defaultdict(set)
    for mark in case.marks:
        keys[mark.task, mark.planned].add(mark.key)
    for (task, planned), found in keys.items():
        if len(found) > 1:
            yield f"key: {task} at {planned} had {len(found)} keys"
    if len(set().union(*keys.values())) < len(keys):
        yield "key: different occurrences had the same one"


def nothing_is_early(case: Case) -> Iterator[str]:
    for mark in case.marks:
        if mark.instant < mark.planned:
            yield f"early: {mark.run} began {mark.planned - mark.instant} before its instant"


def stale_writes_change_nothing(case: Case) -> Iterator[str]:
    """Each run has one end event, equal to its state; tokens of an occurrence only rise."""
    ends: dict[str, list[str]] = defaultdict(list)
    for run, kind in case.snapshot.events:
        if kind.removeprefix("run.") in _ENDS:
            ends[run].append(kind.removeprefix("run."))
    for row in case.snapshot.rows:
        if row.state in _ENDS and ends[row.run] != [row.state]:
            yield f"stale: {row.run} is {row.state}, and its end events are {ends[row.run]}"
    for (task, planned), rows in case.occurrences.items():
        tokens = [row.token for row in rows if row.token]
        if tokens != sorted(set(tokens)):
            yield f"stale: the tokens of {task} at {planned} do not rise: {tokens}"


RULES: Final[tuple[Callable[[Case], Iterator[str]], ...]] = (
    nothing_is_lost,
    every_run_ends_with_a_reason,
    required_instants_have_effects,
    both_ledgers_agree,
    effects_repeat_only_after_a_death,
    keys_belong_to_occurrences,
    nothing_is_early,
    stale_writes_change_nothing,
)


def _last_attempts(rows: Sequence[Row]) -> list[Row]:
    return list({row.planned: row for row in rows}.values())


def _covered(row: Row, instants: Sequence[datetime]) -> Sequence[datetime]:
    """Return the instants that a row stands for: its own, or the stretch that was skipped or merged into it."""
    first, last, _ = (row.planned, row.planned, 1) if row.span is None else row.span
    return instants[bisect_left(instants, first) : bisect_right(instants, last)]
