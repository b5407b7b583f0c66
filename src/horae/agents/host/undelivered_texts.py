"""Notices to a chat that texts could not be sent to it: one for all of them, when the chat can be reached again.

A notice is a delivery itself. One that could not be sent either counts as the texts that it stands for, so that the next
notice names them all.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from ...errors import Refusal, StoreUnavailable
from ...model.agents.delivery import FINISHED_KIND, Delivery, DeliveryState, delivery_from
from ...model.agents.group import Group
from ...model.events.event import Event, EventKind
from ...model.record import Record, RecordWrite
from ...service.service import Service
from ...wire.instants import local
from . import command_texts as words
from .channel_states import CHANNEL_STATE_KIND, channel_state_from
from .outbox import Outbox

LOG: Final = logging.getLogger("horae.agents")
MARK_KIND: Final = "group.undelivered"
"""Record under the folder of a group: until when the texts that failed are part of a notice."""
NOTICE_ORIGIN: Final = "undelivered"
_READ: Final = 200
"""Newest ended texts of a group that are read."""


class _Loss(NamedTuple):
    """Texts that one failed delivery stands for, and when the first of them was written."""

    number: int
    first: datetime


def ends_delivery(event: Event) -> bool:
    """Return whether a group may have undelivered texts to report after an event."""
    return event.kind in (EventKind.DELIVERY_FAILED, EventKind.DELIVERY_SENT)


class UndeliveredTexts:
    def __init__(self, service: Service, outbox: Outbox) -> None:
        self._service = service
        self._store = service.store
        self._outbox = outbox

    async def tell(self, group: Group) -> bool:
        """Report the failed texts to the chat if it can be reached; return whether some of them are still to be reported."""
        record = await self._store.get_record(MARK_KIND, group.folder)
        reported = None if record is None else datetime.fromisoformat(record.body)
        ended = await self._ended(group)
        failed = [each for each in ended if each.state is DeliveryState.FAILED and _is_after(each, reported)]
        if not failed:
            return False
        last = max(failed, key=_order)
        newest = _end(last)
        if not await self._is_reachable(group, ended, last):
            return True
        losses = [_loss_of(each) for each in failed]
        number, first = sum(each.number for each in losses), min(each.first for each in losses)
        mark = Record(MARK_KIND, group.folder, group.owner, newest.isoformat(), 1 if record is None else record.version)
        write = RecordWrite(mark, None if record is None else record.version)
        origin = f"{NOTICE_ORIGIN}:{number}:{first.isoformat()}"
        try:
            text = await self._text(group, number, first)
            await self._outbox.send(group, text, f"{NOTICE_ORIGIN}:{newest.isoformat()}", origin, [write])
        except StoreUnavailable:
            raise
        except Refusal as refusal:
            # Another host was first, or the chat takes no more messages: its router goes on.
            if refusal.code != "record_changed":
                LOG.warning("the chat of %s gets no notice about texts that were not sent: %s", group.folder, refusal)
        return False

    async def _ended(self, group: Group) -> Sequence[Delivery]:
        page = await self._store.records(FINISHED_KIND, group.owner, limit=_READ, newest=True)
        return [each for each in map(delivery_from, page.items) if each.chat == group.chat]

    async def _is_reachable(self, group: Group, ended: Sequence[Delivery], failed: Delivery) -> bool:
        """Return whether the chat has taken a text since the last one that failed, or its channel has come back."""
        if any(each.state is not DeliveryState.FAILED and _order(each) > _order(failed) for each in ended):
            return True
        record = await self._store.get_record(CHANNEL_STATE_KIND, group.channel)
        state = None if record is None else channel_state_from(record)
        return state is not None and state.is_connected and state.since > _end(failed)

    async def _text(self, group: Group, number: int, first: datetime) -> str:
        language = await self._outbox.language_of(group) or "en"
        at = local(first, group.zone or self._service.zone or "UTC") or ""
        return words.UNDELIVERED.in_language(language, number=number, at=at[:16].replace("T", " "))


def _end(delivery: Delivery) -> datetime:
    return delivery.ended or delivery.created


def _order(delivery: Delivery) -> tuple[datetime, str]:
    return _end(delivery), delivery.id


def _is_after(delivery: Delivery, reported: datetime | None) -> bool:
    return reported is None or _end(delivery) > reported


def _loss_of(delivery: Delivery) -> _Loss:
    kind, _, rest = delivery.origin.partition(":")
    if kind != NOTICE_ORIGIN:
        return _Loss(1, delivery.created)
    number, _, first = rest.partition(":")
    return _Loss(int(number), datetime.fromisoformat(first))
