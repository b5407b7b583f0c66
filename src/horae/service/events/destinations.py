"""Destinations of messages to people: set, list, remove, test and check them; list their deliveries."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, get_args

from ...choices import Language
from ...clock import Clock
from ...errors import InvalidSchedule, Refusal
from ...model.accounts.principal import Principal, Scope
from ...model.accounts.system_owner import account_of
from ...model.events.destination import (
    DESTINATION_KIND,
    MAX_DESTINATIONS,
    Destination,
    Notice,
    Occasion,
    destination_from,
    destination_key,
    destination_record,
    is_destination_name,
    notice_json,
    parse_quiet_hours,
)
from ...model.events.webhook import (
    DELIVERY_KIND,
    Delivery,
    DeliveryState,
    delivery_from,
    delivery_key,
    new_delivery_writes,
)
from ...model.ids import ENTROPY_BYTES, make_id, to_microseconds
from ...model.limits import KEY_CHARACTERS
from ...model.page import Page
from ...model.policy import DESTINATION_CHARACTERS, Notify
from ...model.record import Record, RecordWrite
from ...model.refusals import refuse as refuse_task
from ...model.text.field_checks import check_choice, check_text
from ...ports.full_store import FullStore
from ...ports.records import Records
from ...schedule.zones import find_zone
from ..accounts.audit import Audit
from ..accounts.rights import refuse_agent
from ..query.argument_checks import check_page
from ..tasks.task_request import note_zone_field
from .message_client import MessageClient
from .notice_sender import with_attempt
from .refusals import refuse
from .webhook_checks import check_owner

COUNTER_KIND: Final = "destination.seat"
FIELDS: Final = ("url", "zone", "quiet", "reminders", "language")
_RESERVED_NAMES: Final = frozenset({"never"})
_TRIES: Final = 20
_MAX_KEY_CHARACTERS: Final = 400


class Destinations:
    """`on_change` is called after each change, so that the dispatcher of this process polls at once.

    `zone` is the zone of the deployment, for owners without one.
    """

    def __init__(
        self,
        store: FullStore,
        client: MessageClient,
        audit: Audit,
        clock: Clock,
        zone: str | None = None,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self.client = client
        self.on_change: Callable[[], None] = lambda: None
        self._store = store
        self._audit = audit
        self._clock = clock
        self._zone = zone
        self._entropy = entropy

    async def put(self, principal: Principal, name: str, owner: str | None = None, **fields: Any) -> Destination:
        """Create a destination, or change the given fields of it: `url`, `zone`, `quiet`, `reminders`, `language`.

        `quiet` is a text such as `22:00-07:00`, or None. The first destination of an owner receives reminders, unless
        the caller says otherwise.
        """
        _check_scope(principal, Scope.WRITE)
        owner_name = check_owner(principal, owner)
        if not is_destination_name(name) or name in _RESERVED_NAMES:
            raise refuse("bad_destination_name", most=DESTINATION_CHARACTERS)
        changes = _read_fields(fields)
        url = fields.get("url")
        if url is not None:
            changes["schema"], changes["service"] = await self.client.check(url)
        for _ in range(_TRIES):
            record = await self._store.get_record(DESTINATION_KIND, destination_key(owner_name, name))
            if record is None:
                written = await self._create(principal, owner_name, name, url, changes)
            else:
                written = await self._change(principal, destination_from(record), url, changes)
            if written is not None:
                self.on_change()
                return written
        raise refuse("destination_contested", name=name)

    async def _create(
        self, principal: Principal, owner: str, name: str, url: str | None, changes: dict[str, Any]
    ) -> Destination | None:
        if url is None:
            raise refuse("destination_url_missing", name=name)
        now, known = self._clock.now(), await self._owned(owner)
        most = _most_for(principal, owner)
        if len(known) >= most:
            raise refuse("too_many_destinations", owner=owner, most=most, more=most + 1)
        zone = (principal.zone if owner == principal.owner else None) or self._zone or "UTC"
        defaults = {"zone": zone, "reminders": not any(each.reminders for each in known)}
        destination = Destination(
            id=make_id("dst", now, self._entropy(ENTROPY_BYTES)),
            owner=owner,
            name=name,
            created=now,
            since=await self._store.last_event(),
            **{**defaults, **changes},
        )
        counter = await self._store.get_record(COUNTER_KIND, owner)
        # Every new destination replaces this record, so that concurrent creations cannot exceed the limit.
        seat = RecordWrite(Record(COUNTER_KIND, owner, owner, "{}"), None if counter is None else counter.version)
        row = self._audit.row(principal, "destination.create", name, {"schema": destination.schema}, owner=owner)
        # The URL is stored before the destination refers to it: an interruption between the two changes nothing.
        await self.client.store_url(destination.id, url)
        if await self._store.write_records([RecordWrite(destination_record(destination)), seat, *row]):
            return destination
        await self.client.remove_url(destination.id)
        return None

    async def _change(
        self, principal: Principal, before: Destination, url: str | None, changes: dict[str, Any]
    ) -> Destination | None:
        after = before._replace(**changes)
        if url is not None:
            await self.client.store_url(before.id, url)
            after = after._replace(failing_since=None, blocked=())
        detail = {"fields": sorted({*changes, *(("url",) if url is not None else ())} - {"schema", "service"})}
        row = self._audit.row(principal, "destination.edit", before.name, detail, owner=before.owner)
        if await self._store.write_records([RecordWrite(destination_record(after), before.version), *row]):
            return after._replace(version=before.version + 1)
        return None

    async def page(self, principal: Principal, after: str | None = None, limit: int = 100) -> Page[Destination]:
        """Return destinations by owner and name."""
        _check_scope(principal, Scope.READ)
        check_page(after, limit, _MAX_KEY_CHARACTERS)
        page = await self._store.records(DESTINATION_KIND, principal.owner_filter, after, limit)
        return Page(tuple(destination_from(record) for record in page.items), page.after)

    async def get(self, principal: Principal, name: str, owner: str | None = None) -> Destination:
        _check_scope(principal, Scope.READ)
        return await self._get(principal, name, owner)

    async def remove(self, principal: Principal, name: str, owner: str | None = None) -> None:
        """Remove the destination with its URL. Tasks that name it stay, and send nothing there."""
        _check_scope(principal, Scope.WRITE)
        for _ in range(_TRIES):
            known = await self._get(principal, name, owner)
            row = self._audit.row(principal, "destination.remove", name, owner=known.owner)
            removal = RecordWrite(destination_record(known), known.version, dropped=True)
            if await self._store.write_records([removal, *row]):
                await self.client.remove_url(known.id)
                self.on_change()
                return
        raise refuse("destination_contested", name=name)

    async def test(self, principal: Principal, name: str, owner: str | None = None) -> Delivery:
        """Send a test message now and return the delivery with its result. It is not retried."""
        _check_scope(principal, Scope.WRITE)
        destination = await self._get(principal, name, owner)
        now, suffix = self._clock.now(), self._entropy(6).hex()
        notice = Notice(Occasion.TEST, "", "", None, now)
        delivery = Delivery(
            f"dlv_{max(0, to_microseconds(now)):014x}{suffix}",
            destination.id,
            destination.owner,
            f"evt_test_{suffix}",
            f"notice.{Occasion.TEST.value}",
            "",
            notice_json(notice),
            now,
            DeliveryState.FAILED,
        )
        attempt = await self.client.deliver(destination, [notice])
        state = DeliveryState.DELIVERED if attempt.ok else DeliveryState.FAILED
        tested = delivery._replace(attempts=(attempt,), state=state)
        row = self._audit.row(principal, "destination.test", name, owner=destination.owner)
        await self._store.write_records([*new_delivery_writes(tested), *row])
        current = await self._store.get_record(DESTINATION_KIND, destination_key(destination.owner, destination.name))
        if current is not None:
            after = with_attempt(destination_from(current), attempt)
            await self._store.write_records([RecordWrite(destination_record(after), current.version)])
        return tested

    async def deliveries(
        self, principal: Principal, name: str, owner: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Delivery]:
        """Return the deliveries of one destination, newest first."""
        _check_scope(principal, Scope.READ)
        check_page(after, limit)
        destination = await self._get(principal, name, owner)
        begin = delivery_key(destination.id, "~" if after is None else after)
        page = await self._store.records(DELIVERY_KIND, destination.owner, begin, limit + 1, newest=True)
        own = [record for record in page.items if record.key.startswith(f"{destination.id}/")]
        shown = tuple(delivery_from(record) for record in own[:limit])
        return Page(shown, shown[-1].id if len(own) > limit else None)

    async def _get(self, principal: Principal, name: str, owner: str | None) -> Destination:
        owner_name = principal.owner if owner is None else owner
        is_foreign = owner_name != principal.owner and principal.owner_filter is not None
        record = (
            await self._store.get_record(DESTINATION_KIND, destination_key(owner_name, name))
            if is_destination_name(name) and not is_foreign
            else None
        )
        if record is None:
            raise refuse("no_such_destination", name=name)
        return destination_from(record)

    async def _owned(self, owner: str) -> list[Destination]:
        page = await self._store.records(DESTINATION_KIND, owner, limit=MAX_DESTINATIONS)
        return [destination_from(record) for record in page.items]


def _most_for(principal: Principal, owner: str) -> int:
    """Return the limit of the caller; an admin who acts for another owner has the largest one."""
    quota = principal.quotas.destinations if owner == principal.owner else None
    return MAX_DESTINATIONS if quota is None else min(quota, MAX_DESTINATIONS)


def _check_scope(principal: Principal, scope: Scope) -> None:
    refuse_agent(principal, "destinations")
    principal.require_scope(scope)


def _read_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the checked values of the given fields, without the URL."""
    changes: dict[str, Any] = {}
    if fields.get("zone") is not None:
        check_text("zone", fields["zone"], KEY_CHARACTERS)
        try:
            changes["zone"] = find_zone(fields["zone"]).name
        except InvalidSchedule as refusal:
            note_zone_field(refusal, fields["zone"])
            raise
    if "quiet" in fields:
        changes["quiet"] = None if fields["quiet"] is None else parse_quiet_hours(fields["quiet"])
    if fields.get("reminders") is not None:
        if not isinstance(fields["reminders"], bool):
            raise refuse_task("bad_policy", name="reminders", value=fields["reminders"], wanted="true or false")
        changes["reminders"] = fields["reminders"]
    if fields.get("language") is not None:
        check_choice("language", fields["language"], get_args(Language))
        changes["language"] = fields["language"]
    return changes


_MAX_NAMES: Final = 20
"""Destinations that a refusal names."""


async def check_destinations(records: Records, owner: str, notify: Notify | None) -> None:
    """Refuse a policy that names a destination which the owner does not have; without a policy nothing is read."""
    owner = account_of(owner)
    for name in () if notify is None else notify.to:
        is_known = is_destination_name(name) and await records.get_record(
            DESTINATION_KIND, destination_key(owner, name), owner
        )
        if not is_known:
            raise await _refuse_unknown(records, owner, name)


async def _refuse_unknown(records: Records, owner: str, name: str) -> Refusal:
    page = await records.records(DESTINATION_KIND, owner, limit=_MAX_NAMES)
    names = ", ".join(record.key.rpartition("/")[2] for record in page.items)
    known = f"There are: {names}." if names else "There are none yet."
    known_zh = f"已有：{names}。" if names else "目前还没有目的地。"
    return refuse("unknown_destination", owner=owner, name=name, known=known, known_zh=known_zh)
