"""Request `message`: a text of the agent becomes a message of the chat's stream and a delivery, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from ...clock import Clock
from ...errors import Conflict
from ...model.accounts.system_owner import is_system_owner
from ...model.agents.agent_task import group_lane
from ...model.agents.delivery import Delivery
from ...model.agents.group import Group, check_chat_address
from ...model.ids import occurrence_key
from ...model.message_refusals import refuse as refuse_message
from ...model.messages import APPEND_MESSAGES, SENDER_CHARACTERS, TEXT_BYTES, check_message, stream_quota_of
from ...model.record import RecordWrite
from ...model.refusals import refuse as refuse_task
from ...model.text.field_checks import check_text
from ...ports.channel import replace_surrogates
from ...ports.chat_messages import assistant_message
from ...ports.records import is_conflict_over
from ...ports.text_parts import TextLimit, split_text
from ..protocol.result import remove_internal_text
from ..target.records import MESSAGED_KIND, messaged_write
from .answers import Answer, accepted
from .context import RequestContext, optional_text, text_of
from .principals import GroupAccount
from .request_records import REQUEST_KIND

NOTHING_LEFT: Final = "Nothing sent: the text was internal"


class Mask(Protocol):
    async def __call__(self, folder: str, text: str) -> str:
        """Return a text of the agent of a group with the secrets that it was given masked."""


async def keep_text(folder: str, text: str) -> str:
    """Mask nothing: no agent has secrets."""
    del folder
    return text


class _Message(NamedTuple):
    """A message to a chat, in parts; `group` is that of the chat, if it has one."""

    account: GroupAccount
    group: Group | None
    chat: str
    parts: Sequence[str]
    sender: str


class MessageSender:
    """Carries out `message`. `on_delivery` is called after a delivery was written, so that the sender looks at once.

    The agent may run in another process: all that is to be known of its run is in the store.
    """

    def __init__(self, clock: Clock, mask: Mask = keep_text, on_delivery: Callable[[], None] = lambda: None) -> None:
        self._clock = clock
        self._mask = mask
        self._on_delivery = on_delivery

    async def send(self, context: RequestContext, _clock: Clock) -> Answer:
        """Send a text to the chat of the own group; the agent of a main group to any chat, also to one without a group."""
        fields = context.fields("chatJid", "text", "sender")
        given = replace_surrogates(text_of(fields, "text")).replace("\0", "\N{REPLACEMENT CHARACTER}")
        text = await self._mask(context.actor.folder, remove_internal_text(given))
        chat = optional_text(fields, "chatJid") or context.actor.chat
        sender = optional_text(fields, "sender")
        if sender is not None:
            check_text("sender", sender, SENDER_CHARACTERS)
        group = await context.group_of_chat(chat)
        check_chat_address(chat)
        account = context.account if group is None else await context.account_of(group)
        parts = split_text(text, _text_limit(account))
        if not parts:
            return accepted(context.kind, NOTHING_LEFT, chat=chat, parts=0)
        if len(parts) > APPEND_MESSAGES:
            most = _text_limit(account).most * APPEND_MESSAGES
            raise refuse_message("message_too_large", size=_utf8_length(text), most=most)
        answer = accepted(context.kind, "Message sent", chat=chat, parts=len(parts))
        message = _Message(account, group, chat, parts, sender or account.group.assistant_name)
        while True:
            try:
                await self._write(context, message, answer)
            except Conflict as conflict:
                # Another message of the same run was written meanwhile: the record is there now.
                if is_conflict_over(conflict, MESSAGED_KIND):
                    continue
                raise
            self._on_delivery()
            return answer

    async def _write(self, context: RequestContext, message: _Message, answer: Answer) -> None:
        """Write the message with its deliveries, its answer, and that the run of the agent has messaged its chat."""
        account, group, chat, parts, name = message
        deliveries = self._make_deliveries(context, account, chat, parts)
        records = [*await context.service.deliveries.queue.writes(deliveries), context.record.write(answer)]
        if group is None:
            if not await context.service.store.write_records(records):
                raise refuse_task("record_changed", kind=REQUEST_KIND, key=context.request.name)
            return
        if chat == context.actor.chat:
            records += await self._messaged(context)
        # The request is repeated at most once by its record, so that the id of the delivery identifies the message.
        messages = [assistant_message(group.stream, each.text, name, each.id, each.created) for each in deliveries]
        for each in messages:
            check_message(each)
        quota = stream_quota_of(account.agent.quotas)
        await context.service.store.append_messages(group.owner, messages, quota, records)

    async def _messaged(self, context: RequestContext) -> list[RecordWrite]:
        """Return the write that keeps the result of the live task of the group out of its chat; none for a turn of messages."""
        store, folder = context.service.store, context.actor.folder
        for run in await store.lane_runs(group_lane(folder), 1):
            key = occurrence_key(run.task_id, run.origin, run.planned)
            if not is_system_owner(run.owner) and await store.get_record(MESSAGED_KIND, key) is None:
                return [messaged_write(key, run.owner, self._clock.now())]
        return []

    def _make_deliveries(
        self, context: RequestContext, account: GroupAccount, chat: str, parts: Sequence[str]
    ) -> list[Delivery]:
        now, queue = self._clock.now(), context.service.deliveries.queue
        origin = f"request:{context.request.folder}/{context.request.name}"
        return [queue.make(account.group.owner, chat, part, now, origin) for part in parts]


def _text_limit(account: GroupAccount) -> TextLimit:
    quota = account.agent.quotas.message_bytes
    return TextLimit(TEXT_BYTES if quota is None else min(quota, TEXT_BYTES), _utf8_length)


def _utf8_length(text: str) -> int:
    return len(text.encode(errors="replace"))
