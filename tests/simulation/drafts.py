"""Random task drafts: every schedule kind with every policy, and the traits that coverage counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, time, timedelta
from random import Random
from typing import Final, NamedTuple

from horae.lifecycle.plan import Draft
from horae.model.policy import GUARANTEES, MISSED_MODES, OVERLAPS, Missed, Policies, RetryPolicy
from horae.model.task import Target, TaskPast
from horae.schedule import AnyOf, Calendar, Cron, Every, Hours, Now, Once, Schedule
from horae.schedule.any_of import UNION_MODIFIERS
from tests.simulation.target_behaviours import Behaviour, choose_behaviour

OWNERS: Final = ("ada", "bob", "group:main")
LANES: Final[dict[str, int]] = {"narrow": 1, "wide": 3, "owner:bob": 2}
ZONES: Final = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Shanghai", "Australia/Lord_Howe")
KINDS: Final = ("every", "every from end", "cron", "calendar", "once", "now")
MODIFIERS: Final = ("plain", "jitter", "repeat", "window")
SECOND: Final = timedelta(seconds=1)
WORKHORSES: Final = 3
MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
_TEMPLATE: Final = "".join(f" {{horae.{name}}}" for name in ("planned", "first", "last", "count", "attempt", "key"))
"""Placeholders behind the behaviour in the payloads of three tasks of ten, one of which has missed a stretch elsewhere."""


class Traits(NamedTuple):
    """What a task is like, in few words: each pair of these should be met somewhere."""

    kind: str
    modifier: str
    missed: str
    overlap: str
    retry: str
    give_up: str
    guarantee: str
    lane: str
    priority: str
    owner: str


def _make_retry(attempts: int | None, backoff: timedelta, number: int) -> RetryPolicy:
    """Return a policy without throwing dice: worlds of old seeds keep their other choices.

    One in four has retries that count as running and wait so long that occurrences come due meanwhile.
    """
    if number % 4 != 1:
        return RetryPolicy(attempts, backoff, 2.0, 8 * MINUTE, superseded_by_next=number % 2 == 0)
    return RetryPolicy(attempts, 25 * MINUTE, 1.0, 25 * MINUTE, "none", superseded_by_next=False)


def make_draft(dice: Random, number: int, now: datetime) -> tuple[Draft, Traits]:
    """The first few are workhorses: without them some worlds would be asleep by noon."""
    workhorse = 1 <= number <= WORKHORSES
    kind = "every" if workhorse else dice.choices(KINDS, (6, 3, 4, 4, 2, 1))[0]
    modifier = "plain" if kind in ("once", "now") or workhorse else dice.choice(MODIFIERS)
    schedule = Every(interval=20 * MINUTE) if workhorse else make_schedule(dice, kind, modifier, now)
    attempts = dice.choice((1, 3, None))
    give_up = None if workhorse else dice.choice((1, 3, None))
    priority = dice.choice((-10, 0, 50))
    policies = Policies(
        missed=Missed(dice.choice(MISSED_MODES), dice.choice((None, HOUR, 24 * HOUR)), dice.choice((3, 8, 20))),
        overlap=dice.choice(OVERLAPS),
        retry=_make_retry(attempts, dice.choice((10, 60) if attempts is None else (0, 60)) * SECOND, number),
        give_up_after=give_up,
        timeout=dice.choice((60, 120, 300)) * SECOND,
        max_duration=dice.choice((None, None, 15 * MINUTE)),
        guarantee=dice.choice(GUARANTEES),
        priority=priority,
        notify_after=number % 4,
        start_within=(None, None, None, 3 * MINUTE, None, 20 * MINUTE)[number % 6],
    )
    schedule = _in_list(schedule, number)
    past = None if workhorse else _past_of(schedule, number, now)
    temper = Behaviour.STEADY if workhorse else choose_behaviour(dice)
    lane = dice.choice((None, "narrow", "wide"))
    owner = dice.choice(OWNERS)
    payload = f'"{temper}{_TEMPLATE if number % 10 in (2, 7, 9) else ""}"'
    target = Target("simulated", "{}")
    draft = Draft(owner, f"task {number}", schedule, target, payload, policies, lane=lane, past=past)
    traits = Traits(
        kind,
        modifier,
        policies.missed.mode,
        policies.overlap,
        {1: "one attempt", 3: "three", None: "for ever"}[attempts],
        {1: "at once", 3: "after three", None: "never"}[give_up],
        policies.guarantee,
        lane or "none",
        {-10: "low", 0: "usual", 50: "high"}[priority],
        owner,
    )
    return draft, traits


def _past_of(schedule: Schedule, number: int, now: datetime) -> TaskPast | None:
    """Return the past of every fifth task, which began elsewhere, without throwing dice: half of them missed three hours."""
    if number % 5 != 4:
        return None
    counted = 0 if schedule.repeat is None else 2
    return TaskPast(now - 7 * HOUR, counted, now - 4 * HOUR, now - 3 * HOUR if number % 2 else None)


def _in_list(schedule: Schedule, number: int) -> Schedule:
    """Return every second cron in a list with another one that often plans the same instants, without throwing dice."""
    if not isinstance(schedule, Cron) or number % 2:
        return schedule
    modifiers = {name: getattr(schedule, name) for name in UNION_MODIFIERS}
    return AnyOf((Cron(schedule.expression), Cron("0,30 */4 * * *")), zone=schedule.zone, **modifiers)


def make_schedule(dice: Random, kind: str, modifier: str, now: datetime) -> Schedule:
    schedule = _PLAIN[kind](dice, now)
    match modifier:
        case "jitter":
            return replace(schedule, jitter=dice.choice((1, 5, 20)) * MINUTE)
        case "repeat":
            return replace(schedule, repeat=dice.choice((3, 8, 15)), counting=dice.choice(("run", "planned")))
        case "window":
            start, end = now + dice.choice((1, 3)) * HOUR, now + dice.choice((14, 20)) * HOUR
            return replace(schedule, start=start, end=end)
        case _:
            return schedule


def _every(dice: Random, _: datetime) -> Schedule:
    return Every(interval=dice.choice((30, 60, 90, 150, 240)) * MINUTE)


def _every_from_end(dice: Random, _: datetime) -> Schedule:
    return Every(interval=dice.choice((40, 70, 120)) * MINUTE, since="end")


def _cron(dice: Random, _: datetime) -> Schedule:
    expression = dice.choice(
        ("*/30 * * * *", "7 * * * *", "0 */2 * * *", "30 0-6 * * *", "15,45 * * * *", "30 2 * * *")
    )
    return Cron(expression, zone=dice.choice(ZONES))


def _calendar(dice: Random, _: datetime) -> Schedule:
    zone = dice.choice(ZONES)
    if dice.random() < 0.5:
        return Calendar(hours=Hours(time(0), time(23, 30)), step=dice.choice((30, 90)) * MINUTE, zone=zone)
    times = tuple(time(hour, dice.choice((0, 30))) for hour in sorted(dice.sample(range(24), 8)))
    if dice.random() < 0.5:
        return Calendar(unit="week", on=tuple(range(7)), at=times, zone=zone)
    return Calendar(unit="day", at=times, zone=zone)


def _once(dice: Random, now: datetime) -> Schedule:
    return Once(at=now + dice.uniform(-1, 20) * HOUR)


def _now(_: Random, __: datetime) -> Schedule:
    return Now()


_PLAIN: Final[dict[str, Callable[[Random, datetime], Schedule]]] = {
    "every": _every,
    "every from end": _every_from_end,
    "cron": _cron,
    "calendar": _calendar,
    "once": _once,
    "now": _now,
}
