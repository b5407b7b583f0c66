"""Webhooks on a network that the node does not allow: reported as blocked, and sent once a node allows the network."""

from __future__ import annotations

from datetime import timedelta

from horae.model.accounts.principal import LOCAL, Principal
from horae.model.events.event import EventKind
from horae.model.events.webhook import DeliveryState, Webhook
from horae.service.events.delivery import WebhookClient
from horae.service.events.webhook_dispatcher import WebhookDispatcher
from horae.service.service import Service
from horae.testing.factories import NOON
from horae.wire.webhooks import read_webhook, webhook_json

from .event_server import ManualClock, add_task, open_service, record_event, webhook_receiver

ADA = Principal("ada")
LOOPBACK = ("127.0.0.0/8",)


def strict_dispatcher(service: Service, clock: ManualClock) -> WebhookDispatcher:
    """Dispatcher of a node that allows public addresses only."""
    secrets = service.webhooks.client._secrets
    return WebhookDispatcher(service.store, WebhookClient(secrets, clock), service.event_encoder, clock)


async def delivery_states(service: Service, webhook: Webhook) -> list[DeliveryState]:
    return [each.state for each in (await service.webhooks.deliveries(LOCAL, webhook.id)).items]


async def check_blocked_once() -> None:
    clock = ManualClock(NOON)
    async with open_service("memory://", clock) as service, webhook_receiver() as receiver:
        webhook, _ = await service.webhooks.create(ADA, receiver.base + "/a")
        task = await add_task(service.store)
        dispatcher = strict_dispatcher(service, clock)
        for _ in range(3):
            await record_event(service.store, task)
            await dispatcher.step()
        assert receiver.requests == []
        found = await service.webhooks.get(ADA, webhook.id)
        assert (found.enabled, found.blocked, found.failing_since) == (True, LOOPBACK, NOON)
        events = [each.event for each in await service.store.events(0, 100)]
        (event,) = [each for each in events if each.kind is EventKind.WEBHOOK_BLOCKED]
        assert (event.owner, event.detail) == ("ada", f"{webhook.id} 127.0.0.0/8")
        (first, *_) = (await service.webhooks.deliveries(LOCAL, webhook.id)).items
        assert first.attempts[-1].answer.endswith("It counts for tasks and webhooks.")
        shape = webhook_json(found)
        assert "HORAE_OUTGOING_NETWORKS=127.0.0.0/8" in shape["blocked"]["hint"]
        assert "restart the node" in shape["blocked"]["hint"]
        assert read_webhook(shape).blocked == LOOPBACK


async def test_blocked_webhook_is_recorded_once_with_the_setting_to_change() -> None:
    await check_blocked_once()


async def check_sent_after_restart() -> None:
    clock = ManualClock(NOON)
    async with open_service("memory://", clock) as service, webhook_receiver() as receiver:
        webhook, _ = await service.webhooks.create(ADA, receiver.base + "/a")
        task = await add_task(service.store)
        for _ in range(6):
            await record_event(service.store, task)
        strict = strict_dispatcher(service, clock)
        for _ in range(3):
            await strict.step()
            clock.move(timedelta(seconds=6))
        waiting = await delivery_states(service, webhook)
        assert len(waiting) > 4
        assert set(waiting) == {DeliveryState.PENDING}
        await strict._release()
        allowed = WebhookDispatcher(service.store, service.webhooks.client, service.event_encoder, clock)
        for _ in range(len(waiting)):
            await allowed.step()
        assert set(await delivery_states(service, webhook)) == {DeliveryState.DELIVERED}
        assert len(receiver.requests) >= len(waiting)
        found = await service.webhooks.get(ADA, webhook.id)
        assert (found.blocked, found.failing_since) == ((), None)


async def test_node_that_allows_the_network_sends_pending_deliveries_at_once() -> None:
    await check_sent_after_restart()


async def check_unblocked() -> None:
    clock = ManualClock(NOON)
    async with open_service("memory://", clock) as service, webhook_receiver() as receiver:
        receiver.answers = lambda _request: 500
        webhook, _ = await service.webhooks.create(ADA, receiver.base + "/a")
        moved, _ = await service.webhooks.create(ADA, receiver.base + "/b")
        await add_task(service.store)
        strict = strict_dispatcher(service, clock)
        await strict.step()
        await strict.step()
        assert (await service.webhooks.get(ADA, moved.id)).blocked == LOOPBACK
        assert (await service.webhooks.edit(ADA, moved.id, url=receiver.base + "/c")).blocked == ()
        await strict._release()
        allowed = WebhookDispatcher(service.store, service.webhooks.client, service.event_encoder, clock)
        for _ in range(2):
            await allowed.step()
        found = await service.webhooks.get(ADA, webhook.id)
        assert (found.blocked, found.failing_since) == ((), NOON)


async def test_webhook_is_unblocked_by_another_failure_or_a_new_address() -> None:
    await check_unblocked()
