"""What every schedule has: its zone, its window, how often it may repeat, and what clock changes do to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, TypeVar

from ..choices import Fold, Gap
from .instants import FIRST_INSTANT, LAST_INSTANT, SECOND, to_instant, wall_seconds
from .refusals import refuse
from .rules import Rule
from .zones import Zone, find_zone

# A date stands for the whole day, a naive datetime for wall time in the schedule's zone, an aware one for an instant.
Moment: TypeAlias = date | datetime
Counting = Literal["run", "planned"]

MOST_REPEATS: Final = 1_000_000_000
LONGEST_JITTER: Final = timedelta(days=1)
_LAST_YEAR: Final = 9999
_MOST_REMEMBERED: Final = 64
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Past:
    """All that a schedule may know of what went before: values in, value out."""

    anchor: datetime
    counted: int = 0
    last_end: datetime | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a schedule is evaluated: its zone, and its choices for clock changes."""

    zone: str | None
    gap: Gap
    fold: Fold

    def require_zone(self) -> Zone:
        if self.zone is None:
            raise refuse("zone_missing")
        return find_zone(self.zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule(ABC):
    """A pure value: given the past, the next instant. It holds no cursor; what it remembers it could compute again."""

    kind: ClassVar[str]
    zone: str | None = None
    start: Moment | None = None
    end: Moment | None = None
    repeat: int | None = None
    counting: Counting = "run"
    jitter: timedelta | None = None
    gap: Gap | None = None
    fold: Fold | None = None
    _remembered: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.zone is not None:
            require("zone", self.zone, str, "the name of a zone")
            find_zone(self.zone)
        if self._plain:
            return
        check_choices(self.gap, self.fold)
        _check_choice("counting", self.counting, ("run", "planned"))
        if self.repeat is not None:
            require("repeat", self.repeat, int, "a whole number")
            if not 1 <= self.repeat <= MOST_REPEATS:
                raise refuse("bad_repeat", value=self.repeat, most=MOST_REPEATS)
        if self.jitter is not None:
            require("jitter", self.jitter, timedelta, "a duration")
            if not timedelta(0) < self.jitter <= LONGEST_JITTER:
                raise refuse("bad_jitter", value=self.jitter)
        for moment in (self.start, self.end):
            check_moment(moment)
        if self.start is not None and self.end is not None and self._window_is_empty(self.start, self.end):
            raise refuse("empty_window", start=self.start, end=self.end)

    def _window_is_empty(self, start: Moment, end: Moment) -> bool:
        if self.zone is None and is_wall(start) != is_wall(end):
            return False  # only a zone can tell; whoever fills it in asks again
        zone = find_zone(self.zone or "UTC")
        return first_instant(start, zone) > last_instant(end, zone)

    def with_defaults(self, zone: str | None, gap: Gap | None = None, fold: Fold | None = None) -> Self:
        """The same schedule, with what it leaves open filled in."""
        missing: dict[str, Any] = {
            name: given
            for name, given in (("zone", zone), ("gap", gap), ("fold", fold))
            if given is not None and getattr(self, name) is None
        }
        return replace(self, **missing) if missing else self

    def setting(self, zone: str | None = None, gap: Gap = "next", fold: Fold = "first") -> Setting:
        return Setting(self.zone or zone, self.gap or gap, self.fold or fold)

    @property
    def _plain(self) -> bool:
        """As most are: nothing but the kind's own fields and the zone was said."""
        window = self.start is None and self.end is None and self.repeat is None
        return window and self.counting == "run" and self.jitter is None and self.gap is None and self.fold is None

    @abstractmethod
    def rule(self, setting: Setting, past: Past) -> Rule:
        """What this becomes in a setting; the window and the repeats are looked at elsewhere."""

    @property
    def bounded(self) -> bool:
        """Whether a window or a number of repeats has to be looked at."""
        return self.start is not None or self.end is not None or self.repeat is not None

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        """A value is its own copy; what it remembers need not be made twice."""
        return self

    def remember(self, key: object, make: Callable[[], _T]) -> _T:
        """Derived things, kept beside the value that they follow from; the amount is bounded."""
        try:
            return self._remembered[key]  # type: ignore[no-any-return]
        except KeyError:
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            return self._remembered.setdefault(key, make())  # type: ignore[no-any-return]


def check_choices(gap: str | None, fold: str | None) -> None:
    _check_choice("gap", gap, (None, "next", "shift", "skip"))
    _check_choice("fold", fold, (None, "first", "last", "both"))


def _check_choice(name: str, given: object, allowed: tuple[object, ...]) -> None:
    if not isinstance(given, str | None) or given not in allowed:
        raise refuse("bad_choice", name=name, value=given, allowed=", ".join(str(each) for each in allowed if each))


def require(name: str, value: object, kind: type | tuple[type, ...], wanted: str) -> None:
    """Values may be built by hand as well: what has the wrong type is refused like wrong text. A bool is no number."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise refuse("bad_value", key=name, value=value, wanted=wanted)


def check_moment(moment: Moment | None) -> None:
    if moment is None or (moment.__class__ is datetime and 1 < moment.year < _LAST_YEAR):
        return
    known = isinstance(moment, date)
    if not known or not date(1, 1, 4) <= (moment.date() if isinstance(moment, datetime) else moment) <= date(
        9999, 12, 27
    ):
        raise refuse("bad_moment", value=moment)


def is_wall(moment: Moment) -> bool:
    """Whether a zone is needed to say which instant this is."""
    return not isinstance(moment, datetime) or moment.tzinfo is None


def first_instant(moment: Moment, zone: Zone) -> int:
    """When a window that begins here opens."""
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
    found = zone.instants(local)
    if found:
        return (found[0] if fold == "first" else found[-1]) * SECOND + moment.microsecond
    return (
        next(change.start for change in zone.changes(local - 2 * 86_400, local + 2 * 86_400) if local in change.gap)
        * SECOND
    )


def clamp(instant: int) -> int:
    return max(FIRST_INSTANT, min(LAST_INSTANT, instant))
