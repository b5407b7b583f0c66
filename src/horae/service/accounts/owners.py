"""Owners: made, changed, revoked and restored by an admin; everybody else sees only themselves."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, Protocol

from ...clock import Clock
from ...model.accounts.account import (
    OWNER_CHARACTERS,
    OWNER_KIND,
    FullStorage,
    Limit,
    Owner,
    is_owner_name,
    loses_right_to_run,
    owner_from,
    owner_record,
    quotas_of,
)
from ...model.accounts.principal import MEMBER_QUOTAS, Principal, Quotas, Role, Scope
from ...model.field_checks import check_choice, check_number
from ...model.lane import agent_lane, owner_lane
from ...model.limits import NOTE_CHARACTERS, PAYLOAD_BYTES
from ...model.page import Page
from ...model.policy import LONGEST
from ...model.reason import Reason
from ...model.record import Record, Writing
from ...model.refusals import refuse as refuse_task
from ...model.task import GOING
from ...ports.records import Records
from ...ports.store import Book, TaskFilter
from ...schedule.zones import find_zone
from ..query.argument_checks import check_page
from ..runs.lanes import MOST_IN_LANE
from ..tasks.task_quota import seat_of
from ..tasks.task_request import read_duration
from .audit import Audit
from .record_conflicts import unless_changed
from .refusals import refuse
from .rights import refuse_agent
from .sweep_record import SWEEP_KIND, sweep_writing

NO_LIMIT: Final = ("never", "none")
"""Said of a quota: without a limit, like None."""
USUAL: Final = "usual"
"""Said of a quota: whatever is usual for the role."""
_MOST: Final = 1_000_000_000
_MOST_BYTES: Final = 2**50
_LARGEST_LIMITS: Final = {
    "payload_bytes": PAYLOAD_BYTES,
    "concurrent_runs": MOST_IN_LANE,
    "stored_bytes": _MOST_BYTES,
}
_TRIES: Final = 100


class Keeping(Book, Records, Protocol):
    """What it asks of the store."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to change of an owner; None: as it is, or as is usual for a new one."""

    role: Role | None = None
    zone: str | None = None
    quotas: Mapping[str, Any] | None = None
    note: str | None = None
    expected: int | None = None


