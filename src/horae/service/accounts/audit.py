"""The audit trail: who did what, written with the change itself, and sealed into a chain in which nothing can be altered unseen."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from itertools import count
from typing import Any, Final, NamedTuple

from ...clock import Clock
from ...entropy import entropy
from ...errors import StoreFull
from ...model.accounts.principal import Principal, Scope
from ...model.ids import EPOCH, microseconds
from ...model.page import LARGEST_PAGE, Page
from ...model.record import Record, Writing
from ...model.refusals import refuse as refuse_task
from ...ports.records import Records
from ..query.argument_checks import check_page
from .rights import refuse_agent

OPEN: Final = "audit.open"
SEALED: Final = "audit"
HEAD: Final = "audit.head"
_HEAD_KEY: Final = "head"
_BATCH: Final = 200
_written: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_GENESIS: Final = "0" * 64
_NUMBER: Final = 20
_TRIES: Final = 20
"""Each lost race means that somebody else got through."""
UNREADABLE: Final = "unreadable"
"""The action of a row that somebody has altered so that nothing can be read of it."""
LOG: Final = logging.getLogger("horae")
_NO_DETAIL: Final[Mapping[str, Any]] = {}


class AuditRow(NamedTuple):
    """`owner` is whose thing it was, `by` the owner that the actor belongs to."""

    number: int
    at: datetime
    action: str
    subject: str
    owner: str
    by: str
    actor: str
    via: str
    request: str
    agent: str | None
    detail: Mapping[str, Any]
    hash: str


class Verdict(NamedTuple):
    """`broken` is the first number at which the chain is not what it was: altered, missing, or cut off at the end.

    Who keeps `head` elsewhere can tell also whether somebody wrote the whole chain anew.
    """

    ok: bool
    rows: int
    open_rows: int
    broken: int | None = None
    head: str = _GENESIS


class _Head(NamedTuple):
    """The end of the chain. `first` is the oldest row that is kept, `before` the hash that it follows."""

    number: int = 0
    hash: str = _GENESIS
    first: int = 1
    before: str = _GENESIS
    version: int | None = None


class Audit:
    def __init__(self, records: Records, clock: Clock, entropy: Callable[[int], bytes] = entropy) -> None:
        self._records = records
        self._clock = clock
        self._entropy = entropy
        self._counter = count()
        self._is_stuck = False
        """It is said once: the janitor tries again every second."""

    def row(
        self,
        who: Principal,
        action: str,
        subject: str,
        detail: Mapping[str, Any] = _NO_DETAIL,
        *,
        owner: str | None = None,
    ) -> tuple[Writing, ...]:
        """What is to be written beside the change; nothing where nobody answers for it.

        `owner` is whose thing it is, where it is not the asker's own. Never a payload or a secret in `detail`.
        """
        if not who.actor:
            return ()
        now = self._clock.now()
        whose = who.owner if owner is None else owner
        body = {
            "at": now.isoformat(),
            "action": action,
            "subject": subject,
            "owner": whose,
            "by": who.owner,
            "actor": who.actor,
            "via": who.via,
            "request": who.request,
            "agent": who.agent,
            "detail": dict(detail),
        }
        # Within a process they stay in the order in which they were asked for, also where the clock stands still.
        key = f"{max(0, microseconds(now)):020d}-{next(self._counter):010d}-{self._entropy(6).hex()}"
        return (Writing(Record(OPEN, key, whose, _canonical(body))),)

    async def page(self, who: Principal, after: str | None = None, limit: int = 100) -> Page[AuditRow]:
        """Newest first: for an admin everybody's, for others what was done to what is theirs."""
        refuse_agent(who, "audit rows")
        who.must(Scope.READ)
        check_page(after, limit)
        # What was done a moment ago is there too; the janitor would have been here within a second. Where nothing can be
        # written, what is there can be read all the same.
        with suppress(StoreFull):
            await self.seal()
        try:
            page = await self._records.records(SEALED, who.scope, after, limit, newest=True)
        except (ValueError, OverflowError):
            raise refuse_task("bad_page", value=after, wanted="after", most=LARGEST_PAGE) from None
        return Page(tuple(_row(record) for record in page.items), page.after)

    async def seal(self) -> int:
        """Open rows, in the order of their keys, become the end of the chain. How many: others may have been faster."""
        sealed = lost = 0
        while lost < _TRIES:
            page = await self._records.records(OPEN, limit=_BATCH)
            if not page.items:
                return sealed
            head = await self._head()
            if await self._records.write_records(_sealing(head, page.items)):
                sealed += len(page.items)
                self._is_stuck = False
                if page.after is None:
                    return sealed
            else:
                # Somebody else has sealed them: what is left now is looked at again.
                lost += 1
        # Nobody is so much faster for so long: the head is not the one of this chain, and `verify` says so.
        if not self._is_stuck:
            LOG.warning("the audit trail cannot be sealed: its head does not fit its rows; see 'horae audit verify'")
        self._is_stuck = True
        return sealed

    async def verify(self, who: Principal) -> Verdict:
        """The whole chain, row by row; what others seal meanwhile is part of it."""
        who.must(Scope.ADMIN)
        start = await self._head()
        walk = _Walk(start.first - 1, start.before)
        while True:
            async for record in self._chain(walk.number):
                if not walk.follows(record):
                    return await self._verdict(walk, walk.number + 1)
            end = await self._head()
            if (end.number, end.hash) == (walk.number, walk.hash):
                return await self._verdict(walk)
            if end.number <= walk.number or not await self._grew(walk.number):
                return await self._verdict(walk, _first_difference(end.number, walk.number))

    async def _verdict(self, walk: _Walk, broken: int | None = None) -> Verdict:
        open_rows = len((await self._records.records(OPEN, limit=LARGEST_PAGE)).items)
        return Verdict(broken is None, walk.rows, open_rows, broken, walk.hash)

    async def _chain(self, number: int) -> AsyncIterator[Record]:
        """What comes after that row."""
        after: str | None = _key(number) if number else None
        while True:
            page = await self._records.records(SEALED, after=after, limit=LARGEST_PAGE)
            for record in page.items:
                yield record
            after = page.after
            if after is None:
                return

    async def _grew(self, number: int) -> bool:
        """Whether there is a row after that one by now."""
        return await self._records.get_record(SEALED, _key(number + 1)) is not None

    async def _head(self) -> _Head:
        """One that cannot be read says as little as one that is gone."""
        record = await self._records.get_record(HEAD, _HEAD_KEY)
        try:
            body = {} if record is None else json.loads(record.body)
            found = _Head(int(body["number"]), body["hash"], int(body["first"]), body["before"])
        except (ValueError, LookupError, TypeError):
            return _Head()
        return found._replace(version=None if record is None else record.version)


