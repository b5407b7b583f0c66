"""How many tasks somebody may have at once: counted before each write, and held by a record that only one can replace."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final, NamedTuple, Protocol, TypeVar
from weakref import WeakValueDictionary

from ..clock import Clock
from ..errors import Conflict, Refusal
from ..model.account import OWNER_KIND, owner_from
from ..model.principal import AGENT_LABEL, MEMBER_QUOTAS, Principal, Quotas
from ..model.record import Record, Writing
from ..model.tally import NO_HOUR, STATE
from ..model.task import GOING, Standing, TaskState
from ..ports.records import Records
from ..ports.store import Book, TaskFilter
from .quotas import command_for
from .races import lost_over
from .refusals import refuse

SEATS: Final = "seats"
_QUOTA: Final = "active_tasks"
_TRIES: Final = 200
"""Each lost race means that somebody else got through, so that only a storm of writers can use them up."""
_T = TypeVar("_T")


class Keeping(Book, Records, Protocol):
    """What it asks of the store."""


class Move(NamedTuple):
    """What becomes of one task; `before` None: it is new."""

    task_id: str
    before: Standing | None
    after: Standing


class Room(NamedTuple):
    """`used` of `most`, as of a version of the record that stands for it. `snoozed` are the tasks that wake by themselves,
    and when: they keep their seats meanwhile. A guest's paused tasks keep theirs too."""

    record: Record
    version: int | None
    used: int
    most: int | None
    snoozed: tuple[tuple[str, str], ...] = ()
    guest: bool = False
    whose: Principal = Principal("")
    """Whose limit it is."""

    def admit(self, moves: Iterable[Move]) -> tuple[Writing, ...]:
        """The writing that takes these seats, none where nothing changes; refused where there are too few."""
        snoozed = dict(self.snoozed)
        wanted = 0
        for move in moves:
            wanted += self._holds(move.after) - self._held(move, snoozed)
            until = _wakes(move.after)
            snoozed.pop(move.task_id, None)
            if until is not None and not self.guest:
                snoozed[move.task_id] = until.isoformat()
        if wanted > 0 and self.most is not None and self.used + wanted > self.most:
            raise self.refusal(wanted)
        if wanted <= 0 and snoozed == dict(self.snoozed) and not self.guest:
            return ()
        body = json.loads(self.record.body) | {"snoozed": snoozed}
        return (Writing(self.record._replace(body=json.dumps(body)), self.version),)

    def refusal(self, wanted: int) -> Refusal:
        return refuse(
            "too_many_tasks",
            used=self.used,
            most=self.most,
            wanted=self.used + wanted,
            command=command_for(self.whose, _QUOTA, str(self.used + wanted)),
        )

    def _holds(self, standing: Standing) -> bool:
        if self.guest:
            return standing.state in GOING
        return standing.state is TaskState.ACTIVE or _wakes(standing) is not None

    def _held(self, move: Move, snoozed: dict[str, str]) -> bool:
        if move.before is None:
            return False
        if self.guest:
            return move.before.state in GOING
        return move.before.state is TaskState.ACTIVE or move.task_id in snoozed


def _wakes(standing: Standing) -> datetime | None:
    return standing.pause.until if standing.state is TaskState.PAUSED and standing.pause is not None else None


class Pass(NamedTuple):
    """What whoever asks may still take: of their own, and of their owner's."""

    rooms: tuple[Room, ...] = ()

    def admit(self, moves: Iterable[Move]) -> tuple[Writing, ...]:
        if not self.rooms:
            return ()
        listed = tuple(moves)
        return tuple(writing for room in self.rooms for writing in room.admit(listed))


FREE: Final = Pass()


