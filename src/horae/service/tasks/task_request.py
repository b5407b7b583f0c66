"""What people write down becomes values: when, how long, how often, what if."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from ...errors import InvalidSchedule
from ...model.field_checks import check_number
from ...model.policy import (
    LONGEST,
    LONGEST_TIMEOUT,
    MOST_ATTEMPTS,
    Guarantee,
    Missed,
    MissedMode,
    Overlap,
    Policies,
    Retry,
    RetryJitter,
    policies_for,
)
from ...model.refusals import refuse
from ...model.task import Target, Task
from ...schedule import Every, Once, Schedule, from_wish
from ...schedule.durations import parse_duration, short_duration
from ...schedule.refusals import refuse as refuse_schedule
from ...schedule.rrule import refuse_if_endless
from ...schedule.text import read

_T = TypeVar("_T")
_MILLISECOND: Final = timedelta(milliseconds=1)

NEVER: Final = "never"
"""A limit that is never reached: give up never, stop retrying never, end never."""

When: TypeAlias = str | datetime | Schedule | Mapping[str, Any]
Duration: TypeAlias = str | float | timedelta
Delay: TypeAlias = float | timedelta
"""Seconds, or a length of time, from now."""


class MissedWish(NamedTuple):
    """Some parts of a `Missed`; None: as it is, or as is usual. `within` NEVER: however late."""

    mode: MissedMode | None = None
    within: Duration | None = None
    limit: int | None = None

    def onto(self, base: Missed) -> Missed:
        within = base.within if self.within is None else _no_limit("within", self.within)
        return Missed(_or(self.mode, base.mode), within, _or(self.limit, base.limit))


class RetryWish(NamedTuple):
    """Some parts of a `Retry`; None: as it is, or as is usual. `attempts` NEVER: for ever."""

    attempts: int | str | None = None
    backoff: Duration | None = None
    factor: float | None = None
    max: Duration | None = None
    jitter: RetryJitter | None = None

    def onto(self, base: Retry) -> Retry:
        attempts: Any = base.attempts if self.attempts is None else None if self.attempts == NEVER else self.attempts
        return Retry(
            attempts,
            base.backoff if self.backoff is None else read_duration("backoff", self.backoff),
            _or(self.factor, base.factor),
            base.max if self.max is None else read_duration("max", self.max),
            _or(self.jitter, base.jitter),
        )


class Options(NamedTuple):
    """The policies as a caller may spell them; None means: as the schedule's kind has it by default, or as the task has
    it that is edited."""

    missed: str | Missed | MissedWish | None = None
    overlap: Overlap | None = None
    retries: int | str | None = None
    retry: Retry | RetryWish | None = None
    give_up_after: int | str | None = None
    timeout: Duration | None = None
    max_duration: Duration | None = None
    guarantee: Guarantee | None = None
    priority: int | None = None
    notify_after: int | str | None = None

    def over(self, usual: Options) -> Options:
        """What was chosen here, and where nothing was, the usual."""
        if usual is NO_OPTIONS:
            return self
        merged = Options._make(_merged(mine, other) for mine, other in zip(self, usual, strict=True))
        # `retries` is short for a part of `retry`, so one that chooses the attempts leaves nothing of a usual number.
        leaves_attempts = self.retry is None or (isinstance(self.retry, RetryWish) and self.retry.attempts is None)
        return merged if leaves_attempts else merged._replace(retries=self.retries)


NO_OPTIONS: Final = Options()


def _merged(mine: Any, other: Any) -> Any:
    """Of two that choose parts, the first one's choice part by part; otherwise the first that is there."""
    if mine is None:
        return other
    if isinstance(mine, MissedWish | RetryWish) and type(mine) is type(other):
        return type(mine)._make(_or(part, base) for part, base in zip(mine, other, strict=True))
    return mine


class Wish(NamedTuple):
    """A task as somebody asks for it. `payload` is JSON text, `owner` None means: whoever asks."""

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
    granted_lane: str | None = None
    """The lane that the declaration of its function names: a lane of the deployment, which every owner may then use."""
    resolved: bool = False
    """The declaration of its function has been applied, and its arguments have been checked."""


def wish_of(task: Task) -> Wish:
    """The wish that would make this task again."""
    return Wish(
        task.name,
        task.schedule,
        task.target,
        task.payload,
        task.owner,
        task.key,
        None,
        task.lane,
        dict(task.labels),
        explicit(task.policies),
        resolved=True,
    )


def explicit(said: Policies) -> Options:
    """The options that choose exactly these policies, whatever is usual."""
    return Options(
        missed=said.missed,
        overlap=said.overlap,
        retry=said.retry,
        give_up_after=NEVER if said.give_up_after is None else said.give_up_after,
        timeout=said.timeout,
        max_duration=NEVER if said.max_duration is None else said.max_duration,
        guarantee=said.guarantee,
        priority=said.priority,
        notify_after=said.notify_after,
    )


