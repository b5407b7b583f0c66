"""Reads the unhandled messages of a group's chat, and makes the batch of the next turn from them.

Messages that wake nothing can wait in any number: the position of the router says how many of them need not be read.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import Refusal
from ...model.agents.group import Group
from ...model.messages import PAGE_MESSAGES
from ...ports.chat_messages import ChatMessage, read_chat_message
from ...ports.records import Records
from ...ports.target import RunMessages
from ..router.pending_messages import apply_changes, rule_of, to_pending
from ..router.position import POSITION_KIND, position_from
from ..router.prompt import PromptMessage, QuotedText, write_prompt
from ..router.turn import MAX_TURN_MESSAGES, select_messages, wakes
from .turn_state import MessageBatch


class StreamReader:
    """Reader of one run. `records` has the position of the router. `zone` is that of the times in the prompt."""

    def __init__(self, messages: RunMessages, records: Records, group: Group, zone: str) -> None:
        self._messages = messages
        self._records = records
        self._group = group
        self._zone = zone
        self._rule = rule_of(group)
        self._looked_up_to = 0
        """Last number of the stream that a search without a result has seen."""

    async def next_batch(self, after: int | None = None) -> MessageBatch | None:
        """Return the next batch after a number, or after the cursor; None if no message wakes the agent."""
        if after is not None and not await self._has_news(after):
            return None
        first: int | None = None
        is_found = False
        kept: list[ChatMessage] = []
        omitted = 0
        start: int | None = None
        while True:
            try:
                page = await self._messages.read(self._group.stream, after=after, limit=PAGE_MESSAGES)
            except Refusal as refusal:
                if refusal.code != "no_such_stream":
                    raise
                return None
            first = page.after + 1 if first is None else first
            kept += map(read_chat_message, page.messages)
            batch = self._make_batch(first, kept, omitted)
            if batch is not None and (is_found or page.next_after is None):
                return batch
            if page.next_after is None:
                self._looked_up_to = page.stream.last
                return None
            after = page.next_after
            if batch is not None:
                # Messages after the one that woke the agent travel along, too, also over the end of a page.
                is_found = True
                continue
            # Only the last of the messages that wake nothing can travel along.
            start = await self._find_start(first - 1) if start is None else start
            if start > after:
                omitted += len(kept) + start - after
                kept, after = [], start
            omitted += max(0, len(kept) - MAX_TURN_MESSAGES)
            kept = kept[-MAX_TURN_MESSAGES:]

    async def _find_start(self, handled: int) -> int:
        """Return the number after which the messages begin that can travel along with the first one that wakes the agent."""
        record = await self._records.get_record(POSITION_KIND, self._group.folder)
        position = None if record is None else position_from(record)
        if position is None or not position.fits(self._group):
            return 0
        return position.first_waiting(handled) - MAX_TURN_MESSAGES

    async def _has_news(self, after: int) -> bool:
        page = await self._messages.read(self._group.stream, after=max(after, self._looked_up_to), limit=1)
        return bool(page.messages)

    def _make_batch(self, first: int, reports: Sequence[ChatMessage], omitted: int) -> MessageBatch | None:
        """Return the batch of these reports; None if none of them wakes the agent."""
        messages = apply_changes(reports, self._group)
        pending = to_pending(messages)
        waking = next((each.number for each in pending if wakes(each, self._rule)), None)
        selected = select_messages(pending, waking)
        if waking is None or selected is None:
            return None
        wanted = frozenset(selected.numbers)
        prompt = write_prompt(
            [_prompt_message(each) for each in messages if each.number in wanted],
            self._zone,
            omitted + selected.omitted,
        )
        # Edits, deletions and commands at the end are handled with the messages before them.
        handled = selected.handled if selected.has_more else reports[-1].number
        return MessageBatch(prompt, len(wanted), first, handled)


def _prompt_message(message: ChatMessage) -> PromptMessage:
    quoted = message.quoted
    attachments = "".join(f"[{each}]" for each in message.attachments)
    text = f"{message.text}\n{attachments}" if message.text and attachments else message.text + attachments
    return PromptMessage(
        message.sender_name,
        text,
        message.sent,
        None if quoted is None else QuotedText(quoted.id, quoted.sender_name, quoted.text),
    )
