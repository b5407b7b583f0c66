"""Steps of a task's lifecycle as plain values that tests can draw, replay and shrink."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, NamedTuple

from horae.errors import Refusal
from horae.model.change import NOTHING
from horae.model.entry import CLAIMABLE
from horae.model.outcome import Cancelled, Failed, Outcome, Skipped, Succeeded, TimedOut, Waiting
from horae.model.policy import GUARANTEES, MISSED_MODES, OVERLAPS, Missed, Policies, RetryPolicy
from horae.model.reason import Reason
from horae.model.run import Run, RunState
from horae.model.task import TaskState
from horae.schedule import Cron, Every, Now, Once, Schedule
from tests.unit.lifecycle.invariants import check, check_drained, units
from tests.unit.lifecycle.task_world import HOUR, MICROSECOND, MINUTE, NOON, SECOND, World

SCHEDULES: Final[dict[str, Schedule]] = {
    "minutely": Every(interval=MINUTE),
    "cron": Cron(expression="* * * * *", zone="UTC"),
    "uneven": Cron(expression="0,1,2,30 * * * *", zone="UTC"),
    "spread out": Every(interval=MINUTE, jitter=timedelta(seconds=55)),
    "unevenly spread out": Cron(expression="0,1,2,30 * * * *", zone="UTC", jitter=timedelta(minutes=20)),
    "three times": Every(interval=MINUTE, repeat=3),
    "four planned": Every(interval=MINUTE, repeat=4, counting="planned"),
    "five planned, spread out": Every(interval=MINUTE, repeat=5, counting="planned", jitter=timedelta(seconds=30)),
    "for a while": Every(interval=MINUTE, end=NOON + 7 * MINUTE),
    "after end": Every(interval=MINUTE, since="end"),
    "twice after end": Every(interval=MINUTE, since="end", repeat=2),
    "once": Once(at=NOON + MINUTE),
    "now": Now(),
}
PASSING: Final = [
    *(MICROSECOND, SECOND, 5 * SECOND, 11 * SECOND, 30 * SECOND),
    *(MINUTE, 61 * SECOND, 3 * MINUTE, 10 * MINUTE, HOUR),
]
OUTCOMES: Final[list[Outcome]] = [
    Succeeded("{}"),
    Failed("no"),
    Failed("never", permanent=True),
    Failed("later", retry_after=SECOND),
    Failed("yesterday", retry_after=timedelta(days=-1)),
    Failed("dead", died_isolated=True),
    TimedOut("slow"),
    Cancelled(),
    Skipped(),
]


class Chosen(NamedTuple):
    """Everything that can be different about a task."""

    schedule: str = "minutely"
    overlap: int = 0
    mode: int = 1
    within: timedelta | None = None
    limit: int = 4
    attempts: int | None = 1
    backoff: timedelta = timedelta(0)
    give_up_after: int | None = None
    careful: bool = False
    max_duration: timedelta | None = None
    lane: str | None = None
    priority: int = 0
    notify_after: int = 0
    superseded_by_next: bool = True
    start_within: timedelta | None = None

    @property
    def policies(self) -> Policies:
        return Policies(
            missed=Missed(MISSED_MODES[self.mode], self.within, self.limit),
            overlap=OVERLAPS[self.overlap],
            retry=RetryPolicy(self.attempts, self.backoff, superseded_by_next=self.superseded_by_next),
            give_up_after=self.give_up_after,
            guarantee=GUARANTEES[self.careful],
            max_duration=self.max_duration,
            priority=self.priority,
            notify_after=self.notify_after,
            start_within=self.start_within,
        )


class Step(NamedTuple):
    """What happens, to which of those to which it can, and how."""

    name: str
    pick: int = 0
    how: int = 0


def live(chosen: Chosen, steps: list[tuple[Step, Chosen]]) -> World:
    """A whole life, looked at after each step, and at its end."""
    world = World(SCHEDULES[chosen.schedule], policies=chosen.policies, lane=chosen.lane)
    check(world)
    for step, wish in steps:
        with suppress(Refusal):
            STEPS[step.name](world, step, wish)
        check(world)
    drain(world)
    return world


def drain(world: World) -> None:
    """If everything that can be claimed is, and all of it succeeds, then nothing is left but what is still to come."""
    world.others, world.block_reason = 0, None
    if world.state is TaskState.PAUSED:
        world.resume()
    for _ in range(500):
        world.admit().fill_lane_slots()
        claimable = [entry.due for entry in world.entries.values() if entry.state in CLAIMABLE]
        if world.due:
            world.claim()
        elif world.live:
            world.settle(_possible(world.live[0], Succeeded()), world.live[0])
        elif len(claimable) < len(world.entries):
            world.at(min(claimable))  # what is held waits for something that is still to come
        else:
            break
    check(world)
    check_drained(world)


def _picked(world: World, step: Step, *, carried: bool = False) -> Run | None:
    runs = world.held_runs if carried else world.live
    return runs[step.pick % len(runs)] if runs else None


def _ends(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    run = _picked(world, step)
    if run is not None:
        world.settle(_possible(run, OUTCOMES[step.how % len(OUTCOMES)]), run)


def _succeeds(world: World, step: Step, wish: Chosen) -> None:
    _ends(world, step._replace(how=0), wish)


def _is_handed_on(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    run = _picked(world, step)
    if run is not None:
        world.settle(_possible(run, Waiting(world.now + PASSING[step.how % len(PASSING)])), run)


def _possible(run: Run, outcome: Outcome) -> Outcome:
    """What was only claimed, and is asked to end, is never started."""
    return Cancelled() if run.state is RunState.CLAIMED and run.cancel is not None else outcome


def _node_dies(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    run = _picked(world, step, carried=True)
    if run is not None and step.how % 2:
        world.release(run)
    elif run is not None:
        world.lose(run)


def _claim_one(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    if world.due:
        world.claim(world.due[step.pick % len(world.due)])


def _strand_one(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    """Claimed by a node that cannot run it."""
    if world.due:
        world.strand(world.due[step.pick % len(world.due)])


def _admit(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    world.admit()


def _try_again(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    """The last run of some occurrence."""
    last = [rows[-1] for rows in units(world).values()]
    if last:
        world.try_again(last[step.pick % len(last)])


def _claim_all(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    world.claim_all()


def _time_passes(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    world.advance(PASSING[step.how % len(PASSING)])


def _pause(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    world.pause(until=[None, world.now + MINUTE, world.now + 5 * MINUTE][step.how % 3])


def _resume(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    world.resume(missed=MISSED_MODES[step.how % 4])


def _run_now(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    # A wish takes its time: two of them never share an instant.
    world.advance(MICROSECOND).run_now()


def _skip_next(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    world.skip_next(step.how % 4)


def _edit_schedule(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    world.advance(MICROSECOND).edit(schedule=SCHEDULES[wish.schedule])


def _edit_the_rest(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    world.edit(policies=replace(wish.policies), lane=wish.lane)


def _backfill(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    first = world.now - (step.pick % 4 + 1) * MINUTE
    world.backfill(first, min(first + step.how % 4 * MINUTE, world.now), world.highest_backfill)


def _cancel_a_run(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    run = _picked(world, step)
    if run is not None:
        world.cancel_run(run)


def _lane(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    """It fills, or empties, or its limit is set anew."""
    world.others, world.limit = step.pick % 3, step.how % 2 + 1
    world.fill_lane_slots()


def _bar(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    world.block_reason = [None, Reason.QUOTA, None, Reason.OWNER_REVOKED][step.how % 4]


def _zone(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    """Nothing moves where the rules of the zone are the same."""
    assert world.replan() == NOTHING


def _cancel(world: World, step: Step, wish: Chosen) -> None:  # noqa: ARG001
    world.cancel()


STEPS: Final[dict[str, Callable[[World, Step, Chosen], Any]]] = {
    "time passes": _time_passes,
    "one is claimed": _claim_one,
    "all is claimed": _claim_all,
    "a node claims what it cannot run": _strand_one,
    "a node comes that can": _admit,
    "a run is tried again": _try_again,
    "a run ends": _ends,
    "a run succeeds": _succeeds,
    "a run is handed on": _is_handed_on,
    "a node dies": _node_dies,
    "pause": _pause,
    "resume": _resume,
    "run now": _run_now,
    "skip next": _skip_next,
    "edit the schedule": _edit_schedule,
    "edit the rest": _edit_the_rest,
    "backfill": _backfill,
    "cancel a run": _cancel_a_run,
    "the lane changes": _lane,
    "the owner is barred, or not": _bar,
    "new zone data": _zone,
    "cancel": _cancel,
}
