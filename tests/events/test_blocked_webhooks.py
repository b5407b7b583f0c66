"""A webhook whose network the delivering node does not allow: it says so, and what waits is sent once a node allows it."""

from __future__ import annotations

from datetime import timedelta

from horae.model.accounts.principal import LOCAL
from horae.model.events.event import EventKind
from horae.model.events.webhook import DeliveryState, Webhook
from horae.service.events.delivery import WebhookClient
from horae.service.events.webhook_dispatcher import WebhookDispatcher
from horae.service.service import Service
from horae.wire.webhooks import read_webhook, webhook_json

from .event_server import HandClock, added, happens, house, inbox
from .test_webhooks import ADA, NOON

LOOPBACK = ("127.0.0.0/8",)


def strict_courier(service: Service, clock: HandClock) -> WebhookDispatcher:
    """The courier of a node that allows public addresses only."""
    secrets = service.webhooks.client._secrets
    return WebhookDispatcher(service.store, WebhookClient(secrets, clock), service.event_encoder, clock)


async def deliveries(service: Service, webhook: Webhook) -> list[DeliveryState]:
    return [each.state for each in (await service.webhooks.deliveries(LOCAL, webhook.id)).items]


async def blocked_once() -> None:
    clock = HandClock(NOON)
    async with house("memory://", clock) as service, inbox() as box:
        webhook, _ = await service.webhooks.create(ADA, box.base + "/a")
        task = await added(service.store)
        courier = strict_courier(service, clock)
        for _ in range(3):
            await happens(service.store, task)
            await courier.step()
        assert box.posts == []
        found = await service.webhooks.get(ADA, webhook.id)
        assert (found.enabled, found.blocked, found.failing_since) == (True, LOOPBACK, NOON)
        told = [each.event for each in await service.store.events(0, 100)]
        (event,) = [each for each in told if each.kind is EventKind.WEBHOOK_BLOCKED]
        assert (event.owner, event.detail) == ("ada", f"{webhook.id} 127.0.0.0/8")
        (first, *_) = (await service.webhooks.deliveries(LOCAL, webhook.id)).items
        assert first.attempts[-1].answer.endswith("It counts for tasks and webhooks.")
        shape = webhook_json(found)
        assert "HORAE_OUTGOING_NETWORKS=127.0.0.0/8" in shape["blocked"]["hint"]
        assert "restart the node" in shape["blocked"]["hint"]
        assert read_webhook(shape).blocked == LOOPBACK


async def test_node_that_may_not_call_a_webhook_records_it_once_with_the_setting() -> None:
    await blocked_once()


async def sent_after_restart() -> None:
    clock = HandClock(NOON)
    async with house("memory://", clock) as service, inbox() as box:
        webhook, _ = await service.webhooks.create(ADA, box.base + "/a")
        task = await added(service.store)
        for _ in range(6):
            await happens(service.store, task)
        strict = strict_courier(service, clock)
        for _ in range(3):
            await strict.step()
            clock.move(timedelta(seconds=6))
        waiting = await deliveries(service, webhook)
        assert len(waiting) > 4
        assert set(waiting) == {DeliveryState.PENDING}
        await strict._release()
        allowed = WebhookDispatcher(service.store, service.webhooks.client, service.event_encoder, clock)
        for _ in range(len(waiting)):
            await allowed.step()
        assert set(await deliveries(service, webhook)) == {DeliveryState.DELIVERED}
        assert len(box.posts) >= len(waiting)
        found = await service.webhooks.get(ADA, webhook.id)
        assert (found.blocked, found.failing_since) == ((), None)


async def test_node_that_allows_the_network_sends_what_waits_without_further_delay() -> None:
    await sent_after_restart()


async def another_failure_unblocks() -> None:
    clock = HandClock(NOON)
    async with house("memory://", clock) as service, inbox() as box:
        box.answers = lambda _post: 500
        webhook, _ = await service.webhooks.create(ADA, box.base + "/a")
        moved, _ = await service.webhooks.create(ADA, box.base + "/b")
        await added(service.store)
        strict = strict_courier(service, clock)
        await strict.step()
        await strict.step()
        assert (await service.webhooks.get(ADA, moved.id)).blocked == LOOPBACK
        assert (await service.webhooks.edit(ADA, moved.id, url=box.base + "/c")).blocked == ()
        await strict._release()
        allowed = WebhookDispatcher(service.store, service.webhooks.client, service.event_encoder, clock)
        for _ in range(2):
            await allowed.step()
        found = await service.webhooks.get(ADA, webhook.id)
        assert (found.blocked, found.failing_since) == ((), NOON)


async def test_webhook_is_no_longer_blocked_after_another_failure_or_a_new_address() -> None:
    await another_failure_unblocks()
