"""Indexes of documents: the members that a task, a run, a record or a chain row has in sorted sets, and their updates.

All indexes are sorted sets, except the hashes `live` and `task_keys`. An update is the difference between the members
before and after a change, so a document cannot leave a member behind. `check` compares the same members with the sets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from ....lifecycle.chain_graph import links_of
from ....model.chain_row import ChainRow, ChainState
from ....model.change import Start
from ....model.entry import CLAIMABLE, MAX_REPARKS, Entry, EntryState
from ....model.ids import to_microseconds
from ....model.lanes.route import is_queue
from ....model.messages import Stream
from ....model.record import Record
from ....model.run import Run, RunState
from ....model.task import TaskState, TaskStatus
from ...codec.rows import names_planned_instant
from ..transactions.transaction import Transaction, Word
from .documents import TaskDocument
from .keys import (
    SEPARATOR,
    Keys,
    cancel_member,
    chain_member,
    entry_member,
    key_field,
    record_member,
    run_member,
    stream_member,
)

ENDED_STATES: Final = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED})


class Place(NamedTuple):
    """Member of a sorted set."""

    key: str
    member: str


Scores: TypeAlias = dict[Place, int]
"""Members of sorted sets with their scores, 0 where the order is that of the members."""


class Names(NamedTuple):
    """Name in a sorted set of names, which is there as long as `stands_for` is not empty."""

    key: str
    member: str
    stands_for: str


class Members(NamedTuple):
    """Members of one document."""

    scores: Scores
    names: frozenset[Names] = frozenset()
    fields: Mapping[Place, str] = {}
    """Fields of hashes with their values."""


NOTHING: Final = Members({})


def members_of_task(keys: Keys, document: TaskDocument) -> Members:
    """Return the members of a task document: of the task, its status, its entries and its live runs."""
    scores: Scores = dict(_scores_of_task(keys, document))
    number, task, _, entries, live = document
    names = {Names(keys.owners, task.owner, keys.owner_tasks(task.owner))}
    fields: dict[Place, str] = {}
    if task.key is not None:
        fields[Place(keys.task_keys, key_field(task.owner, task.key))] = task.id
    for entry in entries:
        _add_entry(keys, number, entry, scores, names)
    for run in live:
        fields[Place(keys.live, run.id)] = task.id
        scores.update(_scores_of_run(keys, run))
    return Members(scores, frozenset(names), fields)


def _scores_of_task(keys: Keys, document: TaskDocument) -> Iterator[tuple[Place, int]]:
    number, task, *_ = document
    task_id, owner = task.id, task.owner
    yield Place(keys.task_numbers, task_id), number
    yield Place(keys.task_ids, task_id), 0
    yield Place(keys.owner_tasks(owner), task_id), number
    for name, value in dict.fromkeys(task.labels):
        yield Place(keys.labelled(owner, name, value), task_id), number
        yield Place(keys.labelled("", name, value), task_id), number
    if task.successors or links_of(task):
        yield Place(keys.linked_tasks, task_id), number
    yield from _scores_of_status(keys, document)


def _scores_of_status(keys: Keys, document: TaskDocument) -> Iterator[tuple[Place, int]]:
    number, task, status = document[:3]
    task_id = task.id
    if status.state is not TaskState.ACTIVE:
        yield Place(keys.state_tasks(status.state), task_id), number
        is_needed = task.successors or (status.state is TaskState.FAILED and links_of(task))
        if status.state in ENDED_STATES and status.ended is not None and not is_needed:
            yield Place(keys.ended_tasks, task_id), to_microseconds(status.ended)
    elif status.failures:
        yield Place(keys.failing, task_id), number


def _add_entry(keys: Keys, number: int, entry: Entry, scores: Scores, names: set[Names]) -> None:
    state, lane = entry.state, entry.lane
    if state in CLAIMABLE:
        member, due = entry_member(number, entry), to_microseconds(entry.due)
        if lane is not None and is_queue(lane):
            scores[Place(keys.queue(lane), member)] = due
            names.add(Names(keys.queues, lane, keys.queue(lane)))
            return
        scores[Place(keys.timed, member)] = due
        if entry.priority:
            scores[Place(keys.prioritised, member)] = 0
    elif state is EntryState.PARKED and lane is not None:
        member = entry_member(number, entry)
        parked, owners = keys.parked(lane, entry.owner), keys.lane_owners(lane)
        scores[Place(parked, member)] = 0
        names.add(Names(owners, entry.owner, parked))
        names.add(Names(keys.parked_lanes, lane, owners))
        if entry.reparks >= MAX_REPARKS:
            scores[Place(keys.reparked(lane), member)] = 0


def members_of_run(keys: Keys, run: Run) -> Members:
    """Return the members of a document of an ended run."""
    return Members(_scores_of_run(keys, run))


def _scores_of_run(keys: Keys, run: Run) -> Scores:
    return {Place(key, member): 0 for key, member in _places_of_run(keys, run)}


def _places_of_run(keys: Keys, run: Run) -> list[tuple[str, str]]:
    """Return the sets that have the run, each with its member; a hot path, so without the class."""
    planned = to_microseconds(run.planned)
    member = run_member(planned, run.attempt, run.id)
    places = [(keys.runs, member), (keys.task_runs(run.task_id), member), (keys.owner_runs(run.owner), member)]
    if run.span is not None:
        places.append((keys.span_runs, member))
    if not names_planned_instant(run.id, planned):
        places.append((keys.stray_runs, run.id))
    if run.live:
        if run.node is not None:
            places.append((keys.node_runs(run.node), run.id))
            if run.cancel is not None:
                places.append((keys.node_cancels(run.node), cancel_member(run.id, run.cancel)))
        places += [(keys.lane_runs(lane), run.id) for lane in run.lanes]
    elif run.state is not RunState.SUCCEEDED:
        places.append((keys.state_runs(run.state), member))
    return places


def members_of_record(keys: Keys, record: Record) -> Members:
    known = keys.record_keys(record.kind)
    scores: Scores = {
        Place(known, record.key): 0,
        Place(keys.owner_record_keys(record.kind, record.owner), record.key): 0,
    }
    if record.expires is not None:
        scores[Place(keys.expiries, record_member(record.kind, record.key))] = to_microseconds(record.expires)
    return Members(scores, frozenset({Names(keys.record_kinds, record.kind, known)}))


def members_of_chain_row(keys: Keys, row: ChainRow) -> Members:
    root, updated = row.root.key, to_microseconds(row.updated)
    scores: Scores = {
        Place(keys.chains, chain_member(row.task_id, root)): updated,
        Place(keys.task_chains(row.task_id), root): updated,
        Place(keys.root_chains(root), row.task_id): 0,
    }
    if row.state is ChainState.OPEN:
        scores[Place(keys.open_chains(row.task_id), root)] = 0
    if row.planned is not None:
        scores[Place(keys.planned_chains(row.task_id), root)] = to_microseconds(row.planned)
    return Members(scores)


def members_of_stream(keys: Keys, stream: Stream) -> Members:
    member = stream_member(stream.owner, stream.name)
    scores: Scores = {Place(keys.streams, member): 0}
    if stream.stored:
        scores[Place(keys.stream_sizes, member)] = stream.stored
        if stream.oldest is not None:
            scores[Place(keys.stream_ages, member)] = to_microseconds(stream.oldest)
        if stream.keep is not None or stream.keep_for is not None:
            scores[Place(keys.capped_streams, member)] = 0
    return Members(scores, fields={Place(keys.stream_bytes(stream.owner), stream.name): str(stream.bytes)})


class MembersSum:
    """Members of all documents of a transaction: added up, an update takes few commands."""

    def __init__(self) -> None:
        self._scores: Scores = {}
        self._names: set[Names] = set()
        self._fields: dict[Place, str] = {}

    def add(self, part: Members) -> None:
        self._scores.update(part.scores)
        self._names |= part.names
        self._fields.update(part.fields)

    @property
    def total(self) -> Members:
        return Members(self._scores, frozenset(self._names), self._fields)


def join_members(*parts: Members) -> Members:
    """Return the members of several documents, such as a task and its run that has ended: what stays is not written again."""
    scores: Scores = {}
    fields: dict[Place, str] = {}
    for part in parts:
        scores.update(part.scores)
        fields.update(part.fields)
    return Members(scores, frozenset().union(*(part.names for part in parts)), fields)


def update_indexes(transaction: Transaction, before: Members, after: Members) -> None:
    """Add the commands that make the indexes of a document those of `after`, at the commit."""
    changes = IndexChanges(transaction.keys)
    changes.replace(before, after)
    changes.write(transaction)


class IndexChanges:
    """Changes of the indexes of many documents, turned into few commands. No two documents share a member."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._added: defaultdict[str, list[Word]] = defaultdict(list)
        """Scores and members, by sorted set."""
        self._removed: defaultdict[str, list[Word]] = defaultdict(list)
        self._fields: defaultdict[str, list[Word]] = defaultdict(list)
        """Fields and values, by hash."""
        self._removed_fields: defaultdict[str, list[Word]] = defaultdict(list)
        self._names: set[Names] = set()
        self._former_names: set[Names] = set()

    def replace(self, before: Members, after: Members) -> None:
        """Add the change of a document from these members to those."""
        old, new = before.scores, after.scores
        for place in old:
            if place not in new:
                self._removed[place.key].append(place.member)
        for place, score in new.items():
            if old.get(place) != score:
                self._added[place.key] += (score, place.member)
        for place in before.fields:
            if place not in after.fields:
                self._removed_fields[place.key].append(place.member)
        for place, value in after.fields.items():
            if before.fields.get(place) != value:
                self._fields[place.key] += (place.member, value)
        self._names |= after.names - before.names
        self._former_names |= before.names - after.names

    def replace_task(self, before: TaskDocument | None, after: TaskDocument | None, ended: Mapping[str, Run]) -> None:
        """Add the change of a task, with its runs that have ended. Hot path: what stays the same is not looked at."""
        keys = self._keys
        if before is None or after is None or before.task is not after.task:
            old, new = (NOTHING if each is None else members_of_task(keys, each) for each in (before, after))
            self.replace(old, join_members(new, *(members_of_run(keys, run) for run in ended.values())))
            return
        if _listing_of(before.status) != _listing_of(after.status):
            self._replace_status(before, after)
        if before.entries is not after.entries:
            self._replace_entries(after.number, before.entries, after.entries)
        if before.live is not after.live or ended:
            runs = {run.id: run for run in after.live}
            runs.update(ended)
            self._replace_runs(before.live, runs)

    def add_start(self, number: int, member: str, start: Start) -> None:
        """Add an ordinary start of a run whose id begins with its planned instant: the entry with this member became the run."""
        keys, run, following = self._keys, start.run, start.following
        self._removed[keys.timed].append(member)
        if following is not None:
            self._added[keys.timed] += (to_microseconds(following.due), entry_member(number, following))
        listed = run_member(to_microseconds(run.planned), run.attempt, run.id)
        for key in (keys.runs, keys.task_runs(run.task_id), keys.owner_runs(run.owner)):
            self._added[key] += (0, listed)
        self._added[keys.node_runs(run.node or "")] += (0, run.id)
        self._fields[keys.live] += (run.id, run.task_id)

    def add_success(self, number: int, run: Run, status: TaskStatus) -> None:
        """Add an ordinary success of a run that was on a node, of a task without failures."""
        keys = self._keys
        self._removed[keys.node_runs(run.node or "")].append(run.id)
        self._removed_fields[keys.live].append(run.id)
        if status.state is not TaskState.ACTIVE and status.ended is not None:
            # A task with successors has no ordinary successes.
            self._added[keys.state_tasks(status.state)] += (number, run.task_id)
            self._added[keys.ended_tasks] += (to_microseconds(status.ended), run.task_id)

    def _replace_status(self, before: TaskDocument, after: TaskDocument) -> None:
        old = dict(_scores_of_status(self._keys, before))
        if old:
            self.replace(Members(old), Members(dict(_scores_of_status(self._keys, after))))
            return
        for (key, member), score in _scores_of_status(self._keys, after):
            self._added[key] += (score, member)

    def _replace_entries(self, number: int, before: tuple[Entry, ...], after: tuple[Entry, ...]) -> None:
        kept = set(map(id, before)) & set(map(id, after)) if before and after else ()
        timed = self._keys.timed
        old: list[Entry] = []
        new: list[Entry] = []
        for entry in before:
            if id(entry) in kept:
                continue
            if _is_plain(entry):
                self._removed[timed].append(entry_member(number, entry))
            else:
                old.append(entry)
        for entry in after:
            if id(entry) in kept:
                continue
            if _is_plain(entry):
                self._added[timed] += (to_microseconds(entry.due), entry_member(number, entry))
            else:
                new.append(entry)
        if old or new:
            self.replace(_members_of_entries(self._keys, number, old), _members_of_entries(self._keys, number, new))

    def _replace_runs(self, before: tuple[Run, ...], after: dict[str, Run]) -> None:
        keys = self._keys
        for run in before:
            later = after.pop(run.id, None)
            if later is run:
                continue
            if later is not None and _is_plain_success(run, later):
                self._removed[keys.node_runs(run.node or "")].append(run.id)
            else:
                new: Scores = {} if later is None else _scores_of_run(keys, later)
                self.replace(Members(_scores_of_run(keys, run)), Members(new))
            if later is None or not later.live:
                self._removed_fields[keys.live].append(run.id)
        for run in after.values():
            for key, member in _places_of_run(keys, run):
                self._added[key] += (0, member)
            if run.live:
                self._fields[keys.live] += (run.id, run.task_id)

    def write(self, transaction: Transaction) -> None:
        """Add the commands to the transaction; removals first, because an entry may keep its member."""
        timed, queue = self._keys.timed, self._keys.queue("")
        for key, members in self._removed.items():
            transaction.call_with("ZREM", key, members)
            if key == timed or key.startswith(queue):
                _leave_agenda(transaction, key, members)
        for key, words in self._added.items():
            transaction.call_with("ZADD", key, words)
        for key, words in self._removed_fields.items():
            transaction.call_with("HDEL", key, words)
        for key, words in self._fields.items():
            transaction.call_with("HSET", key, words)
        for name in sorted(self._names):
            transaction.call("ZADD", name.key, 0, name.member)
        # Owners of a lane before lanes: the first may become empty, which removes the second.
        pruned = self._former_names - self._names
        for name in sorted(pruned, key=lambda each: each.key == self._keys.parked_lanes):
            transaction.call("PRUNE", *name)


