"""Checks of a single task against quotas: interval, size and lifetime; pure.

The number of tasks is checked in `task_quota`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import chain, islice, pairwise
from typing import Final

from ...errors import Refusal
from ...json_encoder import SPACED, make_encoder
from ...model.accounts.account import agent_of
from ...model.accounts.principal import NO_QUOTAS, Principal, Quotas
from ...model.chain_row import ChainLimit
from ...model.change import Change, Facts
from ...model.policy import Policies, RetryPolicy
from ...model.reason import Reason
from ...model.refusals import refuse as refuse_task
from ...model.task import Task, TaskState, gate_target
from ...schedule import Cron, Every, Now, Once, Past, Schedule, iterate, to_json
from ...schedule.durations import format_iso_duration
from ..accounts.refusals import refuse
from .advisories import Advisory, build_advisory

MAX_OCCURRENCES: Final = 200
"""Number of upcoming occurrences that are searched for the shortest gap."""
_MAX_REPEATS: Final = 100_000
_MINUTE: Final = timedelta(minutes=1)
_SHORTEST: Final = timedelta(milliseconds=1)
_DATE_EXAMPLE_FROM: Final = timedelta(days=3)
NEVER: Final = "never"
"""Value of a quota that means no limit."""
_UNITS: Final = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))
_SCHEDULE_UNITS: Final = _UNITS[1:]
"""Without days: `every 2d` would ask for a time of day."""
_UNITS_ZH: Final = (("小时", 3_600_000), ("分钟", 60_000), ("秒", 1_000), ("毫秒", 1))
MIN_TARGET_BYTES: Final = 4_096
_encode: Final = make_encoder(SPACED, ensure_ascii=True)
_LEAST_BYTES: Final = 1024 * 1024
"""The smallest limit of stored bytes that a hint recommends."""


def check_task(principal: Principal, task: Task, before: Task | None, now: datetime) -> None:
    """Refuse a task beyond the caller's quotas; of an edit, check only the changed fields."""
    quotas = principal.quotas
    if quotas == NO_QUOTAS or (task.owner != principal.owner and principal.owner_filter is None):
        return
    if before is None or before.payload != task.payload:
        check_payload(quotas, task.payload)
    if before is None or before.target != task.target:
        _check_target(quotas, task.target.spec)
    gate = gate_target(task.policies)
    if gate is not None and (before is None or before.policies.gate != task.policies.gate):
        _check_target(quotas, gate.spec)
    if before is None or before.lanes != task.lanes:
        _check_lanes(principal, task.lanes)
    if before is None or before.schedule != task.schedule:
        check_schedule(principal, task.schedule, now)
    if before is None or before.policies != task.policies:
        _check_retry(principal, task.policies)


def _check_retry(principal: Principal, policies: Policies) -> None:
    """Limit the back-off of retries: a failing task with immediate retries would run more often than allowed.

    The default back-off is always allowed, although the shortest interval of an agent is much longer.
    """
    quotas, retry = principal.quotas, policies.retry
    if quotas.shortest_interval is None or retry.attempts == 1 or policies.guarantee == "at_most_once":
        return
    least = min(quotas.shortest_interval, RetryPolicy().backoff)
    for name, wait in (("backoff", retry.backoff), ("max", retry.max)):
        if wait < least:
            raise refuse(
                "retry_too_soon",
                name=name,
                found=format_duration(wait) if wait else "0s",
                least=format_duration(least),
                found_zh=format_duration_zh(wait),
                least_zh=format_duration_zh(least),
                command=command_for(principal, "shortest_interval", format_duration(max(wait, _SHORTEST))),
            )


def check_payload(quotas: Quotas, payload: str) -> None:
    size = len(payload.encode(errors="replace"))
    if quotas.payload_bytes is not None and size > quotas.payload_bytes:
        raise refuse_task("payload_too_large", size=size, most=quotas.payload_bytes)


def _check_lanes(principal: Principal, lanes: Sequence[str]) -> None:
    most, found = principal.quotas.task_lanes, len(lanes)
    if most is not None and found > most:
        command = command_for(principal, "task_lanes", str(found))
        raise refuse("task_lanes_over_quota", most=most, found=found, command=command)


def limit_chain(principal: Principal, change: Change) -> Change:
    """Return the change of a task with the most links that a chain of the caller may have; the store counts them."""
    task, most = change.task, principal.quotas.chain_depth
    if task is None or most is None or (task.owner != principal.owner and principal.owner_filter is None):
        return change
    return change._replace(chain_limit=ChainLimit(most, command_for(principal, "chain_depth", "")))


def _check_target(quotas: Quotas, spec: str) -> None:
    """Limit the spec, which may carry the body of a request; an address with its headers always fits."""
    size = len(spec.encode(errors="replace"))
    if quotas.payload_bytes is not None and size > max(quotas.payload_bytes, MIN_TARGET_BYTES):
        raise refuse_task("payload_too_large", size=size, most=max(quotas.payload_bytes, MIN_TARGET_BYTES))


def definition_bytes(task: Task) -> int:
    """Return the size of a task's definition in bytes."""
    texts = (
        task.payload,
        task.target.spec,
        task.name,
        task.key or "",
        *task.lanes,
        _encode(to_json(task.schedule)),
        "" if task.policies.gate is None else task.policies.gate.spec,
    )
    labels = (text for label in task.labels for text in label)
    return sum(map(_byte_length, chain(texts, labels)))


