"""Lanes: list them, and set how many runs of a lane go on at once, and how many start within a period."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ...clock import Clock
from ...model.accounts.principal import Principal, Scope
from ...model.change import Facts
from ...model.lanes.idle import IDLE_RUNS_KIND, IdleRun, idle_run_of, idle_runs_of
from ...model.lanes.lane import (
    DEFAULT_LIMIT,
    MAX_LANE_LIMIT,
    LaneQueue,
    LaneStatus,
    LaneUse,
    LaneWaiter,
    check_lane,
    is_lane_template,
    owner_lane_prefix,
    turn_order,
)
from ...model.lanes.rate import RateChange, parse_rate
from ...model.page import MAX_PAGE_SIZE
from ...model.record import RecordWrite
from ...model.refusals import refuse as refuse_value
from ...model.run import Run
from ...model.text.field_checks import check_number
from ...ports.full_store import FullStore
from ...ports.records import write_unless_changed
from ..accounts.audit import Audit, changed_values
from ..accounts.rights import full_lane_name, refuse_agent
from ..query.argument_checks import check_page
from .lane_templates import LaneTemplates, check_lane_count

__all__ = ["MAX_LANE_LIMIT", "Lanes"]


class LaneRun(NamedTuple):
    """A run that holds a slot of a lane, with the name of its task and its idle state."""

    run: Run
    task: str
    idle: IdleRun | None = None


class QueuedEntry(NamedTuple):
    """An entry that waits in a lane, with the name of its task."""

    waiter: LaneWaiter
    task: str


class LaneDetail(NamedTuple):
    """A lane with its runs and the entries that wait in it, in the order in which they get slots.

    Those of other owners that the caller does not see are left out; `others` counts such runs. `more`: not all are listed.
    """

    status: LaneStatus
    runs: tuple[LaneRun, ...] = ()
    others: int = 0
    queue: tuple[QueuedEntry, ...] = ()
    more: bool = False


class Lanes:
    """Shared lanes and the quotas of owners are for admins only; other owners have lanes of their own."""

    def __init__(
        self, store: FullStore, clock: Clock, on_write: Callable[[datetime | None], None] = lambda _due: None
    ) -> None:
        self._store = store
        self._templates = LaneTemplates(store)
        self._audit = Audit(store, clock)
        self._on_write = on_write

    async def all(self, principal: Principal) -> tuple[LaneUse, ...]:
        """Return every lane that has a limit or a live run, by name; for owners that are no admins, their own."""
        refuse_agent(principal, "lanes")
        principal.require_scope(Scope.READ)
        return tuple(each for each in await self._store.lanes() if _sees(principal, each.name))

    async def queues(self, principal: Principal) -> tuple[LaneQueue, ...]:
        """Return the lanes in which due entries wait for a slot, by name; for owners that are no admins, their own."""
        refuse_agent(principal, "lanes")
        principal.require_scope(Scope.READ)
        return tuple(each for each in await self._store.lane_queues() if _sees(principal, each.lane))

    async def queued(self, principal: Principal, name: str, limit: int = 20) -> tuple[Facts, ...]:
        """Return the tasks that wait for a slot of this lane, by priority, then by due; owners take turns."""
        refuse_agent(principal, "lanes")
        principal.require_scope(Scope.READ)
        check_page(None, limit)
        return await self._store.queued(name, limit) if _sees(principal, name) else ()

    async def statuses(self, principal: Principal) -> tuple[LaneStatus, ...]:
        """Return every lane that has a limit, a live run or an entry that waits, by name; for owners that are no admins,
        their own."""
        uses = {each.name: each for each in await self.all(principal)}
        queues = {each.lane: each for each in await self.queues(principal)}
        idle = await self._count_idle()
        return tuple(
            _status(uses.get(name, LaneUse(name, DEFAULT_LIMIT, 0)), queues.get(name), idle.get(name, 0))
            for name in sorted({*uses, *queues})
        )

    async def show(self, principal: Principal, name: str, limit: int = 50) -> LaneDetail:
        """Return one lane with up to `limit` of its runs, and of the entries that wait in it."""
        refuse_agent(principal, "lanes")
        principal.require_scope(Scope.READ)
        check_page(None, limit)
        check_lane(name)
        lane = full_lane_name(principal, principal.owner, name)
        if not _sees(principal, lane):
            principal.require_scope(Scope.ADMIN)
        known = {each.use.name: each for each in await self.statuses(principal)}
        status = known.get(lane, LaneStatus(LaneUse(lane, DEFAULT_LIMIT, 0)))
        owner = principal.owner_filter
        runs = [run for run in await self._store.lane_runs(lane, limit) if owner in (None, run.owner)]
        line = await self._store.lane_line(lane)
        order = [each for each in turn_order(line.waiters, line.last_owner) if owner in (None, each.owner)]
        names = await self._store.task_names(
            [*(run.task_id for run in runs), *(each.task_id for each in order[:limit])], owner
        )
        records = (await self._store.get_record(IDLE_RUNS_KIND, lane),)
        return LaneDetail(
            status,
            tuple(LaneRun(run, names.get(run.task_id, run.task_id), idle_run_of(run.id, records)) for run in runs),
            max(0, status.use.used - len(runs)),
            tuple(QueuedEntry(each, names.get(each.task_id, each.task_id)) for each in order[:limit]),
            line.more or len(order) > limit,
        )

    async def _count_idle(self) -> dict[str, int]:
        """Return the number of idle runs by lane."""
        counts: dict[str, int] = {}
        after: str | None = None
        while True:
            page = await self._store.records(IDLE_RUNS_KIND, after=after, limit=MAX_PAGE_SIZE)
            counts |= {record.key: len(idle_runs_of(record)) for record in page.items}
            after = page.after
            if after is None:
                return counts

    async def limit(
        self, principal: Principal, name: str, limit: int | None = None, *, rate: RateChange | str = "keep"
    ) -> LaneUse:
        """Limit the runs of this lane that go on at once, across all nodes; with 0 none starts.

        `rate` is at most so many starts within any period: `100/1s`; None removes it. Whichever is not given stays. A lane
        that gets a rate before it has a limit has none. Limit and rate of a name with placeholders, such as `api:{owner}`,
        are those of each filled-in name that has none of its own.
        """
        refuse_agent(principal, "lanes")
        principal.require_scope(Scope.WRITE)
        check_lane(name)
        if limit is None and rate == "keep":
            raise refuse_value("missing_field", name="limit")
        if limit is not None:
            check_number("limit", limit, 0, MAX_LANE_LIMIT)
        new_rate: RateChange = "keep" if rate == "keep" else None if rate is None else parse_rate(rate)
        lane = full_lane_name(principal, principal.owner, name)
        if not _sees(principal, lane):
            principal.require_scope(Scope.ADMIN)
        check_lane(lane)
        is_template = is_lane_template(lane)
        lanes = await self._store.lanes()
        if principal.owner_filter is not None:
            check_lane_count(principal, lane, lanes)
        before = next((each for each in lanes if each.name == lane), None)
        if limit is None and new_rate is None and (before is None or before.rate is None):
            return before or LaneUse(lane, DEFAULT_LIMIT, 0)
        row = self._audit.row(principal, "lane.limit", lane, _audit_detail(before, limit, new_rate))
        await self._set(principal, lane, limit, new_rate, row, is_template=is_template)
        # A higher limit or rate may let entries that wait go on.
        self._on_write(None)
        known = LaneUse(lane, MAX_LANE_LIMIT if limit is None else limit, 0)
        return next((each for each in await self._store.lanes() if each.name == lane), known)

    async def _set(
        self,
        principal: Principal,
        lane: str,
        limit: int | None,
        rate: RateChange,
        row: Sequence[RecordWrite],
        *,
        is_template: bool,
    ) -> None:
        """Set a lane, or a template and the lanes that follow it, in one write each; a conflict is tried again."""
        while True:
            template = await self._templates.get(lane) if is_template else None
            if template is None:
                records = (*row, *await self._templates.explicit_setting(lane))
            else:
                records = (*row, template.with_changes(limit, rate).write())
            if await write_unless_changed(self._store.set_lane(lane, limit, rate=rate, attached_records=records)):
                break
        if template is not None:
            await self._templates.apply(principal, await self._templates.get(lane))


def _audit_detail(before: LaneUse | None, limit: int | None, rate: RateChange) -> dict[str, Any]:
    """Return the new values, and those before."""
    after: dict[str, Any] = {} if limit is None else {"limit": limit}
    if rate != "keep":
        after["rate"] = None if rate is None else str(rate)
    known = {} if before is None else {"limit": before.limit, "rate": None if before.rate is None else str(before.rate)}
    return {**after, **changed_values({name: known.get(name) for name in after}, after)}


def _status(use: LaneUse, queue: LaneQueue | None, idle: int) -> LaneStatus:
    return LaneStatus(use, 0, None, idle) if queue is None else LaneStatus(use, queue.waiting, queue.oldest, idle)


def _sees(principal: Principal, lane: str) -> bool:
    return principal.owner_filter is None or lane.startswith(owner_lane_prefix(principal.owner))
