"""Reviews of outages: what came due while no node ran, and which tasks were not made up for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ...clock import Clock
from ...model.accounts.principal import Principal, Scope
from ...model.page import MAX_PAGE_SIZE
from ...model.reason import Reason
from ...model.run import Origin, Run, RunState
from ...ports.full_store import FullStore
from ...ports.records import Record
from ...ports.store import RunFilter
from ..accounts.rights import refuse_agent
from .outages import Outage, Outages

_SEEN_KIND: Final = "outage_seen"
_REVIEW_AGE: Final = timedelta(days=1)
_REVIEW_PAGES: Final = 1
_REVIEW_SECONDS: Final = 10.0
"""A review is cached for so long: the Now page of every viewer shows it."""
_MAX_REVIEWED: Final = 20
_MAX_CACHED: Final = 1_000
_NOT_MADE_UP: Final = frozenset({Reason.MISSED_SKIPPED, Reason.STALE, Reason.START_DEADLINE})


class OutageSummary(NamedTuple):
    """Outcomes of the occurrences that came due in an outage; `waiting` are those not claimed yet."""

    made_up: int = 0
    merged: int = 0
    skipped: int = 0
    waiting: int = 0

    @property
    def due(self) -> int:
        return sum(self)


class MissedTask(NamedTuple):
    """A task whose occurrences in an outage were not made up for: their number, the first and the latest."""

    task_id: str
    name: str
    number: int
    first: datetime
    latest: datetime


class OutageReview(NamedTuple):
    """What came due in an outage. `is_partial`: more came due than was counted."""

    outage: Outage
    summary: OutageSummary
    missed: tuple[MissedTask, ...]
    is_partial: bool


class OutageReviews:
    def __init__(self, store: FullStore, clock: Clock, outages: Outages) -> None:
        self._store = store
        self._clock = clock
        self._outages = outages
        self._reviews: dict[tuple[str | None, datetime], tuple[float, OutageReview]] = {}

    async def latest(self, principal: Principal) -> OutageReview | None:
        """Return the newest outage of the last day with the outcomes of the caller's tasks; None if there was none, or the
        caller has dismissed it."""
        refuse_agent(principal, "outages")
        principal.require_scope(Scope.READ)
        outages = await self._outages.all()
        if not outages or self._clock.now() - outages[-1].until > _REVIEW_AGE:
            return None
        outage = outages[-1]
        seen = await self._store.get_record(_SEEN_KIND, principal.owner, principal.owner)
        if seen is not None and datetime.fromisoformat(json.loads(seen.body)["until"]) >= outage.until:
            return None
        return await self._cached_review(outage, principal.list_scope)

    async def dismiss(self, principal: Principal, until: datetime) -> None:
        """Do not review outages that ended at this instant or before any more, for the caller's owner."""
        refuse_agent(principal, "outages")
        principal.require_scope(Scope.WRITE)
        record = await self._store.get_record(_SEEN_KIND, principal.owner, principal.owner)
        seen = Record(_SEEN_KIND, principal.owner, principal.owner, json.dumps({"until": until.isoformat()}))
        await self._store.put_record(seen, replacing=None if record is None else record.version)

    async def _cached_review(self, outage: Outage, owner: str | None) -> OutageReview:
        now, key = self._clock.steady(), (owner, outage.since)
        cached = self._reviews.get(key)
        if cached is not None and now < cached[0]:
            return cached[1]
        if len(self._reviews) >= _MAX_CACHED:
            self._reviews.clear()
        review = await self._make_review(outage, owner)
        self._reviews[key] = now + _REVIEW_SECONDS, review
        return review

    async def _make_review(self, outage: Outage, owner: str | None) -> OutageReview:
        rows = await load_outage_runs(self._store, outage, owner, _REVIEW_PAGES)
        by_task: dict[str, list[Run]] = {}
        for run in rows:
            if run.state is RunState.SKIPPED and run.reason in _NOT_MADE_UP:
                by_task.setdefault(run.task_id, []).append(run)
        names = await self._store.task_names(list(by_task)[:_MAX_REVIEWED], None)
        missed = [_missed_task(names[task_id], runs) for task_id, runs in by_task.items() if task_id in names]
        is_partial = len(rows) >= _REVIEW_PAGES * MAX_PAGE_SIZE or len(by_task) > _MAX_REVIEWED
        return OutageReview(outage, count_occurrences(rows), tuple(missed), is_partial)


async def load_outage_runs(store: FullStore, outage: Outage, owner: str | None, pages: int) -> list[Run]:
    """Return the runs of occurrences that came due in an outage and that no node could start on time."""
    found: list[Run] = []
    after: str | None = None
    for _ in range(pages):
        page = await store.runs(RunFilter(owner, since=outage.since, until=outage.until), after, MAX_PAGE_SIZE)
        # A node dies some time after its last renewal: runs that it still started were not missed.
        found += [run for run in page.items if run.started is None or run.started >= outage.until]
        after = page.after
        if after is None:
            break
    return found


def count_occurrences(runs: Iterable[Run]) -> OutageSummary:
    """Count each occurrence once, by its last attempt; a row that covers several counts as many."""
    last: dict[tuple[str, datetime], Run] = {}
    for run in runs:
        occurrence = run.task_id, run.planned
        if run.origin is Origin.SCHEDULED and (occurrence not in last or last[occurrence].attempt < run.attempt):
            last[occurrence] = run
    made_up = merged = skipped = 0
    for run in last.values():
        if run.reason is Reason.MERGED:
            merged += _count(run)
        elif run.state is RunState.SKIPPED:
            skipped += _count(run)
        else:
            made_up += _count(run)
    return OutageSummary(made_up, merged, skipped)


def _missed_task(name: str, runs: list[Run]) -> MissedTask:
    first = min(run.planned if run.span is None else run.span.first for run in runs)
    latest = max(run.planned if run.span is None else run.span.last for run in runs)
    return MissedTask(runs[0].task_id, name, sum(map(_count, runs)), first, latest)


def _count(run: Run) -> int:
    return 1 if run.span is None else run.span.count
