"""Chats of groups: list, transcript, whether the agent works, and messages of people who write in the web channel."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Final, NamedTuple

from ...clock import Clock
from ...errors import Conflict
from ...model.accounts.principal import NO_QUOTAS, Principal, Scope
from ...model.accounts.system_owner import account_of
from ...model.agents.delivery import FINISHED_KIND, FINISHED_RETENTION, PENDING_KIND, Delivery, delivery_from
from ...model.agents.group import CHAT_CHARACTERS, GROUP_KIND, Group, group_from
from ...model.ids import ENTROPY_BYTES, make_id
from ...model.lanes.idle import IDLE_RUNS_KIND, idle_runs_of
from ...model.messages import (
    PAGE_MESSAGES,
    SENDER_CHARACTERS,
    SOURCE_ID_CHARACTERS,
    Stream,
    check_message,
    stream_quota_of,
)
from ...model.page import Page
from ...model.record import Record, RecordWrite
from ...model.text.field_checks import check_number, check_text
from ...ports.channel import IncomingMessage
from ...ports.chat_messages import ChatMessage, assistant_message, read_chat_message, to_stream_message
from ...ports.full_store import FullStore
from ...ports.records import is_conflict_over
from ..accounts.rights import refuse_agent
from ..groups.groups import Groups
from ..query.argument_checks import check_page, check_position
from .delivery_records import DeliveryQueue
from .refusals import refuse

AGENTS_LANE: Final = "agents"
"""Lane that all agents share."""
_MAX_RUNS: Final = 100


async def working_owners(store: FullStore, lane: str = AGENTS_LANE) -> frozenset[str]:
    """Return the owners of the groups whose agents work in this lane."""
    runs = await store.lane_runs(lane, _MAX_RUNS)
    if not runs:
        return frozenset()
    idle = {each.run_id for each in idle_runs_of(await store.get_record(IDLE_RUNS_KIND, lane))}
    return frozenset(account_of(run.owner) for run in runs if run.id not in idle)


WEB_CHANNEL: Final = "web"
"""Channel whose messages are written over HTTP, in the console or by a program."""
MESSAGE_PREFIX: Final = "msg"
_RUN_PREFIX: Final = "run_"
_DELIVERIES_READ: Final = 200
"""Newest deliveries of a group among which those of a transcript are found."""
_MAX_COUNTED: Final = 100


class ChatSummary(NamedTuple):
    """A group's chat with its last message; `pending` texts wait to be sent, counted up to 100."""

    group: Group
    last: ChatMessage | None
    pending: int

    @property
    def is_writable(self) -> bool:
        return self.group.channel == WEB_CHANNEL


class TranscriptMessage(NamedTuple):
    """A message with the delivery of an answer, where it is known, and the run that answered."""

    message: ChatMessage
    delivery: Delivery | None = None
    run_id: str | None = None


class Transcript(NamedTuple):
    """Messages after a number, oldest first. `is_working`: the agent works now. `next_after`: there are more."""

    group: Group
    first: int
    last: int
    messages: tuple[TranscriptMessage, ...]
    is_working: bool
    next_after: int | None = None

    @property
    def is_writable(self) -> bool:
        return self.group.channel == WEB_CHANNEL


_SENT_BY_HAND: Final = "api"
"""Origin of a text that a person or a program has sent as the assistant."""
_SENT_KIND: Final = "chat.sent"
"""Record of a text with an id of the caller: its delivery, so that a repetition makes no other one."""


class SentText(NamedTuple):
    """A text for the chat of a group: the number of its message, and its delivery."""

    group: Group
    number: int
    delivery_id: str


