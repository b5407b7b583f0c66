"""Words of an explanation for an entry that waits for the rate of its lane: the rate, and the earliest next start."""

from __future__ import annotations

from ..model.change import Facts
from ..model.entry import Entry
from .instant_text import format_instant


def rate_words(facts: Facts, entry: Entry) -> tuple[str, str] | None:
    """Return what an entry waits for that is parked in a lane with a rate; None if the lane has none, or no free slot."""
    for lane in facts.lanes:
        if lane.name == entry.lane and lane.rate is not None and lane.used < lane.limit:
            english = f"its lane '{lane.name}' has a rate of {lane.rate}"
            chinese = f"它的通道“{lane.name}”的速率为 {lane.rate}"
            if lane.next_start is None:
                return english, chinese
            at = format_instant(facts, lane.next_start)
            return f"{english}; its next start is at {at} at the earliest", f"{chinese}，最早于 {at} 再次启动"
    return None
