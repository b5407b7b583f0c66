"""Keyword arguments for task policies, typed once for every call that takes them."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, TypedDict

from ..model.policy import Guarantee, Missed, Overlap, RetryPolicy
from ..model.refusals import refuse
from ..service.tasks.task_request import NO_OPTIONS, Duration, Options
from .suggestions import suggest_option

Never: TypeAlias = Literal["never"]
_OTHER_ARGUMENTS: Final = ("key", "owner", "zone", "name", "lane", "labels", "using", "payload", "isolate")


class PolicyArguments(TypedDict, total=False):
    """`retries=3` is short for four attempts; `missed` is a mode such as "latest within 1h"."""

    missed: str | Missed
    overlap: Overlap
    retries: int | Never
    retry: RetryPolicy
    give_up_after: int | Never
    timeout: Duration
    max_duration: Duration
    guarantee: Guarantee
    priority: int
    notify_after: int | Never


def to_options(chosen: PolicyArguments) -> Options:
    """Convert keyword arguments to `Options`; raises a refusal, with a suggestion, for an unknown one."""
    unknown = sorted(chosen.keys() - set(Options._fields))
    if unknown:
        suggested = suggest_option(unknown[0], dict(chosen)[unknown[0]], (*Options._fields, *_OTHER_ARGUMENTS))
        if suggested is not None:
            raise suggested
        raise refuse("unknown_policy", name=unknown[0])
    return Options(**chosen) if chosen else NO_OPTIONS