class Chats:
    """`on_write` is called after each message, so that the router looks at once."""

    def __init__(
        self,
        store: FullStore,
        groups: Groups,
        clock: Clock,
        on_write: Callable[[datetime | None], None] = lambda _due: None,
        entropy: Callable[[int], bytes] = os.urandom,
        *,
        queue: DeliveryQueue | None = None,
    ) -> None:
        self._queue = DeliveryQueue(store) if queue is None else queue
        self._store = store
        self._groups = groups
        self._clock = clock
        self._on_write = on_write
        self._entropy = entropy

    async def page(self, principal: Principal, after: str | None = None, limit: int = 50) -> Page[ChatSummary]:
        """Return the chats of the groups that the caller may see, by folder."""
        _check_scope(principal, Scope.READ)
        check_page(after, limit)
        page = await self._store.records(GROUP_KIND, principal.owner_filter, after, limit)
        return Page(tuple([await self._summary(group_from(each)) for each in page.items]), page.after)

    async def get(self, principal: Principal, chat: str) -> Group:
        """Return the group of a chat; a foreign chat is refused like an absent one."""
        _check_scope(principal, Scope.READ)
        group = None
        if 0 < len(chat) <= CHAT_CHARACTERS and chat.isprintable():
            group = await self._groups.find_by_chat(chat)
        if group is None or principal.owner_filter not in (None, group.owner):
            raise refuse("no_such_chat", chat=chat)
        return group

    async def transcript(
        self, principal: Principal, chat: str, after: int | None = None, limit: int = 50
    ) -> Transcript:
        """Return messages after a number; without one, the newest."""
        if after is not None:
            check_position("after", after)
        check_number("limit", limit, 1, PAGE_MESSAGES)
        group = await self.get(principal, chat)
        state = await self._store.stream(group.owner, group.stream)
        stream = Stream(group.owner, group.stream, group.created) if state is None else state.stream
        position = max(stream.first - 1, stream.last - limit) if after is None else after
        page = None if state is None else await self._store.read_messages(group.owner, group.stream, position, limit)
        messages = [] if page is None else [read_chat_message(each) for each in page.messages]
        deliveries = await self._deliveries(group) if any(each.is_own for each in messages) else {}
        return Transcript(
            group,
            stream.first,
            stream.last,
            tuple(_with_delivery(each, deliveries) for each in messages),
            await self.is_working(group),
            None if page is None else page.next_after,
        )

    async def send(
        self,
        principal: Principal,
        chat: str,
        text: object,
        *,
        message_id: str | None = None,
        sender_name: str | None = None,
    ) -> int:
        """Append the message of a person to a web chat, and return its number; a repeated id appends nothing."""
        _check_scope(principal, Scope.WRITE)
        group = await self.get(principal._replace(scopes=principal.scopes | {Scope.READ}), chat)
        if group.channel != WEB_CHANNEL:
            raise refuse("chat_read_only", chat=chat, channel=group.channel)
        if not isinstance(text, str) or not text.strip():
            raise refuse("empty_chat_message")
        if message_id is not None:
            check_text("id", message_id, SOURCE_ID_CHARACTERS)
        if sender_name is not None:
            check_text("sender_name", sender_name, SENDER_CHARACTERS)
        now = self._clock.now()
        # Ids of different people are apart: none can take the id of another's message.
        own_id = make_id(MESSAGE_PREFIX, now, self._entropy(ENTROPY_BYTES)) if message_id is None else message_id
        source_id = own_id if message_id is None else f"{principal.owner}:{message_id}"[:SOURCE_ID_CHARACTERS]
        incoming = IncomingMessage(
            chat.partition(":")[2], own_id, source_id, principal.owner, sender_name or principal.owner, text, now
        )
        message = to_stream_message(group.stream, WEB_CHANNEL, incoming, now)
        is_foreign = principal.owner != group.owner
        quota = stream_quota_of(NO_QUOTAS if is_foreign else principal.quotas)
        check_message(message, quota.text_bytes)
        (number,) = await self._store.append_messages(group.owner, [message], quota)
        self._on_write(None)
        return number

    async def deliver(
        self, principal: Principal, folder: str, text: object, *, message_id: str | None = None
    ) -> SentText:
        """Send a text to the chat of a group as its assistant: a message and its delivery, in one transaction.

        A repeated id sends nothing again.
        """
        _check_scope(principal, Scope.WRITE)
        group = await self._groups.get(principal._replace(scopes=principal.scopes | {Scope.READ}), folder)
        if not isinstance(text, str) or not text.strip():
            raise refuse("empty_chat_message")
        if message_id is not None:
            check_text("id", message_id, SOURCE_ID_CHARACTERS)
        now = self._clock.now()
        delivery = self._queue.make(group.owner, group.chat, text, now, _SENT_BY_HAND)
        source_id = delivery.id if message_id is None else f"{principal.owner}:{message_id}"[:SOURCE_ID_CHARACTERS]
        delivery = delivery._replace(message_id=source_id)
        message = assistant_message(group.stream, text, group.assistant_name, source_id, now)
        quota = stream_quota_of(NO_QUOTAS if principal.owner != group.owner else principal.quotas)
        check_message(message, quota.text_bytes)
        records = await self._queue.writes([delivery])
        key = f"{group.folder}/{sha256(source_id.encode(errors='replace')).hexdigest()}"
        if message_id is not None:
            records.append(RecordWrite(Record(_SENT_KIND, key, group.owner, delivery.id, 1, now + FINISHED_RETENTION)))
        try:
            (number,) = await self._store.append_messages(group.owner, [message], quota, records)
        except Conflict as conflict:
            if message_id is None or not is_conflict_over(conflict, _SENT_KIND):
                raise
            known = await self._store.get_record(_SENT_KIND, key)
            (number,) = await self._store.append_messages(group.owner, [message], quota)
            return SentText(group, number, "" if known is None else known.body)
        self._on_write(None)
        return SentText(group, number, delivery.id)

    async def is_working(self, group: Group) -> bool:
        """Whether the agent of a group works now; the caller has checked the right to see it."""
        return group.owner in await working_owners(self._store, group.owner)

    async def _summary(self, group: Group) -> ChatSummary:
        state = await self._store.stream(group.owner, group.stream)
        last = None
        if state is not None and state.stream.stored:
            page = await self._store.read_messages(group.owner, group.stream, state.stream.last - 1, 1)
            last = read_chat_message(page.messages[0]) if page is not None and page.messages else None
        pending = await self._store.records(PENDING_KIND, group.owner, limit=_MAX_COUNTED)
        return ChatSummary(group, last, len(pending.items))

    async def _deliveries(self, group: Group) -> dict[str, Delivery]:
        """Return the newest deliveries of a group by the id of their message."""
        found: dict[str, Delivery] = {}
        for kind in (PENDING_KIND, FINISHED_KIND):
            page = await self._store.records(kind, group.owner, limit=_DELIVERIES_READ, newest=True)
            found |= {each.message_id: each for each in map(delivery_from, page.items) if each.chat == group.chat}
        return found


def _with_delivery(message: ChatMessage, deliveries: Mapping[str, Delivery]) -> TranscriptMessage:
    if not message.is_own:
        return TranscriptMessage(message)
    delivery = deliveries.get(message.id)
    origin = message.id if delivery is None else delivery.origin
    run_id = origin.partition("/")[0].partition(":")[0]
    return TranscriptMessage(message, delivery, run_id if run_id.startswith(_RUN_PREFIX) else None)


def _check_scope(principal: Principal, scope: Scope) -> None:
    refuse_agent(principal, "chats")
    principal.require_scope(scope)
