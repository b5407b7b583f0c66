"""Budgets of groups and their tasks: reserved before a run starts, settled when it has ended, by compare-and-set on records."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final, NamedTuple

from ...clock import Clock
from ...model.accounts.principal import Principal, Scope
from ...model.agents.agent_task import AGENT_KIND
from ...model.agents.budget import (
    BUDGET_KIND,
    NO_LIMITS,
    TASK_BUDGET_RETENTION,
    Amounts,
    Budget,
    BudgetLimits,
    Shortage,
    adjust,
    begin_day,
    budget_from,
    budget_record,
    day_in,
    describe_shortage,
    end_of_day,
    find_overdraft,
    limits_json,
    note_in,
    read_limits,
    release,
    reserve,
    settle,
)
from ...model.agents.group import Group
from ...model.agents.usage import NO_USAGE, RunUsage
from ...model.outcome import Skipped
from ...model.reason import Reason
from ...model.record import RecordWrite
from ...model.run import Run
from ...model.task import Task
from ...ports.full_store import FullStore
from ..accounts.audit import Audit, changed_values
from ..accounts.rights import refuse_agent
from ..runs.runs import load_usage
from .groups import Groups
from .refusals import refuse

LOG: Final = logging.getLogger("horae")
_TRIES: Final = 100
"""Each lost race means that another process has written, so only a storm of writers can use up all tries."""


class BudgetGrant(NamedTuple):
    """Permission to run, with the keys of the budgets that hold a reservation for the run."""

    group: Group
    run: str
    keys: tuple[str, ...] = ()


class BudgetRefusal(NamedTuple):
    """The run has no room in a budget. `folder` None: it is the budget of the task."""

    shortage: Shortage
    folder: str | None
    until: datetime
    zone: str

    @property
    def note(self) -> str:
        return describe_shortage(self.shortage, self.folder, self.until, self.zone)

    @property
    def note_zh(self) -> str:
        return note_in("zh", self.note)

    @property
    def outcome(self) -> Skipped:
        return Skipped(self.note, Reason.OVER_BUDGET)


class BudgetState(NamedTuple):
    """Budget of a group today, for display; `until` is the end of the day."""

    folder: str
    limits: BudgetLimits
    used: Amounts
    reserved: Amounts
    day: date
    until: datetime
    zone: str

    @property
    def left(self) -> BudgetLimits:
        """What is left of each limit; None: unlimited."""
        taken = self.used.plus(self.reserved)
        return BudgetLimits(
            *(
                None if limit is None else max(0, limit - amount)
                for limit, amount in zip(self.limits, taken, strict=True)
            )
        )


class Budgets:
    def __init__(self, store: FullStore, groups: Groups, audit: Audit, clock: Clock, zone: str | None) -> None:
        self._store = store
        self._groups = groups
        self._audit = audit
        self._clock = clock
        self._zone = zone

    # --- for people --------------------------------------------------------------------------------------------------

    async def get(self, principal: Principal, folder: str) -> BudgetState:
        """Return the budget of a group today."""
        group = await self._groups.get(principal, folder)
        return self._state(group, await self._load(folder, group.owner))

    async def put(self, principal: Principal, folder: str, limits: Mapping[str, Any]) -> BudgetState:
        """Change the named limits: `{"tokens": 200000, "cost": 2.5, "runs": null}`; null removes a limit."""
        refuse_agent(principal, "groups")
        principal.require_scope(Scope.ADMIN)
        group = await self._groups.get(principal, folder)
        for _ in range(_TRIES):
            before = await self._load(folder, group.owner)
            after = before._replace(limits=read_limits(limits, before.limits))
            if after == before:
                return self._state(group, before)
            values = changed_values(limits_json(before.limits), limits_json(after.limits))
            row = self._audit.row(principal, "group.budget", folder, values, owner=group.owner)
            if await self._write([(before, after)], row):
                return self._state(group, after)
        raise refuse("group_contested", folder=folder)

    # --- for the target ----------------------------------------------------------------------------------------------

    async def reserve(self, group: Group, task: Task, run: Run) -> BudgetGrant | BudgetRefusal:
        """Reserve room for a run in the budgets of its group and its task, both or neither.

        A group without limits costs one read.
        """
        task_limits = limits_of(task)
        zone, now = self._zone_of(group), self._clock.now()
        today = day_in(zone, now)
        for _ in range(_TRIES):
            budgets = await self._load_limited(group, task, task_limits)
            if not budgets:
                return BudgetGrant(group, run.id)
            changes = []
            for before in budgets:
                after = reserve(await self._without_dead_runs(begin_day(before, today), run.id), run.id)
                if isinstance(after, Shortage):
                    folder = group.folder if before.key == group.folder else None
                    return BudgetRefusal(after, folder, end_of_day(zone, now), zone)
                changes.append((before, after))
            if await self._write(changes):
                return BudgetGrant(group, run.id, tuple(each.key for each in budgets))
        raise refuse("group_contested", folder=group.folder)

    async def charge(self, grant: BudgetGrant, usage: RunUsage) -> BudgetRefusal | None:
        """Charge what a live run has used so far; return the refusal when a budget is used up, so that the agent is closed."""
        zone, now = self._zone_of(grant.group), self._clock.now()
        for key in grant.keys:
            after = await self._change(key, lambda budget: adjust(budget, grant.run, usage))
            shortage = None if after is None else find_overdraft(begin_day(after, day_in(zone, now)))
            if shortage is not None:
                folder = grant.group.folder if key == grant.group.folder else None
                return BudgetRefusal(shortage, folder, end_of_day(zone, now), zone)
        return None

    async def settle(self, grant: BudgetGrant, usage: RunUsage) -> None:
        """Replace the reservation by the real usage. If this process dies before, the next reservation does it."""
        today = day_in(self._zone_of(grant.group), self._clock.now())
        for key in grant.keys:
            if await self._change(key, lambda budget: settle(begin_day(budget, today), grant.run, usage)) is None:
                LOG.warning("the budget %s was not settled for the run %s; the next run does it", key, grant.run)

    async def exhausted(self, group: Group) -> BudgetRefusal | None:
        """Return why no run of a group can start now, without a reservation: the router asks for no turn meanwhile."""
        record = await self._store.get_record(BUDGET_KIND, group.folder)
        if record is None:
            return None
        zone, now = self._zone_of(group), self._clock.now()
        known = await self._without_dead_runs(begin_day(budget_from(record), day_in(zone, now)), "")
        after = reserve(known, "")
        return BudgetRefusal(after, group.folder, end_of_day(zone, now), zone) if isinstance(after, Shortage) else None

    async def notice_write(self, group: Group) -> RecordWrite | None:
        """Return the write that records today's notice about the used-up budget in the chat; None: the chat has it already."""
        known = await self._load(group.folder, group.owner)
        today = day_in(self._zone_of(group), self._clock.now())
        return (
            None
            if known.notice_day == today
            else RecordWrite(budget_record(known._replace(notice_day=today)), known.version)
        )

    # --- records -----------------------------------------------------------------------------------------------------

    async def _load(self, key: str, owner: str) -> Budget:
        record = await self._store.get_record(BUDGET_KIND, key)
        return Budget(key, owner) if record is None else budget_from(record)

    async def _load_limited(self, group: Group, task: Task, limits: BudgetLimits) -> list[Budget]:
        """Return the budgets that limit the runs of a task: those of its group and its own."""
        budgets = [await self._load(group.folder, group.owner)]
        if limits != NO_LIMITS:
            own = await self._load(task_budget_key(group.folder, task.id), group.owner)
            budgets.append(own._replace(limits=limits))
        return [each for each in budgets if each.limits != NO_LIMITS]

    async def _without_dead_runs(self, budget: Budget, run_id: str) -> Budget:
        """Release reservations of runs that are over: their process died before it could settle them."""
        for each in budget.reservations:
            if each.run == run_id:
                continue
            run = await self._store.run(each.run, None)
            if run is None or not run.live:
                budget = release(budget, each.run, await load_usage(self._store, each.run) or NO_USAGE)
        return budget

    async def _change(self, key: str, decide: Any) -> Budget | None:
        for _ in range(_TRIES):
            record = await self._store.get_record(BUDGET_KIND, key)
            if record is None:
                return None
            before = budget_from(record)
            after: Budget = decide(before)
            if after == before or await self._write([(before, after)]):
                return after
        return None

    async def _write(self, changes: list[tuple[Budget, Budget]], row: tuple[RecordWrite, ...] = ()) -> bool:
        expires = self._clock.now() + TASK_BUDGET_RETENTION
        writes = [
            RecordWrite(budget_record(after, expires if "/" in after.key else None), before.version)
            for before, after in changes
        ]
        return await self._store.write_records([*writes, *row])

    def _state(self, group: Group, budget: Budget) -> BudgetState:
        zone, now = self._zone_of(group), self._clock.now()
        today = begin_day(budget, day_in(zone, now))
        return BudgetState(
            group.folder, today.limits, today.used, today.reserved, today.day, end_of_day(zone, now), zone
        )

    def _zone_of(self, group: Group) -> str:
        return group.zone or self._zone or "UTC"


def task_budget_key(folder: str, task_id: str) -> str:
    """Return the key of the budget of a task; folders contain no slash."""
    return f"{folder}/{task_id}"


def limits_of(task: Task) -> BudgetLimits:
    """Return the limits in the specification of a task's target; a target of another kind has none."""
    budget = json.loads(task.target.spec).get("budget") if task.target.kind == AGENT_KIND else None
    return NO_LIMITS if budget is None else read_limits(budget)
