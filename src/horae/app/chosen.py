"""The policies as keyword arguments, typed once for every call that takes them."""

from __future__ import annotations

from typing import TypedDict

from ..model.policy import Guarantee, Missed, Overlap, Retry
from ..model.refusals import refuse
from ..service.wishes import NO_OPTIONS, Duration, Options


class Chosen(TypedDict, total=False):
    """`retries=3` is short for four attempts; `missed` is a mode such as "latest within 1h"."""

    missed: str | Missed
    overlap: Overlap
    retries: int
    retry: Retry
    give_up_after: int
    timeout: Duration
    max_duration: Duration
    guarantee: Guarantee
    priority: int
    notify_after: int


def options_of(chosen: Chosen) -> Options:
    unknown = sorted(chosen.keys() - set(Options._fields))
    if unknown:
        raise refuse("unknown_policy", name=unknown[0])
    return Options(**chosen) if chosen else NO_OPTIONS
