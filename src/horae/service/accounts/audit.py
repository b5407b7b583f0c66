"""Audit trail: rows are written with the change itself, and then sealed into a tamper-evident hash chain."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple

from ...clock import Clock
from ...entropy import entropy
from ...errors import StoreFull
from ...json_encoder import COMPACT, make_encoder
from ...model.accounts.principal import Principal, Scope
from ...model.ids import EPOCH, to_microseconds
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.record import Record, RecordWrite
from ...model.refusals import refuse as refuse_task
from ...ports.records import Records
from ..query.argument_checks import check_page
from .rights import refuse_agent

OPEN_KIND: Final = "audit.open"
SEALED_KIND: Final = "audit"
HEAD_KIND: Final = "audit.head"
_HEAD_KEY: Final = "head"
_SEAL_BATCH: Final = 200
_encode: Final = make_encoder(COMPACT, ensure_ascii=True, sort_keys=True)
_GENESIS: Final = "0" * 64
_KEY_DIGITS: Final = 20
_TRIES: Final = 20
"""Each lost race means that another process has sealed rows."""
MAX_SCANNED: Final = 1_000
"""Rows that one filtered page reads at most: the trail has no index on what its rows say."""
UNREADABLE: Final = "unreadable"
"""Action of a row that was altered so that it cannot be parsed."""
CHANGES: Final = "changes"
"""Key of `detail` with the values of changed fields: `{name: [before, after]}`."""
LOG: Final = logging.getLogger("horae")
_NO_DETAIL: Final[Mapping[str, Any]] = {}


class AuditRow(NamedTuple):
    """One entry of the trail: `owner` is the owner of the subject, `by` the owner that the actor belongs to."""

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


class AuditFilter(NamedTuple):
    """Conditions on rows, all of which must hold; None matches every row.

    `action` is an action or a group of actions such as `task`; `actor` an owner, an agent, or the id of a token or a session;
    `subject` an id or a name, or its beginning.
    """

    action: str | None = None
    actor: str | None = None
    subject: str | None = None

    def matches(self, row: AuditRow) -> bool:
        return (
            (self.action is None or f"{row.action}.".startswith(f"{self.action}."))
            and (self.actor is None or self.actor in (row.by, row.actor, row.agent))
            and (self.subject is None or row.subject.startswith(self.subject))
        )


ALL_ROWS: Final = AuditFilter()


class ChainVerdict(NamedTuple):
    """Result of a check. `broken` is the first number at which the chain is altered, missing, or cut off at the end.

    A copy of `head` that is kept elsewhere also reveals that the whole chain was rewritten.
    """

    ok: bool
    rows: int
    open_rows: int
    broken: int | None = None
    head: str = _GENESIS


class _Head(NamedTuple):
    """End of the chain. `first` is the oldest row that is kept, `before` the hash that it follows."""

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
        self.rows_made = 0
        """Number of rows that this process has made."""
        self._is_stuck = False
        """The warning is logged once, although the sealing is tried again and again."""

    def row(
        self,
        principal: Principal,
        action: str,
        subject: str,
        detail: Mapping[str, Any] = _NO_DETAIL,
        *,
        owner: str | None = None,
    ) -> tuple[RecordWrite, ...]:
        """Return the record to write with a change; empty for a principal without an actor.

        `owner` is the owner of the subject, if it is not the caller's own. Put no payload and no secret into `detail`.
        """
        if not principal.actor:
            return ()
        now = self._clock.now()
        subject_owner = principal.owner if owner is None else owner
        body = {
            "at": now.isoformat(),
            "action": action,
            "subject": subject,
            "owner": subject_owner,
            "by": principal.owner,
            "actor": principal.actor,
            "via": principal.via,
            "request": principal.request,
            "agent": principal.agent,
            "detail": dict(detail),
        }
        # The counter keeps the order of calls within a process, also while the clock stands still.
        key = f"{max(0, to_microseconds(now)):020d}-{self.rows_made:010d}-{self._entropy(6).hex()}"
        self.rows_made += 1
        return (RecordWrite(Record(OPEN_KIND, key, subject_owner, _canonical(body))),)

    async def page(
        self, principal: Principal, after: str | None = None, limit: int = 100, wanted: AuditFilter = ALL_ROWS
    ) -> Page[AuditRow]:
        """Return rows, newest first: all for an admin, for others the rows about their own subjects.

        With conditions, a page searches `MAX_SCANNED` rows at most: it may have few rows, or none, and still a next page.
        """
        refuse_agent(principal, "audit rows")
        principal.require_scope(Scope.READ)
        check_page(after, limit)
        # Seal first, so that the newest rows are shown too; a process seals its own rows within a second. A full store can still
        # be read.
        with suppress(StoreFull):
            await self.seal()
        try:
            if wanted != ALL_ROWS:
                return await self._search(principal.owner_filter, after, limit, wanted)
            page = await self._records.records(SEALED_KIND, principal.owner_filter, after, limit, newest=True)
        except (ValueError, OverflowError):
            raise refuse_task("bad_page", value=after, wanted="after", most=MAX_PAGE_SIZE) from None
        return Page(tuple(_parse_row(record) for record in page.items), page.after)

    async def _search(self, scope: str | None, after: str | None, limit: int, wanted: AuditFilter) -> Page[AuditRow]:
        found: list[AuditRow] = []
        for _ in range(MAX_SCANNED // MAX_PAGE_SIZE):
            page = await self._records.records(SEALED_KIND, scope, after, MAX_PAGE_SIZE, newest=True)
            for number, record in enumerate(page.items, 1):
                row = _parse_row(record)
                if not wanted.matches(row):
                    continue
                found.append(row)
                if len(found) == limit:
                    is_last = number == len(page.items) and page.after is None
                    return Page(tuple(found), None if is_last else record.key)
            after = page.after
            if after is None:
                break
        return Page(tuple(found), after)

    async def seal(self) -> int:
        """Append open rows, in the order of their keys, to the chain; return how many this process has sealed."""
        sealed = lost = 0
        while lost < _TRIES:
            page = await self._records.records(OPEN_KIND, limit=_SEAL_BATCH)
            if not page.items:
                return sealed
            head = await self._head()
            if await self._records.write_records(_seal_writings(head, page.items)):
                sealed += len(page.items)
                self._is_stuck = False
                if page.after is None:
                    return sealed
            else:
                # Another process has sealed them: read the open rows again.
                lost += 1
        # Losing every race is implausible: the head does not belong to this chain, and `verify` says so.
        if not self._is_stuck:
            LOG.warning("the audit trail cannot be sealed: its head does not fit its rows; see 'horae audit verify'")
        self._is_stuck = True
        return sealed

    async def verify(self, principal: Principal) -> ChainVerdict:
        """Check the whole chain, row by row, including rows that are sealed meanwhile."""
        principal.require_scope(Scope.ADMIN)
        start = await self._head()
        walk = _ChainWalk(start.first - 1, start.before)
        while True:
            async for record in self._chain(walk.number):
                if not walk.follows(record):
                    return await self._verdict(walk, walk.number + 1)
            end = await self._head()
            if (end.number, end.hash) == (walk.number, walk.hash):
                return await self._verdict(walk)
            if end.number <= walk.number or not await self._has_row_after(walk.number):
                return await self._verdict(walk, _first_difference(end.number, walk.number))

    async def _verdict(self, walk: _ChainWalk, broken: int | None = None) -> ChainVerdict:
        open_rows = len((await self._records.records(OPEN_KIND, limit=MAX_PAGE_SIZE)).items)
        return ChainVerdict(broken is None, walk.rows, open_rows, broken, walk.hash)

    async def _chain(self, number: int) -> AsyncIterator[Record]:
        """Yield the sealed rows after that number."""
        after: str | None = _key(number) if number else None
        while True:
            page = await self._records.records(SEALED_KIND, after=after, limit=MAX_PAGE_SIZE)
            for record in page.items:
                yield record
            after = page.after
            if after is None:
                return

    async def _has_row_after(self, number: int) -> bool:
        return await self._records.get_record(SEALED_KIND, _key(number + 1)) is not None

    async def _head(self) -> _Head:
        """Read the head; an unreadable one counts as missing."""
        record = await self._records.get_record(HEAD_KIND, _HEAD_KEY)
        try:
            body = {} if record is None else json.loads(record.body)
            head = _Head(int(body["number"]), body["hash"], int(body["first"]), body["before"])
        except (ValueError, LookupError, TypeError):
            return _Head()
        return head._replace(version=None if record is None else record.version)


class _ChainWalk:
    """Position of a check along the chain."""

    def __init__(self, number: int, before: str) -> None:
        self.number = number
        self.hash = before
        self.rows = 0

    def follows(self, record: Record) -> bool:
        """Advance if the record is the next row, unaltered since it was sealed; return whether it is."""
        try:
            body = json.loads(record.body)
            stated_hash = body.pop("hash")
        except (ValueError, LookupError, AttributeError, TypeError):
            return False
        number = self.number + 1
        is_next = (record.key, body.get("number"), body.get("owner")) == (_key(number), number, record.owner)
        if not is_next or stated_hash != _hash(self.hash, body):
            return False
        self.number, self.hash, self.rows = number, stated_hash, self.rows + 1
        return True


def changed_values(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, dict[str, list[Any]]]:
    """Return the part of a row's `detail` that holds the values before and after a change; empty if none differs."""
    changes = {name: [before.get(name), value] for name, value in after.items() if before.get(name) != value}
    return {CHANGES: changes} if changes else {}