def _members_of_entries(keys: Keys, number: int, entries: Iterable[Entry]) -> Members:
    scores: Scores = {}
    names: set[Names] = set()
    for entry in entries:
        _add_entry(keys, number, entry, scores, names)
    return Members(scores, frozenset(names))


def _is_plain(entry: Entry) -> bool:
    """Whether an entry is on the agenda of all nodes, and in no other index."""
    return entry.lane is None and entry.priority == 0 and entry.state in CLAIMABLE


def _is_plain_success(before: Run, after: Run) -> bool:
    """Whether a run that was on a node, in no lane, has succeeded: it leaves the list of the node, and no other."""
    return (
        after.state is RunState.SUCCEEDED
        and before.node is not None
        and not before.lanes
        and before.cancel is None
        and (before.planned, before.attempt, before.owner) == (after.planned, after.attempt, after.owner)
    )


def _listing_of(status: TaskStatus) -> tuple[object, ...]:
    """Return what of a status decides where a task is listed."""
    return status.state, status.ended, status.failures > 0, status.pause is None or status.pause.cause


def _leave_agenda(transaction: Transaction, key: str, members: list[Word]) -> None:
    """Remove entries also from the sets to which a claim may have moved them."""
    keys = transaction.keys
    transaction.call_with("ZREM", keys.reserved, members)
    if key == keys.timed:
        by_owner: defaultdict[str, list[Word]] = defaultdict(list)
        for member in members:
            _, owner, _ = str(member).split(SEPARATOR, 2)
            by_owner[owner].append(member)
        for owner, owned in by_owner.items():
            transaction.call_with("UNREADY", owner, owned)
