"""Deliveries: list, show, send a failed one again, discard one. The sender of the agents' host sends them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from ...clock import Clock
from ...model.accounts.principal import Principal, Scope
from ...model.agents.delivery import (
    DELIVERY_PREFIX,
    FINISHED_KIND,
    FINISHED_RETENTION,
    MAX_PENDING,
    PENDING_KIND,
    Delivery,
    DeliveryState,
    as_retried,
    delivery_from,
    delivery_record,
)
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.record import Record, RecordWrite
from ...model.refusals import refuse as refuse_task
from ...ports.full_store import FullStore
from ..accounts.audit import Audit
from ..accounts.rights import refuse_agent
from ..events.webhook_checks import is_possible_id
from ..query.argument_checks import check_page
from ..query.id_prefix import resolve_record
from .delivery_records import DeliveryQueue, DeliveryRecords, count_room
from .refusals import refuse

_TRIES: Final = 20
_MAX_PAGES_READ: Final = 5
"""Pages that one list reads through in search of a chat or a state."""
_KINDS: Final = (PENDING_KIND, FINISHED_KIND)


class Deliveries:
    """`on_change` is called after each change, so that the sender of this process looks at once."""

    def __init__(
        self,
        store: FullStore,
        audit: Audit,
        clock: Clock,
        on_write: Callable[[datetime | None], None] = lambda _due: None,
    ) -> None:
        self.on_change: Callable[[], None] = lambda: None
        self._store = store
        self.queue = DeliveryQueue(store)
        """For texts of the assistants: the host, its requests and the runs of this process."""
        self._records = DeliveryRecords(store)
        self._audit = audit
        self._clock = clock
        self._on_write = on_write

    async def page(
        self,
        principal: Principal,
        state: DeliveryState | str | None = None,
        chat: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[Delivery]:
        """Return deliveries, newest first; with a filter a page may have fewer of them than there are."""
        _check_scope(principal, Scope.READ)
        check_page(after, limit)
        chosen = _check_state(state)
        found: list[Delivery] = []
        cursor = after
        for _ in range(_MAX_PAGES_READ):
            page = await self._newest(principal.owner_filter, chosen, cursor)
            for record in page.items:
                delivery = delivery_from(record)
                if chosen in (None, delivery.state) and chat in (None, delivery.chat):
                    found.append(delivery)
                cursor = record.key
                if len(found) == limit:
                    break
            is_rest = page.after is not None or (bool(page.items) and cursor != page.items[-1].key)
            if len(found) == limit or not is_rest:
                return Page(tuple(found), cursor if is_rest else None)
        return Page(tuple(found), cursor)

    async def get(self, principal: Principal, delivery_id: str) -> Delivery:
        """Return a delivery; others see only those of the group that they are."""
        _check_scope(principal, Scope.READ)
        return await self._get(principal, delivery_id)

    async def retry(self, principal: Principal, delivery_id: str) -> Delivery:
        """Send a failed delivery again, from the first part that the service has not accepted."""
        _check_scope(principal, Scope.WRITE)
        for _ in range(_TRIES):
            before = await self._get(principal, delivery_id)
            if before.state is not DeliveryState.FAILED:
                raise refuse("delivery_not_failed", id=before.id, state=before.state.value)
            if await count_room(self._store, before.owner) <= 0:
                raise refuse("too_many_deliveries", owner=before.owner, most=MAX_PENDING)
            now = self._clock.now()
            row = self._audit.row(principal, "delivery.retry", before.id, {"chat": before.chat}, owner=before.owner)
            after = as_retried(before, now)
            if await self._records.write(before, after, now, row):
                self._notify()
                return after._replace(version=1)
        raise refuse("delivery_contested", id=delivery_id)

    async def discard(self, principal: Principal, delivery_id: str) -> None:
        """Remove a pending or failed delivery: it is not sent. A part that is being sent now may still arrive."""
        _check_scope(principal, Scope.WRITE)
        for _ in range(_TRIES):
            known = await self._get(principal, delivery_id)
            if known.state not in (DeliveryState.PENDING, DeliveryState.FAILED):
                raise refuse("delivery_not_open", id=known.id, state=known.state.value)
            detail = {"chat": known.chat, "state": known.state.value}
            row = self._audit.row(principal, "delivery.discard", known.id, detail, owner=known.owner)
            if await self._store.write_records(
                [RecordWrite(delivery_record(known), known.version, dropped=True), *row]
            ):
                self._notify()
                return
        raise refuse("delivery_contested", id=delivery_id)

    async def _newest(self, owner: str | None, state: DeliveryState | None, after: str | None) -> Page[Record]:
        """Return a page of the kinds that a state may have, merged by id, newest first."""
        kinds = _KINDS if state is None else (PENDING_KIND if state is DeliveryState.PENDING else FINISHED_KIND,)
        pages = [await self._store.records(kind, owner, after, MAX_PAGE_SIZE // 5, newest=True) for kind in kinds]
        # Beyond the last key of a page that goes on, the kinds cannot be merged yet.
        end = max((page.after for page in pages if page.after is not None), default="")
        merged = sorted((each for page in pages for each in page.items if each.key >= end), key=_key, reverse=True)
        return Page(tuple(merged), end or None)

    async def _get(self, principal: Principal, delivery_id: str) -> Delivery:
        owner = principal.owner_filter
        found: Delivery | None = None
        if is_possible_id(delivery_id):
            found = await self._records.get(await self._whole_id(owner, delivery_id), owner)
        if found is None:
            raise refuse("no_such_chat_delivery", id=delivery_id, days=FINISHED_RETENTION.days)
        return found

    async def _whole_id(self, owner: str | None, text: str) -> str:
        """Return the id that begins with a text, among pending and finished deliveries; an ambiguous one is refused."""
        found = {await resolve_record(self._store, owner, kind, DELIVERY_PREFIX, text) for kind in _KINDS} - {text}
        if len(found) > 1:
            raise refuse_task("ambiguous_id", id=text, found=", ".join(sorted(found)))
        return next(iter(found), text)

    def _notify(self) -> None:
        self.on_change()
        self._on_write(None)


def _check_scope(principal: Principal, scope: Scope) -> None:
    refuse_agent(principal, "deliveries")
    principal.require_scope(scope)


def _check_state(state: object) -> DeliveryState | None:
    if state is None:
        return None
    try:
        return DeliveryState(str(state))
    except ValueError:
        raise refuse_task("bad_choice", name="state", value=state, allowed=", ".join(DeliveryState)) from None


def _key(record: Record) -> str:
    return record.key
