"""Webhooks: create, edit, remove, rotate the secret and test; list deliveries and redeliver them."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from ...clock import Clock
from ...model.accounts.principal import Principal, Scope
from ...model.events.cloud_event import encode_body, envelope, type_of
from ...model.events.event import Event, EventKind
from ...model.events.webhook import (
    DELIVERY_KIND,
    DELIVERY_RETENTION,
    MAX_STORED_ATTEMPTS,
    SECRET_OVERLAP,
    WEBHOOK_KIND,
    Attempt,
    Delivery,
    DeliveryState,
    DisabledCause,
    Webhook,
    changed_delivery_writes,
    delivery_from,
    delivery_key,
    new_delivery_writes,
    webhook_from,
    webhook_record,
)
from ...model.ids import ENTROPY_BYTES, make_id, to_microseconds
from ...model.page import Page
from ...model.record import Record, RecordWrite
from ...outgoing.signatures import new_secret
from ...ports.full_store import FullStore
from ..accounts.audit import Audit, changed_values
from ..query.argument_checks import check_page
from ..query.id_prefix import resolve_record
from .delivery import WebhookClient
from .owner_sequence import OwnerEvents
from .refusals import refuse
from .webhook_checks import check_note, check_owner, check_scope, check_types, is_possible_id

MAX_WEBHOOKS: Final = 20
"""Limit per owner."""
COUNTER_KIND: Final = "webhook.seat"
TEST_KIND: Final = "webhook.test"
_TRIES: Final = 20
_SECRET_BYTES: Final = 32
_NUMBER_BYTES: Final = 4


class Webhooks:
    """`on_change` is called after each change, so that the dispatcher of this process polls at once."""

    def __init__(
        self,
        store: FullStore,
        client: WebhookClient,
        audit: Audit,
        clock: Clock,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self.client = client
        self.on_change: Callable[[], None] = lambda: None
        self._store = store
        self._events = OwnerEvents(store)
        self._audit = audit
        self._clock = clock
        self._entropy = entropy

    async def create(
        self, principal: Principal, url: object, types: object = (), note: str = "", owner: str | None = None
    ) -> tuple[Webhook, str]:
        """Return the webhook and its secret, which is shown only here. It receives events from now on."""
        check_scope(principal, Scope.WRITE)
        owner_name = check_owner(principal, owner)
        checked = self.client.check_url(url).text
        event_types = check_types(types)
        check_note(note)
        now = self._clock.now()
        name = make_id("whk", now, self._entropy(ENTROPY_BYTES))
        since = await self._store.last_event()
        webhook = Webhook(
            name, owner_name, checked, now, since, event_types, note, after=await self._events.count(owner_name, since)
        )
        secret = new_secret(self._entropy(_SECRET_BYTES))
        row = self._audit.row(principal, "webhook.create", name, owner=owner_name)
        for _ in range(_TRIES):
            counter = await self._counter_writing(owner_name)
            await self.client.store_secret(name, webhook.secret, secret)
            if await self._store.write_records([RecordWrite(webhook_record(webhook)), counter, *row]):
                self.on_change()
                return webhook, secret
            await self.client.remove_secrets(name, webhook.secret)
        raise refuse("webhook_contested", id=name)

    async def page(self, principal: Principal, after: str | None = None, limit: int = 100) -> Page[Webhook]:
        check_scope(principal, Scope.READ)
        check_page(after, limit)
        page = await self._store.records(WEBHOOK_KIND, principal.owner_filter, after, limit)
        return Page(tuple(webhook_from(record) for record in page.items), page.after)

    async def get(self, principal: Principal, name: str) -> Webhook:
        check_scope(principal, Scope.READ)
        return await self._get_webhook(principal, name)

    async def edit(self, principal: Principal, name: str, expected: int | None = None, **fields: Any) -> Webhook:
        """Change the given fields: `url`, `types`, `note`, `enabled`.

        A webhook that is enabled again receives events from then on.
        """
        check_scope(principal, Scope.WRITE)
        if "url" in fields:
            fields["url"] = self.client.check_url(fields["url"]).text
        if "types" in fields:
            fields["types"] = check_types(fields["types"])
        check_note(fields.get("note", ""))
        owner = (await self._get_webhook(principal, name)).owner
        since = await self._store.last_event()
        after = await self._events.count(owner, since) if fields.get("enabled") else 0

        def change(webhook: Webhook) -> Webhook:
            changes = {key: value for key, value in fields.items() if key != "enabled"}
            if "url" in changes:
                changes["blocked"] = ()
            return self._set_enabled(webhook._replace(**changes), fields.get("enabled"), since, after)

        return await self._change(principal, name, "webhook.edit", change, expected, {"fields": sorted(fields)})

    async def remove(self, principal: Principal, name: str) -> None:
        """Remove the webhook for good, with its secrets; its deliveries can no longer be read."""
        check_scope(principal, Scope.WRITE)
        for _ in range(_TRIES):
            webhook = await self._get_webhook(principal, name)
            removal = RecordWrite(webhook_record(webhook), webhook.version, dropped=True)
            row = self._audit.row(principal, "webhook.remove", webhook.id, owner=webhook.owner)
            if await self._store.write_records([removal, *row]):
                await self.client.remove_secrets(
                    webhook.id, *(n for n in (webhook.secret, webhook.former) if n is not None)
                )
                self.on_change()
                return
        raise refuse("webhook_contested", id=name)

    async def rotate(self, principal: Principal, name: str) -> tuple[Webhook, str]:
        """Replace the secret and return the new one, shown only here.

        Both sign for a day, so that receivers can switch.
        """
        check_scope(principal, Scope.WRITE)
        for _ in range(_TRIES):
            before = await self._get_webhook(principal, name)
            secret = new_secret(self._entropy(_SECRET_BYTES))
            # A random number, so that a concurrent rotation does not overwrite the secret that is shown here.
            number = before.secret + 1 + int.from_bytes(self._entropy(_NUMBER_BYTES))
            # The secret is stored before the webhook refers to it: an interruption between the two changes nothing.
            await self.client.store_secret(before.id, number, secret)
            until = self._clock.now() + SECRET_OVERLAP
            after = before._replace(secret=number, former=before.secret, former_until=until)
            if await self._write(principal, before, after, "webhook.rotate"):
                if before.former is not None:
                    await self.client.remove_secrets(before.id, before.former)
                return after._replace(version=before.version + 1), secret
            await self.client.remove_secrets(before.id, number)
        raise refuse("webhook_contested", id=name)

    # --- deliveries --------------------------------------------------------------------------------------------------

    async def deliveries(
        self, principal: Principal, name: str, after: str | None = None, limit: int = 100
    ) -> Page[Delivery]:
        """Return the deliveries of one webhook, newest first."""
        check_scope(principal, Scope.READ)
        check_page(after, limit)
        webhook = await self._get_webhook(principal, name)
        begin = delivery_key(webhook.id, "~" if after is None else after)
        page = await self._store.records(DELIVERY_KIND, webhook.owner, begin, limit + 1, newest=True)
        own = [record for record in page.items if record.key.startswith(f"{webhook.id}/")]
        shown = tuple(delivery_from(record) for record in own[:limit])
        return Page(shown, shown[-1].id if len(own) > limit else None)

    async def delivery(self, principal: Principal, name: str, delivery: str) -> Delivery:
        check_scope(principal, Scope.READ)
        return await self._delivery(await self._get_webhook(principal, name), delivery)

    async def test(self, principal: Principal, name: str) -> Delivery:
        """Send a test message now and return the delivery with its result. It is not retried."""
        check_scope(principal, Scope.WRITE)
        webhook = await self._get_webhook(principal, name)
        now = self._clock.now()
        suffix = self._entropy(6).hex()
        message = f"evt_test_{suffix}"
        delivery = Delivery(
            f"dlv_{max(0, to_microseconds(now)):014x}{suffix}",
            webhook.id,
            webhook.owner,
            message,
            TEST_KIND,
            "",
            _test_body(message, webhook, now),
            now,
            DeliveryState.FAILED,
        )
        attempt = await self.client.deliver(webhook, delivery)
        tested = _add_attempt(delivery, attempt)
        row = self._audit.row(principal, "webhook.test", webhook.id, owner=webhook.owner)
        await self._store.write_records([*new_delivery_writes(tested), *row])
        return tested

    async def redeliver(self, principal: Principal, name: str, delivery: str) -> Delivery:
        """Send a delivery once more, now, with the same message id; a planned retry stays planned."""
        check_scope(principal, Scope.WRITE)
        webhook = await self._get_webhook(principal, name)
        if not webhook.enabled:
            raise refuse("webhook_disabled", id=name)
        original = await self._delivery(webhook, delivery)
        attempt = await self.client.deliver(webhook, original)
        row = self._audit.row(
            principal, "webhook.redeliver", webhook.id, {"delivery": original.id}, owner=webhook.owner
        )
        for _ in range(_TRIES):
            before = await self._delivery(webhook, original.id)
            after = _add_attempt(before, attempt)
            if await self._store.write_records([*changed_delivery_writes(before, after), *row]):
                return after._replace(version=before.version + 1)
        raise refuse("webhook_contested", id=name)

    async def close(self) -> None:
        await self.client.close()

    async def _delivery(self, webhook: Webhook, delivery: str) -> Delivery:
        record = None
        if is_possible_id(delivery):
            within = delivery_key(webhook.id, "")
            whole = await resolve_record(self._store, webhook.owner, DELIVERY_KIND, "dlv", delivery, within)
            record = await self._store.get_record(DELIVERY_KIND, delivery_key(webhook.id, whole))
        if record is None:
            raise refuse("no_such_delivery", id=delivery, days=DELIVERY_RETENTION.days)
        return delivery_from(record)

    # --- lookup and change of one webhook ----------------------------------------------------------------------------

    async def _get_webhook(self, principal: Principal, name: str) -> Webhook:
        whole_id = await self._resolve_id(principal, name)
        record = (
            None if whole_id is None else await self._store.get_record(WEBHOOK_KIND, whole_id, principal.owner_filter)
        )
        if record is None:
            raise refuse("no_such_webhook", id=name)
        return webhook_from(record)

    async def _resolve_id(self, principal: Principal, name: str) -> str | None:
        return (
            await resolve_record(self._store, principal.owner_filter, WEBHOOK_KIND, "whk", name)
            if is_possible_id(name)
            else None
        )

    async def _change(
        self,
        principal: Principal,
        name: str,
        action: str,
        change: Callable[[Webhook], Webhook],
        expected: int | None,
        detail: dict[str, Any],
    ) -> Webhook:
        for _ in range(_TRIES):
            before = await self._get_webhook(principal, name)
            if expected is not None and before.version != expected:
                raise refuse("stale_webhook", id=name, version=before.version, expected=expected)
            after = change(before)
            if await self._write(principal, before, after, action, detail):
                return after._replace(version=before.version + 1)
        raise refuse("webhook_contested", id=name)

    async def _write(
        self, principal: Principal, before: Webhook, after: Webhook, action: str, detail: dict[str, Any] | None = None
    ) -> bool:
        values = changed_values(_audited(before), _audited(after))
        row = self._audit.row(principal, action, before.id, {**(detail or {}), **values}, owner=before.owner)
        is_written = await self._store.write_records([RecordWrite(webhook_record(after), before.version), *row])
        if is_written:
            self.on_change()
        return is_written

    def _set_enabled(
        self,
        webhook: Webhook,
        enabled: bool | None,  # noqa: FBT001 - the requested value
        since: int,
        after: int,
    ) -> Webhook:
        if enabled is None or enabled == webhook.enabled:
            return webhook
        if enabled:
            return webhook._replace(
                disabled=None, disabled_at=None, failing_since=None, blocked=(), since=since, after=after
            )
        return webhook._replace(disabled=DisabledCause.REQUESTED, disabled_at=self._clock.now())

    async def _counter_writing(self, owner: str) -> RecordWrite:
        """A record that every new webhook of an owner replaces, so that concurrent creations cannot exceed the limit."""
        known = await self._store.get_record(COUNTER_KIND, owner)
        page = await self._store.records(WEBHOOK_KIND, owner, limit=MAX_WEBHOOKS)
        if len(page.items) >= MAX_WEBHOOKS:
            raise refuse("too_many_webhooks", owner=owner, most=MAX_WEBHOOKS)
        return RecordWrite(Record(COUNTER_KIND, owner, owner, "{}"), None if known is None else known.version)


def _audited(webhook: Webhook) -> dict[str, Any]:
    """Return the values that audit rows hold; a URL may contain a password, and a note may be private."""
    return {"types": list(webhook.types), "enabled": webhook.enabled}


def _test_body(message: str, webhook: Webhook, now: datetime) -> str:
    event = Event(EventKind.TASK_TRIGGERED, now, webhook.owner, "")
    shape = envelope(message, event, {"kind": TEST_KIND, "owner": webhook.owner, "webhook": webhook.id})
    return encode_body(shape | {"type": type_of(TEST_KIND), "subject": webhook.id}).decode()


def _add_attempt(delivery: Delivery, attempt: Attempt) -> Delivery:
    """Add a manual attempt: a success ends the delivery, a failure leaves planned retries as they were."""
    attempts = (*delivery.attempts, attempt)[-MAX_STORED_ATTEMPTS:]
    if attempt.ok:
        return delivery._replace(attempts=attempts, state=DeliveryState.DELIVERED, due=None)
    return delivery._replace(attempts=attempts)
