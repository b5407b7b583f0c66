"""Names of all Redis keys of one deployment. Every name begins with the hash tag, so that all are in one slot of a cluster."""

from __future__ import annotations

from typing import Final, NamedTuple

from ....model.entry import CLAIMABLE, Entry
from ....model.ids import to_microseconds
from ....model.lanes.route import is_queue

SEPARATOR: Final = "\x00"
"""Between the parts of a member of a sorted set, such as task and slot of an entry: it occurs in no id and no slot."""
_PRIORITY_OFFSET: Final = 1 << 19
_DUE_OFFSET: Final = 1 << 60
_DUE_START: Final = 5
_OFFSET: Final = 2**62
"""Makes all microseconds positive, so that texts of equal length are in their order."""


class Keys:
    """Documents are strings that begin with their version; the type of every other key is stated with it."""

    def __init__(self, prefix: str = "horae") -> None:  # noqa: PLR0915 - a list of names
        self.tag: Final = f"{{{prefix}}}:"
        self.document_prefixes: Final = tuple(
            f"{self.tag}{kind}:" for kind in ("task", "run", "lane", "node", "record", "chain", "stream")
        )
        self.commits: Final = self._key("commits")
        """Counter: the number of the last commit."""
        self.tokens: Final = self._key("tokens")
        """Hash: `epoch`, `counter` and the replication id `replid` of the last claim."""
        self.schema: Final = self._key("schema")
        self.metadata: Final = self._key("metadata")
        """Hash: facts about the deployment by name."""
        self.upkeep: Final = self._key("upkeep")
        """Hash: what upkeep has done last."""
        self.trimmed: Final = self._key("trimmed")
        """Document: number of the last event that was removed; written by each removal of events."""

        # Sorted sets whose members have no score are in the order of the members, as UTF-8.
        self.task_numbers: Final = self._key("tasks")
        """Sorted set: task ids by number, in the order in which they were added."""
        self.task_ids: Final = self._key("task_ids")
        """Sorted set without scores: task ids."""
        self.last_number: Final = self._key("last_number")
        """Counter: the number of the task that was added last."""
        self.task_keys: Final = self._key("task_keys")
        """Hash: task id by owner and natural key (`key_field`)."""
        self.failing: Final = self._key("failing")
        """Sorted set: ids of active tasks whose last occurrence failed, by number."""
        self.ended_tasks: Final = self._key("ended_tasks")
        """Sorted set: ids of ended tasks that no other task needs, by the microsecond of their end."""
        self.linked_tasks: Final = self._key("linked_tasks")
        """Sorted set: ids of tasks that run after others or have successors, by number."""

        self.timed: Final = self._key("timed")
        """Sorted set: timed entries (`entry_member`) by due microsecond, without those in the queue of a route.

        A claim moves entries of a backlog to `ready`, and all that it takes to `reserved`, without a commit.
        """
        self.ready: Final = self._key("ready")
        """Sorted set: entries of a backlog by due microsecond; each is in the queue of its owner, too."""
        self.ready_owners: Final = self._key("ready_owners")
        """Sorted set without scores: owners with entries of a backlog."""
        self.owners: Final = self._key("owners")
        """Sorted set without scores: owners with tasks."""
        self.prioritised: Final = self._key("prioritised")
        """Sorted set without scores: claimable entries with a priority."""
        self.reserved: Final = self._key("reserved")
        """Sorted set: entries that a claim has reserved, by the microsecond at which the reservation ends."""
        self.queues: Final = self._key("queues")
        """Sorted set without scores: names of the queues of routes that are not empty."""
        self.parked_lanes: Final = self._key("parked_lanes")
        """Sorted set without scores: lanes and routes with parked entries."""
        self.wakeups: Final = self._key("wakeups")
        """Sorted set: lanes with a rate by the microsecond of their wake-up."""

        self.live: Final = self._key("live")
        """Hash: task id of each live run."""
        self.runs: Final = self._key("runs")
        """Sorted set without scores: all runs (`run_member`) by planned instant, attempt and id."""
        self.span_runs: Final = self._key("span_runs")
        """Sorted set without scores: runs (`run_member`) that stand for several occurrences."""
        self.stray_runs: Final = self._key("stray_runs")
        """Sorted set without scores: ids of runs that do not encode their planned instant."""
        self.chains: Final = self._key("chains")
        """Sorted set: chain rows (`chain_member`) by the microsecond of their last change."""

        self.events: Final = self._key("events")
        """Stream of events; the id of the event with number n is n-0."""
        self.last_event: Final = self._key("last_event")
        """Counter: the number of the last event."""

        self.nodes: Final = self._key("nodes")
        """Sorted set without scores: ids of nodes."""
        self.lanes: Final = self._key("lanes")
        """Sorted set without scores: names of lanes with a document."""
        self.limits: Final = self._key("limits")
        """Document: owners with a limit, and blocked owners."""
        self.counter_owners: Final = self._key("counter_owners")
        """Sorted set without scores: owners with counters; the empty name has those of all owners."""

        self.expiries: Final = self._key("expiries")
        """Sorted set: records (`record_member`) by the microsecond at which they expire."""
        self.record_kinds: Final = self._key("record_kinds")
        """Sorted set without scores: kinds with records."""
        self.streams: Final = self._key("streams")
        """Sorted set without scores: message streams (`stream_member`)."""
        self.stream_prefix: Final = self._key("stream:")
        """Begins the names of the documents of streams."""
        self.stream_ages: Final = self._key("stream_ages")
        """Sorted set: streams with messages by the microsecond of the oldest one."""
        self.stream_sizes: Final = self._key("stream_sizes")
        """Sorted set: streams with messages by their number."""
        self.capped_streams: Final = self._key("capped_streams")
        """Sorted set without scores: streams with messages and caps of their own."""
        self.logged_runs: Final = self._key("logged_runs")
        """Sorted set without scores: ids of runs with log lines."""

        self.has_plan_layout = False
        """Whether plans are shown in the documented layout (`plan_layout.py`); found out when the store is opened."""
        self.plan_rows: Final = self._key("plan_rows")
        """Hash: the last written state of a plan in the documented layout, by task id."""
        self.plan_tasks: Final = self._key("plan_tasks")
        """Hash: task id of each member of the documented layout that Horae has written."""
        self.plan_names: Final = self._key("plan_names")
        """Hash: the member of an adopted plan as another program has written it, by the member as Horae writes it."""
        self.quarantined_plans: Final = self._key("quarantined_plans")
        """Hash: why a plan of another program was not adopted, or its change not followed, by member."""

    def _key(self, name: str) -> str:
        return self.tag + name

    def channel_of(self, database: int) -> str:
        """Channel of wake-ups: channels are the same in all databases of a server."""
        return f"{self.tag}wake:{database}"

    # --- documents ---------------------------------------------------------------------------------------------------

    def task(self, task_id: str) -> str:
        return f"{self.tag}task:{task_id}"

    def run(self, run_id: str) -> str:
        return f"{self.tag}run:{run_id}"

    def lane(self, name: str) -> str:
        return f"{self.tag}lane:{name}"

    def node(self, node_id: str) -> str:
        return f"{self.tag}node:{node_id}"

    def record(self, kind: str, key: str) -> str:
        return f"{self.tag}record:{kind}{SEPARATOR}{key}"

    def chain(self, task_id: str, root: str) -> str:
        """Document: the chain row of a task for a root occurrence (`RootOccurrence.key`)."""
        return f"{self.tag}chain:{task_id}{SEPARATOR}{root}"

    def stream(self, owner: str, name: str) -> str:
        """Document: a message stream with its cursors and gaps."""
        return f"{self.stream_prefix}{stream_member(owner, name)}"

    # --- indexes -----------------------------------------------------------------------------------------------------

    def owner_tasks(self, owner: str) -> str:
        """Sorted set: task ids of an owner by number."""
        return f"{self.tag}owner_tasks:{owner}"

    def state_tasks(self, state: str) -> str:
        """Sorted set: ids of tasks in a state by number; there is none for `active`."""
        return f"{self.tag}state_tasks:{state}"

    def labelled(self, owner: str, name: str, value: str) -> str:
        """Sorted set: ids of an owner's tasks with a label by number; the empty owner has those of all owners."""
        return f"{self.tag}labelled:{owner}{SEPARATOR}{name}{SEPARATOR}{value}"

    def task_runs(self, task_id: str) -> str:
        """Sorted set without scores: runs of a task (`run_member`)."""
        return f"{self.tag}task_runs:{task_id}"

    def owner_runs(self, owner: str) -> str:
        """Sorted set without scores: runs of an owner (`run_member`)."""
        return f"{self.tag}owner_runs:{owner}"

    def state_runs(self, state: str) -> str:
        """Sorted set without scores: ended runs in a state (`run_member`); there is none for `succeeded`."""
        return f"{self.tag}state_runs:{state}"

    def node_runs(self, node_id: str) -> str:
        """Sorted set without scores: ids of the live runs of a node."""
        return f"{self.tag}node_runs:{node_id}"

    def lane_runs(self, lane: str) -> str:
        """Sorted set without scores: ids of the live runs that hold a slot of a lane."""
        return f"{self.tag}lane_runs:{lane}"

    def node_state(self, node_id: str) -> str:
        """Hash: fields of a node that its renewals change."""
        return f"{self.tag}node_state:{node_id}"

    def node_cancels(self, node_id: str) -> str:
        """Sorted set without scores: live runs of a node with a request to end, each with its reason (`cancel_member`)."""
        return f"{self.tag}node_cancels:{node_id}"

    def ready_of(self, owner: str) -> str:
        """Sorted set without scores: entries of a backlog of an owner (`entry_member`)."""
        return f"{self.tag}ready:{owner}"

    def reparked(self, lane: str) -> str:
        """Sorted set without scores: parked entries of a lane (`entry_member`) that go before all others."""
        return f"{self.tag}reparked:{lane}"

    def open_chains(self, task_id: str) -> str:
        """Sorted set without scores: root keys of the open chain rows of a task."""
        return f"{self.tag}open_chains:{task_id}"

    def planned_chains(self, task_id: str) -> str:
        """Sorted set: root keys of the chain rows of a task by planned microsecond."""
        return f"{self.tag}planned_chains:{task_id}"

    def chain_lock(self, owner: str) -> str:
        """Document: written by each transaction that changes links between tasks of an owner."""
        return f"{self.tag}chain_lock:{owner}"

    def lane_owners(self, lane: str) -> str:
        """Sorted set without scores: owners with entries that are parked in a lane."""
        return f"{self.tag}lane_owners:{lane}"

    def parked(self, lane: str, owner: str) -> str:
        """Sorted set without scores: parked entries of an owner in a lane (`entry_member`)."""
        return f"{self.tag}parked:{lane}{SEPARATOR}{owner}"

    def queue(self, name: str) -> str:
        """Sorted set: entries (`entry_member`) in the queue of a route by due microsecond."""
        return f"{self.tag}queue:{name}"

    def task_chains(self, task_id: str) -> str:
        """Sorted set: root keys of the chain rows of a task by the microsecond of their last change."""
        return f"{self.tag}task_chains:{task_id}"

    def root_chains(self, root: str) -> str:
        """Sorted set without scores: ids of the tasks with a chain row for a root."""
        return f"{self.tag}root_chains:{root}"

    def record_keys(self, kind: str) -> str:
        """Sorted set without scores: keys of the records of a kind."""
        return f"{self.tag}record_keys:{kind}"

    def owner_record_keys(self, kind: str, owner: str) -> str:
        """Sorted set without scores: keys of the records of a kind and an owner."""
        return f"{self.tag}owner_record_keys:{kind}{SEPARATOR}{owner}"

    def owner_events(self, owner: str) -> str:
        """Sorted set: numbers of the events of an owner."""
        return f"{self.tag}owner_events:{owner}"

    def counters(self, owner: str) -> str:
        """Hash: counters of an owner (`counter_field`)."""
        return f"{self.tag}counters:{owner}"

    # --- values without a version ------------------------------------------------------------------------------------

    def log(self, run_id: str) -> str:
        """List: log lines of a run."""
        return f"{self.tag}log:{run_id}"

    def messages(self, owner: str, stream: str) -> str:
        """Hash: messages of a stream by number."""
        return f"{self.tag}messages:{owner}{SEPARATOR}{stream}"

    def message_numbers(self, owner: str, stream: str) -> str:
        """Hash: numbers of the messages of a stream by source and id (`identity_field`)."""
        return f"{self.tag}message_numbers:{owner}{SEPARATOR}{stream}"

    def stream_bytes(self, owner: str) -> str:
        """Hash: bytes of the streams of an owner by name."""
        return f"{self.tag}stream_bytes:{owner}"


