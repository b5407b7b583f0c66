"""Invariants of a task after every step, checked independently of the lifecycle code."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import pairwise, takewhile

from horae.model.entry import CONTROL_KINDS, START_DEADLINE_SLOT, Entry, EntryKind, EntryState
from horae.model.events.event import EventKind
from horae.model.run import Origin, Run, RunState
from horae.model.task import OPEN_STATES, TaskState, past_of
from horae.schedule import Every, Past, Schedule, due, first, iterate, next  # noqa: A004 - the product's own question
from tests.unit.lifecycle.task_world import MICROSECOND, Era, World

_OCCURRENCES = (EntryKind.NEXT, EntryKind.WAITING, EntryKind.RETRY, EntryKind.MANUAL)


def check(world: World) -> None:
    """Check all invariants that hold at once."""
    if world.deleted:
        return
    check_attempts(world)
    check_live_runs(world)
    check_entries(world)
    check_held(world)
    check_start_deadline(world)
    check_standing(world)
    check_counts(world)
    check_notices(world)
    if from_end(world.task.schedule):
        check_from_end(world)
    if not any(from_end(era.task.schedule) for era in world.eras):
        check_every_instant(world)


# --- occurrences, runs and states ------------------------------------------------------------------------------------


def check_attempts(world: World) -> None:
    """The attempts at an occurrence are 1, 2, 3, …; only the last may be going; and tokens rise with them."""
    for rows in units(world).values():
        attempts = [run.attempt for run in rows]
        assert attempts == sorted(set(attempts))
        assert rows[0].origin is Origin.BACKFILL or attempts == list(range(1, 1 + len(attempts)))
        assert all(not run.live for run in rows[:-1])
        assert all(earlier.token < later.token for earlier, later in pairwise(r for r in rows if r.token))
        assert all(0 <= run.forgiven < run.attempt for run in rows)
        assert all(run.ended is None or run.started is None or run.started <= run.ended for run in rows)
        assert all((run.ended is None) == run.live for run in rows)
        assert all(run.reason is not None for run in rows if run.state is RunState.SKIPPED)
        assert all(run.claimed is None or run.claimed >= run.due for run in rows), "never early"


def check_notices(world: World) -> None:
    """Failing and recovered alternate; resuming a failed task ends an incident, too."""
    failing = False
    for event in world.events:
        if event.kind in (EventKind.TASK_FAILING, EventKind.TASK_RECOVERED):
            assert failing == (event.kind is EventKind.TASK_RECOVERED), (
                "repeated notice, or a notice without an incident"
            )
            failing = not failing
        elif event.kind is EventKind.TASK_RESUMED and world.gave_up_before(event):
            failing = False
    wanted = world.task.policies.notify_after
    assert failing == (0 < wanted <= world.status.failures)


def check_live_runs(world: World) -> None:
    live = world.live
    if world.task.policies.overlap != "parallel" and not world.was_parallel:
        assert len(live) <= 1, "one at a time, unless in parallel"
    in_order = Counter(run.origin for run in live if run.in_order)
    assert all(number == 1 for number in in_order.values()), "a backlog runs one by one, also in parallel"
    if world.state in (TaskState.COMPLETED, TaskState.FAILED):
        asked_for = [run for run in live if run.origin is not Origin.SCHEDULED or _by_hand(world, run)]
        assert world.state is TaskState.FAILED or live == tuple(asked_for), "completed, but still at work"
    if world.state is TaskState.CANCELLED:
        assert all(run.cancel is not None for run in live)


def check_entries(world: World) -> None:
    """Every entry belongs to something that is still to happen."""
    rows = units(world)
    for entry in world.entries.values():
        unit = rows.get((entry.origin, entry.planned), [])
        if entry.kind is EntryKind.RETRY:
            assert unit
            assert unit[-1].attempt == entry.attempt - 1
            assert not unit[-1].live
        elif entry.kind is EntryKind.DEADLINE:
            assert world.runs[entry.run_id or ""].state is RunState.WAITING
        elif entry.origin is not Origin.BACKFILL and entry.kind not in CONTROL_KINDS:
            assert not unit, "queued, but it has a row already"
        if _by_hand(world, entry):
            assert world.state is not TaskState.CANCELLED
        elif entry.kind in _OCCURRENCES and entry.origin is Origin.SCHEDULED:
            assert world.state in OPEN_STATES
        if entry.kind in _OCCURRENCES and entry.origin is Origin.SCHEDULED:
            assert (entry.state is EntryState.ASLEEP) == (world.state is TaskState.PAUSED)
        assert (entry.state is EntryState.PARKED) <= (entry.lane is not None)
    for run in world.live:
        deadlines = [entry for entry in world.entries.values() if entry.run_id == run.id]
        assert len(deadlines) == (run.state is RunState.WAITING)


def check_held(world: World) -> None:
    """A held entry has something that releases it: a live run, an earlier backlog, or a retry that counts as running."""
    keeps_retries = not world.task.policies.retry.superseded_by_next
    for entry in world.entries.values():
        if entry.state is EntryState.HELD:
            before = [e for e in world.entries.values() if e.in_order and e.planned < entry.planned]
            before += [e for e in world.entries.values() if keeps_retries and e.kind is EntryKind.RETRY]
            assert world.live or any(e.state in (EntryState.TIMED, EntryState.PARKED) for e in before)


def check_start_deadline(world: World) -> None:
    """What waits is found at its start deadline: one entry of the task is due then, or before."""
    within, deadline = world.task.policies.start_within, world.entries.get(START_DEADLINE_SLOT)
    if within is None:
        assert deadline is None
        return
    for entry in world.entries.values():
        waits = entry.state in (EntryState.HELD, EntryState.PARKED)
        if waits and entry.kind in _OCCURRENCES and entry.origin is not Origin.BACKFILL:
            assert deadline is not None
            assert deadline.state is EntryState.TIMED
            assert deadline.due <= entry.due + within


def check_standing(world: World) -> None:
    standing, schedule = world.status, world.task.schedule
    if schedule.repeat is not None:
        assert standing.counted <= schedule.repeat
    assert standing.counted >= 0
    assert standing.skips_left >= 0
    assert standing.failures >= 0
    assert (standing.pause is not None) == (standing.state is TaskState.PAUSED)
    assert (standing.ended is not None) == (standing.state not in OPEN_STATES)
    if standing.state is TaskState.ACTIVE:
        assert world.entries or world.live, "active, but nothing will ever happen"
    if standing.state is TaskState.CANCELLED:
        assert not world.entries


def check_counts(world: World) -> None:
    """The sum of counter deltas equals a recount of the ledger."""
    recount: Counter[str] = Counter({f"state:{world.state}": 1})
    for run in world.runs.values():
        if run.live:
            continue
        if run.started is None:
            recount[f"run:{run.state}:{run.reason}"] += 1 if run.span is None else run.span.count
        else:
            recount[f"run:{run.state}"] += 1
    started = sum(number for name, number in world.counts.items() if name.startswith("late:"))
    assert started == sum(run.started is not None and not run.live for run in world.runs.values())
    assert +Counter({name: n for name, n in world.counts.items() if not name.startswith("late:")}) == recount


# --- every planned instant, exactly once -----------------------------------------------------------------------------


def check_every_instant(world: World) -> None:
    """Accounted instants are a prefix of the planned ones, without gaps or duplicates."""
    covered = Counter(covered_instants(world))
    assert not [instant for instant, times in covered.items() if times > 1]
    for era, until in _eras(world):
        mine = sorted(i for i in covered if _starts(era) < i and (until is None or i <= until))
        planned = list(takewhile(lambda i: i <= mine[-1], instants(era))) if mine else []  # noqa: B023
        assert mine == planned, "a gap, or something that was never planned"
        if era.closed is not None and not (
            era.task.schedule.counting == "planned" and len(mine) == era.task.schedule.repeat
        ):
            following = next(endless(era), mine[-1] if mine else _starts(era), Past(era.task.created))
            assert following is None or following > era.closed, "planned before the edit, and forgotten by it"
    _check_next(world, max(covered, default=None))


def _check_next(world: World, last: datetime | None) -> None:
    """The next occurrence follows what was accounted for; where there is none, the schedule has no more."""
    era, entry = world.eras[-1], world.next
    if last is None or last <= _starts(era):
        expected = next(world.task.schedule, _starts(era), past_of(world.task, world.status))
    else:
        expected = next(world.task.schedule, last, past_of(world.task, world.status))
    if entry is not None:
        assert entry.planned == expected
        assert entry.due == due(world.task.schedule, entry.planned, world.task.id, past_of(world.task, world.status))
    elif world.state not in (TaskState.FAILED, TaskState.CANCELLED):
        assert expected is None


def covered_instants(world: World) -> Iterator[datetime]:
    """Every scheduled instant that has a row, a run, or a place in the queue."""
    for (origin, _), rows in units(world).items():
        if origin is Origin.SCHEDULED:
            assert len({run.span for run in rows}) == 1
            yield from _instants_of_run(world, rows[0])
    for entry in world.entries.values():
        if entry.kind is EntryKind.WAITING and entry.origin is Origin.SCHEDULED:
            yield from _instants_of_entry(world, entry)


def _instants_of_run(world: World, run: Run) -> list[datetime]:
    if run.span is None:
        return [run.planned]
    stretch = _between(world, run.span.first, run.span.last)
    assert len(stretch) == run.span.count
    assert run.planned == run.span.last
    return stretch


def _instants_of_entry(world: World, entry: Entry) -> list[datetime]:
    if entry.span is not None:
        return _between(world, entry.span.first, entry.span.last)
    return _between(world, entry.planned, entry.through or entry.planned)


def _between(world: World, begin: datetime, end: datetime) -> list[datetime]:
    era = [era for era in world.eras if _starts(era) < begin][-1]
    found = [*iterate(endless(era), begin - MICROSECOND, Past(era.task.created), until=end)]
    assert found[0] == begin
    assert found[-1] == end
    return found


def instants(era: Era) -> Iterator[datetime]:
    return iterate(endless(era), _starts(era), Past(era.task.created))


def endless(era: Era) -> Schedule:
    return replace(era.task.schedule, repeat=None)


def _starts(era: Era) -> datetime:
    """The instant after which this schedule holds; a first one may be due at creation itself."""
    if era.since is not None:
        return era.since
    begin = first(era.task.schedule, Past(era.task.created))
    assert begin is not None
    return begin - MICROSECOND


def _eras(world: World) -> Iterator[tuple[Era, datetime | None]]:
    """Each with the instant at which the next one took over."""
    ends = [*(era.since for era in world.eras[1:]), None]
    return iter(zip(world.eras, ends, strict=True))


def units(world: World) -> dict[tuple[Origin, datetime], list[Run]]:
    """The rows of each occurrence, by attempt."""
    found: dict[tuple[Origin, datetime], list[Run]] = defaultdict(list)
    for run in sorted(world.runs.values(), key=lambda run: run.attempt):
        found[run.origin, run.planned].append(run)
    return found


# --- schedules that count from the end -------------------------------------------------------------------------------


def from_end(schedule: Schedule) -> bool:
    return isinstance(schedule, Every) and schedule.since == "end"


def check_from_end(world: World) -> None:
    """No next while an occurrence goes on; and as soon as none does, there is one."""
    queued = [entry for entry in world.entries.values() if entry.kind in (EntryKind.WAITING, EntryKind.RETRY)]
    everything: list[Run | Entry] = [*world.live, *queued]
    unended = [each for each in everything if each.origin is Origin.SCHEDULED]
    goes_on = any(not _by_hand(world, each) for each in unended)
    assert not (goes_on and world.next is not None)
    if world.state in OPEN_STATES and not unended and world.next is None:
        assert next(world.task.schedule, world.now, past_of(world.task, world.status)) is None


def _by_hand(world: World, each: Run | Entry) -> bool:
    """Whether the attempt was requested: it moves no schedule and may follow the end of the task."""
    return each.attempt > 1 and (each.origin, each.planned) in world.requested


def check_drained(world: World) -> None:
    """Nothing goes on, and nothing is left but what is still to come."""
    assert not world.live
    assert all(entry.state is EntryState.TIMED and entry.due > world.now for entry in world.entries.values())
