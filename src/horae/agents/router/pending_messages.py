"""Messages of a chat that wait for its agent, after edits, deletions and commands; shared by router and target, pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...model.agents.group import Group
from ...ports.channel import MessageChange
from ...ports.chat_messages import ChatMessage
from .chat_commands import ChatCommand, parse_chat_command
from .turn import PendingMessage, TriggerRule


class PendingCommand(NamedTuple):
    """A command with the message that has it."""

    message: ChatMessage
    command: ChatCommand


def rule_of(group: Group) -> TriggerRule:
    return TriggerRule(group.trigger, group.needs_trigger)


def find_command(message: ChatMessage, group: Group) -> ChatCommand | None:
    """Return the command of a message to the assistant of the group; None for every other message.

    In a group that requires the trigger, a command needs it too, or the form `/tasks@bot`. In a direct chat, and in the
    main group, it needs neither.
    """
    if message.is_own:
        return None
    command = parse_chat_command(message.text, group.trigger)
    if command is None or (group.needs_trigger and not message.is_direct and not command.is_addressed):
        return None
    return command


def find_commands(messages: Sequence[ChatMessage], group: Group) -> tuple[PendingCommand, ...]:
    """Return the commands to execute, oldest first: of new messages of senders that may wake the agent."""
    found = []
    for each in messages:
        if each.change is MessageChange.NEW and each.may_trigger:
            command = find_command(each, group)
            if command is not None:
                found.append(PendingCommand(each, command))
    return tuple(found)


def apply_changes(messages: Sequence[ChatMessage], group: Group) -> tuple[ChatMessage, ...]:
    """Return the messages for the agent, in order: edits replace the text, deletions and commands are left out.

    `messages` are all reports after the cursor *handled*. An edit or a deletion of a message that is handled already has no
    effect. Only its sender edits a message, and only its sender or the service itself deletes it. A service may leave the
    choice of ids to its senders: messages of two senders with one id are two messages.
    """
    waiting: dict[tuple[str, str], ChatMessage] = {}
    own: list[ChatMessage] = []
    for each in messages:
        if each.is_own:
            own.append(each)
        elif each.change is MessageChange.NEW:
            waiting[each.id, each.sender] = each
        elif each.change is MessageChange.DELETED:
            waiting.pop((each.id, each.sender), None)
            if each.sender == group.channel:  # the service itself: it does not name the person
                for place in [place for place in waiting if place[0] == each.id]:
                    del waiting[place]
        else:
            before = waiting.get((each.id, each.sender))
            # A command was executed as it was written: an edit does not turn it into a message for the agent.
            if before is not None and find_command(before, group) is None:
                waiting[each.id, each.sender] = before._replace(text=each.text, attachments=each.attachments)
    left = [each for each in waiting.values() if find_command(each, group) is None]
    return tuple(sorted([*left, *own], key=lambda each: each.number))


def to_pending(messages: Sequence[ChatMessage]) -> tuple[PendingMessage, ...]:
    return tuple(PendingMessage(each.number, each.text, each.may_trigger, each.is_own) for each in messages)