def entry_member(number: int, entry: Entry) -> str:
    """Return the member of an entry of the task with this number.

    It begins with its rank: priority, due instant and number, in digits of a fixed width. So members in their order are in
    the order of claims, and a script knows all that it needs from a member alone.
    """
    lane = entry.lane
    queue = f"{SEPARATOR}{lane}" if lane is not None and entry.state in CLAIMABLE and is_queue(lane) else ""
    plain = plain_entry_member(
        number, entry.priority, to_microseconds(entry.due), entry.owner, entry.task_id, entry.slot
    )
    return plain + queue


def plain_entry_member(number: int, priority: int, due: int, owner: str, task_id: str, slot: str) -> str:
    """Return the member of an entry that is in no queue of a route."""
    due_text = f"1{due:015x}" if due >= 0 else f"0{due + _DUE_OFFSET:015x}"
    rank = f"{_PRIORITY_OFFSET - priority:05x}{due_text}{number:012x}"
    return f"{rank}{SEPARATOR}{owner}{SEPARATOR}{task_id}{SEPARATOR}{slot}"


class EntryName(NamedTuple):
    """Parts of an `entry_member`; `queue` is the queue of a route in which the entry is."""

    owner: str
    task_id: str
    slot: str
    queue: str | None = None


def parse_entry_member(member: str) -> EntryName:
    _, *parts = member.split(SEPARATOR)
    return EntryName(*parts)


