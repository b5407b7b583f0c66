"""Plans: add, import, list, read, skip, pause, reset, close, remove; each plan is an ordinary task of its owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from ...clock import Clock
from ...entropy import entropy
from ...errors import Refusal
from ...lifecycle.control import control
from ...lifecycle.plans.rules import PlanStatus, begin_plan, is_closed, is_visible, plan_status, reset_plan, skip_plan
from ...model.accounts.principal import Principal, Scope
from ...model.change import Change, Facts, combine_decisions
from ...model.ids import EPOCH, occurrence_key
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.plans.codes import PlanState, Status
from ...model.plans.plan import (
    DEFAULT_EXEC_TIMEOUT,
    KEY_PREFIX,
    MAX_PLAN_ID,
    MAX_SKIP_SET,
    PLAN_LABEL,
    RETRY_WAIT,
    SKIP_ALL,
    SURFACE,
    SURFACE_LABEL,
    Plan,
    PlanProgress,
    check_station_frames,
    encode_plan,
    parse_plan_name,
    past_of_plan,
    plan_of,
    plan_target,
    policies_of,
    read_plan,
    received_at,
    schedule_of,
    skips_of,
)
from ...model.plans.refusals import refuse
from ...model.policy import RetryPolicy
from ...model.run import Origin, Run, RunState
from ...model.stations.ballot import BALLOT_KIND, Vote, ballot_from
from ...model.stations.station import STATION_KIND, StationKind, station_from, station_key
from ...model.task import PauseCause, TaskState
from ...ports.full_store import FullStore
from ...ports.store import RunFilter, TaskFilter
from ...schedule.compat.fields import parse_integer
from ..accounts.rights import scoped_key
from ..accounts.secret_grants import SecretGrants
from ..tasks.commit import AuditAction, TaskWriter, attach_nothing, changed_fields
from ..tasks.edits import Edits
from ..tasks.lookup import first_due
from ..tasks.quotas import check_schedule
from ..tasks.task_request import TaskRequest, explicit_options
from ..tasks.tasks import Tasks

MAX_LISTED_RUNS: Final = 100
"""Newest runs of each plan from which a list derives its counters."""
MAX_READ_RUNS: Final = 10_000
MAX_IMPORTED: Final = 1_000
MAX_RESULTS: Final = 20
"""Newest results in the details of a plan."""
TASK_PREFIX: Final = "tsk_"
IMPORT_NOTE: Final = "imported as PLAN_ERROR"
OPEN_STATES: Final = frozenset({TaskState.ACTIVE, TaskState.PAUSED, TaskState.FAILED})
CLOSED_STATES: Final = frozenset({TaskState.COMPLETED, TaskState.CANCELLED})
TYPE_FILTERS: Final = {
    "none": ("none",),
    "time": ("time",),
    "delay": ("second", "minute", "hour", "day"),
    "week": ("week",),
    "month": ("month",),
}
_ID_BYTES: Final = 8


class PlanView(NamedTuple):
    """A plan with its state and counters, and the task that executes it.

    `results` and `participants`, the voters of the newest execution, are in the details of one plan only.
    """

    plan: Plan
    status: PlanStatus
    task_id: str
    owner: str
    results: tuple[Run, ...] = ()
    participants: tuple[tuple[str, Vote | None], ...] = ()


class ImportResult(NamedTuple):
    """Outcome of one imported plan: its task, the refusal, or neither for a plan that is closed. `view` is local only."""

    name: str
    task_id: str | None = None
    refusal: Refusal | None = None
    view: PlanView | None = None


class PlanFilter(NamedTuple):
    """`is_closed`: closed plans instead of open ones. `types` are names of plan types, None: all."""

    is_closed: bool = False
    station: str | None = None
    types: tuple[str, ...] | None = None


ACTIVE: Final = PlanFilter()
HISTORY: Final = PlanFilter(is_closed=True)


class Plans:
    def __init__(
        self,
        store: FullStore,
        clock: Clock,
        tasks: Tasks,
        writer: TaskWriter,
        on_write: Callable[[datetime | None], None] = lambda _due: None,
        exec_timeout: timedelta = DEFAULT_EXEC_TIMEOUT,
    ) -> None:
        self._store = store
        self._clock = clock
        self._tasks = tasks
        self._writer = writer
        self._on_write = on_write
        self._exec_timeout = exec_timeout
        self._grants = SecretGrants(store)

    async def add(self, principal: Principal, value: object) -> PlanView:
        """Publish a plan. The same plan with the same id is added once; another one with this id is refused."""
        principal.require_scope(Scope.WRITE)
        plan, _ = read_plan(value, self._new_id())
        await self._check_station(principal.owner, plan)
        now = self._clock.now()
        return await self._add(principal, received_at(plan, now), PlanProgress(), now, is_running=False)

    async def _check_station(self, owner: str, plan: Plan) -> None:
        """Refuse a plan that its station could not execute. Imported plans have passed that where they were published."""
        record = await self._store.get_record(STATION_KIND, station_key(owner, plan.station))
        station = None if record is None else station_from(record)
        if station is None or station.kind is StationKind.PUBLISHER:
            raise refuse("plan_no_station", station=plan.station, owner=owner)
        check_station_frames(plan, station.kind)

    async def import_plans(self, principal: Principal, values: Sequence[object]) -> list[ImportResult]:
        """Add plan messages of a Zero installation, each for itself: their `plan_time` is the next instant.

        A closed plan is left out. One in error is paused until it is reset.
        """
        principal.require_scope(Scope.WRITE)
        if len(values) > MAX_IMPORTED:
            wanted = f"a list of at most {MAX_IMPORTED:,} plans"
            wanted_zh = f"最多 {MAX_IMPORTED:,} 个计划的列表"
            raise refuse("bad_plan_field", name="plans", value=len(values), wanted=wanted, wanted_zh=wanted_zh)
        now = self._clock.now()
        results: list[ImportResult] = []
        for number, value in enumerate(values, 1):
            name = str(value.get("plan_id", number)) if isinstance(value, dict) else str(number)
            if isinstance(value, dict) and parse_integer(value.get("plan_state")) == PlanState.CLOSED:
                results.append(ImportResult(name))
                continue
            try:
                plan, progress = read_plan(value, self._new_id())
                view = await self._add(principal, received_at(plan, now), progress, now, is_running=True)
            except Refusal as refusal:
                results.append(ImportResult(name, refusal=refusal))
            else:
                results.append(ImportResult(view.plan.name, view.task_id, view=view))
        return results

    async def adopt(self, principal: Principal, plan: Plan, progress: PlanProgress, due: datetime) -> PlanView:
        """Add a plan that another program has written into the layout in Redis, with its score. One that is late is due now."""
        now = self._clock.now()
        second = -((EPOCH - max(due, now)) // timedelta(seconds=1))
        has_time_of_day = plan.plan_type in ("week", "month") and plan.plan_time
        plan = plan if has_time_of_day else plan._replace(plan_time=second)
        return await self._add(principal, plan, progress, now, is_running=True)

    async def _add(
        self, principal: Principal, plan: Plan, progress: PlanProgress, now: datetime, *, is_running: bool
    ) -> PlanView:
        plan = plan if plan.caller else plan._replace(caller=principal.owner)
        schedule = schedule_of(plan, is_running=is_running)
        request = TaskRequest(
            plan.title,
            schedule,
            plan_target(plan),
            encode_plan(plan),
            key=scoped_key(principal, plan.key),
            zone="UTC",
            labels={SURFACE_LABEL: SURFACE, PLAN_LABEL: plan.station},
            options=explicit_options(policies_of(plan, self._exec_timeout, _retry_wait(principal))),
            past=past_of_plan(plan, schedule, now, progress.real_repet),
            trusted_past=True,
        )
        draft = self._tasks.drafts.draft(principal, request, now)
        await self._grants.check(draft.owner, principal.agent, draft.target, draft.payload)
        task_id = self._tasks.drafts.new_id(now)

        def decide(current: Facts | None) -> Change:
            if current is not None:
                self._check_same(current, plan)
                return Change()
            change = self._tasks.drafts.plan_draft(principal, draft, task_id, now)
            change = begin_plan(change, plan, skips_of(plan, progress.skip_num), now)
            if progress.last_state == Status.PLAN_ERROR:
                return control.pause_new_task(change, now, IMPORT_NOTE)
            return change

        facts = await self._writer.upsert(principal, draft.owner, request.key or plan.key, decide, attach_nothing)
        self._on_write(first_due(facts))
        return await self._view(principal._replace(scopes=principal.scopes | {Scope.READ}), plan, facts)

    def _check_same(self, current: Facts, plan: Plan) -> None:
        """Refuse another plan under the same id; a time of receipt is not compared."""
        found = plan_of(current.task)
        if found is None or found._replace(plan_time=0) != plan._replace(plan_time=0):
            raise refuse("plan_exists", id=plan.hex_id)

    def _new_id(self) -> int:
        return int.from_bytes(entropy(_ID_BYTES)) % MAX_PLAN_ID + 1

    async def page(
        self, principal: Principal, plan_filter: PlanFilter = ACTIVE, after: str | None = None, limit: int = 100
    ) -> Page[PlanView]:
        """Return plans in the order in which they were added. A page may be short: it has `after` while there are more."""
        principal.require_scope(Scope.READ)
        now = self._clock.now()
        station = plan_filter.station
        labels = ((SURFACE_LABEL, SURFACE), *(() if station is None else ((PLAN_LABEL, station),)))
        states = CLOSED_STATES if plan_filter.is_closed else OPEN_STATES
        page = await self._tasks.page(principal, TaskFilter(states=states, labels=labels), after, limit)
        found = [(plan, facts) for facts in page.items if (plan := plan_of(facts.task)) is not None]
        shown = [
            (plan, facts)
            for plan, facts in found
            if is_visible(facts, now) and (plan_filter.types is None or plan.plan_type in plan_filter.types)
        ]
        runs = await self._tasks.outcomes(principal, [facts for _, facts in shown], MAX_LISTED_RUNS)
        views = [_make_view(plan, facts, runs.get(facts.task.id, ()), now) for plan, facts in shown]
        return Page(tuple(views), page.after)

    async def all(self, principal: Principal, plan_filter: PlanFilter = ACTIVE, most: int = 1_000) -> list[PlanView]:
        """Return up to `most` plans, for clients that know no pages."""
        views: list[PlanView] = []
        after: str | None = None
        while len(views) < most:
            page = await self.page(principal, plan_filter, after, MAX_PAGE_SIZE)
            views += page.items
            after = page.after
            if after is None:
                break
        return views[:most]

    async def get(self, principal: Principal, name: str) -> PlanView:
        """Return one plan with its newest results."""
        principal.require_scope(Scope.READ)
        plan, facts = await self._find(principal, name)
        view = await self._view(principal, plan, facts)
        run_filter = RunFilter(facts.task.owner, facts.task.id)
        page = await self._store.runs(run_filter, None, MAX_RESULTS)
        executed = tuple(run for run in page.items if run.started is not None)
        return view._replace(results=executed, participants=await self._load_participants(facts, executed))

    async def _load_participants(self, facts: Facts, executed: Sequence[Run]) -> tuple[tuple[str, Vote | None], ...]:
        """Return the voters of the newest execution with their answers so far; the ballot is stored for a day."""
        if not executed:
            return ()
        key = occurrence_key(facts.task.id, executed[0].origin, executed[0].planned)
        record = await self._store.get_record(BALLOT_KIND, key, facts.task.owner)
        return () if record is None else ballot_from(record).votes

    async def find_by_task(self, principal: Principal, task_id: str) -> PlanView | None:
        """Return the plan of a task; None for a task that is none, or that the principal does not see."""
        principal.require_scope(Scope.READ)
        try:
            plan, facts = await self._find(principal, task_id)
        except Refusal:
            return None
        return await self._view(principal, plan, facts)

    async def of_tasks(self, owners: Mapping[str, str]) -> dict[str, PlanView]:
        """Return the plans of tasks, given with their owners; without those that are none, or that have another owner.

        For readers of events, whose rights were checked for each owner.
        """
        found: list[tuple[Plan, Facts]] = []
        for task_id, owner in owners.items():
            facts = await self._store.facts(task_id, None)
            plan = None if facts is None or facts.task.owner != owner else plan_of(facts.task)
            if facts is not None and plan is not None:
                found.append((plan, facts))
        runs = await self._store.outcomes([facts.task.id for _, facts in found], MAX_LISTED_RUNS)
        now = self._clock.now()
        return {facts.task.id: _make_view(plan, facts, runs.get(facts.task.id, ()), now) for plan, facts in found}

    async def skip(self, principal: Principal, name: str, number: int) -> PlanView:
        """Skip the next `number` occurrences; a negative number skips all, 0 none."""
        principal.require_scope(Scope.WRITE)
        if number > MAX_SKIP_SET:
            wanted = f"-1, 0, or 1 to {MAX_SKIP_SET:,}"
            raise refuse("bad_plan_field", name="skip_set", value=number, wanted=wanted, wanted_zh=wanted)
        plan, facts = await self._find_open(principal, name)
        changed = plan._replace(skip_set=max(number, SKIP_ALL))
        edits = Edits(payload=encode_plan(changed))
        now = self._clock.now()

        def decide(current: Facts) -> Change:
            self._check_open(current, plan)
            edited = self._tasks.drafts.plan_edit(principal, current, edits, now)
            return combine_decisions(current, edited, lambda after: skip_plan(after, changed.skip_set))

        return await self._change(principal, changed, facts, decide, AuditAction("task.skip", changed_fields))

    async def pause(self, principal: Principal, name: str) -> PlanView:
        """Take a plan out of the queue until it is reset."""
        principal.require_scope(Scope.WRITE)
        plan, facts = await self._find_open(principal, name)
        paused = await self._tasks.pause(principal, facts.task.id)
        return await self._view(principal, plan, paused)

    async def reset(self, principal: Principal, name: str) -> PlanView:
        """Put a paused plan, or one in error, back into the queue; the occurrence that failed is executed again."""
        principal.require_scope(Scope.WRITE)
        plan, facts = await self._find_open(principal, name)
        now = self._clock.now()
        pause = facts.status.pause
        if pause is not None and pause.cause is not PauseCause.REQUESTED:
            # Another person must act first: the task's own rules decide.
            return await self._view(principal, plan, await self._tasks.resume(principal, facts.task.id))
        last = await self._last_execution(facts)
        action = AuditAction("task.resume")

        def decide(current: Facts) -> Change:
            self._tasks.drafts.approval_policy.check_approved(current.task)
            if current.task.owner == principal.owner:
                check_schedule(principal, current.task.schedule, now, current.status.counted)
            return reset_plan(current, plan, last, now)

        return await self._change(principal, plan, facts, decide, action)

    async def close(self, principal: Principal, name: str) -> PlanView:
        """End a plan; it is shown for a day."""
        principal.require_scope(Scope.WRITE)
        plan, facts = await self._find(principal, name)
        if not is_closed(facts):
            facts = await self._tasks.cancel(principal, facts.task.id)
        return await self._view(principal, plan, facts)

    async def remove(self, principal: Principal, name: str) -> PlanView:
        """Delete a closed plan with its history; return it as it was."""
        principal.require_scope(Scope.WRITE)
        plan, facts = await self._find(principal, name, is_hidden=True)
        if not is_closed(facts):
            raise refuse("plan_not_closed", id=plan.hex_id)
        view = await self._view(principal, plan, facts)
        await self._tasks.delete(principal, facts.task.id)
        return view

    async def clear(self, principal: Principal) -> int:
        """Delete the closed plans of the caller, up to a thousand; return how many."""
        principal.require_scope(Scope.WRITE)
        own = principal._replace(admin=False)
        task_filter = TaskFilter(own.owner, CLOSED_STATES, labels=((SURFACE_LABEL, SURFACE),))
        page = await self._tasks.page(own, task_filter, None, MAX_PAGE_SIZE)
        removed = 0
        for facts in page.items:
            if plan_of(facts.task) is not None and not facts.live:
                await self._tasks.delete(own, facts.task.id)
                removed += 1
        return removed

    async def flush(self, principal: Principal) -> int:
        """Make the nodes look at the queue at once; return the number of open plans of the caller."""
        principal.require_scope(Scope.WRITE)
        self._on_write(None)
        labels = ((SURFACE_LABEL, SURFACE),)
        own = principal._replace(admin=False)
        return (await self._tasks.count(own, TaskFilter(own.owner, OPEN_STATES, labels=labels))).number

    async def _change(
        self,
        principal: Principal,
        plan: Plan,
        facts: Facts,
        decide: Callable[[Facts], Change],
        action: AuditAction,
    ) -> PlanView:
        changed = await self._writer.change(principal, facts.task.id, decide, action)
        self._on_write(None)
        return await self._view(principal, plan, changed)

    async def _find(self, principal: Principal, name: str, *, is_hidden: bool = False) -> tuple[Plan, Facts]:
        """Find a plan by its id, its name, or the id of its task. `is_hidden`: also one that was closed long ago."""
        reader = principal._replace(scopes=principal.scopes | {Scope.READ})
        facts: Facts | None = None
        station: str | None = None
        if name.startswith(TASK_PREFIX):
            facts = await self._tasks.get(reader, name)
        elif (parsed := parse_plan_name(name)) is not None:
            station, hex_id = parsed
            facts = await self._tasks.find_by_key(reader, KEY_PREFIX + hex_id)
        plan = None if facts is None else plan_of(facts.task)
        if facts is None or plan is None or station not in (None, plan.station):
            raise refuse("no_such_plan", id=name)
        if not is_hidden and not is_visible(facts, self._clock.now()):
            raise refuse("no_such_plan", id=name)
        return plan, facts

    async def _find_open(self, principal: Principal, name: str) -> tuple[Plan, Facts]:
        plan, facts = await self._find(principal, name)
        self._check_open(facts, plan)
        return plan, facts

    def _check_open(self, facts: Facts, plan: Plan) -> None:
        if is_closed(facts):
            raise refuse("plan_closed", id=plan.hex_id)

    async def _view(self, principal: Principal, plan: Plan, facts: Facts) -> PlanView:
        reader = principal._replace(scopes=principal.scopes | {Scope.READ})
        runs = await self._tasks.outcomes(reader, [facts], MAX_READ_RUNS)
        return _make_view(plan, facts, runs.get(facts.task.id, ()), self._clock.now())

    async def _last_execution(self, facts: Facts) -> Run | None:
        """Return the run with which the plan has failed; None where it has not."""
        if facts.status.state is not TaskState.FAILED:
            return None
        page = await self._store.runs(RunFilter(facts.task.owner, facts.task.id), None, MAX_RESULTS)
        failed = (run for run in page.items if run.origin is Origin.SCHEDULED and run.state is not RunState.SKIPPED)
        return max(failed, key=lambda run: (run.planned, run.attempt), default=None)


def _retry_wait(principal: Principal) -> timedelta:
    """Return the wait before a retry: a second, or as long as the quota of the owner requires."""
    shortest = principal.quotas.shortest_interval
    return RETRY_WAIT if shortest is None else max(RETRY_WAIT, min(shortest, RetryPolicy().backoff))


def _make_view(plan: Plan, facts: Facts, runs: Sequence[Run], now: datetime) -> PlanView:
    return PlanView(plan, plan_status(plan, facts, runs, now), facts.task.id, facts.task.owner)


def results_of(view: PlanView) -> list[dict[str, Any]]:
    """Return the newest results with their content, newest first."""
    return [
        {
            "run_id": run.id,
            "plan_time": int(run.planned.timestamp()),
            "state": run.state.value,
            "result": run.result_json,
            "error": run.error,
        }
        for run in view.results
    ]
