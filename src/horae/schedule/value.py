"""Base class of schedules: zone, window, repeat limit, jitter, and the policy for clock changes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, TypeVar

from ..choices import Fold, Gap
from .instants import FIRST_INSTANT, LAST_INSTANT, SECOND, to_instant, wall_seconds
from .refusals import refuse
from .rules import Rule
from .zones import Zone, find_zone

# A date means the whole day, a naive datetime wall time in the schedule's zone, an aware one an instant.
Moment: TypeAlias = date | datetime
Counting = Literal["run", "planned"]

MAX_REPEATS: Final = 1_000_000_000
MAX_JITTER: Final = timedelta(days=1)
_LAST_YEAR: Final = 9999
_MAX_CACHED: Final = 64
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Past:
    """The past that a schedule is evaluated with: creation instant, counted occurrences, end of the last run."""

    anchor: datetime
    counted: int = 0
    last_end: datetime | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """The setting in which a schedule is evaluated: its zone, and its policies for clock changes."""

    zone: str | None
    gap: Gap
    fold: Fold

    def require_zone(self) -> Zone:
        if self.zone is None:
            raise refuse("zone_missing")
        return find_zone(self.zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """An immutable value that computes the next instant from the past; it holds no cursor, only a cache of derived values.

    It is no `ABC`, whose metaclass makes `isinstance` for another kind ten times as slow: a new task is asked for it twenty times.
    """

    kind: ClassVar[str]
    zone: str | None = None
    start: Moment | None = None
    end: Moment | None = None
    repeat: int | None = None
    counting: Counting = "run"
    jitter: timedelta | None = None
    gap: Gap | None = None
    fold: Fold | None = None
    _cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.zone is not None:
            check_type("zone", self.zone, str, "the name of a zone")
            find_zone(self.zone)
        if self._has_no_modifiers:
            return
        check_choices(self.gap, self.fold)
        _check_choice("counting", self.counting, ("run", "planned"))
        if self.repeat is not None:
            check_type("repeat", self.repeat, int, "a whole number")
            if not 1 <= self.repeat <= MAX_REPEATS:
                raise refuse("bad_repeat", value=self.repeat, most=MAX_REPEATS)
        if self.jitter is not None:
            check_type("jitter", self.jitter, timedelta, "a duration")
            if not timedelta(0) < self.jitter <= MAX_JITTER:
                raise refuse("bad_jitter", value=self.jitter)
        for moment in (self.start, self.end):
            check_moment(moment)
        if self.start is not None and self.end is not None and self._window_is_empty(self.start, self.end):
            raise refuse("empty_window", start=self.start, end=self.end)

    def _window_is_empty(self, start: Moment, end: Moment) -> bool:
        if self.zone is None and is_wall(start) != is_wall(end):
            return False  # only a zone can decide; the check runs again when one is filled in
        zone = find_zone(self.zone or "UTC")
        return first_instant(start, zone) > last_instant(end, zone)

    def with_defaults(self, zone: str | None, gap: Gap | None = None, fold: Fold | None = None) -> Self:
        """The same schedule with missing zone, gap and fold filled in."""
        missing: dict[str, Any] = {
            name: default
            for name, default in (("zone", zone), ("gap", gap), ("fold", fold))
            if default is not None and getattr(self, name) is None
        }
        return replace(self, **missing) if missing else self

    def setting(self, zone: str | None = None, gap: Gap = "next", fold: Fold = "first") -> Setting:
        return Setting(self.zone or zone, self.gap or gap, self.fold or fold)

    @property
    def _has_no_modifiers(self) -> bool:
        """Whether only the kind's own fields and the zone are set, as in most schedules."""
        window = self.start is None and self.end is None and self.repeat is None
        return window and self.counting == "run" and self.jitter is None and self.gap is None and self.fold is None

    @abstractmethod
    def rule(self, setting: Setting, past: Past) -> Rule:
        """The evaluable rule in a setting; window and repeats are applied by the caller."""

    @property
    def is_bounded(self) -> bool:
        """Whether it has a window or a repeat limit."""
        return self.start is not None or self.end is not None or self.repeat is not None

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        """Return the value itself: it is immutable, and its cache can be shared."""
        return self

    def cached(self, key: object, make: Callable[[], _T]) -> _T:
        """Return the cached value for `key`, computing it with `make` if absent; the cache is bounded."""
        try:
            return self._cache[key]  # type: ignore[no-any-return]
        except KeyError:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            return self._cache.setdefault(key, make())  # type: ignore[no-any-return]


def check_choices(gap: str | None, fold: str | None) -> None:
    _check_choice("gap", gap, (None, "next", "shift", "skip"))
    _check_choice("fold", fold, (None, "first", "last", "both"))


def _check_choice(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if not isinstance(value, str | None) or value not in allowed:
        raise refuse("bad_choice", name=name, value=value, allowed=", ".join(str(each) for each in allowed if each))


def check_type(name: str, value: object, kind: type | tuple[type, ...], expected: str) -> None:
    """Check the type of a field: values can be built by hand, and a wrong type is refused like wrong text. A bool is no number."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise refuse("bad_value", key=name, value=value, wanted=expected)


def check_moment(moment: Moment | None) -> None:
    if moment is None or (moment.__class__ is datetime and 1 < moment.year < _LAST_YEAR):
        return
    is_date = isinstance(moment, date)
    if not is_date or not date(1, 1, 4) <= (moment.date() if isinstance(moment, datetime) else moment) <= date(
        9999, 12, 27
    ):
        raise refuse("bad_moment", value=moment)


def is_wall(moment: Moment) -> bool:
    """Whether a zone is needed to resolve the moment to an instant."""
    return not isinstance(moment, datetime) or moment.tzinfo is None


def first_instant(moment: Moment, zone: Zone) -> int:
    """The instant at which a window that begins here opens."""
    if isinstance(moment, datetime):
        return _resolve(moment, zone, "first")
    return _resolve(datetime(moment.year, moment.month, moment.day), zone, "first")  # noqa: DTZ001 - wall time


def last_instant(moment: Moment, zone: Zone) -> int:
    """The last microsecond of a window that ends here; a date includes its whole day."""
    if isinstance(moment, datetime):
        return _resolve(moment, zone, "last")
    tomorrow = moment + timedelta(days=1)
    return _resolve(datetime(tomorrow.year, tomorrow.month, tomorrow.day), zone, "last") - 1  # noqa: DTZ001


def _resolve(moment: datetime, zone: Zone, fold: Fold) -> int:
    if moment.tzinfo is not None:
        return to_instant(moment)
    local = wall_seconds(moment)
    instants = zone.instants(local)
    if instants:
        return (instants[0] if fold == "first" else instants[-1]) * SECOND + moment.microsecond
    return (
        next(change.start for change in zone.changes(local - 2 * 86_400, local + 2 * 86_400) if local in change.gap)
        * SECOND
    )


def clamp(instant: int) -> int:
    return max(FIRST_INSTANT, min(LAST_INSTANT, instant))
