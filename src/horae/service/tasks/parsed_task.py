"""Task request with its schedule parsed: warnings and declared fields for a receipt, and the edits that replace a task."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from ...model.accounts.principal import Principal
from ...model.refusals import refuse
from ...model.task import Task
from ...schedule import Schedule
from ...schedule.warnings import ScheduleWarning
from ..accounts.rights import scoped_key
from .advisories import Advisory
from .default_zone import assumed_zone
from .edits import Edits
from .previews import parse_schedule
from .task_request import TaskRequest, explicit_options, read_policies

if TYPE_CHECKING:
    from ..service import Service


class ParsedTask(NamedTuple):
    """A parsed task request with its schedule and warnings."""

    request: TaskRequest
    schedule: Schedule
    warnings: tuple[ScheduleWarning | Advisory, ...]
    now: datetime
    declared: tuple[str, ...] = ()
    """Fields taken from the declaration of its function."""


async def parse_request(
    service: Service, principal: Principal, request: TaskRequest, now: datetime, *, owner: str | None = None
) -> ParsedTask:
    """Apply the declaration of its function to a request and read its schedule once, for the warnings of a receipt.

    `owner` is the owner of the task if the request names none.
    """
    resolved = await service.resolve(principal, request)
    request = resolved.request
    default_zone = await assumed_zone(service, principal, request.owner or owner)
    reading = parse_schedule(request.when, request.zone, default_zone, now)
    declared = tuple(resolved.declared_in(reading.schedule))
    warnings: tuple[ScheduleWarning | Advisory, ...] = (*resolved.warnings, *reading.warnings)
    return ParsedTask(request._replace(when=reading.schedule), reading.schedule, warnings, now, declared)


def replacing_edits(principal: Principal, parsed: ParsedTask, task: Task) -> Edits:
    """Return the edits that make a task equal to a request: absent fields get the defaults of a new task.

    Key and owner of a task cannot change, so other ones are refused.
    """
    request = parsed.request
    for name, given, current in (("key", request.key, task.key), ("owner", request.owner, task.owner)):
        if given is not None and given != current and (name != "key" or scoped_key(principal, given) != current):
            raise refuse("bad_choice", name=name, value=given, allowed=current or "none")
    return Edits(
        request.name,
        parsed.schedule,
        None,
        request.target,
        request.payload,
        request.lane,
        request.labels or {},
        explicit_options(read_policies(parsed.schedule, request.options)),
        request.granted_lanes,
    )
