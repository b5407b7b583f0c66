"""What a task may be under its owner's quotas: how often, how large, how long. Pure: how many is for the seats to say."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from itertools import chain, islice, pairwise
from typing import Final

from ..model.policy import Policies, Retry
from ..model.principal import NO_QUOTAS, Principal, Quotas
from ..model.refusals import refuse as refuse_task
from ..model.task import Task
from ..schedule import Cron, Every, Now, Once, Past, Schedule, iterate, to_json
from ..schedule.durations import iso_duration
from .refusals import refuse

LOOKED_AT: Final = 200
"""So many occurrences ahead, the shortest gap is looked for."""
_MOST_REPEATS: Final = 100_000
_MINUTE: Final = timedelta(minutes=1)
_UNITS: Final = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))
ROOM_FOR_A_TARGET: Final = 4_096


def check_task(who: Principal, task: Task, before: Task | None, now: datetime) -> None:
    """Refuses what is beyond the quotas of whoever asks; of an edit, only what it changes."""
    quotas = who.quotas
    if quotas == NO_QUOTAS or (task.owner != who.owner and who.scope is None):
        return
    if before is None or before.payload != task.payload:
        check_payload(quotas, task.payload)
    if before is None or before.target != task.target:
        _check_target(quotas, task.target.spec)
    if before is None or before.schedule != task.schedule:
        check_schedule(quotas, task.schedule, now)
    if before is None or before.policies != task.policies:
        _check_retry(quotas, task.policies)


def _check_retry(quotas: Quotas, policies: Policies) -> None:
    """What fails by design and is tried again at once would run as often as it likes, whatever its schedule says. An agent's
    interval is much longer than what is usual between two attempts, which always is allowed."""
    retry = policies.retry
    if quotas.shortest_interval is None or retry.attempts == 1 or policies.guarantee == "at_most_once":
        return
    least = min(quotas.shortest_interval, Retry().backoff)
    for name, wait in (("backoff", retry.backoff), ("max", retry.max)):
        if wait < least:
            raise refuse("retry_too_soon", name=name, found=spelled(wait) if wait else "0s", least=spelled(least))


def check_payload(quotas: Quotas, payload: str) -> None:
    size = len(payload.encode(errors="replace"))
    if quotas.payload_bytes is not None and size > quotas.payload_bytes:
        raise refuse_task("payload_too_large", size=size, most=quotas.payload_bytes)


def _check_target(quotas: Quotas, spec: str) -> None:
    """What is to be sent may stand there as well as in the payload; an address and its headers always have room."""
    size = len(spec.encode(errors="replace"))
    if quotas.payload_bytes is not None and size > max(quotas.payload_bytes, ROOM_FOR_A_TARGET):
        raise refuse_task("payload_too_large", size=size, most=max(quotas.payload_bytes, ROOM_FOR_A_TARGET))


def bytes_of(task: Task) -> int:
    """How much of the store the definition of a task takes."""
    texts = (
        task.payload,
        task.target.spec,
        task.name,
        task.key or "",
        task.lane or "",
        json.dumps(to_json(task.schedule)),
    )
    labels = (text for label in task.labels for text in label)
    return sum(len(text.encode(errors="replace")) for text in chain(texts, labels))


def check_schedule(quotas: Quotas, schedule: Schedule, now: datetime, counted: int = 0) -> None:
    """`counted` is what its repeats have used up already."""
    least = quotas.shortest_interval
    if least is not None:
        found = gap_below(schedule, least, now)
        if found is not None:
            raise refuse("interval_too_short", found=spelled(found), least=spelled(least))
    if quotas.longest_life is not None and not ends_within(schedule, quotas.longest_life, now, counted):
        # Two days less: a date includes its whole day, wherever that is.
        until = (now + quotas.longest_life - timedelta(days=2)).date().isoformat()
        raise refuse("life_too_long", most=spelled(quotas.longest_life), until=until)


def gap_below(schedule: Schedule, least: timedelta, now: datetime) -> timedelta | None:
    """A gap between two occurrences that is shorter than that; None when there is none."""
    if isinstance(schedule, Once | Now) or schedule.repeat == 1:
        return None
    if isinstance(schedule, Every):
        return schedule.interval if schedule.interval < least else None
    if isinstance(schedule, Cron) and least <= _MINUTE and len(schedule.expression.split()) == 5:
        # Without seconds there is nothing shorter than a minute, whatever the clocks do.
        return None
    ahead = islice(iterate(schedule, now, Past(now)), LOOKED_AT)
    return next((gap for gap in (later - sooner for sooner, later in pairwise(ahead)) if gap < least), None)


def ends_within(schedule: Schedule, life: timedelta, now: datetime, counted: int = 0) -> bool:
    """Whether its last occurrence comes before so much time has passed."""
    horizon = now + life
    if next(iterate(schedule, horizon, Past(now)), None) is None:
        return True
    if schedule.repeat is None:
        return False
    left = schedule.repeat - counted
    if left > _MOST_REPEATS:
        return False
    ahead = iterate(schedule, now - timedelta(microseconds=1), Past(now, counted), until=horizon)
    return sum(1 for _ in islice(ahead, max(0, left))) >= left


def spelled(length: timedelta) -> str:
    """As people write it, and as the schedule language reads it: `1h30m`."""
    rest = length // timedelta(milliseconds=1)
    if rest * timedelta(milliseconds=1) != length or not rest:
        return iso_duration(length)
    found = ""
    for unit, size in _UNITS:
        number, rest = divmod(rest, size)
        found += f"{number}{unit}" if number else ""
    return found
