"""Lane: a name with a limit of concurrent runs, a rate of starts, or both, across all nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Final, NamedTuple

from ...errors import Refusal
from ..accounts.principal import AGENT_LABEL
from ..accounts.system_owner import account_of, is_system_owner
from ..entry import MAX_REPARKS
from ..limits import KEY_CHARACTERS
from ..reason import Reason
from ..refusals import refuse
from ..text.field_checks import check_text
from .idle import IdleRun
from .rate import Rate, RateChange
from .route import is_route

OWNER_LANE_PREFIX: Final = "owner:"
"""Prefix of the lane that holds an owner's quota of concurrent runs; the lane exists where a limit was set for it."""


class LaneUse(NamedTuple):
    """Limit and used slots of a lane, as a decision sees them; the default limit is one run at a time.

    `offered` free slots are kept for entries that waited and were unparked; `has_waiting`: further entries are parked.
    `starts_left` is how many starts the rate allows at the instant of a claim. Readers get `next_start` instead: the
    earliest instant of the next start, None if the rate allows it at any instant.
    """

    name: str
    limit: int
    used: int
    offered: int = 0
    has_waiting: bool = False
    idle: tuple[IdleRun, ...] = ()
    """Runs in it that declared themselves idle."""
    rate: Rate | None = None
    starts_left: int | None = None
    next_start: datetime | None = None

    @property
    def is_full(self) -> bool:
        return self.used >= self.limit or self.starts_left == 0

    @property
    def is_taken(self) -> bool:
        """Whether there is no slot for an entry that has not waited in this lane: it must not overtake those that have."""
        if self.has_waiting or self.used + self.offered >= self.limit:
            return True
        return self.starts_left is not None and self.offered >= self.starts_left


class LaneSetting(NamedTuple):
    """Limit and rate of a lane as a file states them; None and `keep`: they stay as they are."""

    limit: int | None
    rate: RateChange = "keep"


class LaneQueue(NamedTuple):
    """Entries that are due and wait for a slot of a lane; `oldest` is the earliest due instant among them."""

    lane: str
    waiting: int
    oldest: datetime


class LaneWaiter(NamedTuple):
    """An entry that waits for a slot of a lane."""

    task_id: str
    slot: str
    owner: str
    priority: int
    due: datetime
    reparks: int = 0


class LaneLine(NamedTuple):
    """Entries that wait in a lane, by priority, then due, and the owner that got its last slot. `more`: there are more."""

    waiters: tuple[LaneWaiter, ...] = ()
    last_owner: str = ""
    more: bool = False


class LaneStatus(NamedTuple):
    """A lane for a list: its use, the due entries that wait in it with the earliest due instant, and its idle runs."""

    use: LaneUse
    waiting: int = 0
    oldest: datetime | None = None
    idle: int = 0


DEFAULT_LIMIT: Final = 1
MAX_LANE_LIMIT: Final = 1_000_000
"""Largest limit; a lane that has a rate alone has this one, which bounds nothing."""
_AGENT_PREFIX: Final = "agent:"


def owner_lane(owner: str) -> str:
    """Return the lane with an owner's quota of concurrent runs; system tasks take slots of it, too."""
    return OWNER_LANE_PREFIX + account_of(owner)


def owner_lane_prefix(owner: str) -> str:
    """Return the name prefix of an owner's lanes; owner names contain no slash."""
    return f"{account_of(owner)}/"


def agent_lane(owner: str, agent: str) -> str:
    """Return the lane that all tasks of an agent share, which bounds its concurrent runs and its runs per day."""
    return f"{owner_lane_prefix(owner)}{_AGENT_PREFIX}{agent}"


def agent_of_lane(owner: str, lane: str) -> str | None:
    """Return the agent whose lane this is; None for a lane that is not of an agent of this owner."""
    prefix = owner_lane_prefix(owner) + _AGENT_PREFIX
    return lane.removeprefix(prefix) if lane.startswith(prefix) else None


