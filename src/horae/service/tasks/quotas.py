"""What a task may be under its owner's quotas: how often, how large, how long. Pure: how many is for the seats to say."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from itertools import chain, islice, pairwise
from typing import Final

from ...errors import Refusal
from ...model.accounts.agent_label import agent_of
from ...model.accounts.principal import NO_QUOTAS, Principal, Quotas
from ...model.change import Facts
from ...model.policy import Policies, Retry
from ...model.reason import Reason
from ...model.refusals import refuse as refuse_task
from ...model.task import Task, TaskState
from ...schedule import Cron, Every, Now, Once, Past, Schedule, iterate, to_json
from ...schedule.durations import iso_duration
from ..accounts.refusals import refuse
from .advisories import Advisory, advise

LOOKED_AT: Final = 200
"""So many occurrences ahead, the shortest gap is looked for."""
_MOST_REPEATS: Final = 100_000
_MINUTE: Final = timedelta(minutes=1)
_SHORTEST: Final = timedelta(milliseconds=1)
_COARSE: Final = timedelta(days=3)
NEVER: Final = "never"
"""The value of a quota that is no limit."""
_UNITS: Final = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))
_SCHEDULE_UNITS: Final = _UNITS[1:]
"""Without days: `every 2d` would ask for a time of day."""
_UNITS_ZH: Final = (("小时", 3_600_000), ("分钟", 60_000), ("秒", 1_000), ("毫秒", 1))
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
        check_schedule(who, task.schedule, now)
    if before is None or before.policies != task.policies:
        _check_retry(who, task.policies)


def _check_retry(who: Principal, policies: Policies) -> None:
    """What fails by design and is tried again at once would run as often as it likes, whatever its schedule says. An agent's
    interval is much longer than what is usual between two attempts, which always is allowed."""
    quotas, retry = who.quotas, policies.retry
    if quotas.shortest_interval is None or retry.attempts == 1 or policies.guarantee == "at_most_once":
        return
    least = min(quotas.shortest_interval, Retry().backoff)
    for name, wait in (("backoff", retry.backoff), ("max", retry.max)):
        if wait < least:
            raise refuse(
                "retry_too_soon",
                name=name,
                found=spelled(wait) if wait else "0s",
                least=spelled(least),
                found_zh=spelled_zh(wait),
                least_zh=spelled_zh(least),
                command=command_for(who, "shortest_interval", spelled(max(wait, _SHORTEST))),
            )


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


def check_schedule(who: Principal, schedule: Schedule, now: datetime, counted: int = 0) -> None:
    """`counted` is what its repeats have used up already."""
    least = who.quotas.shortest_interval
    if least is not None:
        found = gap_below(schedule, least, now)
        if found is not None:
            raise _too_short(who, found, least)
    life = who.quotas.longest_life
    if life is not None and not ends_within(schedule, life, now, counted):
        raise _too_long(who, life, now)


def _too_short(who: Principal, found: timedelta, least: timedelta) -> Refusal:
    return refuse(
        "interval_too_short",
        found=spelled(found),
        found_zh=spelled_zh(found),
        least=spelled(least),
        least_zh=spelled_zh(least),
        example=f"every {spelled(least, _SCHEDULE_UNITS)}",
        example_zh=f"每{spelled_zh(least)}",
        command=command_for(who, "shortest_interval", spelled(found)),
    )


def _too_long(who: Principal, life: timedelta, now: datetime) -> Refusal:
    """With a schedule that would be taken: until a date, or so many times where a date would be too coarse."""
    if life >= _COARSE:
        # Two days less: a date includes its whole day, wherever that is.
        until = (now + life - timedelta(days=2)).date().isoformat()
        example, example_zh = f"every day at 09:00 until {until}", f"每天早上9点，直到{until}"
    else:
        step = max(who.quotas.shortest_interval or _MINUTE, _MINUTE)
        times = max(1, min(10, life // step - 1))
        example = f"every {spelled(step, _SCHEDULE_UNITS)}, {times} times"
        example_zh = f"每{spelled_zh(step)}，共{times}次"
    return refuse(
        "life_too_long",
        most=spelled(life),
        most_zh=spelled_zh(life),
        example=example,
        example_zh=example_zh,
        command=command_for(who, "longest_life", NEVER),
    )


def refuse_when_used_up(facts: Facts) -> None:
    """For runs on request: what would be skipped when it is due, because the runs of the day are used up, is refused."""
    if is_used_up(facts):
        whose, command = spent_quota(facts)
        raise refuse("runs_used_up", name=whose, command=command)


def is_used_up(facts: Facts) -> bool:
    return facts.barred in (Reason.QUOTA, Reason.AGENT_QUOTA)


def used_up_advisories(facts: Facts) -> tuple[Advisory, ...]:
    """A warning about a task that is made while the runs of the day are used up."""
    if not is_used_up(facts) or facts.standing.state is not TaskState.ACTIVE:
        return ()
    whose, command = spent_quota(facts)
    return (advise("runs_used_up", whose=whose, command=command),)


def spent_quota(facts: Facts) -> tuple[str, str]:
    """Whose runs of the day are used up, and the command with which an admin lifts this limit."""
    agent = agent_of(facts.task) if facts.barred is Reason.AGENT_QUOTA else None
    who = Principal(facts.task.owner, agent=agent)
    return agent or facts.task.owner, command_for(who, "runs_per_day", NEVER)


def command_for(who: Principal, quota: str, value: str) -> str:
    """The command with which an admin changes this limit of whoever asks."""
    if who.agent is not None:
        return f"horae agent set {who.agent} --owner {who.owner} --quota {quota}={value}"
    return f"horae owner set {who.owner} --quota {quota}={value}"


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


def spelled(length: timedelta, units: tuple[tuple[str, int], ...] = _UNITS) -> str:
    """As people write it, and as the schedule language reads it: `1h30m`."""
    rest = length // timedelta(milliseconds=1)
    if rest * timedelta(milliseconds=1) != length or not rest:
        return iso_duration(length)
    found = ""
    for unit, size in units:
        number, rest = divmod(rest, size)
        found += f"{number}{unit}" if number else ""
    return found


def spelled_zh(length: timedelta) -> str:
    """`1小时30分钟`: in Chinese, and as the schedule language reads it there."""
    return spelled(length, _UNITS_ZH) if length else "0秒"
