"""Documented layout of plans in Redis: the names of its keys, and a plan with its counters as the document stores it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .plan import MAX_PLAN_ID, Plan

PLAN_QUEUE: Final = "plan:time:set"
"""Sorted set: members of plans that are executed, by the Unix second."""
MESSAGE_PREFIX: Final = "plan:msg:"
WORK_PREFIX: Final = "plan:work:"
_MEMBER: Final = re.compile(r"plan:msg:(?P<station>[^:]{1,64}):(?P<id>[0-9A-Fa-f]{1,16})")


def member_of(plan: Plan) -> str:
    """Return the member of a plan in the queue, which is the key of its message too."""
    return f"plan:{plan.name}"


def parse_member(member: str) -> tuple[str, int] | None:
    """Return the station and the id; None for another name. Digits may be in capitals, and zeros in front may be left out."""
    match = _MEMBER.fullmatch(member)
    plan_id = 0 if match is None else int(match["id"], 16)
    return None if match is None or not 0 < plan_id <= MAX_PLAN_ID else (match["station"], plan_id)


def canonical_member(member: str) -> str | None:
    """Return the member as Horae writes it; None for another name."""
    parsed = parse_member(member)
    return None if parsed is None else f"{MESSAGE_PREFIX}{parsed[0]}:{parsed[1]:016x}"


class ShownPlan(NamedTuple):
    """What Horae has written last of a plan that changes by itself. `score` is empty for a plan outside of the queue."""

    score: str
    plan_time: int
    real_repet: int
    skip_set: int
    skip_num: int
    last_state: int


class FoundPlan(NamedTuple):
    """What the layout has of a plan, which another program may have changed. None: it is not there."""

    score: str | None
    message: str | None


class PlanRow(NamedTuple):
    """What the layout is to have of a plan. `work` None: there is no answer yet."""

    score: int | None
    message: str
    work: str | None
    shown: ShownPlan
    is_closed: bool