def read_when(when: When, zone: str | None, now: datetime) -> Schedule:
    """Text in the schedule language, an aware instant, canonical JSON, or a schedule as it is."""
    if isinstance(when, datetime):
        return Once(at=when, zone=zone)
    if isinstance(when, str):
        return read(when, zone=zone, now=now).schedule
    if isinstance(when, Schedule):
        refuse_if_endless(when)
        return when.with_defaults(zone)
    if isinstance(when, Mapping):
        return from_wish(when).with_defaults(zone)
    if isinstance(when, timedelta) or type(when) in (int, float):
        length = short_duration(read_duration("when", when))
        raise refuse_schedule("bare_duration", value=length, delay=f"in {length}", interval=f"every {length}")
    raise refuse("bad_when", value=type(when).__name__)


def read_delay(when: When | Delay, zone: str | None, now: datetime) -> When:
    """`when` where a delay is meant: seconds, a `timedelta` and text such as `5s` count from now."""
    if isinstance(when, timedelta | int | float):
        return _delayed(read_duration("delay", when))
    if not isinstance(when, str):
        return when
    try:
        return _delayed(parse_duration(when))
    except InvalidSchedule:
        pass
    try:
        read(when, zone=zone, now=now)
    except InvalidSchedule as refusal:
        if refusal.code == "bare_duration":
            return str(refusal.facts["delay"])
        raise
    return when


def _delayed(length: timedelta) -> str:
    """In the schedule language, which counts in milliseconds."""
    if not timedelta(0) <= length <= LONGEST:
        raise refuse("bad_duration", name="delay", value=length, least="0s", most=LONGEST)
    whole = -(-length // _MILLISECOND) * _MILLISECOND
    return f"in {short_duration(whole)}" if whole else "now"


_MOST: Final = {"timeout": LONGEST_TIMEOUT}
"""Where less than the usual limit is accepted."""


def read_duration(name: str, value: Duration) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, str):
        try:
            return parse_duration(value)
        except InvalidSchedule:
            raise refuse("bad_duration", name=name, value=value, least="1ms", most=_MOST.get(name, LONGEST)) from None
    # A number of seconds; what is no number, or not a sensible one, is refused like any other spelling.
    if type(value) not in (int, float) or not 0 <= value < LONGEST.total_seconds():
        raise refuse("bad_duration", name=name, value=value, least="1ms", most=_MOST.get(name, LONGEST))
    return timedelta(seconds=value)


def read_interval(when: When | timedelta) -> When:
    """`when` where an interval is meant: a `timedelta` is how often."""
    return Every(interval=when) if isinstance(when, timedelta) else when


def read_policies(schedule: Schedule, options: Options) -> Policies:
    """The defaults that fit the schedule's kind, with what was chosen laid over them."""
    usual = policies_for(schedule)
    return usual if options is NO_OPTIONS else chosen_policies(usual, options)


def chosen_policies(base: Policies, options: Options) -> Policies:
    """Policies with what was chosen laid over them; `NEVER` is the choice of no limit."""
    chosen: dict[str, Any] = {
        "missed": None if options.missed is None else read_missed(options.missed, base.missed),
        "overlap": options.overlap,
        "retry": _retry(options, base.retry),
        "give_up_after": options.give_up_after,
        "timeout": None if options.timeout is None else read_duration("timeout", options.timeout),
        "max_duration": _limit("max_duration", options.max_duration),
        "guarantee": options.guarantee,
        "priority": options.priority,
        "notify_after": 0 if options.notify_after == NEVER else options.notify_after,
    }
    named: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    named |= {name: None for name in ("give_up_after", "max_duration") if chosen[name] == NEVER}
    return replace(base, **named)


def _limit(name: str, value: Duration | None) -> timedelta | str | None:
    return value if value is None or value == NEVER else read_duration(name, value)


def _no_limit(name: str, value: Duration) -> timedelta | None:
    return None if value == NEVER else read_duration(name, value)


def _or(said: _T | None, otherwise: _T) -> _T:
    return otherwise if said is None else said


def read_missed(value: str | Missed | MissedWish, usual: Missed) -> Missed:
    """`latest`, `skip`, or with a bound: `latest within 1h`; what is not said stays as is usual."""
    if isinstance(value, Missed):
        return value
    return (value if isinstance(value, MissedWish) else read_missed_parts(str(value))).onto(usual)


def read_missed_parts(text: str) -> MissedWish:
    mode, _, within = text.partition(" within ")
    named: MissedMode = mode.strip()  # type: ignore[assignment]  # the value itself refuses what it does not know
    return MissedWish(named, read_duration("within", within.strip()) if within else None)


def _retry(options: Options, usual: Retry) -> Retry | None:
    """`retries=3` means four attempts, with the waits of `retry` where both were given."""
    retry = options.retry.onto(usual) if isinstance(options.retry, RetryWish) else options.retry
    if retry is not None and not isinstance(retry, Retry):
        raise refuse("bad_choice", name="retry", value=retry, allowed="RetryPolicy(attempts=4), or retries=3")
    if options.retries is None:
        return retry
    if options.retries == NEVER:
        return replace(retry or usual, attempts=None)
    if not isinstance(options.retries, int) or isinstance(options.retries, bool):
        raise refuse("bad_number_or_never", name="retries", value=options.retries, least=0, most=MOST_ATTEMPTS - 1)
    check_number("retries", options.retries, 0, MOST_ATTEMPTS - 1)
    return replace(retry or usual, attempts=int(options.retries) + 1)
