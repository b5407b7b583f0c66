"""Deliveries: lists with filters, retry of failed ones, discard, limits and rights."""

from __future__ import annotations

import pytest

from horae.errors import Refusal
from horae.model.accounts.principal import SCOPES_OF, Principal, Role
from horae.model.agents.delivery import (
    MAX_PENDING,
    Delivery,
    DeliveryState,
    add_delivery,
    as_failed,
    as_sent,
    delivery_from,
    delivery_record,
)
from horae.model.events.event import EventKind
from horae.model.record import RecordWrite
from horae.service.chats import deliveries as deliveries_module
from horae.service.chats.delivery_records import DeliveryContested, DeliveryIds, DeliveryRecords
from horae.testing.factories import HOUR, NOON
from tests.unit.service.service_harness import BOB, CHIEF, ROOT, ServiceHarness, code_of, open_harness

FAMILY = Principal("group:family", actor="tok_1", via="http")
VIEWER = FAMILY._replace(scopes=SCOPES_OF[Role.VIEWER], role=Role.VIEWER)


async def add(harness: ServiceHarness, number: int, state: str = "pending", chat: str = "web:1") -> Delivery:
    delivery = Delivery(f"dlv_{number:012x}{'0' * 20}", "group:family", chat, f"text {number}", NOON, "run_1")
    if state == "sent":
        delivery = as_sent(delivery._replace(parts=("m1",)), NOON)
    elif state == "failed":
        delivery = as_failed(delivery, NOON, "kicked")
    assert await harness.store.write_records([RecordWrite(delivery_record(delivery))])
    return delivery


async def test_list_is_newest_first_with_filters_and_pages() -> None:
    async with open_harness() as harness:
        deliveries = harness.service.deliveries
        made = [
            await add(harness, number, ("pending", "sent", "failed")[number % 3], f"web:{number % 2}")
            for number in range(1, 13)
        ]
        newest = made[::-1]
        assert list((await deliveries.page(FAMILY)).items) == newest
        assert list((await deliveries.page(ROOT, "failed")).items) == [
            each for each in newest if each.state is DeliveryState.FAILED
        ]
        assert list((await deliveries.page(FAMILY, chat="web:1")).items) == [
            each for each in newest if each.chat == "web:1"
        ]
        assert (await deliveries.page(BOB)).items == ()
        shown: list[Delivery] = []
        after = None
        while True:
            page = await deliveries.page(FAMILY, after=after, limit=5)
            shown += page.items
            after = page.after
            if after is None:
                break
        assert shown == newest
        with pytest.raises(Refusal) as refused:
            await deliveries.page(FAMILY, "lost")
        assert refused.value.code == "bad_choice"


async def test_pages_of_both_kinds_are_merged_by_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliveries_module, "MAX_PAGE_SIZE", 15)
    async with open_harness() as harness:
        made = [await add(harness, number, "pending" if number < 10 else "sent") for number in range(1, 21)]
        shown: list[Delivery] = []
        after = None
        while True:
            page = await harness.service.deliveries.page(FAMILY, after=after, limit=20)
            shown += page.items
            after = page.after
            if after is None:
                break
        assert shown == made[::-1]


async def test_failed_delivery_is_sent_again() -> None:
    async with open_harness() as harness:
        notified: list[bool] = []
        harness.service.deliveries.on_change = lambda: notified.append(True)
        failed, sent = await add(harness, 1, "failed"), await add(harness, 2, "sent")
        again = await harness.service.deliveries.retry(CHIEF, failed.id[:18])
        assert (again.state, again.retried) == (DeliveryState.PENDING, NOON)
        record = await harness.store.get_record("delivery.pending", failed.id)
        assert record is not None
        assert delivery_from(record) == again
        assert await harness.store.get_record("delivery.finished", failed.id) is None
        assert notified
        assert await code_of(harness.service.deliveries.retry(FAMILY, failed.id)) == "delivery_not_failed"
        assert await code_of(harness.service.deliveries.retry(FAMILY, sent.id)) == "delivery_not_failed"
        actions = [row.action for row in (await harness.service.audit.page(ROOT)).items]
        assert actions == ["delivery.retry"]
        assert await harness.store.events(0) == ()


async def test_prefix_of_several_ids_is_refused() -> None:
    async with open_harness() as harness:
        await add(harness, 1)
        await add(harness, 2, "failed")
        assert await code_of(harness.service.deliveries.get(FAMILY, "dlv_00000000")) == "ambiguous_id"


async def test_pending_and_failed_deliveries_are_discarded() -> None:
    async with open_harness() as harness:
        deliveries = harness.service.deliveries
        for number, state in enumerate(("pending", "failed"), 1):
            made = await add(harness, number, state)
            await deliveries.discard(FAMILY, made.id)
            assert await code_of(deliveries.get(FAMILY, made.id)) == "no_such_chat_delivery"
        sent = await add(harness, 3, "sent")
        assert await code_of(deliveries.discard(FAMILY, sent.id)) == "delivery_not_open"
        assert await code_of(deliveries.get(FAMILY, "\0")) == "no_such_chat_delivery"


async def test_limit_of_waiting_texts_holds_for_a_retry() -> None:
    async with open_harness() as harness:
        ids = DeliveryIds()
        waiting = [Delivery(ids.next(NOON), "group:family", "web:1", "x", NOON) for _ in range(MAX_PENDING)]
        assert await harness.store.write_records([add_delivery(each) for each in waiting])
        failed = await add(harness, 1, "failed")
        assert await code_of(harness.service.deliveries.retry(FAMILY, failed.id)) == "too_many_deliveries"


async def test_viewers_read_and_agents_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harness() as harness:
        deliveries = harness.service.deliveries
        failed = await add(harness, 1, "failed")
        assert await deliveries.get(VIEWER, failed.id) == failed
        assert await code_of(deliveries.retry(VIEWER, failed.id)) == "not_allowed"
        assert await code_of(deliveries.discard(VIEWER, failed.id)) == "not_allowed"
        assert await code_of(deliveries.page(FAMILY._replace(agent="family"))) == "not_for_agents"

        async def never(*_: object) -> bool:
            return False

        monkeypatch.setattr(harness.store, "write_records", never)
        monkeypatch.setattr(harness.store, "write_with_events", never)
        assert await code_of(deliveries.retry(FAMILY, failed.id)) == "delivery_contested"
        assert await code_of(deliveries.discard(FAMILY, failed.id)) == "delivery_contested"
        with pytest.raises(DeliveryContested):
            await DeliveryRecords(harness.store).change(failed.id, NOON, lambda found: found._replace(attempts=9))


async def test_change_of_a_state_is_written_with_its_event() -> None:
    async with open_harness() as harness:
        records = DeliveryRecords(harness.store)
        made = await add(harness, 1)
        changed = await records.change(made.id, NOON, lambda found: as_failed(found, NOON + HOUR, "kicked"))
        assert changed is not None
        assert changed.state is DeliveryState.FAILED
        (event,) = await harness.store.events(0)
        assert (event.event.kind, event.event.owner) == (EventKind.DELIVERY_FAILED, "group:family")
        assert await records.change("dlv_absent", NOON, lambda found: found) is None
        assert await records.change(made.id, NOON, lambda found: found) == changed
        assert len(await harness.store.events(0)) == 1
