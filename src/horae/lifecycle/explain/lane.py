"""Explanation of an entry that waits in a lane: its limit, its rate, the runs in it, entries ahead, and until when."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from ...model.change import Facts
from ...model.entry import CONTROL_KINDS, Entry, EntryKind, EntryState
from ...model.lanes.lane import MAX_LANE_LIMIT, LaneUse
from ...model.lanes.rate import Rate
from ...model.lanes.route import is_route
from ...typography import full_width
from ..instant_text import format_instant

MAX_HOLDERS_NAMED: Final = 5


class LaneWait(NamedTuple):
    """What an entry waits for in a lane. `holders` are the runs in it that the caller may see, `others` counts the rest.

    `ahead` is how many entries get a slot before it if no other one is added; `more_ahead`: there are more, they were not
    all counted. `free_by`: a slot becomes free at the latest then; None: that is not known. `not_before`: the rate of the
    lane allows its start at the earliest then.
    """

    lane: str
    limit: int
    used: int
    holders: tuple[str, ...] = ()
    others: int = 0
    ahead: int = 0
    more_ahead: bool = False
    free_by: datetime | None = None
    not_before: datetime | None = None


def parked_entry(facts: Facts, at: datetime) -> Entry | None:
    """Return the entry for an instant that waits for a slot of a lane; None if there is none."""
    for entry in facts.entries:
        is_parked = entry.state is EntryState.PARKED and entry.lane is not None and not is_route(entry.lane)
        if is_parked and entry.kind not in CONTROL_KINDS and _covers(entry, at):
            return entry
    return None


def _covers(entry: Entry, at: datetime) -> bool:
    if entry.span is not None and entry.span.first <= at <= entry.span.last:
        return True
    last = entry.through or entry.planned
    return entry.planned <= at if entry.kind is EntryKind.NEXT else entry.planned <= at <= last


def soonest(deadlines: Iterable[datetime | None]) -> datetime | None:
    return min((each for each in deadlines if each is not None), default=None)


def earliest_start(rate: Rate | None, next_start: datetime | None, ahead: int) -> datetime | None:
    """Return the earliest instant at which a rate allows an entry with `ahead` others before it; None: the rate does not say."""
    if rate is None or next_start is None:
        return None
    return next_start + ahead // rate.starts * rate.period


def lane_words(facts: Facts, wait: LaneWait) -> tuple[str, str]:
    """Return the sentences about the lane, in English and Chinese."""
    english = [_use(wait), _ahead(wait), _free_by(facts, wait), _not_before(facts, wait)]
    chinese = [
        _use_chinese(wait),
        _ahead_chinese(wait),
        _free_by_chinese(facts, wait),
        _not_before_chinese(facts, wait),
    ]
    return " ".join(filter(None, english)), full_width("".join(filter(None, chinese)))


def _use(wait: LaneWait) -> str:
    if wait.limit == 0:
        return "The lane is closed: its limit is 0."
    if wait.limit >= MAX_LANE_LIMIT:
        return ""
    named = list(wait.holders[:MAX_HOLDERS_NAMED])
    unnamed = len(wait.holders) - len(named)
    if unnamed:
        named.append(f"{unnamed} more")
    if wait.others:
        named.append(f"{wait.others} of others" if named else _runs_of_others(wait.others))
    held = "" if not named else f", held by {', '.join(named)}"
    return f"Its limit is {wait.limit}, and {wait.used} {'run is' if wait.used == 1 else 'runs are'} in it{held}."


def _runs_of_others(number: int) -> str:
    return "a run that you do not see" if number == 1 else f"{number} runs that you do not see"


def _use_chinese(wait: LaneWait) -> str:
    if wait.limit == 0:
        return "通道已关闭:上限为 0。"
    if wait.limit >= MAX_LANE_LIMIT:
        return ""
    named = list(wait.holders[:MAX_HOLDERS_NAMED])
    unnamed = len(wait.holders) - len(named)
    if unnamed:
        named.append(f"另外 {unnamed} 个")
    if wait.others:
        named.append(f"他人的 {wait.others} 个")
    held = "" if not named else f",占用者:{'、'.join(named)}"
    return f"上限为 {wait.limit},其中有 {wait.used} 个运行{held}。"


def _ahead(wait: LaneWait) -> str:
    if wait.more_ahead:
        return f"At least {wait.ahead} entries are ahead of it."
    if wait.ahead == 0:
        return "It is the next one."
    return "One entry is ahead of it." if wait.ahead == 1 else f"{wait.ahead} entries are ahead of it."


def _ahead_chinese(wait: LaneWait) -> str:
    if wait.more_ahead:
        return f"它前面至少有 {wait.ahead} 个。"
    return "下一个就是它。" if wait.ahead == 0 else f"它前面有 {wait.ahead} 个。"


def _free_by(facts: Facts, wait: LaneWait) -> str:
    if wait.used < wait.limit or wait.limit == 0:
        return ""
    if wait.free_by is None:
        return "When a slot becomes free is not known: no run in the lane has a deadline."
    return f"A slot becomes free by {format_instant(facts, wait.free_by)} at the latest."


def _free_by_chinese(facts: Facts, wait: LaneWait) -> str:
    if wait.used < wait.limit or wait.limit == 0:
        return ""
    if wait.free_by is None:
        return "何时有空位尚不清楚:通道中的运行都没有截止时间。"
    return f"最迟在 {format_instant(facts, wait.free_by)} 会有空位。"


def _not_before(facts: Facts, wait: LaneWait) -> str:
    if wait.not_before is None or wait.not_before == stated_start(facts, wait.lane):
        return ""
    return f"Its rate allows it at {format_instant(facts, wait.not_before)} at the earliest."


def _not_before_chinese(facts: Facts, wait: LaneWait) -> str:
    if wait.not_before is None or wait.not_before == stated_start(facts, wait.lane):
        return ""
    return f"按速率,它最早在 {format_instant(facts, wait.not_before)} 启动。"


def limiting_rate(facts: Facts, name: str | None) -> LaneUse | None:
    """Return the lane of this name if it has a rate and a free slot: an entry that is parked in it waits for the rate."""
    for lane in facts.lanes:
        if lane.name == name and lane.rate is not None and lane.used < lane.limit:
            return lane
    return None


def stated_start(facts: Facts, name: str) -> datetime | None:
    """Return the instant that `rate_words` names for an entry that is parked in this lane."""
    lane = limiting_rate(facts, name)
    return None if lane is None else lane.next_start


def rate_words(facts: Facts, entry: Entry) -> tuple[str, str] | None:
    """Return what an entry waits for that is parked in a lane with a rate; None if the lane has none, or no free slot."""
    lane = limiting_rate(facts, entry.lane)
    if lane is None:
        return None
    english = f"its lane '{lane.name}' has a rate of {lane.rate}"
    chinese = f"它的通道“{lane.name}”的速率为 {lane.rate}"
    if lane.next_start is None:
        return english, chinese
    at = format_instant(facts, lane.next_start)
    return f"{english}; its next start is at {at} at the earliest", f"{chinese}，最早于 {at} 再次启动"
