"""Idle run: a live run that declared itself idle, in one of its lanes, and the request to it to yield its slot.

A lane with idle runs has a record of them, and each request to yield has one by node. Both exist only while the run is idle.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple

from ...choices import Language
from ...typography import full_width
from ..ids import from_microseconds, to_microseconds
from ..record import Record, RecordWrite

IDLE_RUNS_KIND: Final = "idle_runs"
"""Kind of the record of the idle runs of a lane; its key is the lane."""
YIELD_REQUEST_KIND: Final = "yield_request"
"""Kind of the record of a request to yield; its key begins with the node."""


class YieldKind(StrEnum):
    HIGHER_PRIORITY = "higher_priority"
    """An entry of higher priority waits in the lane."""
    OTHER_OWNER = "other_owner"
    """An entry of another owner waits in the lane."""
    NODE_STOPPING = "node_stopping"
    """The node is stopping; this concerns all its runs, idle or not."""


class YieldReason(NamedTuple):
    """Why a run should yield. `lane` is the lane in which an entry waits; None: the node is stopping."""

    kind: YieldKind
    lane: str | None = None

    def __str__(self) -> str:
        return self.kind.value if self.lane is None else f"{self.kind.value}: {self.lane}"


_SENTENCES: Final[dict[YieldKind, tuple[str, str]]] = {
    YieldKind.HIGHER_PRIORITY: (
        "asked to yield: an entry of higher priority waits in the lane '{lane}'",
        "已请求让出：通道“{lane}”中有优先级更高的任务在等待",
    ),
    YieldKind.OTHER_OWNER: (
        "asked to yield: an entry of another owner waits in the lane '{lane}'",
        "已请求让出：通道“{lane}”中有其他所有者的任务在等待",
    ),
    YieldKind.NODE_STOPPING: ("asked to yield: its node is stopping", "已请求让出：其节点正在停止"),
}


def describe_yield(reason: YieldReason, language: Language = "en") -> str:
    english, chinese = _SENTENCES[reason.kind]
    return (english if language == "en" else full_width(chinese)).format(lane=reason.lane)


class IdleRun(NamedTuple):
    """A run that is idle since an instant, in one lane; `place` is the place of the lane among those of the run."""

    lane: str
    run_id: str
    task_id: str
    owner: str
    priority: int
    node: str
    since: datetime
    place: int = 0
    yield_kind: YieldKind | None = None
    """Why it was asked to yield; None: it was not."""

    @property
    def yield_reason(self) -> YieldReason | None:
        return None if self.yield_kind is None else YieldReason(self.yield_kind, self.lane)


class YieldRequest(NamedTuple):
    """Request to a node: one of its runs, which is idle since an instant, should end."""

    run_id: str
    since: datetime
    reason: YieldReason


class Waiter(NamedTuple):
    """Owner and priority of an entry that waits in a lane."""

    owner: str
    priority: int


def encode_idle_runs(runs: Iterable[IdleRun]) -> str:
    rows = [
        [
            run.run_id,
            run.task_id,
            run.owner,
            run.priority,
            run.node,
            to_microseconds(run.since),
            run.place,
            run.yield_kind,
        ]
        for run in runs
    ]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def decode_idle_runs(lane: str, body: str) -> tuple[IdleRun, ...]:
    return tuple(
        IdleRun(
            lane,
            run_id,
            task_id,
            owner,
            priority,
            node,
            from_microseconds(since),
            place,
            None if kind is None else YieldKind(kind),
        )
        for run_id, task_id, owner, priority, node, since, place, kind in json.loads(body)
    )


def idle_runs_of(record: Record | None) -> tuple[IdleRun, ...]:
    """Return the idle runs that the record of a lane has."""
    return () if record is None else decode_idle_runs(record.key, record.body)


def idle_run_of(run_id: str, records: Iterable[Record | None]) -> IdleRun | None:
    """Return the idle state of a run from the records of its lanes: the one with a request to yield, if there is one."""
    found = [each for record in records for each in idle_runs_of(record) if each.run_id == run_id]
    return next((each for each in found if each.yield_kind is not None), found[0] if found else None)


def yield_request_of(body: Sequence[Any]) -> YieldRequest:
    """Return the request of a record; `body` is its JSON, decoded."""
    run_id, since, kind, lane = body
    return YieldRequest(run_id, from_microseconds(since), YieldReason(YieldKind(kind), lane))


def node_prefix(node: str) -> str:
    """Return the beginning of the keys of all requests to a node."""
    return f"{node}/"


def _request_record(run: IdleRun) -> Record:
    body = json.dumps([run.run_id, to_microseconds(run.since), run.yield_kind, run.lane], ensure_ascii=False)
    return Record(YIELD_REQUEST_KIND, f"{node_prefix(run.node)}{run.run_id}/{run.place}", run.owner, body)


def record_writes(
    lane: str, version: int | None, before: Mapping[str, IdleRun], after: Mapping[str, IdleRun]
) -> list[RecordWrite]:
    """Return the writes that turn the records of a lane's idle runs from `before` to `after`, by run id.

    `version` is that of the lane's record, None if there is none. The lane is locked, so no other writer changes them.
    """
    old = {run_id for run_id, run in before.items() if run.yield_kind is not None}
    new = {run_id for run_id, run in after.items() if run.yield_kind is not None}
    writes = [RecordWrite(_request_record(before[run_id]), 1, dropped=True) for run_id in sorted(old - new)]
    writes += [RecordWrite(_request_record(after[run_id])) for run_id in sorted(new - old)]
    if after:
        writes.append(RecordWrite(Record(IDLE_RUNS_KIND, lane, "", encode_idle_runs(after.values())), version))
    elif version is not None:
        writes.append(RecordWrite(Record(IDLE_RUNS_KIND, lane, "", ""), version, dropped=True))
    return writes
