"""Parsing of task requests: schedules, durations, delays and policies as callers spell them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias, TypeVar

from ...errors import InvalidSchedule
from ...model.gate import Gate
from ...model.lanes.node_labels import read_where
from ...model.policy import (
    DEFAULT_POLICIES,
    MAX_ATTEMPTS,
    MAX_DURATION,
    MAX_TIMEOUT,
    Guarantee,
    Missed,
    MissedMode,
    Notify,
    Overlap,
    Policies,
    RetryJitter,
    RetryPolicy,
    policies_for,
)
from ...model.refusals import NUMBER_OR_NEVER, refuse
from ...model.task import Target, Task, TaskPast
from ...model.text.field_checks import check_number
from ...refusal_catalogue import build_refusal
from ...schedule import After, Every, Once, Schedule
from ...schedule.durations import format_short_duration, parse_duration
from ...schedule.refusals import refuse as refuse_schedule
from ...schedule.text import parse_text
from ...schedule.text.request import ScheduleRequest, parse_when

_T = TypeVar("_T")
_MILLISECOND: Final = timedelta(milliseconds=1)

NEVER: Final = "never"
"""Value for a limit that is never reached: never give up, never stop retrying, never end."""

When: TypeAlias = ScheduleRequest
"""Text, an instant, canonical JSON, a schedule, or a list of these."""
Duration: TypeAlias = str | float | timedelta
Delay: TypeAlias = float | timedelta
"""Seconds, or a duration, from now."""


class MissedRequest(NamedTuple):
    """Some fields of a `Missed`; None: unchanged, or the default. `within` NEVER: however late."""

    mode: MissedMode | None = None
    within: Duration | None = None
    limit: int | None = None

    def apply_to(self, base: Missed) -> Missed:
        within = base.within if self.within is None else _read_optional_limit("within", self.within)
        return Missed(_value_or(self.mode, base.mode), within, _value_or(self.limit, base.limit))


class RetryRequest(NamedTuple):
    """Some fields of a `RetryPolicy`; None: unchanged, or the default. `attempts` NEVER: without a limit."""

    attempts: int | str | None = None
    backoff: Duration | None = None
    factor: float | None = None
    max: Duration | None = None
    jitter: RetryJitter | None = None
    superseded_by_next: bool | None = None

    def apply_to(self, base: RetryPolicy) -> RetryPolicy:
        attempts: Any = base.attempts if self.attempts is None else None if self.attempts == NEVER else self.attempts
        return RetryPolicy(
            attempts,
            base.backoff if self.backoff is None else read_duration("backoff", self.backoff),
            _value_or(self.factor, base.factor),
            base.max if self.max is None else read_duration("max", self.max),
            _value_or(self.jitter, base.jitter),
            _value_or(self.superseded_by_next, base.superseded_by_next),
        )


class Options(NamedTuple):
    """Policies as a caller may spell them; None: the default of the schedule's kind, or unchanged in an edit."""

    missed: str | Missed | MissedRequest | None = None
    overlap: Overlap | None = None
    retries: int | str | None = None
    retry: RetryPolicy | RetryRequest | None = None
    give_up_after: int | str | None = None
    timeout: Duration | None = None
    max_duration: Duration | None = None
    guarantee: Guarantee | None = None
    priority: int | None = None
    notify_after: int | str | None = None
    start_within: Duration | None = None
    notify: Notify | str | None = None
    """NEVER: no messages."""
    gate: Gate | str | None = None
    """NEVER: no gate."""
    where: Mapping[str, str] | None = None
    """Labels that a node must have; an empty mapping: none."""
    lanes: tuple[str, ...] | None = None
    """Lanes besides that of the task; an empty list: none."""

    def merged_with(self, defaults: Options) -> Options:
        """Return these options, with `usual` for each one that is not set."""
        if defaults is NO_OPTIONS:
            return self
        merged = Options._make(_merge_option(mine, other) for mine, other in zip(self, defaults, strict=True))
        # `retries` is short for `retry.attempts`: where `retry` sets the attempts, a default `retries` must not apply.
        leaves_attempts = self.retry is None or (isinstance(self.retry, RetryRequest) and self.retry.attempts is None)
        return merged if leaves_attempts else merged._replace(retries=self.retries)


NO_OPTIONS: Final = Options()


def _merge_option(value: Any, default: Any) -> Any:
    """Merge two partial policies field by field; otherwise take the first value that is set."""
    if value is None:
        return default
    if isinstance(value, MissedRequest | RetryRequest) and type(value) is type(default):
        return type(value)._make(_value_or(part, base) for part, base in zip(value, default, strict=True))
    return value


