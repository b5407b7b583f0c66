"""Intake of a channel: appends the messages of its chats to the streams of their groups."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from ...clock import Clock
from ...errors import Refusal
from ...model.accounts.principal import LOCAL
from ...model.agents.group import Group
from ...model.messages import APPEND_MESSAGES, DEFAULT_QUOTA, PAGE_MESSAGES, NewMessage, StreamQuota, stream_quota_of
from ...ports.channel import ConnectionState, DeliveryReceipt, IncomingMessage, MessageChange, credible_instant
from ...ports.chat_messages import read_chat_message, to_stream_message
from ...ports.full_store import FullStore
from ...ports.target import DEFAULT_READER
from ...service.groups.groups import Groups
from ...service.service import Service
from ..router.pending_messages import find_command
from .channel_states import ChannelStates
from .known_chats import KnownChats
from .sender_file import SenderFile

LOG: Final = logging.getLogger("horae.agents")
MAX_AGE: Final = 2.0
"""Seconds for which a group is kept in memory."""
_MOST: Final = 10_000
OnReceipt = Callable[[str, DeliveryReceipt], Awaitable[None]]


class ChatGroups:
    """Groups by the address of their chat, kept in memory for two seconds, or until a group changes in this process."""

    def __init__(self, groups: Groups, clock: Clock) -> None:
        self._groups = groups
        self._clock = clock
        self._known: dict[str, tuple[float, Group | None]] = {}

    def forget(self) -> None:
        """Read every group again: one of them has changed."""
        self._known.clear()

    async def find(self, chat: str) -> Group | None:
        now = self._clock.steady()
        at, group = self._known.get(chat, (float("-inf"), None))
        if now - at < MAX_AGE:
            return group
        if len(self._known) >= _MOST:
            self._known.clear()
        group = await self._groups.find_by_chat(chat)
        self._known[chat] = now, group
        return group


async def ignore_receipt(_channel: str, _receipt: DeliveryReceipt) -> None:
    """Do nothing with a receipt: no sender runs in this process."""


class IntakeParts(NamedTuple):
    """What all channels of a process share. `on_append` is called after each new message, with its group."""

    service: Service
    clock: Clock
    groups: ChatGroups
    known: KnownChats
    senders: SenderFile
    states: ChannelStates
    on_append: Callable[[Group], None]
    on_receipt: OnReceipt = ignore_receipt
    on_kept: Callable[[str, str], None] = lambda _chat, _message: None
    """Called with the address of the chat and the id of a message that was kept."""

    @property
    def store(self) -> FullStore:
        return self.service.store


class ChannelIntake:
    """Listener of one channel, by its name. A store that does not answer makes the channel deliver again; a message that can
    never be kept is reported and left out."""

    def __init__(self, name: str, parts: IntakeParts) -> None:
        self._name = name
        self._parts = parts

    async def on_message(self, message: IncomingMessage) -> None:
        parts = self._parts
        chat = f"{self._name}:{message.chat}"
        if message.moved_from:
            await follow_move(parts, f"{self._name}:{message.moved_from}", chat)
        group = await parts.groups.find(chat)
        if group is None:
            await parts.known.note(chat, message.chat_name, is_direct=message.is_direct)
            return
        senders = parts.senders.read()
        # The addresses of NanoClaw's file are those of the service; ours have the channel before them.
        listed = chat if chat in senders.chats else message.chat
        may_trigger = senders.may_trigger(listed, message.sender, from_me=message.from_me)
        if not senders.keeps(listed, message.sender, from_me=message.from_me):
            if senders.logs_denied:
                LOG.info("%s: a message of %s is not kept: the sender is not on the list", chat, message.sender)
            return
        now = parts.clock.now()
        message = message._replace(sent=credible_instant(message.sent, now))
        stored = to_stream_message(group.stream, self._name, message, now, may_trigger=may_trigger)
        try:
            await parts.store.append_messages(group.owner, [stored], await _quota_of(parts, group))
        except Refusal as refusal:
            LOG.warning("%s: a message of %s cannot be kept: %s", chat, message.sender, refusal)
            return
        parts.on_append(group)
        if may_trigger and message.change is MessageChange.NEW:
            parts.on_kept(chat, message.id)

    async def on_receipt(self, receipt: DeliveryReceipt) -> None:
        await self._parts.on_receipt(self._name, receipt)

    def on_state(self, state: ConnectionState) -> None:
        self._parts.states.report(self._name, is_connected=state.is_connected, problem=state.problem)


async def follow_move(parts: IntakeParts, before: str, after: str) -> None:
    """Give the group of a replaced chat the new address, with the messages that wait for its agent.

    Commands among them are left out: they were executed.
    """
    group = await parts.service.groups.find_by_chat(before)
    if group is None:
        return
    moved = group._replace(chat=after)
    waiting = await _waiting_messages(parts.store, group)
    for begin in range(0, len(waiting), APPEND_MESSAGES):
        copies = [each._replace(stream=moved.stream) for each in waiting[begin : begin + APPEND_MESSAGES]]
        await parts.store.append_messages(group.owner, copies, await _quota_of(parts, group))
    try:
        await parts.service.groups.change(LOCAL, group.folder, chat=after)
    except Refusal as refusal:
        LOG.warning("the group %s stays at %s, which the service has replaced: %s", group.folder, before, refusal)
    parts.groups.forget()


async def _quota_of(parts: IntakeParts, group: Group) -> StreamQuota:
    owner = await parts.service.accounts.find(group.owner)
    return DEFAULT_QUOTA if owner is None else stream_quota_of(owner.quotas)


async def _waiting_messages(store: FullStore, group: Group) -> list[NewMessage]:
    state = await store.stream(group.owner, group.stream)
    if state is None:
        return []
    after = max((each.number for each in state.cursors if each.reader == DEFAULT_READER), default=0)
    found: list[NewMessage] = []
    while (page := await store.read_messages(group.owner, group.stream, after, PAGE_MESSAGES)) is not None:
        found += [each.message for each in page.messages if find_command(read_chat_message(each), group) is None]
        if page.next_after is None:
            break
        after = page.next_after
    return found
