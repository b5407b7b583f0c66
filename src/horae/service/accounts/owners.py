"""Owner accounts: an admin creates, changes, revokes and restores them; other owners see only their own."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, cast

from ...choices import LANGUAGES, Language
from ...clock import Clock
from ...lifecycle.messages import MAX_READERS
from ...model.accounts.account import (
    OWNER_CHARACTERS,
    OWNER_KIND,
    FullStorage,
    Limit,
    Owner,
    is_blocked,
    is_owner_name,
    limits_json,
    owner_from,
    owner_record,
    quotas_of,
)
from ...model.accounts.principal import LOCAL_OWNER, MEMBER_QUOTAS, Principal, Quotas, Role, Scope
from ...model.chain_row import MAX_DEPTH
from ...model.events.destination import MAX_DESTINATIONS
from ...model.gate import GATE_DATA_BYTES
from ...model.lanes.lane import agent_lane, owner_lane
from ...model.limits import NOTE_CHARACTERS, PAYLOAD_BYTES
from ...model.messages import TEXT_BYTES
from ...model.page import Page
from ...model.policy import MAX_DURATION, MAX_TASK_LANES
from ...model.reason import Reason
from ...model.record import Record, RecordWrite
from ...model.refusals import refuse as refuse_task
from ...model.task import OPEN_STATES
from ...model.text.field_checks import check_choice, check_number
from ...ports.full_store import FullStore
from ...ports.records import Records, write_unless_changed
from ...ports.store import TaskFilter
from ...schedule.zones import find_zone
from ..query.argument_checks import check_page
from ..runs.lanes import MAX_LANE_LIMIT
from ..tasks.task_quota import load_agent_record
from ..tasks.task_request import read_duration
from .audit import Audit, changed_values
from .refusals import refuse
from .rights import LOCAL_ACTORS, refuse_agent

NO_LIMIT: Final = ("never", "none")
"""Values of a quota that mean no limit, like None."""
DEFAULT_LIMIT: Final = "usual"
"""Value of a quota that means the default of the role."""
_MAX_LIMIT: Final = 1_000_000_000
_MAX_BYTES: Final = 2**50
_MAX_LIMITS: Final = {
    "payload_bytes": PAYLOAD_BYTES,
    "concurrent_runs": MAX_LANE_LIMIT,
    "stored_bytes": _MAX_BYTES,
    "stored_message_bytes": _MAX_BYTES,
    "message_bytes": TEXT_BYTES,
    "stream_readers": MAX_READERS,
    "task_lanes": MAX_TASK_LANES,
    "destinations": MAX_DESTINATIONS,
    "chain_depth": MAX_DEPTH,
    "gate_bytes": GATE_DATA_BYTES,
}
_TRIES: Final = 100

_AUDITED_FIELDS: Final = {
    "role": "role",
    "zone": "zone",
    "language": "language",
    "note": "note",
    "quota_overrides": "chosen",
}
"""Fields of an owner whose change is audited, with their names on the wire."""


@dataclass(frozen=True, slots=True)
class OwnerChange:
    """Requested change of an owner; None: unchanged, or the default for a new one."""

    role: Role | None = None
    zone: str | None = None
    quotas: Mapping[str, Any] | None = None
    note: str | None = None
    expected: int | None = None
    language: str | None = None


class Accounts:
    """`members` are the default quotas of owners that are no admins."""

    def __init__(
        self,
        store: FullStore,
        clock: Clock,
        audit: Audit,
        *,
        member_quotas: Quotas = MEMBER_QUOTAS,
        on_write: Callable[[datetime | None], None] = lambda _due: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._audit = audit
        self._on_write = on_write
        self.members = member_quotas
        self.on_change: Callable[[], None] = lambda: None
        """Called after an owner was changed: cached accounts are out of date."""
        self.on_quotas: Callable[[str], Awaitable[object]] = ignore_owner
        """Called with the owner's name after a change, so that lowered quotas count at once."""
        self.check_writes: Callable[[str], Awaitable[object]] = ignore_owner
        """Called with the owner's name before a change; refuses one that moves to another deployment."""

    async def page(self, principal: Principal, after: str | None = None, limit: int = 100) -> Page[Owner]:
        """Return accounts by name: all for an admin, for others their own."""
        refuse_agent(principal, "accounts")
        principal.require_scope(Scope.READ)
        check_page(after, limit)
        page = await self._store.records(OWNER_KIND, principal.owner_filter, after, limit)
        return Page(tuple(self.read(record) for record in page.items), page.after)

    async def get(self, principal: Principal, name: str) -> Owner:
        refuse_agent(principal, "accounts")
        principal.require_scope(Scope.READ)
        return self.read(await self._get_record(principal, name))

    async def put(  # noqa: PLR0913 - fields of an owner, each by its name
        self,
        principal: Principal,
        name: str,
        *,
        role: Role | None = None,
        zone: str | None = None,
        quotas: Mapping[str, Any] | Quotas | None = None,
        note: str | None = None,
        expected: int | None = None,
        language: str | None = None,
    ) -> Owner:
        """Create an owner, or change the given fields of it.

        Of `quotas`, the named ones change: a number, a duration, None for no limit, or `usual`. An empty zone or
        language removes it. An owner that is no admin may change its own zone and language only.
        """
        limits = quotas._asdict() if isinstance(quotas, Quotas) else quotas
        request = OwnerChange(role, zone, limits, note, expected, language)
        self._check(principal, name, request)
        await self.check_writes(name)
        for _ in range(_TRIES):
            known = await self._store.get_record(OWNER_KIND, name)
            before = None if known is None else self.read(known)
            after = self._apply(principal, name, before, request)
            after = after._replace(is_demoted=await self._is_demoted(before, after))
            if before is not None and after == before:
                return before
            if await self._write(principal, before, after, changed_limits(before, after, request.quotas or {})):
                self.on_change()
                await self.on_quotas(name)
                return after._replace(version=1 if before is None else before.version + 1)
        raise refuse_task("record_changed", kind=OWNER_KIND, key=name)

    async def revoke(self, principal: Principal, name: str) -> Owner:
        """Block all runs of an owner and invalidate its tokens. Its data stays."""
        principal.require_scope(Scope.ADMIN)
        if name == principal.owner:
            raise refuse("own_account", name=name)
        return await self._set_revoked(principal, name, self._clock.now(), "owner.revoke")

    async def restore(self, principal: Principal, name: str) -> Owner:
        """Lift a revocation; occurrences that came due meanwhile are recorded as skipped."""
        principal.require_scope(Scope.ADMIN)
        return await self._set_revoked(principal, name, None, "owner.restore")

    async def block_for_quota(self, owner: Owner, now: datetime) -> Owner | None:
        """Block an owner that has used up its runs of this day until the next. None if another writer was faster."""
        exhausted_owner = owner._replace(exhausted_on=now.astimezone(UTC).date())
        reason = _block_reason(exhausted_owner)
        is_written = await self._write_block(exhausted_owner, reason, owner.version)
        return _with_next_version(exhausted_owner) if is_written else None

    async def unblock_for_quota(self, owner: Owner) -> Owner | None:
        """Unblock an owner on a new day or after a higher limit; one that is revoked, or whose storage is full, stays blocked.

        None if another writer was faster.
        """
        refreshed = owner._replace(exhausted_on=None)
        is_written = await self._write_block(refreshed, _block_reason(refreshed), owner.version)
        return _with_next_version(refreshed) if is_written else None

    async def fill_storage(self, owner: Owner, now: datetime, used: int) -> Owner | None:
        """Block an owner that has used up its stored bytes until there is room. None if another writer was faster."""
        full = owner._replace(storage_full=FullStorage(now, used))
        is_written = await self._write_block(full, _block_reason(full), owner.version)
        return _with_next_version(full) if is_written else None

    async def free_storage(self, owner: Owner, now: datetime) -> Owner | None:
        """There is room for more bytes again."""
        past = owner.last_storage_full if owner.storage_full is None else (owner.storage_full.since, now)
        after = owner._replace(storage_full=None, last_storage_full=past)
        is_written = await self._write_block(after, _block_reason(after), owner.version)
        return _with_next_version(after) if is_written else None

    async def set_agent_spent(self, owner: Owner, agent: str, spent: date | None) -> Owner | None:
        """Block or unblock one agent: `spent` is the day whose runs it has used up; None: it may run."""
        days = tuple(each for each in owner.exhausted_agents if each[0] != agent)
        after = owner._replace(exhausted_agents=days if spent is None else (*days, (agent, spent)))
        quota_record, version = await load_agent_record(self._store, owner.name, agent)
        reason = None if spent is None else Reason.AGENT_QUOTA
        if json.loads(quota_record.body).get("revoked"):
            reason = Reason.OWNER_REVOKED
        # The quota record is written too, so that this does not undo a concurrent revocation of the agent.
        attached = (RecordWrite(quota_record, version),)
        is_written = await self._write_block(after, reason, owner.version, attached, agent_lane(owner.name, agent))
        return _with_next_version(after) if is_written else None

    def read(self, record: Record) -> Owner:
        return owner_from(record, self.members)

    async def _set_revoked(self, principal: Principal, name: str, revoked: datetime | None, action: str) -> Owner:
        await self.check_writes(name)
        for _ in range(_TRIES):
            before = self.read(await self._get_record(principal, name))
            if (before.revoked is None) is (revoked is None):
                return before
            after = before._replace(revoked=revoked)
            row = self._audit.row(principal, action, name, owner=name)
            if await self._write_block(after, _block_reason(after), before.version, row):
                return after._replace(version=before.version + 1)
        raise refuse_task("record_changed", kind=OWNER_KIND, key=name)

    async def _write_block(
        self,
        owner: Owner,
        reason: Reason | None,
        version: int,
        attached: tuple[RecordWrite, ...] = (),
        blocked_name: str | None = None,
    ) -> bool:
        writing = RecordWrite(owner_record(owner), version)
        is_written = await write_unless_changed(
            self._store.block_owner(blocked_name or owner.name, reason, attached_records=(writing, *attached))
        )
        if is_written:
            self._on_write(None)
        return is_written

    async def _get_record(self, principal: Principal, name: str) -> Record:
        record = await self._store.get_record(OWNER_KIND, name, principal.owner_filter) if is_owner_name(name) else None
        if record is None:
            raise refuse("no_such_owner", name=name)
        return record

    def _check(self, principal: Principal, name: str, request: OwnerChange) -> None:
        refuse_agent(principal, "accounts")
        own_profile = name == principal.owner and (request.role, request.quotas, request.note) == (None, None, None)
        is_profile_change = request.zone is not None or request.language is not None
        principal.require_scope(Scope.WRITE if own_profile and is_profile_change else Scope.ADMIN)
        if not is_owner_name(name):
            raise refuse("bad_owner_name", name=name, most=OWNER_CHARACTERS)
        if request.role is not None:
            check_choice("role", request.role, tuple(Role))
        if request.zone:
            find_zone(request.zone)
        if request.language:
            check_choice("language", request.language, LANGUAGES)
        if request.note is not None and not (request.note.isprintable() and len(request.note) <= NOTE_CHARACTERS):
            raise refuse_task("bad_text", name="note", value=request.note, most=NOTE_CHARACTERS)

    def _apply(self, principal: Principal, name: str, before: Owner | None, request: OwnerChange) -> Owner:
        if before is None and (principal.owner_filter is not None or request.expected is not None):
            # Only an admin creates owners, and an expected version needs an existing owner.
            raise refuse("no_such_owner", name=name)
        if before is not None and request.expected not in (None, before.version):
            raise refuse("stale_owner", name=name, version=before.version, expected=request.expected)
        base = before or Owner(name, Role.MEMBER, self._clock.now())
        role = base.role if request.role is None else Role(request.role)
        if name == principal.owner and before is not None and role is not Role.ADMIN and base.role is Role.ADMIN:
            raise refuse("own_account", name=name)
        chosen = read_limits(dict(base.quota_overrides), request.quotas or {})
        return base._replace(
            role=role,
            zone=base.zone if request.zone is None else request.zone or None,
            language=base.language if request.language is None else cast("Language", request.language) or None,
            note=base.note if request.note is None else request.note,
            quota_overrides=chosen,
            quotas=quotas_of(role, chosen, self.members),
        )

    async def find(self, name: str) -> Owner | None:
        """Return an account without a check of rights: for the service itself."""
        record = await self._store.get_record(OWNER_KIND, name) if is_owner_name(name) else None
        return None if record is None else self.read(record)

    async def _is_demoted(self, before: Owner | None, after: Owner) -> bool:
        """Whether a viewer must be blocked.

        One that never had a task needs no block, which costs every claim something.
        """
        if after.role is not Role.VIEWER:
            return False
        if before is not None and (before.is_demoted or before.role is not Role.VIEWER):
            return True
        return bool((await self._store.tasks(TaskFilter(after.name, OPEN_STATES), limit=1)).items)

    async def _write(self, principal: Principal, before: Owner | None, after: Owner, changed: Collection[str]) -> bool:
        fields = [audited for field, audited in _AUDITED_FIELDS.items() if _differs(field, before, after)]
        values = changed_values({"chosen": {}} if before is None else _audited_values(before), _audited_values(after))
        detail = {"fields": fields, "role": after.role, **values}
        row = self._audit.row(principal, "owner.put", after.name, detail, owner=after.name)
        known = await self._store.get_record(SWEEP_KIND, after.name) if changed else None
        sweep = sweep_writing(after.name, changed, known)
        attached = (RecordWrite(owner_record(after), None if before is None else before.version), *row, *sweep)
        if after.is_demoted is not (before is not None and before.is_demoted):
            is_written = await write_unless_changed(
                self._store.block_owner(after.name, _block_reason(after), attached_records=attached)
            )
            if not is_written:
                return False
            self._on_write(None)
            attached = ()
        most = after.quotas.concurrent_runs
        unlimited = before is None and most is None
        if unlimited or (before is not None and most == before.quotas.concurrent_runs):
            return not attached or await self._store.write_records(attached)
        slots = MAX_LANE_LIMIT if most is None else most
        is_written = await write_unless_changed(
            self._store.set_lane(owner_lane(after.name), slots, attached_records=attached)
        )
        if is_written:
            # A higher limit may have freed lane slots.
            self._on_write(None)
        return is_written