class Accounts:
    """`members` are the quotas of whoever is no admin, where nothing else was chosen for them."""

    def __init__(
        self,
        store: Keeping,
        clock: Clock,
        audit: Audit,
        *,
        members: Quotas = MEMBER_QUOTAS,
        told: Callable[[datetime | None], None] = lambda _due: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._audit = audit
        self._told = told
        self.members = members
        self.on_change: Callable[[], None] = lambda: None
        """Called after an owner was changed: what somebody remembers of it is out of date."""
        self.on_quotas: Callable[[str], Awaitable[object]] = nothing_to_do
        """Called with the name of the owner then: lowered quotas count at once."""

    async def page(self, who: Principal, after: str | None = None, limit: int = 100) -> Page[Owner]:
        """By name: everybody for an admin, for others themselves."""
        refuse_agent(who, "accounts")
        who.must(Scope.READ)
        check_page(after, limit)
        page = await self._store.records(OWNER_KIND, who.scope, after, limit)
        return Page(tuple(self.read(record) for record in page.items), page.after)

    async def get(self, who: Principal, name: str) -> Owner:
        refuse_agent(who, "accounts")
        who.must(Scope.READ)
        return self.read(await self._found(who, name))

    async def put(  # noqa: PLR0913 - what an owner is, each by its name
        self,
        who: Principal,
        name: str,
        *,
        role: Role | None = None,
        zone: str | None = None,
        quotas: Mapping[str, Any] | Quotas | None = None,
        note: str | None = None,
        expected: int | None = None,
    ) -> Owner:
        """Made, or changed in what is said. Of `quotas`, those that are named change: a number, a duration, None for no
        limit, or `usual`. An empty zone takes it away. Who is no admin may choose their own zone, and nothing else."""
        said = quotas._asdict() if isinstance(quotas, Quotas) else quotas
        wanted = Wanted(role, zone, said, note, expected)
        self._check(who, name, wanted)
        for _ in range(_TRIES):
            known = await self._store.get_record(OWNER_KIND, name)
            before = None if known is None else self.read(known)
            after = self._changed(who, name, before, wanted)
            after = after._replace(demoted=await self._is_demoted(before, after))
            if before is not None and after == before:
                return before
            if await self._write(who, before, after, changed_limits(before, after, wanted.quotas or {})):
                self.on_change()
                await self.on_quotas(name)
                return after._replace(version=1 if before is None else before.version + 1)
        raise refuse_task("record_changed", kind=OWNER_KIND, key=name)

    async def revoke(self, who: Principal, name: str) -> Owner:
        """From here on nothing of it runs, and its tokens open nothing. What it has stays."""
        who.must(Scope.ADMIN)
        if name == who.owner:
            raise refuse("own_account", name=name)
        return await self._bar(who, name, self._clock.now(), "owner.revoke")

    async def restore(self, who: Principal, name: str) -> Owner:
        """It may go on; what came due meanwhile is on record as skipped."""
        who.must(Scope.ADMIN)
        return await self._bar(who, name, None, "owner.restore")

    async def exhaust(self, owner: Owner, now: datetime) -> Owner | None:
        """Its runs of this day are used up: nothing of it starts before the next. None when somebody was faster."""
        spent = owner._replace(exhausted=now.astimezone(UTC).date())
        return _next(spent) if await self._barred(spent, _bar_of(spent), owner.version) else None

    async def refresh(self, owner: Owner) -> Owner | None:
        """A new day, or a higher limit. What was revoked stays barred, and so does a storage that is full."""
        fresh = owner._replace(exhausted=None)
        return _next(fresh) if await self._barred(fresh, _bar_of(fresh), owner.version) else None

    async def fill_storage(self, owner: Owner, now: datetime, used: int) -> Owner | None:
        """Its stored bytes are used up: nothing of it starts until there is room. None when somebody was faster."""
        full = owner._replace(storage_full=FullStorage(now, used))
        return _next(full) if await self._barred(full, _bar_of(full), owner.version) else None

    async def free_storage(self, owner: Owner, now: datetime) -> Owner | None:
        """There is room for more bytes again."""
        past = owner.last_storage_full if owner.storage_full is None else (owner.storage_full.since, now)
        after = owner._replace(storage_full=None, last_storage_full=past)
        return _next(after) if await self._barred(after, _bar_of(after), owner.version) else None

    async def settle_agent(self, owner: Owner, agent: str, spent: date | None) -> Owner | None:
        """The same for one of its agents: `spent` is the day whose runs it has used up; None: it may go on."""
        days = tuple(each for each in owner.spent if each[0] != agent)
        after = owner._replace(spent=days if spent is None else (*days, (agent, spent)))
        seat, version = await seat_of(self._store, owner.name, agent)
        reason = None if spent is None else Reason.AGENT_QUOTA
        if json.loads(seat.body).get("revoked"):
            reason = Reason.OWNER_REVOKED
        # The seat is written too: whoever revokes the agent meanwhile is not undone by this.
        kept = (Writing(seat, version),)
        done = await self._barred(after, reason, owner.version, kept, name=agent_lane(owner.name, agent))
        return _next(after) if done else None

    def read(self, record: Record) -> Owner:
        return owner_from(record, self.members)

    async def _bar(self, who: Principal, name: str, revoked: datetime | None, action: str) -> Owner:
        for _ in range(_TRIES):
            before = self.read(await self._found(who, name))
            if (before.revoked is None) is (revoked is None):
                return before
            after = before._replace(revoked=revoked)
            row = self._audit.row(who, action, name, owner=name)
            if await self._barred(after, _bar_of(after), before.version, row):
                return after._replace(version=before.version + 1)
        raise refuse_task("record_changed", kind=OWNER_KIND, key=name)

    async def _barred(
        self, owner: Owner, reason: Reason | None, version: int, row: tuple[Writing, ...] = (), name: str | None = None
    ) -> bool:
        writing = Writing(owner_record(owner), version)
        done = await unless_changed(self._store.bar(name or owner.name, reason, beside=(writing, *row)))
        if done:
            self._told(None)
        return done

    async def _found(self, who: Principal, name: str) -> Record:
        record = await self._store.get_record(OWNER_KIND, name, who.scope) if is_owner_name(name) else None
        if record is None:
            raise refuse("no_such_owner", name=name)
        return record

    def _check(self, who: Principal, name: str, wanted: Wanted) -> None:
        refuse_agent(who, "accounts")
        own_zone = name == who.owner and (wanted.role, wanted.quotas, wanted.note) == (None, None, None)
        who.must(Scope.WRITE if own_zone and wanted.zone is not None else Scope.ADMIN)
        if not is_owner_name(name):
            raise refuse("bad_owner_name", name=name, most=OWNER_CHARACTERS)
        if wanted.role is not None:
            check_choice("role", wanted.role, tuple(Role))
        if wanted.zone:
            find_zone(wanted.zone)
        if wanted.note is not None and not (wanted.note.isprintable() and len(wanted.note) <= NOTE_CHARACTERS):
            raise refuse_task("bad_text", name="note", value=wanted.note, most=NOTE_CHARACTERS)

    def _changed(self, who: Principal, name: str, before: Owner | None, wanted: Wanted) -> Owner:
        if before is None and (who.scope is not None or wanted.expected is not None):
            # Only an admin makes owners, and nobody has seen a version of what is not there.
            raise refuse("no_such_owner", name=name)
        if before is not None and wanted.expected not in (None, before.version):
            raise refuse("stale_owner", name=name, version=before.version, expected=wanted.expected)
        base = before or Owner(name, Role.MEMBER, self._clock.now())
        role = base.role if wanted.role is None else Role(wanted.role)
        if name == who.owner and before is not None and role is not Role.ADMIN and base.role is Role.ADMIN:
            raise refuse("own_account", name=name)
        chosen = read_limits(dict(base.chosen), wanted.quotas or {})
        return base._replace(
            role=role,
            zone=base.zone if wanted.zone is None else wanted.zone or None,
            note=base.note if wanted.note is None else wanted.note,
            chosen=chosen,
            quotas=quotas_of(role, chosen, self.members),
        )

    async def find(self, name: str) -> Owner | None:
        """For the service itself: nobody is asked whether they may see it."""
        record = await self._store.get_record(OWNER_KIND, name) if is_owner_name(name) else None
        return None if record is None else self.read(record)

    async def _is_demoted(self, before: Owner | None, after: Owner) -> bool:
        """A viewer fires nothing. One that never had a task needs no bar: bars cost every claim something."""
        if after.role is not Role.VIEWER:
            return False
        if before is not None and (before.demoted or before.role is not Role.VIEWER):
            return True
        return bool((await self._store.tasks(TaskFilter(after.name, GOING), limit=1)).items)

    async def _write(self, who: Principal, before: Owner | None, after: Owner, lowered: Collection[str]) -> bool:
        fields = [field for field in ("role", "zone", "note", "chosen") if _differs(field, before, after)]
        row = self._audit.row(who, "owner.put", after.name, {"fields": fields, "role": after.role}, owner=after.name)
        known = await self._store.get_record(SWEEP_KIND, after.name) if lowered else None
        sweep = sweep_writing(after.name, lowered, known)
        beside = (Writing(owner_record(after), None if before is None else before.version), *row, *sweep)
        if after.demoted is not (before is not None and before.demoted):
            done = await unless_changed(self._store.bar(after.name, _bar_of(after), beside=beside))
            if not done:
                return False
            self._told(None)
            beside = ()
        most = after.quotas.concurrent_runs
        unlimited = before is None and most is None
        if unlimited or (before is not None and most == before.quotas.concurrent_runs):
            return not beside or await self._store.write_records(beside)
        seats = MOST_IN_LANE if most is None else most
        done = await unless_changed(self._store.set_lane(owner_lane(after.name), seats, beside=beside))
        if done:
            # A higher limit may have let somebody in.
            self._told(None)
        return done


def changed_limits(before: Owner | None, after: Owner, named: Collection[str]) -> tuple[str, ...]:
    """Which of the limits that were named are not what they were."""
    return tuple(
        name for name in named if before is None or getattr(before.quotas, name) != getattr(after.quotas, name)
    )


async def nothing_to_do(_name: str) -> None:
    return None


def _next(owner: Owner) -> Owner:
    """As it stands when it was written."""
    return owner._replace(version=owner.version + 1)


def _bar_of(owner: Owner) -> Reason | None:
    if loses_right_to_run(owner):
        return Reason.OWNER_REVOKED
    return None if owner.exhausted is None and owner.storage_full is None else Reason.QUOTA


def _differs(field: str, before: Owner | None, after: Owner) -> bool:
    return before is None or getattr(before, field) != getattr(after, field)


def read_limits(before: Mapping[str, Limit], said: Mapping[str, Any]) -> tuple[tuple[str, Limit], ...]:
    """The limits that were chosen, with those changed that are named; each is checked."""
    chosen = dict(before)
    for name, value in said.items():
        check_choice("quotas", name, Quotas._fields)
        if value == USUAL:
            chosen.pop(name, None)
        else:
            chosen[name] = None if value is None or value in NO_LIMIT else _limit(name, value)
    return tuple((name, chosen[name]) for name in Quotas._fields if name in chosen)


def _limit(name: str, value: Any) -> int | timedelta:
    if name in ("shortest_interval", "longest_life"):
        length = read_duration(name, value)
        if not timedelta(0) < length <= LONGEST:
            raise refuse_task("bad_duration", name=name, value=value, least="1ms", most=LONGEST)
        return length
    most = _LARGEST_LIMITS.get(name, _MOST)
    check_number(name, value, 0, most)
    return int(value)
