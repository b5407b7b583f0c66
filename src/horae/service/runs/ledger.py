"""The ledger read: why something did or did not happen, with the rows that the answer rests on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple, Protocol

from ...clock import Clock
from ...lifecycle.due_backlog import MICROSECOND
from ...lifecycle.explain import Explanation, RunningNodes, Verdict, explain, skipped_in_pause, with_pause
from ...model.accounts.principal import Principal, Scope
from ...model.change import Facts
from ...model.entry import EntryKind, Stand
from ...model.paused_stretch import PAUSED_STRETCH, PausedStretch, read_pause
from ...model.reason import Reason
from ...model.refusals import refuse
from ...model.route import is_route
from ...model.run import Run
from ...model.task import PauseCause, past_of
from ...ports.lease_terms import agreed_lease
from ...ports.records import Records
from ...ports.store import Book, RunFilter
from ...schedule import iterate
from ...typography import full_width
from ..accounts.rights import sees
from ..query.argument_checks import check_id
from ..query.id_prefix import resolve_task
from ..query.instants import Stretch, asked_stretch
from ..tasks.advisories import Advisory
from ..tasks.functions import Functions, function_of
from .outages import Outage, Outages

_ROWS: Final = 200
_NOTHING_MORE: Final = timedelta(0)
_CLOCK: Final = re.compile(r"(?<![\d:+-])\d{1,2}:\d{2}(:\d{2})?")
_SPOKEN_TIME: Final = re.compile(r"\d\s*[ap]m\b|noon|[点點时時]|中午", re.IGNORECASE)
_DUE_AND_NOT_BEGUN: Final = frozenset({Stand.TIMED, Stand.READY, Stand.PARKED})
_NO_OCCURRENCE: Final = frozenset({EntryKind.RESUME, EntryKind.DEADLINE})
_MOST_PLANNED: Final = 100_000
_NOT_BEGUN: Final = frozenset({Verdict.PENDING, Verdict.WAITING, Verdict.OVERDUE})
_NEEDS_NODE: Final = frozenset({Verdict.WAITING, Verdict.OVERDUE})
_NOTHING_RAN: Final = frozenset({Reason.MISSED_SKIPPED, Reason.MERGED, Reason.STALE})


class Why(NamedTuple):
    """The answer for one instant of a task; `outage` is the stretch without any engine that it fell into.

    `near_function` is the registered name that was probably meant, where the function of the task is not known.
    """

    facts: Facts
    at: datetime
    explanation: Explanation
    outage: Outage | None = None
    near_function: str | None = None
    missing: Advisory | None = None
    """The warning about its function, where no running node can start it."""
    nodes: RunningNodes | None = None


class Keeping(Book, Records, Protocol):
    """What it asks of the store."""


class Ledger:
    def __init__(
        self, book: Keeping, clock: Clock, outages: Outages | None = None, functions: Functions | None = None
    ) -> None:
        self._functions = functions
        self._book = book
        self._clock = clock
        self._outages = outages

    async def why(self, who: Principal, task_id: str, at: datetime) -> Explanation:
        """What became of the occurrence at that instant, in one sentence, with the rows that it rests on."""
        return (await self.explained(who, task_id, at)).explanation

    async def explained(self, who: Principal, task_id: str, at: datetime | str | None, zone: str | None = None) -> Why:
        """The same for whatever moment somebody names: of a day, its last occurrence up to now; of None, the newest.

        `zone` is that of the caller, in which times without a zone are read; None: the zone of the task.
        """
        facts = await self._facts(who, task_id)
        now = self._clock.now()
        if at is None:
            instant = await self._newest(who, facts, now)
        else:
            stretch = asked_stretch(at, zone or facts.task.schedule.zone or "UTC", now)
            instant = await self._within(who, facts, stretch, now, _meant(at))
        rows = await self._book.runs(RunFilter(who.scope, facts.task.id, since=instant, until=instant), limit=_ROWS)
        found, nodes = explain(facts, rows.items, instant, now), None
        if found.verdict in _NEEDS_NODE:
            nodes = await self._nodes(now)
            found = explain(facts, rows.items, instant, now, nodes)
        if at is None:
            found = with_pause(facts, found)
        paused = await self._paused_stretch(found)
        if paused is not None:
            found = skipped_in_pause(facts, found, paused)
        outage = None if paused is not None else await self._outage(found, instant)
        why = Why(facts, instant, found, outage, nodes=nodes)
        return await self._with_function(why) if found.verdict in _NOT_BEGUN or _is_orphaned(facts) else why

    async def _with_function(self, why: Why) -> Why:
        """Adds the function that no running node has, and the name that was probably meant."""
        target = why.facts.task.target
        if self._functions is None or function_of(target) is None:
            return why
        catalogue = await self._functions.load(fresh=True)
        missing = catalogue.missing(target)
        if missing is None:
            return why
        if _is_orphaned(why.facts):
            return why._replace(missing=missing)
        told = why.explanation
        waits = told.verdict is Verdict.WAITING and is_waiting_for_node(why.facts)
        # The warning names what such an entry waits for.
        before, before_zh = ("It is due and waits.", "它已到期，正在等待。") if waits else (told.english, told.chinese)
        english = f"{before} {missing.in_language('en')}"
        chinese = f"{before_zh}{full_width(missing.in_language('zh'))}"
        near = catalogue.nearest(function_of(target) or "") if missing.code == "function_unknown" else None
        return why._replace(
            explanation=told._replace(english=english, chinese=chinese), near_function=near, missing=missing
        )

    async def _paused_stretch(self, found: Explanation) -> PausedStretch | None:
        """The pause that the occurrence fell into, where its row does not say so."""
        if found.verdict is not Verdict.SKIPPED or found.reason not in (Reason.MERGED, Reason.MISSED_SKIPPED):
            return None
        record = await self._book.get_record(PAUSED_STRETCH, found.runs[-1].id)
        return None if record is None else read_pause(record)

    async def _nodes(self, now: datetime) -> RunningNodes:
        lease = await agreed_lease(self._book)
        nodes = [each for each in await self._book.nodes() if now - each.renewed <= lease]
        return RunningNodes(
            tuple(each.id for each in nodes if not each.draining), tuple(each.id for each in nodes if each.draining)
        )

    async def _facts(self, who: Principal, task_id: str) -> Facts:
        who.must(Scope.READ)
        check_id(task_id, "no_such_task")
        facts = await self._book.facts(await resolve_task(self._book, who, task_id), who.scope)
        if facts is None or not sees(who, facts.task):
            raise refuse("no_such_task", id=task_id)
        return facts

    async def _newest(self, who: Principal, facts: Facts, now: datetime) -> datetime:
        """What is due and has not begun comes first: nobody who asks must be told of the last success instead. Then what
        has a row; before there is any, what stands on the agenda."""
        held = _DUE_AND_NOT_BEGUN if facts.standing.pause is None else _DUE_AND_NOT_BEGUN | {Stand.ASLEEP}
        due = [
            entry.planned
            for entry in facts.entries
            if entry.due <= now and entry.stand in held and entry.kind not in _NO_OCCURRENCE
        ]
        if due:
            return min(due)
        rows = await self._book.runs(RunFilter(who.scope, facts.task.id), limit=1)
        if rows.items:
            return _last_of(rows.items[0])
        return min((entry.planned for entry in facts.entries), default=now)

    async def _within(
        self, who: Principal, facts: Facts, stretch: Stretch, now: datetime, meant: timedelta = _NOTHING_MORE
    ) -> datetime:
        """Of a stretch, the last occurrence that has a row, else the last one that was planned, up to now.

        Who says 07:16:32 means that second: of an instant that is none of the task's own, as much is looked at as was
        `meant`.
        """
        wanted = RunFilter(who.scope, facts.task.id, since=stretch.first, until=stretch.last)
        rows = await self._book.runs(wanted, limit=1)
        if rows.items:
            return min(_last_of(rows.items[0]), stretch.last)
        planned = _planned_in(facts, stretch, now)
        if not stretch.exact or planned is not None or not meant:
            return stretch.first if planned is None else planned
        return await self._within(who, facts, Stretch(stretch.first, stretch.first + meant - MICROSECOND), now)

    async def _outage(self, found: Explanation, at: datetime) -> Outage | None:
        if self._outages is None or not _might_be_missed(found.runs):
            return None
        return await self._outages.at(at)


def _is_orphaned(facts: Facts) -> bool:
    return facts.standing.pause is not None and facts.standing.pause.cause is PauseCause.ORPHANED


def is_waiting_for_node(facts: Facts) -> bool:
    return any(entry.stand is Stand.PARKED and is_route(entry.lane) for entry in facts.entries)


def _last_of(run: Run) -> datetime:
    return run.planned if run.span is None else run.span.last


def _might_be_missed(runs: Sequence[Run]) -> bool:
    """Skipped because nothing ran, or run for those that were missed before it."""
    return any(run.reason in _NOTHING_RAN or run.span is not None or run.started is not None for run in runs)


def occurrence_meant(facts: Facts, at: str, zone: str, now: datetime) -> datetime:
    """The one occurrence that somebody names as `why` would read it, whether or not it has a row; an instant that is none
    of the task's own stays what it is. `zone` is that of the caller."""
    stretch = asked_stretch(at, zone, now)
    whole = stretch._replace(last=stretch.first + _meant(at) - MICROSECOND)
    planned = _planned_in(facts, stretch, now)
    if planned is None and stretch.exact and whole.last > stretch.first:
        planned = _planned_in(facts, whole, now)
    return stretch.first if planned is None else planned


def _planned_in(facts: Facts, stretch: Stretch, now: datetime) -> datetime | None:
    task = facts.task
    planned = iterate(task.schedule, stretch.first - MICROSECOND, past_of(task, facts.standing), until=stretch.last)
    found = list(islice(planned, _MOST_PLANNED))
    past = [each for each in found if each <= now]
    return past[-1] if past else found[0] if found else None


def _meant(at: datetime | str) -> timedelta:
    """How long the moment is that somebody has typed: a minute, a second, or exactly that instant."""
    if isinstance(at, datetime) or "." in at:
        return _NOTHING_MORE
    clock = _CLOCK.search(at)
    if clock is None:
        return timedelta(minutes=1) if _SPOKEN_TIME.search(at) and "秒" not in at else _NOTHING_MORE
    return timedelta(minutes=1) if clock[1] is None else timedelta(seconds=1)