def blocked_lane_name(owner: str, lane: str | None) -> str:
    """Return the name under which a task can be blocked besides its owner's: the lane of its agent, else an empty text.

    Other lanes do not count, because they could be named like an owner.
    """
    return lane if lane is not None and agent_of_lane(owner, lane) is not None else ""


def block_reason(owner: str, lane: str | None, find: Callable[[str], Reason | None]) -> Reason | None:
    """Return why no run of a task may start; `find` returns the reason for the name of an owner, or of an agent's lane.

    Used-up quotas of an account do not block its system tasks.
    """
    if is_system_owner(owner):
        reason = find(account_of(owner))
        return reason if reason is Reason.OWNER_REVOKED else None
    return find(owner) or find(blocked_lane_name(owner, lane))


_PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}")
_LABEL_PLACEHOLDER: Final = "label:"


def fill_lane_name(name: str, owner: str, labels: Mapping[str, str]) -> str:
    """Return the name with `{owner}`, `{agent}` and `{label:x}` filled in from the task; refuses all other placeholders."""
    if "{" not in name:
        return name

    def fill(found: re.Match[str]) -> str:
        word = found.group()[1:-1]
        value = account_of(owner) if word == "owner" else labels.get(_label_of(word) or "")
        if value is None:
            raise refuse("bad_lane_placeholder", value=name, placeholder=found.group())
        return value

    return _PLACEHOLDER.sub(fill, name)


def _label_of(word: str) -> str | None:
    """Return the label whose value a placeholder stands for; None if it stands for no label."""
    if word == "agent":
        return AGENT_LABEL
    return word.removeprefix(_LABEL_PLACEHOLDER) if word.startswith(_LABEL_PLACEHOLDER) else None


def is_lane_template(name: str) -> bool:
    """Return whether a name has placeholders, so that its limit and rate are those of each filled-in name; refuses a
    placeholder that no task can fill in."""
    placeholders = _PLACEHOLDER.findall(name)
    for each in placeholders:
        if each != "{owner}" and not _label_of(each[1:-1]):
            raise refuse("bad_lane_placeholder", value=name, placeholder=each)
    return bool(placeholders)


def may_fill_in(template: str, lane: str) -> bool:
    """Return whether the template can fill in to this name, whatever the task is."""
    pattern = "(.+)".join(map(re.escape, _PLACEHOLDER.split(template)))
    return re.fullmatch(pattern, lane) is not None


def lanes_of_template(template: str, owner: str, labels: Mapping[str, str], lanes: Iterable[str]) -> tuple[str, ...]:
    """Return those of a task's lanes that the template stands for: none, or the one whose name it fills in to."""
    try:
        filled = fill_lane_name(template, owner, labels)
    except Refusal:
        return ()
    return (filled,) if filled in lanes else ()


def check_lane(name: object) -> None:
    """Refuse a bad lane name, and one that begins like a route: its parked entries would count as entries without a node."""
    check_text("lane", name, KEY_CHARACTERS)
    if is_route(str(name)):
        raise refuse("bad_choice", name="lane", value=name, allowed="any name without 'function:' or 'target:'")


def turn_order(waiters: Sequence[LaneWaiter], last_owner: str) -> tuple[LaneWaiter, ...]:
    """Return the entries in the order in which they get slots, if no other one is added.

    `waiters` are in order of priority, then due; `last_owner` got the last slot. Entries that were parked again too often
    come first.
    """
    first = [each for each in waiters if each.reparks >= MAX_REPARKS]
    queues: dict[str, list[LaneWaiter]] = {}
    for each in waiters:
        if each.reparks < MAX_REPARKS:
            queues.setdefault(each.owner, []).append(each)
    owners = sorted(queues, key=lambda owner: (owner <= last_owner, owner))
    turns = zip_longest(*(queues[owner] for owner in owners))
    return (*first, *(each for turn in turns for each in turn if each is not None))