class Seats:
    def __init__(self, store: Keeping, clock: Clock, members: Quotas = MEMBER_QUOTAS) -> None:
        self._store = store
        self._clock = clock
        self._members = members
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def within(self, who: Principal, write: Callable[[Pass], Awaitable[_T]]) -> _T:
        """Write with a pass that still holds when it is written: whoever loses a race looks again."""
        if who.agent is None and who.quotas.active_tasks is None:
            return await write(FREE)
        async with self._turn(who.owner):
            for _ in range(_TRIES):
                try:
                    return await write(await self._look(who))
                except Conflict as conflict:
                    if not lost_over(conflict, SEATS):
                        raise
            return await write(await self._look(who))

    async def check(self, who: Principal, wanted: int) -> None:
        """Refuses so many new tasks where there is no room for them: before anybody takes the trouble to read them all."""
        if who.agent is None and who.quotas.active_tasks is None:
            return
        room = (await self._look(who)).rooms[0]
        if room.most is not None and room.used + wanted > room.most:
            raise room.refusal(wanted)

    async def stop(self, owner: str, agent: str, beside: tuple[Writing, ...], *, stopped: bool) -> bool:
        """From here on a guest may not touch anything (or may again). False: it was so already."""
        while True:
            record, version = await self._record(owner, guest_key(owner, agent))
            body = json.loads(record.body)
            if bool(body.get("stopped")) is stopped:
                return False
            changed = record._replace(body=json.dumps(body | {"stopped": stopped}))
            if await self._store.write_records((Writing(changed, version), *beside)):
                return True

    @asynccontextmanager
    async def _turn(self, owner: str) -> AsyncIterator[None]:
        """Within one process nobody needs to lose a race."""
        lock = self._turns.get(owner)
        if lock is None:
            lock = self._turns[owner] = asyncio.Lock()
        async with lock:
            yield

    async def _look(self, who: Principal) -> Pass:
        if who.agent is None:
            return Pass((await self._own(who.owner, who.quotas.active_tasks),))
        guest = await self._guest(who, who.agent)
        known = await self._store.get_record(OWNER_KIND, who.owner)
        most = None if known is None else owner_from(known, self._members).quotas.active_tasks
        return Pass((guest,) if most is None else (guest, await self._own(who.owner, most)))

    async def _own(self, owner: str, most: int | None) -> Room:
        # The record first: what somebody takes after this is seen when it is replaced.
        record, version = await self._record(owner, owner)
        counts = await self._store.counts(owner, (NO_HOUR,))
        active = counts.get((NO_HOUR, STATE + TaskState.ACTIVE), 0)
        now = self._clock.now()
        said = json.loads(record.body)["snoozed"]
        asleep = {name: until for name, until in said.items() if datetime.fromisoformat(until) > now}
        if asleep and most is not None and active + len(asleep) >= most:
            asleep = await self._still_asleep(asleep)
        return Room(record, version, active + len(asleep), most, tuple(asleep.items()), whose=Principal(owner))

    async def _still_asleep(self, snoozed: dict[str, str]) -> dict[str, str]:
        """Somebody may have woken, ended or removed them since."""
        found: dict[str, str] = {}
        for name, until in snoozed.items():
            facts = await self._store.facts(name, None)
            if facts is not None and _wakes(facts.standing) is not None:
                found[name] = until
        return found

    async def _guest(self, who: Principal, agent: str) -> Room:
        record, version = await self._record(who.owner, guest_key(who.owner, agent))
        body = json.loads(record.body)
        if body.get("revoked"):
            raise refuse("agent_revoked", agent=agent, owner=who.owner)
        if body.get("stopped"):
            raise refuse("agent_stopped", agent=agent)
        most = who.quotas.active_tasks
        wanted = TaskFilter(who.owner, GOING, labels=((AGENT_LABEL, agent),))
        used = 0 if most is None else len((await self._store.tasks(wanted, limit=min(1_000, most + 1))).items)
        return Room(record, version, used, most, guest=True, whose=who)

    async def _record(self, owner: str, key: str) -> tuple[Record, int | None]:
        return await _read(self._store, owner, key)


async def seat_of(records: Records, owner: str, agent: str) -> tuple[Record, int | None]:
    """The record that every write of an agent replaces, and its version: who replaces it too is not overtaken by one."""
    return await _read(records, owner, guest_key(owner, agent))


async def _read(records: Records, owner: str, key: str) -> tuple[Record, int | None]:
    known = await records.get_record(SEATS, key)
    if known is not None:
        return known, known.version
    return Record(SEATS, key, owner, json.dumps({"snoozed": {}})), None


def guest_key(owner: str, agent: str) -> str:
    return f"{owner}/{agent}"