def due_of_member(member: str) -> int:
    """Return the due microsecond of an `entry_member`. A score is exact up to the year 2255 alone."""
    digits = int(member[_DUE_START + 1 : _DUE_START + 16], 16)
    return digits if member[_DUE_START] == "1" else digits - _DUE_OFFSET


def priority_of_member(member: str) -> int:
    return _PRIORITY_OFFSET - int(member[:_DUE_START], 16)


def number_of_member(member: str) -> int:
    """Return the number of the task of an `entry_member`."""
    return int(member[_DUE_START + 16 : _DUE_START + 28], 16)


def cancel_member(run_id: str, reason: str) -> str:
    return f"{run_id}{SEPARATOR}{reason}"


def run_member(planned: int, attempt: int, run_id: str) -> str:
    """Return the member of a run: by planned microsecond, attempt and id."""
    return f"{planned_prefix(planned)}{attempt:08x}{run_id}"


def planned_prefix(planned: int) -> str:
    """Return the beginning of the members of all runs that are planned at this microsecond."""
    return f"{planned + _OFFSET:016x}"


RUN_RANK_LENGTH: Final = 24
"""Characters before the run id in `run_member`."""


def key_field(owner: str, key: str) -> str:
    """Return the field of a natural key in the hash of task keys."""
    return f"{owner}{SEPARATOR}{key}"


def counter_field(hour: int, name: str) -> str:
    return f"{hour}:{name}"


def record_member(kind: str, key: str) -> str:
    return f"{kind}{SEPARATOR}{key}"


def chain_member(task_id: str, root: str) -> str:
    return f"{task_id}{SEPARATOR}{root}"


def stream_member(owner: str, name: str) -> str:
    return f"{owner}{SEPARATOR}{name}"


def identity_field(source: str, source_id: str) -> str:
    """Return the field of a message in the hash of message numbers."""
    return f"{source}{SEPARATOR}{source_id}"
