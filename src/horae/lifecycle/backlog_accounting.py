"""Accounting of a due backlog: requested skips take its oldest occurrences, the missed policy decides about the rest."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from ..model.entry import Entry
from ..model.reason import Reason
from ..model.run import Run
from ..model.task import TaskStatus
from .agenda import waiting_entry
from .due_backlog import DueBacklog
from .event_rows import skipped_run
from .missed import CatchUpPlan, Occurrence, Skips


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