def changed_limits(before: Owner | None, after: Owner, named: Collection[str]) -> tuple[str, ...]:
    """Return the named limits whose values differ."""
    return tuple(
        name for name in named if before is None or getattr(before.quotas, name) != getattr(after.quotas, name)
    )


async def new_local_owner(records: Records, clock: Clock, principal: Principal, owner: str) -> Owner | None:
    """Return a new account for the local owner, which needed none so far; None if it exists, or for other owners."""
    if owner != LOCAL_OWNER or principal.owner_filter is not None or principal.actor not in LOCAL_ACTORS:
        return None
    known = await records.get_record(OWNER_KIND, LOCAL_OWNER)
    return None if known is not None else Owner(LOCAL_OWNER, Role.ADMIN, clock.now())


async def ignore_owner(_name: str) -> None:
    return None


def _with_next_version(owner: Owner) -> Owner:
    """The owner with the version that the write gave it."""
    return owner._replace(version=owner.version + 1)


def _block_reason(owner: Owner) -> Reason | None:
    if is_blocked(owner):
        return Reason.OWNER_REVOKED
    return None if owner.exhausted_on is None and owner.storage_full is None else Reason.QUOTA


def _audited_values(owner: Owner) -> dict[str, Any]:
    """Return the values that audit rows hold; a note may be private."""
    return {
        "role": owner.role.value,
        "zone": owner.zone,
        "language": owner.language,
        "chosen": limits_json(owner.quota_overrides),
    }


