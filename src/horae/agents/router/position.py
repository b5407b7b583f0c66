"""Position of the router in the stream of a group: the last message seen, and the newest message that wakes the agent; pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from ...model.agents.group import Group
from ...model.record import Record
from ...ports.channel import MessageChange
from ...ports.chat_messages import ChatMessage
from .pending_messages import find_command, rule_of, to_pending
from .turn import TriggerRule, is_woken

POSITION_KIND: Final = "group.seen"


class StoredMessage(NamedTuple):
    """A message of a chat with the instant at which it was stored."""

    message: ChatMessage
    stored: datetime


class RouterPosition(NamedTuple):
    """All messages up to `seen` were looked at, and all commands up to `executed` were executed.

    `waking` is the number of the newest message that wakes the agent, 0 without one, with its id and the instant at which it
    was stored. `waits_from` is a lower bound: no message between the cursor *handled* and this number wakes the agent, so that
    a turn need not read what is long before it. `failure_notice` is the number of the message about whose failure the chat has a notice. `rule` is the trigger rule that
    counted: with another one the waiting messages are looked at again.
    """

    folder: str
    stream: str
    rule: TriggerRule
    seen: int = 0
    executed: int = 0
    waking: int = 0
    waking_id: str = ""
    waking_at: datetime | None = None
    waits_from: int = 0
    failure_notice: int = 0
    version: int | None = None
    """That of its record; None: there is none yet."""

    def fits(self, group: Group) -> bool:
        """Whether the position is that of the group as it is now: the same chat and the same rule."""
        return (self.stream, self.rule) == (group.stream, rule_of(group))

    def first_waiting(self, handled: int) -> int:
        """Return a lower bound of the messages behind the cursor that wake the agent."""
        return max(handled + 1, self.seen + 1 if self.waking <= handled else self.waits_from)


def first_position(group: Group, before: RouterPosition | None = None, handled: int = 0) -> RouterPosition:
    """Return the position from which the waiting messages are looked at again; no command is executed again."""
    position = RouterPosition(group.folder, group.stream, rule_of(group), handled, handled)
    if before is None:
        return position
    position = position._replace(version=before.version)
    if before.stream == group.stream:
        position = position._replace(
            executed=before.executed, failure_notice=before.failure_notice, seen=min(handled, before.executed)
        )
    return position


def look_at(
    position: RouterPosition, messages: Sequence[StoredMessage], group: Group, handled: int = 0
) -> RouterPosition | None:
    """Return the position after these messages, which follow it; `handled` is the cursor of the group's turns.

    None: the message that wakes the agent was edited or deleted, and all waiting messages must be looked at again.
    """
    for each in messages:
        message = each.message
        is_waking = (
            message.change is not MessageChange.DELETED
            and is_woken(to_pending((message,)), position.rule)
            and find_command(message, group) is None
        )
        if is_waking:
            position = position._replace(
                waking=message.number,
                waking_id=message.id,
                waking_at=each.stored,
                waits_from=_waits_from(position, message, handled),
            )
        elif message.change is not MessageChange.NEW and message.id == position.waking_id:
            return None
        position = position._replace(seen=max(position.seen, message.number))
    return position


def _waits_from(position: RouterPosition, message: ChatMessage, handled: int) -> int:
    """Return the lower bound after another message that wakes the agent."""
    if position.waits_from > handled:
        return position.waits_from
    # An earlier one that still waits, or the message that was edited, is at an unknown place behind the cursor.
    is_known = position.waking <= handled and message.change is MessageChange.NEW
    return message.number if is_known else handled + 1


def position_record(position: RouterPosition, owner: str) -> Record:
    body = position._asdict()
    for name in ("folder", "version"):
        del body[name]
    body["told"] = body.pop("failure_notice")
    body["waking_at"] = None if position.waking_at is None else position.waking_at.isoformat()
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Record(POSITION_KIND, position.folder, owner, text, position.version or 1)


def position_from(record: Record) -> RouterPosition:
    body = json.loads(record.body)
    at = body.pop("waking_at")
    body["failure_notice"] = body.pop("told", 0)
    body["rule"] = TriggerRule(*body["rule"])
    return RouterPosition(
        folder=record.key,
        waking_at=None if at is None else datetime.fromisoformat(at),
        version=record.version,
        **body,
    )
