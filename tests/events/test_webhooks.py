"""Webhook deliveries: signed, retried over days under one message id, and independent between endpoints."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from horae.clock import SystemClock
from horae.errors import Refusal, StoreError
from horae.model.accounts.principal import LOCAL, Principal
from horae.model.events.event import EventKind
from horae.model.events.webhook import RETRY_WAITS, Delivery, DeliveryState, DisabledCause, Webhook
from horae.outgoing.signatures import verify
from horae.service.events.webhook_dispatcher import LEASE, WebhookDispatcher
from horae.service.events.webhooks import MAX_WEBHOOKS
from horae.service.service import Service
from horae.testing.factories import NOON

from .event_server import ManualClock, WebhookReceiver, add_task, open_service, record_event, webhook_receiver

ADA, BOB = Principal("ada"), Principal("bob")
DAY = timedelta(days=1)


class WebhookSetup(NamedTuple):
    service: Service
    clock: ManualClock
    receiver: WebhookReceiver
    dispatcher: WebhookDispatcher

    async def create_webhook(self, path: str = "/a", who: Principal = ADA, **more: Any) -> tuple[Webhook, str]:
        return await self.service.webhooks.create(who, self.receiver.base + path, **more)

    async def deliveries(self, webhook: Webhook) -> tuple[Delivery, ...]:
        return (await self.service.webhooks.deliveries(LOCAL, webhook.id)).items

    def another_dispatcher(self) -> WebhookDispatcher:
        service = self.service
        return WebhookDispatcher(service.store, service.webhooks.client, service.event_encoder, self.clock)


@asynccontextmanager
async def webhook_setup(url: str = "memory://") -> AsyncIterator[WebhookSetup]:
    clock = ManualClock(NOON)
    async with open_service(url, clock) as service, webhook_receiver() as receiver:
        yield WebhookSetup(
            service,
            clock,
            receiver,
            WebhookDispatcher(service.store, service.webhooks.client, service.event_encoder, clock),
        )


async def test_event_is_sent_signed_and_once() -> None:
    async with webhook_setup() as setup:
        webhook, secret = await setup.create_webhook()
        task = await add_task(setup.service.store)
        for _ in range(3):
            await setup.dispatcher.step()
        (request,) = setup.receiver.requests
        assert verify([secret], request.headers, request.body, NOON)
        assert request.headers["webhook-id"] == request.json["id"] == "evt_1"
        assert request.headers["content-type"] == "application/cloudevents+json"
        assert (request.json["type"], request.json["subject"]) == ("dev.horae.task.created.v1", task.id)
        (delivery,) = await setup.deliveries(webhook)
        assert delivery.state is DeliveryState.DELIVERED
        assert [(each.status, each.answer) for each in delivery.attempts] == [(200, "received")]


async def test_webhook_gets_later_events_of_its_owner_and_types_only() -> None:
    async with webhook_setup() as setup:
        task, foreign = await add_task(setup.service.store), await add_task(setup.service.store, "bob")
        await setup.create_webhook("/all")
        await setup.create_webhook("/failing", types=["task.fail*"])
        await setup.create_webhook("/bob", BOB)
        for each in (task, foreign):
            await record_event(setup.service.store, each, EventKind.TASK_FAILING)
            await record_event(setup.service.store, each, EventKind.TASK_PAUSED)
        for _ in range(2):
            await setup.dispatcher.step()
        assert [request.json["data"]["kind"] for request in setup.receiver.at_path("/all")] == [
            "task.failing",
            "task.paused",
        ]
        assert [request.json["data"]["kind"] for request in setup.receiver.at_path("/failing")] == ["task.failing"]
        assert {request.json["data"]["task_id"] for request in setup.receiver.at_path("/bob")} == {foreign.id}


async def test_failed_delivery_is_retried_over_three_days_with_one_message_id() -> None:
    async with webhook_setup() as setup:
        setup.receiver.answers = lambda _request: 503
        webhook, secret = await setup.create_webhook()
        await add_task(setup.service.store)
        await setup.dispatcher.step()
        for wait in RETRY_WAITS:
            tried = len(setup.receiver.requests)
            await setup.dispatcher.step()
            assert len(setup.receiver.requests) == tried, "not before the retry is due"
            setup.clock.move(wait * 1.1)
            await setup.dispatcher.step()
        setup.clock.move(2 * DAY)
        await setup.dispatcher.step()
        assert len(setup.receiver.requests) == 1 + len(RETRY_WAITS)
        assert {request.headers["webhook-id"] for request in setup.receiver.requests} == {"evt_1"}
        assert len({request.headers["webhook-timestamp"] for request in setup.receiver.requests}) == 1 + len(
            RETRY_WAITS
        )
        (delivery,) = await setup.deliveries(webhook)
        assert (delivery.state, delivery.due, len(delivery.attempts)) == (DeliveryState.FAILED, None, 10)
        assert 2.5 * DAY < delivery.attempts[-1].at - delivery.attempts[0].at < 4 * DAY
        assert secret.startswith("whsec_")


async def test_delivery_that_was_not_recorded_is_sent_again_with_the_same_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with webhook_setup() as setup:
        webhook, _ = await setup.create_webhook()
        await add_task(setup.service.store)
        await setup.dispatcher.poll()
        (endpoint,) = setup.dispatcher.endpoints.values()

        async def fail(*_: object) -> bool:
            raise StoreError("the process is gone")

        with monkeypatch.context() as patch:
            patch.setattr(setup.service.store, "write_records", fail)
            with pytest.raises(StoreError):
                await endpoint.step()
        second = setup.another_dispatcher()
        await second.step()
        assert len(setup.receiver.requests) == 1, "the lease of the first dispatcher has not expired"
        setup.clock.move(LEASE)
        await second.step()
        assert [request.headers["webhook-id"] for request in setup.receiver.requests] == ["evt_1", "evt_1"]
        (delivery,) = await setup.deliveries(webhook)
        assert (delivery.state, len(delivery.attempts)) == (DeliveryState.DELIVERED, 1)


@pytest.mark.parametrize("url", ["memory://", "sqlite"])
async def test_concurrent_dispatchers_record_each_delivery_once(url: str, tmp_path: Any) -> None:
    async with webhook_setup(f"sqlite:///{tmp_path}/horae.db" if url == "sqlite" else url) as setup:
        webhook, _ = await setup.create_webhook()
        task = await add_task(setup.service.store)
        dispatchers = [setup.dispatcher, *(setup.another_dispatcher() for _ in range(3))]
        for number in range(30):
            await record_event(setup.service.store, task, detail=f"{number}")
            await asyncio.gather(*(dispatcher.step() for dispatcher in dispatchers))
            if number % 7 == 0:
                setup.clock.move(LEASE * 2)
        setup.clock.move(LEASE * 2)
        for _ in range(9):
            await setup.dispatcher.step()
        names = [request.headers["webhook-id"] for request in setup.receiver.requests]
        assert set(names) == {f"evt_{number}" for number in range(1, 32)}
        found = await setup.service.webhooks.deliveries(ADA, webhook.id, limit=100)
        assert len(found.items) == 31
        assert {each.state for each in found.items} == {DeliveryState.DELIVERED}


async def test_both_secrets_sign_for_a_day_after_a_rotation() -> None:
    async with webhook_setup() as setup:
        webhook, old = await setup.create_webhook()
        task = await add_task(setup.service.store)
        rotated, new = await setup.service.webhooks.rotate(ADA, webhook.id)
        assert old != new
        await setup.dispatcher.step()
        first = setup.receiver.requests[-1]
        assert verify([old], first.headers, first.body, NOON)
        assert verify([new], first.headers, first.body, NOON)
        assert rotated.former_until == NOON + DAY
        setup.clock.move(DAY)
        await record_event(setup.service.store, task)
        await setup.dispatcher.step()
        second = setup.receiver.requests[-1]
        assert not verify([old], second.headers, second.body, setup.clock.now())
        assert verify([new], second.headers, second.body, setup.clock.now())


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/horae.db"])
async def test_concurrent_rotations_return_the_secrets_that_sign(url: str, tmp_path: Path) -> None:
    async with webhook_setup(url.format(tmp_path)) as setup:
        hooks = setup.service.webhooks
        webhook, _ = await setup.create_webhook()
        shown = dict(await asyncio.gather(*(hooks.rotate(ADA, webhook.id) for _ in range(6))))
        by_number = {each.secret: secret for each, secret in shown.items()}
        assert len(by_number) == 6
        last = await hooks.get(ADA, webhook.id)
        assert last.former is not None
        for number in (last.secret, last.former):
            assert await hooks.client.read_secret(webhook.id, number) == by_number[number]
        assert len((await setup.service.store.records("secret")).items) == 2, "the other secrets are removed"


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/horae.db"])
async def test_webhook_limit_holds_under_concurrent_creation(url: str, tmp_path: Path) -> None:
    async with webhook_setup(url.format(tmp_path)) as setup:
        await asyncio.gather(*(setup.create_webhook(f"/{number}") for number in range(30)), return_exceptions=True)
        assert len((await setup.service.webhooks.page(ADA)).items) == MAX_WEBHOOKS
        assert len((await setup.service.store.records("secret")).items) == MAX_WEBHOOKS


@pytest.mark.parametrize(
    ("types", "code"),
    [
        ([f"run.[!{chr(0x4E00 + number)}]*" for number in range(51)], "bad_number"),
        (["*" * 101], "bad_choice"),
        ([7], "bad_choice"),
    ],
)
async def test_type_patterns_are_limited(types: list[Any], code: str) -> None:
    async with webhook_setup() as setup:
        with pytest.raises(Refusal) as refused:
            await setup.create_webhook(types=types)
        assert refused.value.code == code
        webhook, _ = await setup.create_webhook(types=types[:50] if code == "bad_number" else ["run.*"])
        assert webhook.types


async def test_endpoint_that_answers_410_is_disabled_with_an_event() -> None:
    async with webhook_setup() as setup:
        setup.receiver.answers = lambda request: 410 if request.path == "/gone" else 200
        gone, _ = await setup.create_webhook("/gone")
        await setup.create_webhook("/other", types=["webhook.*"])
        task = await add_task(setup.service.store)
        for _ in range(3):
            await setup.dispatcher.step()
        found = await setup.service.webhooks.get(ADA, gone.id)
        assert (found.enabled, found.disabled, found.disabled_at) == (False, DisabledCause.GONE, NOON)
        (request,) = setup.receiver.at_path("/other")
        assert request.json["data"] | {"number": 0} == {
            "number": 0,
            "kind": "webhook.disabled",
            "owner": "ada",
            "task_id": task.id,
            "run_id": None,
            "detail": f"{gone.id} gone",
        }
        await record_event(setup.service.store, task)
        await setup.dispatcher.step()
        assert len(setup.receiver.at_path("/gone")) == 1


async def test_five_days_of_failures_disable_the_webhook_and_a_success_resets_them() -> None:
    async with webhook_setup() as setup:
        status = 500
        setup.receiver.answers = lambda _request: status
        webhook, _ = await setup.create_webhook()
        task = await add_task(setup.service.store)

        async def advance_a_day() -> Webhook:
            setup.clock.move(DAY)
            await record_event(setup.service.store, task)
            await setup.dispatcher.step()
            return await setup.service.webhooks.get(ADA, webhook.id)

        await setup.dispatcher.step()
        for _ in range(4):
            assert (await advance_a_day()).enabled
        status = 200
        assert (await advance_a_day()).failing_since is None
        status = 500
        assert (await advance_a_day()).failing_since == setup.clock.now()
        for _ in range(4):
            assert (await advance_a_day()).enabled
        found = await advance_a_day()
        assert (found.enabled, found.disabled) == (False, DisabledCause.FAILING)
        status = 200
        again = await setup.service.webhooks.edit(ADA, webhook.id, enabled=True)
        assert (again.enabled, again.failing_since) == (True, None)
        assert (await advance_a_day()).enabled
        for _ in range(5):
            await setup.dispatcher.step()
        assert max(request.json["data"]["number"] for request in setup.receiver.requests) == again.since + 1


async def test_blocked_endpoint_does_not_delay_others() -> None:
    async with open_service() as service, webhook_receiver() as receiver:
        receiver.blocked["/slow"] = asyncio.Event()
        for path in ("/slow", "/quick"):
            await service.webhooks.create(ADA, receiver.base + path)
        dispatcher = WebhookDispatcher(service.store, service.webhooks.client, service.event_encoder, SystemClock())
        running = asyncio.ensure_future(dispatcher.run())
        task = await add_task(service.store)
        for number in range(20):
            await record_event(service.store, task, detail=f"{number}")
        await receiver.wait_for(21, "/quick")
        assert len(receiver.at_path("/slow")) <= 4, "at most four requests in flight per endpoint"
        receiver.blocked["/slow"].set()
        await receiver.wait_for(21, "/slow")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_manual_redelivery_has_the_same_message_id() -> None:
    async with webhook_setup() as setup:
        setup.receiver.answers = lambda _request: 500
        webhook, _ = await setup.create_webhook()
        await add_task(setup.service.store)
        await setup.dispatcher.step()
        (failed,) = await setup.deliveries(webhook)
        again = await setup.service.webhooks.redeliver(ADA, webhook.id, failed.id)
        assert (again.state, again.due, len(again.attempts)) == (DeliveryState.PENDING, failed.due, 2)
        setup.receiver.answers = lambda _request: 200
        done = await setup.service.webhooks.redeliver(ADA, webhook.id, failed.id)
        assert (done.state, done.due) == (DeliveryState.DELIVERED, None)
        setup.clock.move(DAY)
        await setup.dispatcher.step()
        assert [request.headers["webhook-id"] for request in setup.receiver.requests] == ["evt_1"] * 3


async def test_test_message_is_sent_at_once_and_listed_as_a_delivery() -> None:
    async with webhook_setup() as setup:
        webhook, secret = await setup.create_webhook()
        sent = await setup.service.webhooks.test(ADA, webhook.id)
        (request,) = setup.receiver.requests
        assert verify([secret], request.headers, request.body, NOON)
        assert request.json["type"] == "dev.horae.webhook.test.v1"
        assert (sent.state, sent.message) == (DeliveryState.DELIVERED, request.headers["webhook-id"])
        assert await setup.deliveries(webhook) == (sent,)


@pytest.mark.parametrize(
    "url",
    [
        *("http://10.0.0.1/", "http://169.254.169.254/", "http://[::ffff:10.0.0.1]/", "http://167772161/"),
        *("file:///etc/passwd", "ftp://example.org/", "https://user:pw@example.org/", "http://", "", 7, None),
    ],
)
async def test_forbidden_webhook_addresses_are_refused(url: Any) -> None:
    async with open_service() as service:
        with pytest.raises(Refusal):
            await service.webhooks.create(ADA, url)
        assert (await service.webhooks.page(ADA)).items == ()


async def test_address_is_checked_again_at_each_delivery() -> None:
    async with webhook_setup() as setup:
        webhook, _ = await setup.create_webhook()
        await add_task(setup.service.store)
        setup.service.webhooks.client._allowed = ()
        setup.service.webhooks.client._client._allowed = ()
        await setup.dispatcher.step()
        assert setup.receiver.requests == []
        (delivery,) = await setup.deliveries(webhook)
        assert delivery.attempts[0].status is None
        assert "not public" in delivery.attempts[0].answer


async def test_webhooks_of_other_owners_answer_like_unknown_ones() -> None:
    async with webhook_setup() as setup:
        webhook, _ = await setup.create_webhook()
        hooks = setup.service.webhooks
        await add_task(setup.service.store)
        await setup.dispatcher.step()
        (delivery,) = await setup.deliveries(webhook)
        for name in (webhook.id, "whk_0", "", "\udcff", "x" * 300):
            for operation in (
                lambda name=name: hooks.get(BOB, name),
                lambda name=name: hooks.edit(BOB, name, note="mine"),
                lambda name=name: hooks.remove(BOB, name),
                lambda name=name: hooks.rotate(BOB, name),
                lambda name=name: hooks.test(BOB, name),
                lambda name=name: hooks.deliveries(BOB, name),
                lambda name=name: hooks.redeliver(BOB, name, delivery.id),
            ):
                with pytest.raises(Refusal) as refused:
                    await operation()
                assert refused.value.code == "no_such_webhook"
        assert (await hooks.page(BOB)).items == ()
        assert len(setup.receiver.requests) == 1
        with pytest.raises(Refusal) as refused:
            await hooks.redeliver(ADA, webhook.id, "dlv_0")
        assert refused.value.code == "no_such_delivery"


async def test_webhook_secrets_are_encrypted_and_removed_with_the_webhook() -> None:
    async with webhook_setup() as setup:
        webhook, secret = await setup.create_webhook()
        stored = [
            record.body
            for kind in ("webhook", "secret", "delivery", "audit.open")
            for record in (await setup.service.store.records(kind)).items
        ]
        assert stored
        assert all(secret.removeprefix("whsec_") not in body for body in stored)
        assert (await setup.service.secrets.names(ADA)).items == ()
        await setup.service.webhooks.remove(ADA, webhook.id)
        assert (await setup.service.store.records("secret")).items == ()


async def test_revoked_owner_gets_no_deliveries_until_restored() -> None:
    async with webhook_setup() as setup:
        await setup.service.accounts.put(LOCAL, "ada")
        await setup.create_webhook()
        task = await add_task(setup.service.store)
        await setup.service.accounts.revoke(LOCAL, "ada")
        await setup.dispatcher.step()
        assert setup.receiver.requests == []
        await setup.service.accounts.restore(LOCAL, "ada")
        await record_event(setup.service.store, task)
        second = setup.another_dispatcher()
        setup.clock.move(LEASE)
        await second.step()
        assert len(setup.receiver.requests) == 2