def _differs(field: str, before: Owner | None, after: Owner) -> bool:
    return before is None or getattr(before, field) != getattr(after, field)


def read_limits(before: Mapping[str, Limit], limits: Mapping[str, Any]) -> tuple[tuple[str, Limit], ...]:
    """Parse and check the named limits, and return them merged into those that were set before."""
    chosen = dict(before)
    for name, value in limits.items():
        check_choice("quotas", name, Quotas._fields)
        if value == DEFAULT_LIMIT:
            chosen.pop(name, None)
        else:
            chosen[name] = None if value is None or value in NO_LIMIT else _parse_limit(name, value)
    return tuple((name, chosen[name]) for name in Quotas._fields if name in chosen)


def _parse_limit(name: str, value: Any) -> int | timedelta:
    if name in ("shortest_interval", "longest_life"):
        length = read_duration(name, value)
        if not timedelta(0) < length <= MAX_DURATION:
            raise refuse_task("bad_duration", name=name, value=value, least="1ms", most=MAX_DURATION)
        return length
    most = _MAX_LIMITS.get(name, _MAX_LIMIT)
    check_number(name, value, 0, most)
    return int(value)


SWEEP_KIND: Final = "quota.sweep"
SWEPT_LIMITS: Final = ("shortest_interval", "longest_life", "payload_bytes", "active_tasks")
"""Limits of the tasks themselves. Limits of runs are checked when an occurrence comes due."""


def sweep_writing(owner: str, limits: Collection[str], known: Record | None) -> tuple[RecordWrite, ...]:
    """Return the record to write with the change of a quota, so that the sweep is done even if this process dies first."""
    before = [] if known is None else json.loads(known.body)["limits"]
    pending = sorted({*before, *(name for name in limits if name in SWEPT_LIMITS)})
    if not pending:
        return ()
    record = Record(SWEEP_KIND, owner, owner, json.dumps({"limits": pending}))
    return (RecordWrite(record, None if known is None else known.version),)
