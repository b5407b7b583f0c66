"""Reads of the agenda: the soonest entries, and entries that wait for a lane or a node. The members of the sorted sets have
owner, priority, due instant and task of an entry, so that few documents are read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from ....model.accounts.system_owner import is_listed, is_scope
from ....model.entry import CLAIMABLE, EntryState
from ....model.ids import to_microseconds
from ....model.lanes.lane import LaneLine, LaneQueue, LaneWaiter
from ....model.lanes.route import is_route
from ....ports.store import MAX_COUNTED, WaitingCounts
from ...codec.json_codecs import instant_of
from ...run_pages import is_owner_large
from ..layout.documents import TaskDocument
from ..layout.keys import due_of_member, number_of_member, parse_entry_member
from ..layout.lane_documents import decode_lane
from ..transactions.runner import RedisTransactions
from .index_reads import fetch_tasks, read_at_once, read_tasks, read_texts

_CHUNK: Final = 1_000


async def read_upcoming(database: RedisTransactions, owner: str | None, limit: int) -> list[TaskDocument]:
    """Return the tasks with the soonest due entries, soonest first."""
    keys = database.keys
    most = 2 * limit
    if owner is not None and not is_scope(owner):
        owned, all_tasks = await read_at_once(
            database, [("ZCARD", keys.owner_tasks(owner)), ("ZCARD", keys.task_numbers)]
        )
        if not is_owner_large(int(owned), int(all_tasks), most, 1):
            documents = await fetch_tasks(database, ("ZRANGE", keys.owner_tasks(owner), 0, -1))
            return _by_due(documents)[:limit]
    while True:
        members, is_complete = await _soonest_members(database, most)
        listed = [each for each in members if is_listed(owner, parse_entry_member(each).owner)]
        ids = dict.fromkeys(parse_entry_member(each).task_id for each in listed)
        if len(ids) >= limit or is_complete:
            return _by_due(await read_tasks(database, ids))[:limit]
        most *= 4


async def _soonest_members(database: RedisTransactions, most: int) -> tuple[list[str], bool]:
    """Return the soonest claimable entries, by due instant, and whether these are all."""
    keys = database.keys
    # One command on an idle deployment: a serving process looks now and then.
    queues: list[str] = []
    while True:
        sets = [keys.timed, keys.ready, *map(keys.queue, queues)]
        answers = await read_at_once(
            database,
            [
                ("ZRANGE", keys.queues, 0, -1),
                *(("ZRANGE", each, 0, most - 1) for each in sets),
                ("ZRANGE", keys.reserved, 0, -1),
            ],
        )
        found, *answers = answers
        if set(found) <= set(queues):
            break
        queues = found
    is_complete = all(len(answer) < most for answer in answers[:-1])
    members = sorted({each for answer in answers for each in answer}, key=_due_key)
    return members if is_complete else members[:most], is_complete


def _due_key(member: str) -> tuple[int, str]:
    return due_of_member(member), parse_entry_member(member).task_id


def _by_due(documents: Iterable[TaskDocument]) -> list[TaskDocument]:
    """Return the tasks that have a claimable entry, by the earliest one."""
    due: list[tuple[int, str, TaskDocument]] = []
    for document in documents:
        instants = [to_microseconds(entry.due) for entry in document.entries if entry.state in CLAIMABLE]
        if instants:
            due.append((min(instants), document.task.id, document))
    return [document for _, _, document in sorted(due, key=lambda each: each[:2])]


async def count_waiting(database: RedisTransactions, owner: str | None, now: datetime) -> WaitingCounts:
    until = to_microseconds(now)
    keys = database.keys
    # One command on an idle deployment: nodes count now and then.
    due_timed, due_ready, members, queues, lanes = await read_at_once(
        database,
        [
            *(("ZCOUNT", index, "-inf", until) for index in (keys.timed, keys.ready)),
            *(("ZRANGE", index, 0, -1) for index in (keys.reserved, keys.queues, keys.parked_lanes)),
        ],
    )
    reserved = [each for each in members if _is_due(each, owner, until)]
    stranded = sum(map(_is_queued, reserved))
    overdue = len(reserved) - stranded
    for index, due in ((keys.timed, due_timed), (keys.ready, due_ready)):
        if due:
            overdue += due if owner is None else await _count_due(database, index, owner, until, MAX_COUNTED - overdue)
    for name in queues:
        stranded += await _count_due(database, keys.queue(name), owner, until, MAX_COUNTED - stranded)
    parked = 0
    for lane, owners in await _parked_owners(database, owner, lanes):
        sizes = await read_at_once(database, [("ZCARD", keys.parked(lane, each)) for each in owners])
        count = sum(map(int, sizes))
        parked, stranded = (parked, stranded + count) if is_route(lane) else (parked + count, stranded)
    return WaitingCounts(*(min(each, MAX_COUNTED) for each in (overdue, parked, stranded)))


def _is_queued(member: str) -> bool:
    return parse_entry_member(member).queue is not None


def _is_due(member: str, owner: str | None, until: int) -> bool:
    return due_of_member(member) <= until and is_listed(owner, parse_entry_member(member).owner)


async def _count_due(database: RedisTransactions, index: str, owner: str | None, until: int, most: int) -> int:
    """Count due entries of a set, up to a bound."""
    if owner is None:
        return min(most, int(await database.client.call("ZCOUNT", index, "-inf", until)))
    count = 0
    async for members in _chunks(database, index, until):
        count += sum(_is_due(each, owner, until) for each in members)
        if count >= most:
            break
    return min(count, most)


async def _chunks(database: RedisTransactions, index: str, until: int) -> AsyncIterator[list[str]]:
    """Yield the members of a set up to a score."""
    start = 0
    while True:
        members = await database.client.call("ZRANGEBYSCORE", index, "-inf", until, "LIMIT", start, _CHUNK)
        yield members
        if len(members) < _CHUNK:
            return
        start += _CHUNK


async def _parked_owners(
    database: RedisTransactions, owner: str | None, lanes: Sequence[str]
) -> list[tuple[str, list[str]]]:
    """Return lanes and routes with parked entries, each with its listed owners."""
    keys = database.keys
    answers = await read_at_once(database, [("ZRANGE", keys.lane_owners(lane), 0, -1) for lane in lanes])
    listed = [[each for each in owners if is_listed(owner, each)] for owners in answers]
    return list(zip(lanes, listed, strict=True))


async def read_stranded(
    database: RedisTransactions, owner: str | None, now: datetime, limit: int
) -> list[TaskDocument]:
    """Return tasks with an entry that is parked at a route, or due in the queue of a route."""
    keys, until = database.keys, to_microseconds(now)
    members: list[str] = []
    # One command on an idle deployment: a serving process looks now and then.
    lanes, names, reserved = await read_at_once(
        database, [("ZRANGE", index, 0, -1) for index in (keys.parked_lanes, keys.queues, keys.reserved)]
    )
    for lane, owners in await _parked_owners(database, owner, lanes):
        if is_route(lane):
            answers = await read_at_once(database, [("ZRANGE", keys.parked(lane, each), 0, -1) for each in owners])
            members += [each for answer in answers for each in answer]
    queued = await read_at_once(database, [("ZRANGEBYSCORE", keys.queue(name), "-inf", until) for name in names])
    members += [each for answer in queued for each in answer if _is_due(each, owner, until)]
    members += [each for each in reserved if _is_queued(each) and _is_due(each, owner, until)]
    members.sort(key=number_of_member)
    ids = dict.fromkeys(parse_entry_member(each).task_id for each in members)
    return await read_tasks(database, list(ids)[:limit])


async def read_lane_queues(database: RedisTransactions) -> tuple[LaneQueue, ...]:
    keys = database.keys
    lanes = [lane for lane in await database.client.call("ZRANGE", keys.parked_lanes, 0, -1) if not is_route(lane)]
    found: list[LaneQueue] = []
    for lane in lanes:
        members = await _parked_members(database, lane, -1)
        if members:
            found.append(LaneQueue(lane, len(members), instant_of[min(map(due_of_member, members))]))
    return tuple(found)


async def _parked_members(database: RedisTransactions, lane: str, limit: int) -> list[str]:
    """Return the first parked entries of a lane, by priority, due and number; -1: all."""
    keys = database.keys
    owners = await database.client.call("ZRANGE", keys.lane_owners(lane), 0, -1)
    last = -1 if limit < 0 else limit - 1
    answers: list[Any] = await read_at_once(
        database, [("ZRANGE", keys.parked(lane, owner), 0, last) for owner in owners]
    )
    members = sorted((each for answer in answers for each in answer), key=_rank)
    return members if limit < 0 else members[:limit]


def _rank(member: str) -> tuple[str, str]:
    """Return priority, due instant and number, then the slot."""
    rank, _, _ = member.partition("\x00")
    return rank, parse_entry_member(member).slot


async def read_queued(database: RedisTransactions, lane: str, limit: int) -> list[TaskDocument]:
    members = await _parked_members(database, lane, limit)
    return await read_tasks(database, [parse_entry_member(each).task_id for each in members])


async def read_lane_line(database: RedisTransactions, lane: str, limit: int) -> LaneLine:
    members = await _parked_members(database, lane, limit + 1)
    names = [parse_entry_member(each) for each in members[:limit]]
    documents = {each.task.id: each for each in await read_tasks(database, [name.task_id for name in names])}
    entries = {
        (task_id, entry.slot): entry
        for task_id, document in documents.items()
        for entry in document.entries
        if entry.state is EntryState.PARKED and entry.lane == lane
    }
    found = [entries[name.task_id, name.slot] for name in names if (name.task_id, name.slot) in entries]
    waiters = tuple(
        LaneWaiter(each.task_id, each.slot, each.owner, each.priority, each.due, each.reparks) for each in found
    )
    (text,) = await read_texts(database, [database.keys.lane(lane)])
    return LaneLine(waiters, decode_lane(text).last_owner, len(members) > limit)