class _Walk:
    """Along the chain, one row after the other."""

    def __init__(self, number: int, before: str) -> None:
        self.number = number
        self.hash = before
        self.rows = 0

    def follows(self, record: Record) -> bool:
        """Whether this is the next row, as it was when it was sealed."""
        try:
            body = json.loads(record.body)
            claimed = body.pop("hash")
        except (ValueError, LookupError, AttributeError, TypeError):
            return False
        number = self.number + 1
        fits = (record.key, body.get("number"), body.get("owner")) == (_key(number), number, record.owner)
        if not fits or claimed != _hash(self.hash, body):
            return False
        self.number, self.hash, self.rows = number, claimed, self.rows + 1
        return True


def _sealing(head: _Head, rows: Sequence[Record]) -> list[Writing]:
    number, before = head.number, head.hash
    sealed: list[Writing] = []
    for record in rows:
        number += 1
        body = json.loads(record.body) | {"number": number}
        before = _hash(before, body)
        sealed.append(Writing(Record(SEALED, _key(number), record.owner, _canonical(body | {"hash": before}))))
    body = {"number": number, "hash": before, "first": head.first, "before": head.before}
    head_row = Writing(Record(HEAD, _HEAD_KEY, "", _canonical(body)), head.version)
    # Those of a kind stand together, so that a store can write them together.
    return [head_row, *sealed, *(Writing(record, record.version, dropped=True) for record in rows)]


def _first_difference(end: int, walked: int) -> int:
    """Where the head and the rows part: with as many rows on both sides, the last one is not the one that was sealed."""
    return walked if end == walked else min(end, walked) + 1


def _row(record: Record) -> AuditRow:
    try:
        body = json.loads(record.body)
        at = datetime.fromisoformat(body.pop("at"))
        return AuditRow(at=at, **{name: body[name] for name in AuditRow._fields if name != "at"})
    except (ValueError, LookupError, TypeError, AttributeError):
        # The others are shown all the same, and this one is not passed over in silence.
        number = int(record.key) if record.key.isdecimal() else 0
        return AuditRow(number, EPOCH, UNREADABLE, "", record.owner, "", "", "", "", None, {}, "")


def _hash(before: str, body: Mapping[str, Any]) -> str:
    return sha256(f"{before}\n{_canonical(body)}".encode()).hexdigest()


def _canonical(body: Mapping[str, Any]) -> str:
    return _written(body)


def _key(number: int) -> str:
    return f"{number:0{_NUMBER}d}"