def _seal_writings(head: _Head, rows: Sequence[Record]) -> list[RecordWrite]:
    number, before = head.number, head.hash
    sealed: list[RecordWrite] = []
    for record in rows:
        number += 1
        body = json.loads(record.body) | {"number": number}
        before = _hash(before, body)
        sealed.append(RecordWrite(Record(SEALED_KIND, _key(number), record.owner, _canonical(body | {"hash": before}))))
    body = {"number": number, "hash": before, "first": head.first, "before": head.before}
    head_row = RecordWrite(Record(HEAD_KIND, _HEAD_KEY, "", _canonical(body)), head.version)
    # Records of one kind are adjacent, so that a store can write them in one statement.
    return [head_row, *sealed, *(RecordWrite(record, record.version, dropped=True) for record in rows)]


def _first_difference(end: int, walked: int) -> int:
    """Return the number at which head and rows differ: with as many rows on both sides, the last row was altered."""
    return walked if end == walked else min(end, walked) + 1


def _parse_row(record: Record) -> AuditRow:
    try:
        body = json.loads(record.body)
        at = datetime.fromisoformat(body.pop("at"))
        return AuditRow(at=at, **{name: body[name] for name in AuditRow._fields if name != "at"})
    except (ValueError, LookupError, TypeError, AttributeError):
        # A damaged row is shown as unreadable; the other rows are shown as usual.
        number = int(record.key) if record.key.isdecimal() else 0
        return AuditRow(number, EPOCH, UNREADABLE, "", record.owner, "", "", "", "", None, {}, "")


def _hash(before: str, body: Mapping[str, Any]) -> str:
    return sha256(f"{before}\n{_canonical(body)}".encode()).hexdigest()


def _canonical(body: Mapping[str, Any]) -> str:
    return _encode(body)


def _key(number: int) -> str:
    return f"{number:0{_KEY_DIGITS}d}"