class TaskRequest(NamedTuple):
    """A requested task. `payload` is JSON text; `owner` None means the caller."""

    name: str
    when: When
    target: Target
    payload: str = "{}"
    owner: str | None = None
    key: str | None = None
    zone: str | None = None
    lane: str | None = None
    labels: Mapping[str, str] | None = None
    options: Options = NO_OPTIONS
    cleared: frozenset[str] = frozenset()
    """Fields that the caller set to null: the declaration of a function does not fill them."""
    granted_lanes: tuple[str, ...] = ()
    """Lanes of the function's declaration: shared lanes that every owner may then use."""
    past: TaskPast | None = None
    """Only admins may set it, and imports and plans, which also set `trusted_past`."""
    trusted_past: bool = False
    resolved: bool = False
    """The declaration of its function has been applied, and its arguments have been checked."""


def request_of(task: Task) -> TaskRequest:
    """Return the request that would create this task again."""
    return TaskRequest(
        task.name,
        task.schedule,
        task.target,
        task.payload,
        task.owner,
        task.key,
        None,
        task.lane,
        dict(task.labels),
        explicit_options(task.policies),
        resolved=True,
    )


def explicit_options(policies: Policies) -> Options:
    """Return options that set exactly these policies, whatever the defaults are."""
    return Options(
        missed=policies.missed,
        overlap=policies.overlap,
        retry=policies.retry,
        give_up_after=NEVER if policies.give_up_after is None else policies.give_up_after,
        timeout=policies.timeout,
        max_duration=NEVER if policies.max_duration is None else policies.max_duration,
        guarantee=policies.guarantee,
        priority=policies.priority,
        notify_after=policies.notify_after,
        start_within=NEVER if policies.start_within is None else policies.start_within,
        notify=NEVER if policies.notify is None else policies.notify,
        gate=NEVER if policies.gate is None else policies.gate,
        where=dict(policies.where),
        lanes=policies.lanes,
    )


def read_when(when: When, zone: str | None, now: datetime) -> Schedule:
    """Parse text in the schedule language, an aware instant, canonical JSON, a schedule, or a list of these."""
    try:
        if isinstance(when, datetime):
            # Fast path for tasks added in bulk.
            return Once(at=when, zone=zone)
        if isinstance(when, str | Schedule | Mapping | list | tuple):
            return parse_when(when, zone=zone, now=now).schedule
    except InvalidSchedule as refusal:
        note_zone_field(refusal, zone)
        raise
    return _refuse_when(when)


def with_zone(schedule: Schedule, zone: str) -> Schedule:
    """Return a schedule without a zone in this one."""
    try:
        return schedule.with_defaults(zone)
    except InvalidSchedule as refusal:
        note_zone_field(refusal, zone)
        raise


def note_zone_field(refusal: InvalidSchedule, zone: str | None) -> None:
    """Note that the zone which was given beside the schedule is refused, and not a part of the schedule."""
    if refusal.code == "unknown_zone" and refusal.position is None and refusal.facts.get("zone") == zone:
        refusal.facts["field"] = "zone"


def names_predecessors(when: object) -> bool:
    """Whether a request is about a task that runs after others."""
    return isinstance(when, After) or (isinstance(when, Mapping) and when.get("kind") == After.kind)


def _refuse_when(when: Any) -> NoReturn:
    if isinstance(when, timedelta) or type(when) in (int, float):
        length = format_short_duration(read_duration("when", when))
        raise refuse_schedule("bare_duration", value=length, delay=f"in {length}", interval=f"every {length}")
    raise refuse("bad_when", value=type(when).__name__)


def read_delay(when: When | Delay, zone: str | None, now: datetime) -> When:
    """Parse `when` as a delay: seconds, a `timedelta` and text such as `5s` count from now."""
    if isinstance(when, timedelta | int | float):
        return _delay_text(read_duration("delay", when))
    if not isinstance(when, str):
        return when
    try:
        return _delay_text(parse_duration(when))
    except InvalidSchedule:
        pass
    try:
        parse_text(when, zone=zone, now=now)
    except InvalidSchedule as refusal:
        if refusal.code == "bare_duration":
            return str(refusal.facts["delay"])
        raise
    return when


