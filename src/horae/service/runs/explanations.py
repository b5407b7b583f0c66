"""Explains why an occurrence ran or did not (`horae why`), from its run rows, the agenda and the schedule."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple

from ...clock import Clock
from ...lifecycle.chain_graph import links_of
from ...lifecycle.due_backlog import MICROSECOND
from ...lifecycle.explain.chain import explain_unstarted, newest_is_row, with_predecessors
from ...lifecycle.explain.explanation import (
    Explanation,
    RunningNodes,
    Verdict,
    explain,
    explain_paused_row,
    with_end,
    with_lane,
    with_pause,
)
from ...lifecycle.explain.lane import parked_entry
from ...model.accounts.account import OWNER_KIND, Owner, owner_from
from ...model.accounts.principal import Principal, Scope
from ...model.accounts.system_owner import account_of
from ...model.change import Facts
from ...model.entry import CONTROL_KINDS, EntryState
from ...model.lanes.route import is_route
from ...model.pauses import PAUSED_SPAN_KIND, PausedSpan, parse_paused_span
from ...model.reason import Reason
from ...model.refusals import refuse
from ...model.run import Run
from ...model.task import PauseCause, past_of
from ...ports.full_store import FullStore
from ...ports.node_records import load_agreed_lease
from ...ports.store import RunFilter
from ...schedule import After, iterate
from ...typography import full_width
from ..accounts.rights import can_see
from ..query.argument_checks import check_id
from ..query.id_prefix import resolve_task
from ..query.instants import TimeSpan, parse_span
from ..tasks.advisories import Advisory
from ..tasks.functions.functions import Functions, function_of
from .lane_waits import load_lane_wait
from .outages import Outage, Outages

_QUOTAS: Final[dict[str, tuple[str, str]]] = {
    "stored_bytes": (
        "Quota: stored_bytes (task definitions, results and logs of its owner together).",
        "配额：stored_bytes（其所有者的任务定义、结果和日志合计）。",
    ),
    "runs_per_day": (
        "Quota: runs_per_day (runs of its owner on that day, UTC).",
        "配额：runs_per_day（其所有者当天的运行次数，按 UTC 计）。",
    ),
}
_ROOM: Final = (
    "It is still used up: 'horae rm TASK' and retention make room, and an admin sees more: horae owner show {owner}",
    "目前仍已用完：“horae rm 任务”和历史保留期会腾出空间，管理员可查看：horae owner show {owner}",
)


def needs_quota(answer: Explanation) -> bool:
    """Whether the answer rests on a quota of the owner; a task that is paused for one names it in its note."""
    return answer.reason is Reason.QUOTA and answer.verdict is not Verdict.PAUSED


def name_quotas(answer: Explanation, owner: Owner, now: datetime) -> Explanation:
    """The answer with the quotas that its owner had used up then. After a later change of the account that may be unknown,
    and the answer stays as it is."""
    run = answer.runs[-1] if answer.runs else None
    at = now if run is None else run.ended or run.planned
    names = [
        name for name, used in (("stored_bytes", _is_full(owner, at)), ("runs_per_day", _is_spent(owner, at))) if used
    ]
    english, chinese = [answer.english], [answer.chinese]
    for name in names:
        english.append(_QUOTAS[name][0])
        chinese.append(_QUOTAS[name][1])
    if "stored_bytes" in names and run is not None and owner.storage_full is not None:
        english.append(_ROOM[0].format(owner=owner.name))
        chinese.append(_ROOM[1].format(owner=owner.name))
    return answer._replace(english=" ".join(english), chinese="".join(chinese))


def _is_full(owner: Owner, at: datetime) -> bool:
    if owner.storage_full is not None and at >= owner.storage_full.since:
        return True
    past = owner.last_storage_full
    return past is not None and past[0] <= at <= past[1]


def _is_spent(owner: Owner, at: datetime) -> bool:
    return owner.exhausted_on is not None and owner.exhausted_on == at.astimezone(UTC).date()


_MAX_ROWS: Final = 200
_EXACT: Final = timedelta(0)
_CLOCK_TIME: Final = re.compile(r"(?<![\d:+-])\d{1,2}:\d{2}(:\d{2})?")
_SPOKEN_TIME: Final = re.compile(r"\d\s*[ap]m\b|noon|[点點时時]|中午", re.IGNORECASE)
_WAITING_STATES: Final = frozenset({EntryState.TIMED, EntryState.READY, EntryState.PARKED})
_MAX_PLANNED: Final = 100_000
_NOT_STARTED: Final = frozenset({Verdict.PENDING, Verdict.WAITING, Verdict.OVERDUE})
_NEEDS_NODE: Final = frozenset({Verdict.WAITING, Verdict.OVERDUE})
_OUTAGE_REASONS: Final = frozenset({Reason.MISSED_SKIPPED, Reason.MERGED, Reason.STALE, Reason.START_DEADLINE})


class OccurrenceExplanation(NamedTuple):
    """Explanation of one instant of a task; `outage` is the span without any engine that it fell into.

    `near_function` is the registered name closest to the task's function, if that function is unknown.
    """

    facts: Facts
    at: datetime
    explanation: Explanation
    outage: Outage | None = None
    near_function: str | None = None
    missing: Advisory | None = None
    """Warning about its function, if no running node can start it."""
    nodes: RunningNodes | None = None


class Explanations:
    def __init__(
        self, book: FullStore, clock: Clock, outages: Outages | None = None, functions: Functions | None = None
    ) -> None:
        self._functions = functions
        self._book = book
        self._clock = clock
        self._outages = outages

    async def why(self, principal: Principal, task_id: str, at: datetime) -> Explanation:
        """Return what became of the occurrence at that instant, as one sentence with the rows that prove it."""
        return (await self.explain(principal, task_id, at)).explanation

    async def explain(
        self, principal: Principal, task_id: str, at: datetime | str | None, zone: str | None = None
    ) -> OccurrenceExplanation:
        """Explain any instant: of a day, its last occurrence up to now; for None, the newest occurrence.

        `zone` is that of the caller, in which times without a zone are read; None: the zone of the task.
        """
        facts = await self._load_facts(principal, task_id)
        now = self._clock.now()
        if at is None:
            instant = await self._find_newest(principal, facts, now)
        else:
            span = parse_span(at, zone or facts.task.schedule.zone or "UTC", now)
            instant = await self._find_occurrence(principal, facts, span, now, _typed_precision(at))
        rows = await self._book.runs(
            RunFilter(principal.owner_filter, facts.task.id, since=instant, until=instant), limit=_MAX_ROWS
        )
        explanation, nodes = explain(facts, rows.items, instant, now), None
        if explanation.verdict in _NEEDS_NODE:
            nodes = await self._load_nodes(now)
            explanation = explain(facts, rows.items, instant, now, nodes)
        parked = parked_entry(facts, instant)
        if parked is not None:
            wait = await load_lane_wait(self._book, principal, facts, parked)
            explanation = with_lane(facts, explanation, wait)
        if needs_quota(explanation):
            explanation = await self._with_quota(explanation, account_of(facts.task.owner), now)
        if isinstance(facts.task.schedule, After):
            explanation = await self._along_chain(facts, explanation, now if at is None else instant)
        if at is None:
            explanation = with_end(facts, with_pause(facts, explanation))
        paused = await self._find_pause(explanation)
        if paused is not None:
            explanation = explain_paused_row(facts, explanation, paused)
        outage = None if paused is not None else await self._find_outage(explanation, instant)
        why = OccurrenceExplanation(facts, instant, explanation, outage, nodes=nodes)
        is_about_function = explanation.verdict in _NOT_STARTED or _is_orphaned(facts)
        return await self._with_function(why) if is_about_function else why

    async def _along_chain(self, facts: Facts, explanation: Explanation, until: datetime) -> Explanation:
        """Add the ends of the predecessors, or explain by them why there was no run."""
        task, run = facts.task, explanation.run
        newest = next(iter(await self._book.chain_rows(task.id, until, 1)), None)
        names = await self._book.task_names(sorted(links_of(task)), task.owner)
        if newest_is_row(explanation, newest) or (run is None and explanation.verdict is Verdict.NOT_PLANNED):
            return explain_unstarted(facts, newest, names)
        if run is None or run.chain is None:
            return explanation
        rows = [row for row in await self._book.chain(run.root) if row.task_id == task.id]
        return with_predecessors(facts, explanation, rows[0], names) if rows else explanation

    async def _with_function(self, why: OccurrenceExplanation) -> OccurrenceExplanation:
        """Add the function that no running node has, and the closest registered name."""
        target = why.facts.task.target
        if self._functions is None or function_of(target) is None:
            return why
        catalogue = await self._functions.load(fresh=True)
        missing = catalogue.missing(target)
        if missing is None:
            return why
        if _is_orphaned(why.facts):
            return why._replace(missing=missing)
        explanation = why.explanation
        is_waiting = (
            explanation.verdict is Verdict.WAITING
            and is_waiting_for_node(why.facts, explanation.verdict)
            and not why.facts.task.policies.where
        )
        # The warning that follows names what such an entry waits for, except the labels.
        before, before_zh = (
            ("It is due and waits.", "它已到期，正在等待。")
            if is_waiting
            else (explanation.english, explanation.chinese)
        )
        english = f"{before} {missing.in_language('en')}"
        chinese = f"{before_zh}{full_width(missing.in_language('zh'))}"
        nearest = catalogue.nearest(function_of(target) or "") if missing.code == "function_unknown" else None
        return why._replace(
            explanation=explanation._replace(english=english, chinese=chinese), near_function=nearest, missing=missing
        )

    async def _with_quota(self, explanation: Explanation, owner: str, now: datetime) -> Explanation:
        record = await self._book.get_record(OWNER_KIND, owner)
        return explanation if record is None else name_quotas(explanation, owner_from(record), now)

    async def _find_pause(self, explanation: Explanation) -> PausedSpan | None:
        """Return the pause that the occurrence fell into, if its row does not say so."""
        if explanation.verdict is not Verdict.SKIPPED or explanation.reason not in (
            Reason.MERGED,
            Reason.MISSED_SKIPPED,
        ):
            return None
        run = explanation.run
        record = None if run is None else await self._book.get_record(PAUSED_SPAN_KIND, run.id)
        return None if record is None else parse_paused_span(record)

    async def _load_nodes(self, now: datetime) -> RunningNodes:
        lease = await load_agreed_lease(self._book)
        nodes = [each for each in await self._book.nodes() if now - each.renewed <= lease]
        return RunningNodes(
            tuple(each.id for each in nodes if not each.draining),
            tuple(each.id for each in nodes if each.draining),
            tuple((each.host or each.id, each.labels) for each in nodes if not each.draining),
        )

    async def _load_facts(self, principal: Principal, task_id: str) -> Facts:
        principal.require_scope(Scope.READ)
        check_id(task_id, "no_such_task")
        facts = await self._book.facts(await resolve_task(self._book, principal, task_id), principal.owner_filter)
        if facts is None or not can_see(principal, facts.task):
            raise refuse("no_such_task", id=task_id)
        return facts

    async def _find_newest(self, principal: Principal, facts: Facts, now: datetime) -> datetime:
        """Return the newest occurrence: due and not started, else the newest row, else the first agenda entry.

        A waiting occurrence comes first, so that an earlier success does not hide it.
        """
        states = _WAITING_STATES if facts.status.pause is None else _WAITING_STATES | {EntryState.ASLEEP}
        due = [
            entry.planned
            for entry in facts.entries
            if entry.due <= now and entry.state in states and entry.kind not in CONTROL_KINDS
        ]
        if due:
            return min(due)
        rows = await self._book.runs(RunFilter(principal.owner_filter, facts.task.id), limit=1)
        if rows.items:
            return _last_instant(rows.items[0])
        return min((entry.planned for entry in facts.entries), default=now)

    async def _find_occurrence(
        self, principal: Principal, facts: Facts, span: TimeSpan, now: datetime, precision: timedelta = _EXACT
    ) -> datetime:
        """Return the last occurrence of a span that has a row, else the last one that was planned, up to now.

        A typed 07:16:32 means that whole second: if the exact instant is no occurrence, the search covers as much time
        as `precision` says.
        """
        run_filter = RunFilter(principal.owner_filter, facts.task.id, since=span.first, until=span.last)
        rows = await self._book.runs(run_filter, limit=1)
        planned = _find_planned(facts, span, now)
        if rows.items:
            newest = rows.items[0]
            if newest.span is None or newest.span.last <= span.last:
                return _last_instant(newest)
            # The span of the row ends after the requested one.
            first = max(newest.span.first, span.first)
            return first if planned is None else max(first, planned)
        if not span.exact or planned is not None or not precision:
            return span.first if planned is None else planned
        return await self._find_occurrence(
            principal, facts, TimeSpan(span.first, span.first + precision - MICROSECOND), now
        )

    async def _find_outage(self, explanation: Explanation, at: datetime) -> Outage | None:
        if self._outages is None or not _may_follow_outage(explanation.runs):
            return None
        return await self._outages.at(at)


def _is_orphaned(facts: Facts) -> bool:
    return facts.status.pause is not None and facts.status.pause.cause is PauseCause.ORPHANED


def is_waiting_for_node(facts: Facts, verdict: Verdict) -> bool:
    """Return whether a due entry waits for a node that serves its route; entries with labels are in a queue before, too."""
    is_waiting = verdict is Verdict.WAITING
    return any(is_route(each.lane) and (each.state is EntryState.PARKED or is_waiting) for each in facts.entries)


def _last_instant(run: Run) -> datetime:
    return run.planned if run.span is None else run.span.last


def _may_follow_outage(runs: Sequence[Run]) -> bool:
    """Whether a run was skipped because no engine ran, or ran in place of missed occurrences."""
    return any(run.reason in _OUTAGE_REASONS or run.span is not None or run.started is not None for run in runs)


def find_occurrence(facts: Facts, at: str, zone: str, now: datetime) -> datetime:
    """Return the occurrence at a typed time as `why` reads it, whether or not it has a row.

    An instant that is no occurrence is returned as it is. `zone` is that of the caller.
    """
    span = parse_span(at, zone, now)
    extended = span._replace(last=span.first + _typed_precision(at) - MICROSECOND)
    planned = _find_planned(facts, span, now)
    if planned is None and span.exact and extended.last > span.first:
        planned = _find_planned(facts, extended, now)
    return span.first if planned is None else planned


def _find_planned(facts: Facts, span: TimeSpan, now: datetime) -> datetime | None:
    task = facts.task
    planned = iterate(task.schedule, span.first - MICROSECOND, past_of(task, facts.status), until=span.last)
    instants = list(islice(planned, _MAX_PLANNED))
    past = [each for each in instants if each <= now]
    return past[-1] if past else instants[0] if instants else None


def _typed_precision(at: datetime | str) -> timedelta:
    """Return the length of the typed time: a minute, a second, or zero for an exact instant."""
    if isinstance(at, datetime) or "." in at:
        return _EXACT
    clock = _CLOCK_TIME.search(at)
    if clock is None:
        return timedelta(minutes=1) if _SPOKEN_TIME.search(at) and "秒" not in at else _EXACT
    return timedelta(minutes=1) if clock[1] is None else timedelta(seconds=1)
