"""Quota of tasks per owner and agent: counted before each write, with optimistic locking on one quota record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from ...clock import Clock
from ...errors import Conflict, Refusal
from ...model.accounts.account import OWNER_KIND, owner_from
from ...model.accounts.principal import AGENT_LABEL, MEMBER_QUOTAS, NO_QUOTAS, Principal, Quotas
from ...model.counts import NO_HOUR, STATE_PREFIX
from ...model.page import MAX_PAGE_SIZE
from ...model.record import Record, RecordWrite
from ...model.task import OPEN_STATES, TaskState, TaskStatus
from ...ports.full_store import FullStore
from ...ports.records import Records, is_conflict_over
from ...ports.store import TaskFilter
from ..accounts.agent_switch import load_switch
from ..accounts.refusals import refuse
from ..accounts.stored_output import FREQUENT_SECONDS, StoredOutput
from .quotas import command_for, definition_bytes, larger_limit

QUOTA_KIND: Final = "seats"
_QUOTA: Final = "active_tasks"
_TRIES: Final = 200
"""Each lost race means that another writer succeeded, so only a storm of writers can use up all tries."""
_BYTES: Final = "stored_bytes"
_COUNTED_SECONDS: Final = 10.0
"""A count of bytes is trusted for so long: an owner at its limit cannot make every request read all its tasks and runs."""
_MAX_COUNTS: Final = 10_000
_T = TypeVar("_T")


class TaskTransition(NamedTuple):
    """Transition of one task; `before` None: it is new. `growth` is by how many bytes its definition grows."""

    task_id: str
    before: TaskStatus | None
    after: TaskStatus
    growth: int = 0


class _UnsureError(Exception):
    """The bytes of an owner seem to be used up, but the count is old: tasks and runs may have been deleted since."""


class _UnmeasuredError(Exception):
    """A task grows, and the output of its owner was not measured lately."""


class _ByteCount(NamedTuple):
    """The bytes of an owner, when they were counted, and the version of the record for which the total holds."""

    at: float
    version: int | None
    total: int


class StoredUse(NamedTuple):
    """Tasks in any state, and the bytes of their definitions, with their limits.

    `output` is the size of their results, errors and logs, None if it must be measured first. `bytes` and `output` may be
    too high unless `exact`.
    """

    tasks: int = 0
    most_tasks: int | None = None
    bytes: int = 0
    most_bytes: int | None = None
    exact: bool = True
    output: int | None = 0

    @property
    def is_limited(self) -> bool:
        return self.most_tasks is not None or self.most_bytes is not None

    def check(self, new: int, growth: int, whose: Principal) -> None:
        if new > 0 and self.most_tasks is not None and self.tasks + new > self.most_tasks:
            raise refuse("too_many_stored_tasks", used=self.tasks, most=self.most_tasks, wanted=self.tasks + new)
        if growth > 0 and self.most_bytes is not None:
            if self.output is None:
                raise _UnmeasuredError
            used = self.bytes + self.output
            if used + growth > self.most_bytes:
                if not self.exact:
                    raise _UnsureError
                raise _too_many_bytes(used, self.most_bytes, used + growth, whose)


class QuotaUse(NamedTuple):
    """Quota use: `used` of `most`, as of a version of the quota record.

    `snoozed` are paused tasks that resume by themselves, and when: they count meanwhile. Paused tasks of an agent
    (`is_agent`) count too.
    """

    record: Record
    version: int | None
    used: int
    most: int | None
    snoozed: tuple[tuple[str, str], ...] = ()
    is_agent: bool = False
    stored: StoredUse = StoredUse()
    principal: Principal = Principal("")
    """The principal whose limit it is."""

    def admit(self, moves: Iterable[TaskTransition]) -> tuple[RecordWrite, ...]:
        """Return the quota record to write with these transitions, none if nothing changes; refused beyond the limit."""
        snoozed = dict(self.snoozed)
        wanted, new, growth = 0, 0, 0
        for move in moves:
            new += move.before is None
            growth += move.growth
            wanted += self._counts_after(move.after) - self._counted_before(move, snoozed)
            until = _resumes_at(move.after)
            snoozed.pop(move.task_id, None)
            if until is not None and not self.is_agent:
                snoozed[move.task_id] = until.isoformat()
        if wanted > 0 and self.most is not None and self.used + wanted > self.most:
            raise self.refusal(wanted)
        self.stored.check(new, growth, self.principal)
        grows = self.stored.is_limited and (new > 0 or growth != 0)
        if wanted <= 0 and snoozed == dict(self.snoozed) and not self.is_agent and not grows:
            return ()
        body = json.loads(self.record.body) | {"snoozed": snoozed}
        if self.stored.most_bytes is not None:
            body["bytes"] = max(0, self.stored.bytes + growth)
        return (RecordWrite(self.record._replace(body=json.dumps(body)), self.version),)

    def refusal(self, number: int) -> Refusal:
        return refuse(
            "too_many_tasks",
            used=self.used,
            most=self.most,
            wanted=self.used + number,
            command=command_for(self.principal, _QUOTA, str(self.used + number)),
        )

    def _counts_after(self, standing: TaskStatus) -> bool:
        if self.is_agent:
            return standing.state in OPEN_STATES
        return standing.state is TaskState.ACTIVE or _resumes_at(standing) is not None

    def _counted_before(self, move: TaskTransition, snoozed: dict[str, str]) -> bool:
        if move.before is None:
            return False
        if self.is_agent:
            return move.before.state in OPEN_STATES
        return move.before.state is TaskState.ACTIVE or move.task_id in snoozed


def _resumes_at(standing: TaskStatus) -> datetime | None:
    return standing.pause.until if standing.state is TaskState.PAUSED and standing.pause is not None else None


class QuotaCheck(NamedTuple):
    """Quota use of the caller, and for an agent also of its owner."""

    uses: tuple[QuotaUse, ...] = ()

    def admit(self, moves: Iterable[TaskTransition]) -> tuple[RecordWrite, ...]:
        if not self.uses:
            return ()
        listed = tuple(moves)
        return tuple(writing for room in self.uses for writing in room.admit(listed))


UNLIMITED: Final = QuotaCheck()


class TaskQuota:
    def __init__(
        self, store: FullStore, clock: Clock, member_quotas: Quotas = MEMBER_QUOTAS, output: StoredOutput | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._members = member_quotas
        self._output = output or StoredOutput(store, clock)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._counted: dict[str, _ByteCount] = {}

    def is_limited(self, principal: Principal) -> bool:
        """Whether writes of the caller need a quota check."""
        return principal.agent is not None or not _is_unlimited(principal.quotas)

    async def write_within(self, principal: Principal, write: Callable[[QuotaCheck], Awaitable[_T]]) -> _T:
        """Call `write` with a quota check that still holds at the commit; retries after a lost race."""
        if not self.is_limited(principal):
            return await write(UNLIMITED)
        async with self._owner_lock(principal.owner):
            sure, output = False, None
            for _ in range(_TRIES):
                try:
                    return await write(await self._load_check(principal, sure=sure, output=output))
                except _UnmeasuredError:
                    output = await self._output.measure(principal.owner, FREQUENT_SECONDS)
                except _UnsureError:
                    output = await self._output.measure(principal.owner, _COUNTED_SECONDS)
                    sure = await self._count_bytes(principal.owner) is not None
                except Conflict as conflict:
                    if not is_conflict_over(conflict, QUOTA_KIND):
                        raise
            return await write(await self._load_check(principal, sure=True, output=output or 0))

    async def check(self, principal: Principal, number: int) -> None:
        """Refuse so many new tasks beyond the limit, before the requests are parsed."""
        if not self.is_limited(principal):
            return
        rooms = (await self._load_check(principal)).uses
        for each in rooms:
            each.stored.check(number, 0, each.principal)
        room = rooms[0]
        if room.most is not None and room.used + number > room.most:
            raise room.refusal(number)

    async def set_stopped(
        self, owner: str, agent: str, attached_records: tuple[RecordWrite, ...], *, stopped: bool
    ) -> bool:
        """Stop or restart an agent: a stopped one may not write. False: it was in that state already."""
        while True:
            record, version = await self._record(owner, agent_record_key(owner, agent))
            body = json.loads(record.body)
            if bool(body.get("stopped")) is stopped:
                return False
            changed = record._replace(body=json.dumps(body | {"stopped": stopped}))
            if await self._store.write_records((RecordWrite(changed, version), *attached_records)):
                return True

    async def definition_bytes(self, owner: str, *, exact: bool = False) -> int | None:
        """Bytes of the definitions of an owner's tasks: as last kept, or (`exact`) as counted within the last seconds. None
        when tasks were written while they were counted."""
        record, version = await self._record(owner, owner)
        counts = await self._store.counts(owner, (NO_HOUR,))
        if not any(counts.get((NO_HOUR, STATE_PREFIX + state), 0) for state in TaskState):
            return 0
        counted = self._counted.get(owner)
        is_recent = counted is not None and self._clock.steady() - counted.at < _COUNTED_SECONDS
        if counted is not None and is_recent and version == counted.version:
            return counted.total
        kept: int | None = json.loads(record.body).get("bytes")
        return await self._count_bytes(owner) if exact or kept is None else kept

    def forget_output(self, owner: str) -> None:
        """A task was deleted with its history: the output of its owner is measured again."""
        self._output.forget(owner)

    @asynccontextmanager
    async def _owner_lock(self, owner: str) -> AsyncIterator[None]:
        """Serialise the writes of an owner within one process, so that they do not race each other."""
        lock = self._locks.get(owner)
        if lock is None:
            lock = self._locks[owner] = asyncio.Lock()
        async with lock:
            yield

    async def _load_check(self, principal: Principal, *, sure: bool = False, output: int | None = None) -> QuotaCheck:
        """Read the quota use. `sure`: the bytes of the owner were just counted; `output`: a measurement just made."""
        if principal.agent is None:
            return QuotaCheck(
                (await self._load_owner_use(principal.owner, principal.quotas, sure=sure, output=output),)
            )
        guest = await self._load_agent_use(principal, principal.agent)
        known = await self._store.get_record(OWNER_KIND, principal.owner)
        quotas = NO_QUOTAS if known is None else owner_from(known, self._members).quotas
        if _is_unlimited(quotas):
            return QuotaCheck((guest,))
        return QuotaCheck((guest, await self._load_owner_use(principal.owner, quotas, sure=sure, output=output)))

    async def _load_owner_use(self, owner: str, quotas: Quotas, *, sure: bool, output: int | None) -> QuotaUse:
        # The record is read first: a later write of another caller makes this write fail.
        record, version = await self._record(owner, owner)
        counts = await self._store.counts(owner, (NO_HOUR,))
        active = counts.get((NO_HOUR, STATE_PREFIX + TaskState.ACTIVE), 0)
        tasks = sum(counts.get((NO_HOUR, STATE_PREFIX + state), 0) for state in TaskState)
        stored = self._stored(owner, quotas, tasks, json.loads(record.body).get("bytes"), version)
        now = self._clock.now()
        most = quotas.active_tasks
        said = json.loads(record.body)["snoozed"]
        asleep = {name: until for name, until in said.items() if datetime.fromisoformat(until) > now}
        if asleep and most is not None and active + len(asleep) >= most:
            asleep = await self._still_snoozed(asleep)
        stored = stored._replace(exact=stored.exact or sure)
        if output is not None:
            stored = stored._replace(output=output)
        return QuotaUse(
            record,
            version,
            active + len(asleep),
            most,
            tuple(asleep.items()),
            stored=stored,
            principal=Principal(owner),
        )

    def _stored(self, owner: str, quotas: Quotas, tasks: int, kept: int | None, version: int | None) -> StoredUse:
        if not tasks:
            return StoredUse(0, quotas.stored_tasks, 0, quotas.stored_bytes)
        counted = self._counted.get(owner)
        exact = counted is not None and self._clock.steady() - counted.at < _COUNTED_SECONDS
        if counted is not None and version == counted.version:
            kept = counted.total
        if kept is None:
            # Tasks older than the byte count: assume the limit is reached, so that the bytes are counted now.
            kept, exact = quotas.stored_bytes or 0, False
        if quotas.stored_bytes is None:
            return StoredUse(tasks, quotas.stored_tasks, kept, None, exact)
        measured = self._output.recall(owner, kept, quotas.stored_bytes)
        exact = exact and measured is not None and self._output.age(measured) < _COUNTED_SECONDS
        output = None if measured is None else measured.output
        return StoredUse(tasks, quotas.stored_tasks, kept, quotas.stored_bytes, exact, output)

    async def _count_bytes(self, owner: str) -> int | None:
        """Read all tasks of an owner and store the bytes of their definitions; None if tasks were written meanwhile."""
        record, version = await self._record(owner, owner)
        total, after = 0, None
        while True:
            page = await self._store.tasks(TaskFilter(owner), after, MAX_PAGE_SIZE)
            total += sum(definition_bytes(each.task) for each in page.items)
            after = page.after
            if after is None:
                break
        body = json.loads(record.body) | {"bytes": total}
        if not await self._store.put_record(record._replace(body=json.dumps(body)), replacing=version):
            return None
        if len(self._counted) >= _MAX_COUNTS:
            self._counted.clear()
        # A dry run writes nothing, and finds the record as it was.
        _, now = await self._record(owner, owner)
        self._counted[owner] = _ByteCount(self._clock.steady(), now, total)
        return total

    async def _still_snoozed(self, snoozed: dict[str, str]) -> dict[str, str]:
        """Drop tasks that were resumed, ended or removed since."""
        found: dict[str, str] = {}
        for name, until in snoozed.items():
            facts = await self._store.facts(name, None)
            if facts is not None and _resumes_at(facts.status) is not None:
                found[name] = until
        return found

    async def _load_agent_use(self, principal: Principal, agent: str) -> QuotaUse:
        record, version = await self._record(principal.owner, agent_record_key(principal.owner, agent))
        body = json.loads(record.body)
        if body.get("revoked"):
            raise refuse("agent_revoked", agent=agent, owner=principal.owner)
        if body.get("stopped"):
            raise refuse("agent_stopped", agent=agent)
        if await load_switch(self._store) is not None:
            raise refuse("agents_stopped")
        most = principal.quotas.active_tasks
        wanted = TaskFilter(principal.owner, OPEN_STATES, labels=((AGENT_LABEL, agent),))
        used = 0 if most is None else len((await self._store.tasks(wanted, limit=min(1_000, most + 1))).items)
        return QuotaUse(record, version, used, most, is_agent=True, principal=principal)

    async def _record(self, owner: str, key: str) -> tuple[Record, int | None]:
        return await _load_record(self._store, owner, key)


async def load_agent_record(records: Records, owner: str, agent: str) -> tuple[Record, int | None]:
    """Return the quota record that every write of an agent replaces, and its version, to detect concurrent writes."""
    return await _load_record(records, owner, agent_record_key(owner, agent))


async def _load_record(records: Records, owner: str, key: str) -> tuple[Record, int | None]:
    known = await records.get_record(QUOTA_KIND, key)
    if known is not None:
        return known, known.version
    return Record(QUOTA_KIND, key, owner, json.dumps({"snoozed": {}})), None


def _too_many_bytes(used: int, most: int, wanted: int, whose: Principal) -> Refusal:
    command = command_for(whose, _BYTES, str(larger_limit(most, wanted)))
    return refuse("too_many_bytes", used=used, most=most, wanted=wanted, command=command)


def _is_unlimited(quotas: Quotas) -> bool:
    return quotas.active_tasks is None and quotas.stored_tasks is None and quotas.stored_bytes is None


def agent_record_key(owner: str, agent: str) -> str:
    return f"{owner}/{agent}"