def _byte_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def check_schedule(principal: Principal, schedule: Schedule, now: datetime, counted: int = 0) -> None:
    """Refuse a schedule beyond the caller's quotas; `counted` repeats are already used up."""
    least = principal.quotas.shortest_interval
    if least is not None:
        gap = find_gap_below(schedule, least, now)
        if gap is not None:
            raise _too_short(principal, gap, least)
    life = principal.quotas.longest_life
    if life is not None and not ends_within(schedule, life, now, counted):
        raise _too_long(principal, life, now)


def _too_short(principal: Principal, gap: timedelta, least: timedelta) -> Refusal:
    return refuse(
        "interval_too_short",
        found=format_duration(gap),
        found_zh=format_duration_zh(gap),
        least=format_duration(least),
        least_zh=format_duration_zh(least),
        example=f"every {format_duration(least, _SCHEDULE_UNITS)}",
        example_zh=f"每{format_duration_zh(least)}",
        command=command_for(principal, "shortest_interval", format_duration(gap)),
    )


def _too_long(principal: Principal, life: timedelta, now: datetime) -> Refusal:
    """Build the refusal with an example that is allowed: until a date, or a number of times for a short lifetime."""
    if life >= _DATE_EXAMPLE_FROM:
        # Two days less, because a date includes its whole day in any zone.
        until = (now + life - timedelta(days=2)).date().isoformat()
        example, example_zh = f"every day at 09:00 until {until}", f"每天早上9点，直到{until}"
    else:
        step = max(principal.quotas.shortest_interval or _MINUTE, _MINUTE)
        times = max(1, min(10, life // step - 1))
        example = f"every {format_duration(step, _SCHEDULE_UNITS)}, {times} times"
        example_zh = f"每{format_duration_zh(step)}，共{times}次"
    return refuse(
        "life_too_long",
        most=format_duration(life),
        most_zh=format_duration_zh(life),
        example=example,
        example_zh=example_zh,
        command=command_for(principal, "longest_life", NEVER),
    )


def refuse_when_used_up(facts: Facts) -> None:
    """Refuse a run on request that would be skipped when it is due, because a quota is used up."""
    if is_used_up(facts):
        name, command = _used_up_by(facts)
        raise refuse("quota_used_up", name=name, command=command)


def is_used_up(facts: Facts) -> bool:
    return facts.block_reason in (Reason.QUOTA, Reason.AGENT_QUOTA)


def used_up_advisories(facts: Facts) -> tuple[Advisory, ...]:
    """Warn about a task that is created while a quota of its owner or agent is used up."""
    if not is_used_up(facts) or facts.status.state is not TaskState.ACTIVE:
        return ()
    name, command = _used_up_by(facts)
    return (build_advisory("quota_used_up", whose=name, command=command),)


def _used_up_by(facts: Facts) -> tuple[str, str]:
    """Return the name of the owner or agent, and a command for an admin. Which quota of an owner it is, the account knows."""
    owner, agent = facts.task.owner, agent_of(facts.task) if facts.block_reason is Reason.AGENT_QUOTA else None
    if agent is None:
        return owner, f"horae owner show {owner}"
    return agent, command_for(Principal(owner, agent=agent), "runs_per_day", NEVER)


def command_for(principal: Principal, quota: str, value: str) -> str:
    """Return the command with which an admin changes this limit for the caller."""
    if principal.agent is not None:
        return f"horae agent set {principal.agent} --owner {principal.owner} --quota {quota}={value}"
    return f"horae owner set {principal.owner} --quota {quota}={value}"


def larger_limit(limit: int, wanted: int) -> int:
    """A limit of bytes with room for twice what is wanted, and at least twice the present one."""
    return max(2 * limit, 2 * wanted, _LEAST_BYTES)


def find_gap_below(schedule: Schedule, least: timedelta, now: datetime) -> timedelta | None:
    """Return a gap between two occurrences that is shorter than `least`; None if there is none."""
    if isinstance(schedule, Once | Now) or schedule.repeat == 1:
        return None
    if isinstance(schedule, Every):
        return schedule.interval if schedule.interval < least else None
    if isinstance(schedule, Cron) and least <= _MINUTE and len(schedule.expression.split()) == 5:
        # Without a seconds field no gap is shorter than a minute, even at clock changes.
        return None
    ahead = islice(iterate(schedule, now, Past(now)), MAX_OCCURRENCES)
    return next((gap for gap in (later - sooner for sooner, later in pairwise(ahead)) if gap < least), None)


def ends_within(schedule: Schedule, life: timedelta, now: datetime, counted: int = 0) -> bool:
    """Whether the last occurrence comes within `life` from now."""
    horizon = now + life
    if next(iterate(schedule, horizon, Past(now)), None) is None:
        return True
    if schedule.repeat is None:
        return False
    left = schedule.repeat - counted
    if left > _MAX_REPEATS:
        return False
    ahead = iterate(schedule, now - timedelta(microseconds=1), Past(now, counted), until=horizon)
    return sum(1 for _ in islice(ahead, max(0, left))) >= left


def format_duration(length: timedelta, units: tuple[tuple[str, int], ...] = _UNITS) -> str:
    """Format a duration as the schedule language reads it: `1h30m`."""
    rest = length // timedelta(milliseconds=1)
    if rest * timedelta(milliseconds=1) != length or not rest:
        return format_iso_duration(length)
    text = ""
    for unit, size in units:
        number, rest = divmod(rest, size)
        text += f"{number}{unit}" if number else ""
    return text


def format_duration_zh(length: timedelta) -> str:
    """Format a duration as the Chinese schedule language reads it: `1小时30分钟`."""
    return format_duration(length, _UNITS_ZH) if length else "0秒"