def _delay_text(length: timedelta) -> str:
    """Format a delay in the schedule language, which counts in milliseconds."""
    if not timedelta(0) <= length <= MAX_DURATION:
        raise refuse("bad_duration", name="delay", value=length, least="0s", most=MAX_DURATION)
    whole = -(-length // _MILLISECOND) * _MILLISECOND
    return f"in {format_short_duration(whole)}" if whole else "now"


_MOST: Final = {"timeout": MAX_TIMEOUT}
"""Where less than the usual limit is accepted."""


def read_duration(name: str, value: Duration) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, str):
        try:
            return parse_duration(value)
        except InvalidSchedule:
            raise refuse(
                "bad_duration", name=name, value=value, least="1ms", most=_MOST.get(name, MAX_DURATION)
            ) from None
    # A number of seconds; other types and values out of range are refused.
    if type(value) not in (int, float) or not 0 <= value < MAX_DURATION.total_seconds():
        raise refuse("bad_duration", name=name, value=value, least="1ms", most=_MOST.get(name, MAX_DURATION))
    return timedelta(seconds=value)


def read_interval(when: When | timedelta) -> When:
    """Parse `when` as an interval: a `timedelta` becomes an `every` schedule."""
    return Every(interval=when) if isinstance(when, timedelta) else when


def read_policies(schedule: Schedule, options: Options) -> Policies:
    """Return the default policies of the schedule's kind, overridden by the given options."""
    defaults = policies_for(schedule)
    return defaults if options is NO_OPTIONS else apply_options(defaults, options)


def apply_options(base: Policies, options: Options) -> Policies:
    """Return the base policies overridden by the given options; `NEVER` sets no limit."""
    chosen: dict[str, Any] = {
        "missed": None if options.missed is None else read_missed(options.missed, base.missed),
        "overlap": options.overlap,
        "retry": _read_retry(options, base.retry),
        "give_up_after": options.give_up_after,
        "timeout": None if options.timeout is None else read_duration("timeout", options.timeout),
        "max_duration": _read_limit("max_duration", options.max_duration),
        "guarantee": options.guarantee,
        "priority": options.priority,
        "notify_after": 0 if options.notify_after == NEVER else options.notify_after,
        "start_within": _read_limit("start_within", options.start_within),
        "notify": options.notify,
        "gate": options.gate,
        "where": None if options.where is None else read_where(options.where),
        "lanes": None if options.lanes is None else read_lanes(options.lanes),
    }
    named: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    unset = ("give_up_after", "max_duration", "start_within", "notify", "gate")
    named |= {name: None for name in unset if chosen[name] == NEVER}
    if isinstance(options.notify, Notify) and options.notify_after is None and base.notify is None:
        # Webhooks wait for a streak by default; a person gets a message about the first failure.
        named["notify_after"] = 1 if base.notify_after == DEFAULT_POLICIES.notify_after else base.notify_after
    return replace(base, **named)


def read_lanes(value: Any) -> Any:
    """Return a list as a tuple; another value as it is, for the policy to refuse."""
    is_list = isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
    return tuple(value) if is_list else value


def _read_limit(name: str, value: Duration | None) -> timedelta | str | None:
    return value if value is None or value == NEVER else read_duration(name, value)


def _read_optional_limit(name: str, value: Duration) -> timedelta | None:
    return None if value == NEVER else read_duration(name, value)


def _value_or(value: _T | None, default: _T) -> _T:
    return default if value is None else value


def read_missed(value: str | Missed | MissedRequest, default: Missed) -> Missed:
    """Parse `latest`, `skip`, or with a bound: `latest within 1h`; parts that are not given are the default."""
    if isinstance(value, Missed):
        return value
    return (value if isinstance(value, MissedRequest) else read_missed_parts(str(value))).apply_to(default)


def read_missed_parts(text: str) -> MissedRequest:
    mode, _, within = text.partition(" within ")
    named: MissedMode = mode.strip()  # type: ignore[assignment]  # the value itself refuses what it does not know
    return MissedRequest(named, read_duration("within", within.strip()) if within else None)


def _read_retry(options: Options, default: RetryPolicy) -> RetryPolicy | None:
    """Build the retry policy: `retries=3` means four attempts, with the waits of `retry` if both are given."""
    retry = options.retry.apply_to(default) if isinstance(options.retry, RetryRequest) else options.retry
    if retry is not None and not isinstance(retry, RetryPolicy):
        raise refuse("bad_choice", name="retry", value=retry, allowed="RetryPolicy(attempts=4), or retries=3")
    if options.retries is None:
        return retry
    if options.retries == NEVER:
        return replace(retry or default, attempts=None)
    if not isinstance(options.retries, int) or isinstance(options.retries, bool):
        facts = {"name": "retries", "value": options.retries, "least": 0, "most": MAX_ATTEMPTS - 1}
        raise build_refusal("bad_number", NUMBER_OR_NEVER, facts)
    check_number("retries", options.retries, 0, MAX_ATTEMPTS - 1)
    return replace(retry or default, attempts=int(options.retries) + 1)
