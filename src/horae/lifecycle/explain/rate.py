"""Words of an explanation for an entry that waits for the rate of its lane: the rate, and the earliest next start."""

from __future__ import annotations

from datetime import datetime

from ...model.change import Facts
from ...model.entry import Entry
from ...model.lanes.lane import LaneUse
from ..instant_text import format_instant


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
