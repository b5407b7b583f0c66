"""Missed policy (misfire policy): which occurrences of a due backlog are skipped, run now or queued."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, TypeAlias, assert_never

from ..model.entry import Entry
from ..model.policy import Missed
from ..model.reason import Reason
from ..model.run import Run, Span
from ..model.task import TaskStatus
from .agenda import waiting_entry
from .due_backlog import MICROSECOND, DueBacklog
from .event_rows import skipped_run

Skips: TypeAlias = tuple[tuple[Span, Reason], ...]


class Occurrence(NamedTuple):
    """Occurrence to run: one planned instant, with the `span` that it represents; or all up to `through`.

    With `in_order` it ends, retries included, before a later one starts.
    """

    planned: datetime
    span: Span | None = None
    through: datetime | None = None
    in_order: bool = False


class CatchUpPlan(NamedTuple):
    """Catch-up plan: skipped spans, the occurrence to run now and the ones to queue; `accepted` of them get a run."""

    skips: Skips = ()
    to_run: Occurrence | None = None
    to_queue: Occurrence | None = None
    accepted: int = 0

    @property
    def with_all_queued(self) -> CatchUpPlan:
        """Return the plan with its first occurrence queued too."""
        if self.to_run is None or self.to_queue is None:
            return self._replace(to_run=None, to_queue=self.to_run)
        return self._replace(to_run=None, to_queue=self.to_queue._replace(planned=self.to_run.planned))


def plan_on_time(planned: datetime) -> CatchUpPlan:
    return CatchUpPlan(to_run=Occurrence(planned), accepted=1)


def plan_catch_up(missed: Missed, backlog: DueBacklog, now: datetime, remaining: int | None) -> CatchUpPlan:
    """Apply the missed policy to a backlog; `remaining` is the number of runs that the schedule's repeat still allows."""
    if missed.mode == "skip":
        return CatchUpPlan(skips=((backlog.span, Reason.MISSED_SKIPPED),))
    stale, fresh = (None, backlog) if missed.within is None else backlog.split_due_before(now - missed.within)
    skips: Skips = () if stale is None else ((stale.span, Reason.STALE),)
    if fresh is None:
        return CatchUpPlan(skips)
    match missed.mode:
        case "latest":
            return _plan_latest(fresh, skips)
        case "merge":
            return CatchUpPlan(skips, Occurrence(fresh.last, fresh.span if fresh.size > 1 else None), accepted=1)
        case "all":
            return _plan_all(fresh, skips, missed.limit, remaining)
        case _:
            assert_never(missed.mode)


def plan_after_wait(missed: Missed, backlog: DueBacklog, now: datetime, remaining: int | None) -> CatchUpPlan:
    """Plan a backlog whose first occurrence came due in time and waited: it runs, the later ones count as missed."""
    if backlog.size == 1 or remaining == 1:
        return plan_on_time(backlog.first)
    _, rest = backlog.split(1)
    later = plan_catch_up(missed, rest, now, None if remaining is None else remaining - 1).with_all_queued
    return later._replace(to_run=Occurrence(backlog.first), accepted=later.accepted + 1)


def _plan_latest(backlog: DueBacklog, skips: Skips) -> CatchUpPlan:
    if backlog.size > 1:
        skips = (*skips, (backlog.oldest(backlog.size - 1).span, Reason.MERGED))
    return CatchUpPlan(skips, Occurrence(backlog.last), accepted=1)


def _plan_all(backlog: DueBacklog, skips: Skips, limit: int, remaining: int | None) -> CatchUpPlan:
    surplus = backlog.size - limit
    if surplus > 0:
        older, backlog = backlog.split(surplus)
        skips = (*skips, (older.span, Reason.MISSED_SKIPPED))
    if remaining is not None and remaining < backlog.size:
        # The schedule ends with the last repeat: later instants are no occurrences.
        backlog = backlog.oldest(remaining)
    rest = Occurrence(backlog.nth(2), through=backlog.last, in_order=True) if backlog.size > 1 else None
    return CatchUpPlan(skips, Occurrence(backlog.first, in_order=True), rest, accepted=backlog.size)


class BacklogAccount(NamedTuple):
    """Backlog after requested skips: `skips` are the skipped spans, `rest` is what remains, `status` has the skips still open."""

    backlog: DueBacklog
    rest: DueBacklog | None
    status: TaskStatus
    skips: Skips = ()

    @property
    def remaining_repeats(self) -> int | None:
        """Number of occurrences that `repeat` still allows to run; None without that limit."""
        schedule = self.backlog.task.schedule
        if schedule.repeat is None or schedule.counting == "planned":
            return None
        return schedule.repeat - self.status.counted

    def rows(self, plan: CatchUpPlan, now: datetime) -> tuple[Run, ...]:
        """Return the skipped runs for the requested skips and those of the plan."""
        return tuple(skipped_run(self.backlog.task, span, reason, now) for span, reason in (*self.skips, *plan.skips))

    def status_after(self, given: int, planned: int) -> TaskStatus:
        """Return the status after `given` occurrences got a run; with `counting: planned` all `planned` ones count."""
        count = planned if self.backlog.task.schedule.counting == "planned" else given
        return self.status if count == 0 else self.status._replace(counted=self.status.counted + count)

    def queue_entry(self, occurrence: Occurrence) -> Entry:
        """Return the waiting entry of an occurrence."""
        return waiting_entry(
            self.backlog.task,
            occurrence.planned,
            self.backlog.due(occurrence.planned),
            through=occurrence.through,
            span=occurrence.span,
            in_order=occurrence.in_order,
        )


def skip_late_starts(account: BacklogAccount, now: datetime) -> BacklogAccount:
    """Skip the occurrences that may no longer start (`start_within`), before the missed policy decides about the rest."""
    within = account.backlog.task.policies.start_within
    if within is None or account.rest is None:
        return account
    late, rest = account.rest.split_due_before(now - within + MICROSECOND)
    if late is None:
        return account
    return account._replace(rest=rest, skips=(*account.skips, (late.span, Reason.START_DEADLINE)))


def apply_requested_skips(status: TaskStatus, backlog: DueBacklog) -> BacklogAccount:
    """Apply requested skips to the oldest occurrences of a backlog."""
    requested = status.skips_left
    if requested == 0:
        return BacklogAccount(backlog, backlog, status)
    if requested >= backlog.size:
        fewer = status._replace(skips_left=requested - backlog.size)
        return BacklogAccount(backlog, None, fewer, ((backlog.span, Reason.SKIP_REQUESTED),))
    first, rest = backlog.split(requested)
    return BacklogAccount(backlog, rest, status._replace(skips_left=0), ((first.span, Reason.SKIP_REQUESTED),))
