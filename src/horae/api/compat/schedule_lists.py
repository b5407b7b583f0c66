"""Lists of schedules: filters, order by due time, and numbered pages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, NamedTuple

from ...model.change import Facts
from ...web.parameters import Query
from ...wire.instants import utc
from ...wire.tasks.task import next_due
from .refusals import refuse
from .schedule_fields import read_choice
from .schedule_json import STATUSES, first_time, is_enabled, priority_name, status_of, tags_of, type_of
from .stored_fields import SOURCE_ID, SOURCE_TYPE, read_details

Limit = Annotated[int, Query(minimum=1, maximum=200)]
Page = Annotated[int, Query(minimum=1, maximum=10_000)]
Name = Annotated[str | None, Query(max_length=100)]
TextList = Annotated[list[str] | None, Query()]
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


class ScheduleFilter(NamedTuple):
    """Filter of schedules: all given conditions must hold; a condition with several values matches any of them."""

    statuses: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    enabled: bool | None = None
    tags: frozenset[str] = frozenset()

    def matches(self, facts: Facts) -> bool:
        return (
            (not self.statuses or status_of(facts) in self.statuses)
            and (not self.types or type_of(facts.task) in self.types)
            and (self.enabled is None or self.enabled is is_enabled(facts))
            and (not self.tags or not self.tags.isdisjoint(tags_of(facts.task)))
        )


def parse_filter(
    statuses: Sequence[str] | None, types: Sequence[str] | None, tags: Sequence[str] | None, *, enabled: bool | None
) -> ScheduleFilter:
    checked = frozenset(read_choice("status", each, STATUSES) for each in statuses or ())
    return ScheduleFilter(checked, frozenset(types or ()), enabled, frozenset(tags or ()))


def source_labels(source_type: str | None, source_id: str | None) -> tuple[tuple[str, str], ...]:
    """Return the labels of the schedules of one source."""
    if not source_id:
        raise refuse("compat_no_source")
    return (SOURCE_ID, source_id), *(((SOURCE_TYPE, source_type),) if source_type else ())


def sort_by_due(tasks: Sequence[Facts], now: datetime) -> list[Facts]:
    """Sort by next time; schedules without one come last, by the time that they had."""
    return sorted(tasks, key=lambda each: (next_due(each) or _NEVER, first_time(each, now), each.task.id))


def render_upcoming(facts: Facts, due: datetime, now: datetime) -> dict[str, Any]:
    task = facts.task
    return {
        "uuid": task.id,
        "title": task.name,
        "name": task.name,
        "taskType": type_of(task),
        "scheduledTime": utc(due),
        "priority": priority_name(task.policies.priority),
        "alertConfig": read_details(task.payload).get("alertConfig"),
        "minutesUntil": max(0, int((due - now).total_seconds() // 60)),
    }
