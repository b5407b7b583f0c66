"""Integrity check of the Redis store: recomputes indexes, lanes and counters from the documents and reports differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from ...model.counts import STATE_PREFIX, total_owner
from ...model.entry import CLAIMABLE, EntryState
from ...model.lanes.route import is_route
from ...model.task import TaskState
from ...schedule import After
from ..chains import contradicting_links, describe_link, find_row_problems
from .layout.counters import parse_counts
from .layout.documents import (
    decode_chain_document,
    decode_record_document,
    decode_run_document,
    decode_stream_document,
    decode_task_document,
)
from .layout.indexes import (
    Members,
    MembersSum,
    members_of_chain_row,
    members_of_record,
    members_of_run,
    members_of_stream,
    members_of_task,
)
from .layout.keys import Keys, parse_entry_member
from .layout.lane_documents import decode_lane
from .reads.index_reads import read_at_once, read_texts
from .transactions.runner import RedisTransactions

_BATCH: Final = 500
_PASSES: Final = 3
_FREE: Final = frozenset(
    {
        *(
            "commits",
            "tokens",
            "schema",
            "metadata",
            "last_number",
            "last_event",
            "events",
            "limits",
            "upkeep",
            "trimmed",
        ),
        *("lanes", "wakeups", "nodes", "ready", "ready_owners", "reserved", "counter_owners", "logged_runs"),
        *("task", "run", "lane", "node", "node_state", "record", "chain", "stream", "chain_lock", "owner_events"),
        *("counters", "log", "messages", "message_numbers"),
        *("plan_rows", "plan_tasks", "plan_names", "quarantined_plans"),
    }
)
"""Kinds of keys that are no indexes of documents."""


async def check_store(database: RedisTransactions) -> tuple[str, ...]:
    """Return every problem. The store may be in use: only what two passes find at different commits is a problem."""
    problems: dict[str, None] = {}
    for number in range(_PASSES):
        before = await database.client.call("GET", database.keys.commits)
        found = dict.fromkeys(await _Check(database).find())
        problems = found if not number else {each: None for each in problems if each in found}
        if not problems or before == await database.client.call("GET", database.keys.commits):
            break
    return tuple(problems)


class _Check:
    def __init__(self, database: RedisTransactions) -> None:
        self._database = database
        self._keys: Keys = database.keys

    async def find(self) -> list[str]:
        names = await self._all_keys()
        by_kind: dict[str, list[str]] = {}
        for name in sorted(names):
            by_kind.setdefault(name.removeprefix(self._keys.tag).partition(":")[0], []).append(name)
        self._texts = {
            kind: await self._read(by_kind.get(kind, []))
            for kind in ("task", "run", "chain", "record", "stream", "lane")
        }
        self._decode()
        problems = [*self._check_rows(), *self._check_lanes()]
        problems += await self._check_streams()
        problems += await self._check_counters()
        problems += await self._check_indexes(by_kind)
        return problems

    async def _all_keys(self) -> set[str]:
        client: Any = self._database.client
        if client.address.layout == "cluster":
            # SCAN has no key that leads to a server, and KEYS would ask all of them.
            return set(await client.call_server("KEYS", f"{self._keys.tag}*"))
        names: set[str] = set()
        cursor: int | str = 0
        while True:
            cursor, found = await self._database.client.call(
                "SCAN", cursor, "MATCH", f"{self._keys.tag}*", "COUNT", 1_000
            )
            names.update(found)
            if int(cursor) == 0:
                return names

    async def _read(self, names: list[str]) -> list[tuple[str, str]]:
        rows: list[tuple[str, str]] = []
        for start in range(0, len(names), _BATCH):
            batch = names[start : start + _BATCH]
            texts = await read_texts(self._database, batch)
            rows += [(name, text) for name, text in zip(batch, texts, strict=True) if text is not None]
        return rows

    def _decode(self) -> None:
        texts = self._texts
        self._documents = {each.task.id: each for each in (decode_task_document(text) for _, text in texts["task"])}
        self._ended = [decode_run_document(text) for _, text in texts["run"]]
        self._rows = [decode_chain_document(text) for _, text in texts["chain"]]
        self._records = [decode_record_document(text) for _, text in texts["record"]]
        self._states = [decode_stream_document(text) for _, text in texts["stream"]]
        prefix = self._keys.lane("")
        self._lanes = {name.removeprefix(prefix): decode_lane(text) for name, text in texts["lane"]}

    def _expected(self) -> Members:
        total, keys = MembersSum(), self._keys
        for document in self._documents.values():
            total.add(members_of_task(keys, document))
        for run in self._ended:
            total.add(members_of_run(keys, run))
        for row in self._rows:
            total.add(members_of_chain_row(keys, row))
        for record in self._records:
            total.add(members_of_record(keys, record))
        for state in self._states:
            total.add(members_of_stream(keys, state.stream))
        return total.total

    # --- documents -----------------------------------------------------------------------------------------------------

    def _check_rows(self) -> Iterator[str]:
        documents = self._documents
        live = {run.id for document in documents.values() for run in document.live}
        for run in self._ended:
            if run.task_id not in documents:
                yield f"The run {run.id} belongs to {run.task_id}, which is not there."
            if run.id in live:
                yield f"The run {run.id} is live, but the ledger says that it has ended."
        for document in documents.values():
            is_idle = document.status.state is TaskState.ACTIVE and not document.entries and not document.live
            if is_idle and not isinstance(document.task.schedule, After):
                yield f"The task {document.task.id} is active, but nothing of it is queued or running."
        for predecessor, successor in contradicting_links(
            (each.task, each.status.state) for each in documents.values()
        ):
            if predecessor in documents:
                yield describe_link(predecessor, successor)
        for row in self._rows:
            if row.task_id not in documents:
                yield f"A chain row belongs to {row.task_id}, which is not there."
        yield from find_row_problems(self._rows)

    def _check_lanes(self) -> Iterator[str]:
        taken: Counter[str] = Counter()
        offered: Counter[str] = Counter()
        parked: Counter[str] = Counter()
        for document in self._documents.values():
            for run in document.live:
                taken.update(set(run.lanes))
            for entry in document.entries:
                if entry.lane is not None and not is_route(entry.lane):
                    offered[entry.lane] += entry.state in CLAIMABLE
                    parked[entry.lane] += entry.state is EntryState.PARKED
        for name in sorted({*taken, *offered, *parked, *self._lanes}):
            lane = self._lanes.get(name) or decode_lane(None)
            if lane.taken != taken[name]:
                yield f"The lane {name} counts {lane.taken} slots taken, but has {taken[name]} live runs."
            if (lane.offered, lane.parked) != (offered[name], parked[name]):
                yield f"The lane {name} counts other entries than wait in it."
            is_stuck = lane.rate is not None and lane.wake_at is None and parked[name] and not offered[name]
            if is_stuck and taken[name] < (1 if lane.limit is None else lane.limit):
                yield f"Entries wait in the lane {name} for its rate, and nothing will wake them."

    async def _check_streams(self) -> list[str]:
        keys, problems = self._keys, list[str]()
        streams = [state.stream for state in self._states]
        sizes = await read_at_once(self._database, [("HLEN", keys.messages(each.owner, each.name)) for each in streams])
        for (stream, cursors, _), size in zip(self._states, sizes, strict=True):
            if int(size) != stream.stored:
                problems.append(f"The stream {stream.name} of {stream.owner} counts other messages than it holds.")
            problems += [
                f"The reader {cursor.reader} of the stream {stream.name} of {stream.owner} is beyond its end."
                for cursor in cursors
                if cursor.number > stream.last
            ]
        return problems

    async def _check_counters(self) -> list[str]:
        keys = self._keys
        expected: Counter[tuple[str, str]] = Counter()
        for document in self._documents.values():
            name = STATE_PREFIX + document.status.state
            expected[document.task.owner, name] += 1
            expected[total_owner(document.task.owner), name] += 1
        counted: Counter[tuple[str, str]] = Counter()
        for owner in await self._database.client.call("ZRANGE", keys.counter_owners, 0, -1):
            fields = await self._database.client.call("HGETALL", keys.counters(owner))
            for (_, name), number in parse_counts(fields).items():
                if name.startswith(STATE_PREFIX):
                    counted[owner, name] = number
        return [
            f"{counted[key]} tasks of {key[0] or 'all owners'} are counted as {key[1]}, but there are {expected[key]}."
            for key in sorted({*expected, *counted})
            if expected[key] != counted[key]
        ]

    # --- indexes -------------------------------------------------------------------------------------------------------

    async def _check_indexes(self, by_kind: dict[str, list[str]]) -> list[str]:
        expected = self._expected()
        wanted: dict[str, set[str]] = {}
        for place in (*expected.scores, *expected.fields):
            wanted.setdefault(place.key, set()).add(place.member)
        for name in expected.names:
            wanted.setdefault(name.key, set()).add(name.member)
        stored = {name for kind, names in by_kind.items() if kind not in _FREE for name in names}
        moved = await self._moved_entries()
        hashes = {place.key for place in expected.fields} | {self._keys.live, self._keys.task_keys}
        problems: list[str] = []
        for key in sorted({*stored, *wanted}):
            is_hash = key in hashes or key.startswith(self._keys.stream_bytes(""))
            words = ("HKEYS", key) if is_hash else ("ZRANGE", key, 0, -1)
            found = {*await self._database.client.call(*words), *moved.get(key, ())}
            index = key.removeprefix(self._keys.tag)
            problems += [
                _describe(index, member, is_missing=member not in found)
                for member in sorted(found ^ wanted.get(key, set()))
            ]
        return problems

    async def _moved_entries(self) -> dict[str, set[str]]:
        """Return entries that a claim has moved, by the set in which a commit has put them."""
        keys = self._keys
        ready, reserved = await read_at_once(
            self._database, [("ZRANGE", keys.ready, 0, -1), ("ZRANGE", keys.reserved, 0, -1)]
        )
        moved: dict[str, set[str]] = {keys.timed: set(ready)}
        for member in reserved:
            queue = parse_entry_member(member).queue
            moved.setdefault(keys.timed if queue is None else keys.queue(queue), set()).add(member)
        for name in {parse_entry_member(each).queue for each in reserved} - {None}:
            moved.setdefault(keys.queues, set()).add(str(name))
        return moved


def _describe(index: str, member: str, *, is_missing: bool) -> str:
    name = " ".join(part for part in member.split("\x00") if part)
    place = " ".join(part for part in index.split("\x00") if part)
    if is_missing:
        return f"The index {place} lacks {name}."
    return f"The index {place} has {name}, which is not there."
