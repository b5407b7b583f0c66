"""Check of acknowledged writes, manual runs, overlapping work and leftover entries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from horae.model.change import Facts
from horae.model.entry import CLAIMABLE, Entry, EntryKind, EntryState
from horae.model.run import Origin
from horae.model.task import TaskState
from horae.schedule import Past, iterate
from tests.simulation.checks.lanes import LaneLimits
from tests.simulation.checks.task_history import TaskHistory
from tests.simulation.checks.violation import Violation
from tests.simulation.evidence import Evidence, Occurrence
from tests.simulation.history import Action, TargetCall, Verdict

_ADMITTED = timedelta(seconds=15)
"""What delays still cost when all is calm."""


def check_delivery(evidence: Evidence, stories: Mapping[str, TaskHistory]) -> Iterator[Violation]:
    yield from _acknowledged(evidence, stories)
    yield from _apart(evidence, stories)
    yield from _nothing_left(evidence, evidence.recovered, evidence.recovered_at)
    yield from _nothing_left(evidence, tuple(evidence.facts.values()), evidence.now)
    yield from (Violation("store", doubt) for doubt in evidence.doubts)
    yield from (Violation("engine", complaint) for complaint in evidence.complaints)


# --- 8: what was acknowledged is there ---------------------------------------------------------------------------------


def _acknowledged(evidence: Evidence, stories: Mapping[str, TaskHistory]) -> Iterator[Violation]:
    log = [numbered.event for numbered in evidence.events]
    for action in evidence.history.actions:
        if action.verdict is Verdict.ACKNOWLEDGED and action.place is None:
            yield Violation("8", f"{action.kind} {action.subject} was acknowledged, but not committed")
        if action.place is not None and action.change is not None:
            before, after = action.place
            if not set(action.change.events) <= set(log[before:after]):
                yield Violation("8", f"{action.kind} {action.subject} was committed, but its events are not there")
            yield from _asked_for(evidence, stories, action)
    for task_id, story in stories.items():
        facts = evidence.facts.get(task_id)
        if facts is None:
            yield Violation("8", f"{task_id} is gone without a delete")
        elif facts.status.state is not story.marks[-1].state:
            yield Violation("8", f"{task_id} is {facts.status.state}, but was last said to be {story.marks[-1].state}")
        elif facts.task != story.definitions[-1][1]:
            yield Violation("8", f"{task_id} is not defined as it was last acknowledged")


def _asked_for(evidence: Evidence, stories: Mapping[str, TaskHistory], action: Action) -> Iterator[Violation]:
    """Requested runs have rows at the end, or are still queued."""
    for entry in () if action.change is None else action.change.put:
        if action.kind == "run_now" and entry.origin is Origin.MANUAL:
            wanted: Sequence[datetime] = (entry.planned,)
        elif action.kind == "backfill" and entry.origin is Origin.BACKFILL:
            wanted = _asked_instants(stories[action.subject], action)
        else:
            continue
        for planned in wanted:
            if not _accounted(evidence, entry, planned):
                yield Violation("8", f"{action.kind} {action.subject} of {planned} was asked for, and came to nothing")
                return


def _asked_instants(story: TaskHistory, action: Action) -> Sequence[datetime]:
    first, last = action.detail
    task = story.definition_before((action.place or (0, 0))[0] + 1)
    schedule = replace(task.schedule, repeat=None)
    return tuple(iterate(schedule, first - timedelta(microseconds=1), Past(task.created), until=last))


def _accounted(evidence: Evidence, entry: Entry, planned: datetime) -> bool:
    if Occurrence(entry.task_id, entry.origin, planned) in evidence.occurrences:
        return True
    rows = (run for run in evidence.runs.values() if run.task_id == entry.task_id and run.origin is entry.origin)
    if any(run.span is not None and run.span.first <= planned <= run.span.last for run in rows):
        return True
    facts = evidence.facts[entry.task_id]
    waiting = (each for each in facts.entries if each.origin is entry.origin)
    return any(each.planned <= planned <= (each.through or each.planned) for each in waiting)


# --- 1 and 6, as the targets saw it --------------------------------------------------------------------------------------


def _apart(evidence: Evidence, stories: Mapping[str, TaskHistory]) -> Iterator[Violation]:
    """Work on one task does not overlap, unless its policy says so, or its node was suspended past its lease."""
    by_task: dict[str, list[TargetCall]] = defaultdict(list)
    for deed in evidence.history.deeds:
        by_task[deed.task_id].append(deed)
    for task_id, deeds in by_task.items():
        parallel = any(task.policies.overlap == "parallel" for _, task in stories[task_id].definitions)
        going: list[TargetCall] = []
        for deed in sorted(deeds, key=lambda each: each.started):
            going = [each for each in going if each.ended is None or each.ended > deed.started]
            for other in going:
                same = (other.origin, other.planned) == (deed.origin, deed.planned)
                if (same or not parallel) and not _suspended(evidence, other):
                    guarantee = "1" if same else "6"
                    yield Violation(guarantee, f"{deed.run_id} began on {deed.life} while {other.run_id} went on")
            going.append(deed)


def _suspended(evidence: Evidence, deed: TargetCall) -> bool:
    """A frozen process cannot stop what it carries; all it can do is stop when it goes on."""
    ended = evidence.ended if deed.ended is None else deed.ended
    return any(start <= ended and end >= deed.started for start, end in evidence.history.frozen.get(deed.life, ()))


# --- 3: after faults have ended, everything due starts, and nothing is left over -----------------------------------------


def _nothing_left(evidence: Evidence, everything: Sequence[Facts], now: datetime) -> Iterator[Violation]:
    limits = LaneLimits(evidence.history.actions)
    seated: dict[str, int] = defaultdict(int)
    for facts in everything:
        for run in facts.live:
            for lane in run.lanes:
                seated[lane] += 1
            if run.node is not None and run.node not in evidence.nodes_up:
                yield Violation("3", f"{run.id} is still held by {run.node}, which is gone")
    late = now - evidence.terms.poll_ceiling - _ADMITTED
    for facts in everything:
        for entry in facts.entries:
            if entry.due < late and not _explained(facts, entry, seated, limits, len(evidence.events)):
                yield Violation("3", f"{entry.slot} of {entry.task_id}, due {entry.due}, is left {entry.state}")


def _explained(facts: Facts, entry: Entry, seated: Mapping[str, int], limits: LaneLimits, number: int) -> bool:
    match entry.state:
        case EntryState.PARKED:
            return entry.lane is not None and seated[entry.lane] >= limits.at(entry.lane, number + 1)
        case EntryState.HELD:
            keeps_retries = not facts.task.policies.retry.superseded_by_next
            others = [other for other in facts.entries if other.slot != entry.slot]
            waits_for = [each for each in others if each.in_order or (keeps_retries and each.kind is EntryKind.RETRY)]
            return bool(facts.live or waits_for)
        case EntryState.ASLEEP:
            return facts.status.state is TaskState.PAUSED
        case EntryState.TIMED | EntryState.READY:
            return entry.state not in CLAIMABLE
