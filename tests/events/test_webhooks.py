"""Webhooks: signed, tried again over days, never twice under two names, and no address holds up another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
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

from .event_server import HandClock, Inbox, added, happens, house, inbox

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ADA, BOB = Principal("ada"), Principal("bob")
DAY = timedelta(days=1)


class Scene(NamedTuple):
    service: Service
    clock: HandClock
    inbox: Inbox
    courier: WebhookDispatcher

    async def hook(self, path: str = "/a", who: Principal = ADA, **more: Any) -> tuple[Webhook, str]:
        return await self.service.webhooks.create(who, self.inbox.base + path, **more)

    async def deliveries(self, webhook: Webhook) -> tuple[Delivery, ...]:
        return (await self.service.webhooks.deliveries(LOCAL, webhook.id)).items

    def another_courier(self) -> WebhookDispatcher:
        service = self.service
        return WebhookDispatcher(service.store, service.webhooks.client, service.event_encoder, self.clock)


@asynccontextmanager
async def scene(url: str = "memory://") -> AsyncIterator[Scene]:
    clock = HandClock(NOON)
    async with house(url, clock) as service, inbox() as box:
        yield Scene(
            service, clock, box, WebhookDispatcher(service.store, service.webhooks.client, service.event_encoder, clock)
        )


async def test_what_happens_is_sent_signed_and_told_once() -> None:
    async with scene() as on:
        webhook, secret = await on.hook()
        task = await added(on.service.store)
        for _ in range(3):
            await on.courier.step()
        (post,) = on.inbox.posts
        assert verify([secret], post.headers, post.body, NOON)
        assert post.headers["webhook-id"] == post.json["id"] == "evt_1"
        assert post.headers["content-type"] == "application/cloudevents+json"
        assert (post.json["type"], post.json["subject"]) == ("dev.horae.task.created.v1", task.id)
        (delivery,) = await on.deliveries(webhook)
        assert delivery.state is DeliveryState.DELIVERED
        assert [(each.status, each.answer) for each in delivery.attempts] == [(200, "heard")]


async def test_only_what_is_ones_own_and_what_was_asked_for_and_what_came_after() -> None:
    async with scene() as on:
        task, foreign = await added(on.service.store), await added(on.service.store, "bob")
        await on.hook("/all")
        await on.hook("/failing", types=["task.fail*"])
        await on.hook("/bob", BOB)
        for each in (task, foreign):
            await happens(on.service.store, each, EventKind.TASK_FAILING)
            await happens(on.service.store, each, EventKind.TASK_PAUSED)
        for _ in range(2):
            await on.courier.step()
        assert [post.json["data"]["kind"] for post in on.inbox.at("/all")] == ["task.failing", "task.paused"]
        assert [post.json["data"]["kind"] for post in on.inbox.at("/failing")] == ["task.failing"]
        assert {post.json["data"]["task_id"] for post in on.inbox.at("/bob")} == {foreign.id}


async def test_it_is_tried_again_over_three_days_under_one_name_and_then_no_more() -> None:
    async with scene() as on:
        on.inbox.answers = lambda _post: 503
        webhook, secret = await on.hook()
        await added(on.service.store)
        await on.courier.step()
        for wait in RETRY_WAITS:
            tried = len(on.inbox.posts)
            await on.courier.step()
            assert len(on.inbox.posts) == tried, "not before its time"
            on.clock.move(wait * 1.1)
            await on.courier.step()
        on.clock.move(2 * DAY)
        await on.courier.step()
        assert len(on.inbox.posts) == 1 + len(RETRY_WAITS)
        assert {post.headers["webhook-id"] for post in on.inbox.posts} == {"evt_1"}
        assert len({post.headers["webhook-timestamp"] for post in on.inbox.posts}) == 1 + len(RETRY_WAITS)
        (delivery,) = await on.deliveries(webhook)
        assert (delivery.state, delivery.due, len(delivery.attempts)) == (DeliveryState.FAILED, None, 10)
        assert 2.5 * DAY < delivery.attempts[-1].at - delivery.attempts[0].at < 4 * DAY
        assert secret.startswith("whsec_")


async def test_a_courier_that_dies_between_sending_and_writing_it_down_sends_the_same_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with scene() as on:
        webhook, _ = await on.hook()
        await added(on.service.store)
        await on.courier.poll()
        (endpoint,) = on.courier.endpoints.values()

        async def dies(*_: object) -> bool:
            raise StoreError("the process is gone")

        with monkeypatch.context() as patch:
            patch.setattr(on.service.store, "write_records", dies)
            with pytest.raises(StoreError):
                await endpoint.step()
        successor = on.another_courier()
        await successor.step()
        assert len(on.inbox.posts) == 1, "the one that died still holds the place"
        on.clock.move(LEASE)
        await successor.step()
        assert [post.headers["webhook-id"] for post in on.inbox.posts] == ["evt_1", "evt_1"]
        (delivery,) = await on.deliveries(webhook)
        assert (delivery.state, len(delivery.attempts)) == (DeliveryState.DELIVERED, 1)


@pytest.mark.parametrize("url", ["memory://", "sqlite"])
async def test_several_couriers_write_nothing_down_twice(url: str, tmp_path: Any) -> None:
    async with scene(f"sqlite:///{tmp_path}/horae.db" if url == "sqlite" else url) as on:
        webhook, _ = await on.hook()
        task = await added(on.service.store)
        couriers = [on.courier, *(on.another_courier() for _ in range(3))]
        for number in range(30):
            await happens(on.service.store, task, detail=f"{number}")
            await asyncio.gather(*(courier.step() for courier in couriers))
            if number % 7 == 0:
                on.clock.move(LEASE * 2)
        on.clock.move(LEASE * 2)
        for _ in range(9):
            await on.courier.step()
        names = [post.headers["webhook-id"] for post in on.inbox.posts]
        assert set(names) == {f"evt_{number}" for number in range(1, 32)}
        found = await on.service.webhooks.deliveries(ADA, webhook.id, limit=100)
        assert len(found.items) == 31
        assert {each.state for each in found.items} == {DeliveryState.DELIVERED}


async def test_during_a_rotation_both_secrets_sign_and_a_day_later_only_the_new_one() -> None:
    async with scene() as on:
        webhook, old = await on.hook()
        task = await added(on.service.store)
        rotated, new = await on.service.webhooks.rotate(ADA, webhook.id)
        assert old != new
        await on.courier.step()
        first = on.inbox.posts[-1]
        assert verify([old], first.headers, first.body, NOON)
        assert verify([new], first.headers, first.body, NOON)
        assert rotated.former_until == NOON + DAY
        on.clock.move(DAY)
        await happens(on.service.store, task)
        await on.courier.step()
        second = on.inbox.posts[-1]
        assert not verify([old], second.headers, second.body, on.clock.now())
        assert verify([new], second.headers, second.body, on.clock.now())


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/horae.db"])
async def test_who_rotates_at_the_same_time_is_shown_what_signs(url: str, tmp_path: Path) -> None:
    async with scene(url.format(tmp_path)) as on:
        hooks = on.service.webhooks
        webhook, _ = await on.hook()
        shown = dict(await asyncio.gather(*(hooks.rotate(ADA, webhook.id) for _ in range(6))))
        by_number = {each.secret: secret for each, secret in shown.items()}
        assert len(by_number) == 6
        last = await hooks.get(ADA, webhook.id)
        assert last.former is not None
        for number in (last.secret, last.former):
            assert await hooks.client.read_secret(webhook.id, number) == by_number[number]
        assert len((await on.service.store.records("secret")).items) == 2, "of the others nothing is left"


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/horae.db"])
async def test_however_many_are_made_at_once_there_are_never_more_than_there_may_be(url: str, tmp_path: Path) -> None:
    async with scene(url.format(tmp_path)) as on:
        await asyncio.gather(*(on.hook(f"/{number}") for number in range(30)), return_exceptions=True)
        assert len((await on.service.webhooks.page(ADA)).items) == MAX_WEBHOOKS
        assert len((await on.service.store.records("secret")).items) == MAX_WEBHOOKS


@pytest.mark.parametrize(
    ("types", "code"),
    [
        ([f"run.[!{chr(0x4E00 + number)}]*" for number in range(51)], "bad_number"),
        (["*" * 101], "bad_choice"),
        ([7], "bad_choice"),
    ],
)
async def test_what_is_held_against_every_event_is_bounded(types: list[Any], code: str) -> None:
    async with scene() as on:
        with pytest.raises(Refusal) as refused:
            await on.hook(types=types)
        assert refused.value.code == code
        webhook, _ = await on.hook(types=types[:50] if code == "bad_number" else ["run.*"])
        assert webhook.types


async def test_an_address_that_is_gone_is_disabled_at_once_and_others_are_told() -> None:
    async with scene() as on:
        on.inbox.answers = lambda post: 410 if post.path == "/gone" else 200
        gone, _ = await on.hook("/gone")
        await on.hook("/other", types=["webhook.*"])
        task = await added(on.service.store)
        for _ in range(3):
            await on.courier.step()
        found = await on.service.webhooks.get(ADA, gone.id)
        assert (found.enabled, found.disabled, found.disabled_at) == (False, DisabledCause.GONE, NOON)
        (post,) = on.inbox.at("/other")
        assert post.json["data"] | {"number": 0} == {
            "number": 0,
            "kind": "webhook.disabled",
            "owner": "ada",
            "task_id": task.id,
            "run_id": None,
            "detail": f"{gone.id} gone",
        }
        await happens(on.service.store, task)
        await on.courier.step()
        assert len(on.inbox.at("/gone")) == 1


async def test_five_days_of_nothing_but_failure_disable_it_and_a_success_between_does_not() -> None:
    async with scene() as on:
        status = 500
        on.inbox.answers = lambda _post: status
        webhook, _ = await on.hook()
        task = await added(on.service.store)

        async def a_day_passes() -> Webhook:
            on.clock.move(DAY)
            await happens(on.service.store, task)
            await on.courier.step()
            return await on.service.webhooks.get(ADA, webhook.id)

        await on.courier.step()
        for _ in range(4):
            assert (await a_day_passes()).enabled
        status = 200
        assert (await a_day_passes()).failing_since is None
        status = 500
        assert (await a_day_passes()).failing_since == on.clock.now()
        for _ in range(4):
            assert (await a_day_passes()).enabled
        found = await a_day_passes()
        assert (found.enabled, found.disabled) == (False, DisabledCause.FAILING)
        status = 200
        again = await on.service.webhooks.edit(ADA, webhook.id, enabled=True)
        assert (again.enabled, again.failing_since) == (True, None)
        assert (await a_day_passes()).enabled
        for _ in range(5):
            await on.courier.step()
        assert max(post.json["data"]["number"] for post in on.inbox.posts) == again.since + 1


async def test_an_address_that_does_not_answer_holds_up_nobody_else() -> None:
    async with house() as service, inbox() as box:
        box.hold["/slow"] = asyncio.Event()
        for path in ("/slow", "/quick"):
            await service.webhooks.create(ADA, box.base + path)
        courier = WebhookDispatcher(service.store, service.webhooks.client, service.event_encoder, SystemClock())
        going = asyncio.ensure_future(courier.run())
        task = await added(service.store)
        for number in range(20):
            await happens(service.store, task, detail=f"{number}")
        await box.until(21, "/quick")
        assert len(box.at("/slow")) <= 4, "a few at once, and no more"
        box.hold["/slow"].set()
        await box.until(21, "/slow")
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)


async def test_a_delivery_is_sent_again_by_hand_under_its_name() -> None:
    async with scene() as on:
        on.inbox.answers = lambda _post: 500
        webhook, _ = await on.hook()
        await added(on.service.store)
        await on.courier.step()
        (failed,) = await on.deliveries(webhook)
        again = await on.service.webhooks.redeliver(ADA, webhook.id, failed.id)
        assert (again.state, again.due, len(again.attempts)) == (DeliveryState.PENDING, failed.due, 2)
        on.inbox.answers = lambda _post: 200
        done = await on.service.webhooks.redeliver(ADA, webhook.id, failed.id)
        assert (done.state, done.due) == (DeliveryState.DELIVERED, None)
        on.clock.move(DAY)
        await on.courier.step()
        assert [post.headers["webhook-id"] for post in on.inbox.posts] == ["evt_1"] * 3


async def test_a_test_message_is_sent_at_once_and_kept_with_the_others() -> None:
    async with scene() as on:
        webhook, secret = await on.hook()
        sent = await on.service.webhooks.test(ADA, webhook.id)
        (post,) = on.inbox.posts
        assert verify([secret], post.headers, post.body, NOON)
        assert post.json["type"] == "dev.horae.webhook.test.v1"
        assert (sent.state, sent.message) == (DeliveryState.DELIVERED, post.headers["webhook-id"])
        assert await on.deliveries(webhook) == (sent,)


@pytest.mark.parametrize(
    "url",
    [
        *("http://10.0.0.1/", "http://169.254.169.254/", "http://[::ffff:10.0.0.1]/", "http://167772161/"),
        *("file:///etc/passwd", "ftp://example.org/", "https://user:pw@example.org/", "http://", "", 7, None),
    ],
)
async def test_addresses_that_may_not_be_called_are_refused_when_they_are_given(url: Any) -> None:
    async with house() as service:
        with pytest.raises(Refusal):
            await service.webhooks.create(ADA, url)
        assert (await service.webhooks.page(ADA)).items == ()


async def test_an_address_that_was_allowed_once_is_looked_at_again_when_something_is_sent() -> None:
    async with scene() as on:
        webhook, _ = await on.hook()
        await added(on.service.store)
        on.service.webhooks.client._allowed = ()
        on.service.webhooks.client._client._allowed = ()
        await on.courier.step()
        assert on.inbox.posts == []
        (delivery,) = await on.deliveries(webhook)
        assert delivery.attempts[0].status is None
        assert "not public" in delivery.attempts[0].answer


async def test_what_is_somebody_elses_answers_like_what_is_not_there() -> None:
    async with scene() as on:
        webhook, _ = await on.hook()
        hooks = on.service.webhooks
        await added(on.service.store)
        await on.courier.step()
        (delivery,) = await on.deliveries(webhook)
        for name in (webhook.id, "whk_0", "", "\udcff", "x" * 300):
            for ask in (
                lambda name=name: hooks.get(BOB, name),
                lambda name=name: hooks.edit(BOB, name, note="mine"),
                lambda name=name: hooks.remove(BOB, name),
                lambda name=name: hooks.rotate(BOB, name),
                lambda name=name: hooks.test(BOB, name),
                lambda name=name: hooks.deliveries(BOB, name),
                lambda name=name: hooks.redeliver(BOB, name, delivery.id),
            ):
                with pytest.raises(Refusal) as refused:
                    await ask()
                assert refused.value.code == "no_such_webhook"
        assert (await hooks.page(BOB)).items == ()
        assert len(on.inbox.posts) == 1
        with pytest.raises(Refusal) as refused:
            await hooks.redeliver(ADA, webhook.id, "dlv_0")
        assert refused.value.code == "no_such_delivery"


async def test_secrets_are_sealed_and_go_with_the_webhook() -> None:
    async with scene() as on:
        webhook, secret = await on.hook()
        kept = [
            record.body
            for kind in ("webhook", "secret", "delivery", "audit.open")
            for record in (await on.service.store.records(kind)).items
        ]
        assert kept
        assert all(secret.removeprefix("whsec_") not in body for body in kept)
        assert (await on.service.secrets.names(ADA)).items == ()
        await on.service.webhooks.remove(ADA, webhook.id)
        assert (await on.service.store.records("secret")).items == ()


async def test_whose_rights_were_revoked_is_told_of_nothing() -> None:
    async with scene() as on:
        await on.service.accounts.put(LOCAL, "ada")
        await on.hook()
        task = await added(on.service.store)
        await on.service.accounts.revoke(LOCAL, "ada")
        await on.courier.step()
        assert on.inbox.posts == []
        await on.service.accounts.restore(LOCAL, "ada")
        await happens(on.service.store, task)
        successor = on.another_courier()
        on.clock.move(LEASE)
        await successor.step()
        assert len(on.inbox.posts) == 2
