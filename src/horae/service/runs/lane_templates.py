"""Limits and rates of lane templates such as `api:{owner}`: every filled-in name gets them, unless it has its own.

Stores know filled-in names only. So the limit and rate of a template are written for each name that a task has, when the
template is set, and before a task with a new name is stored. A record says which names follow which template.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from typing import Final, NamedTuple

from ...model.accounts.principal import Principal
from ...model.lanes.lane import DEFAULT_LIMIT, LaneUse, agent_of_lane, lanes_of_template, owner_lane_prefix
from ...model.lanes.rate import Rate, RateChange, parse_rate
from ...model.page import MAX_PAGE_SIZE
from ...model.record import Record, RecordWrite
from ...model.refusals import refuse as refuse_value
from ...model.task import Task
from ...ports.full_store import FullStore
from ...ports.records import write_unless_changed
from ...ports.store import TaskFilter
from ..accounts.refusals import refuse

TEMPLATE_KIND: Final = "lane_template"
SETTING_KIND: Final = "lane_setting"
_ALL: Final = TaskFilter()


class LaneTemplate(NamedTuple):
    """A template with its limit (None: none, beside a rate) and rate; `version` is that of its record."""

    name: str
    limit: int | None = None
    rate: Rate | None = None
    version: int | None = None

    def with_changes(self, limit: int | None, rate: RateChange) -> LaneTemplate:
        return self._replace(limit=self.limit if limit is None else limit, rate=self.rate if rate == "keep" else rate)

    def write(self) -> RecordWrite:
        body = {"limit": self.limit, "rate": None if self.rate is None else str(self.rate)}
        return RecordWrite(Record(TEMPLATE_KIND, self.name, "", json.dumps(body)), self.version)


class LaneTemplates:
    def __init__(self, store: FullStore) -> None:
        self._store = store

    async def get(self, name: str) -> LaneTemplate:
        """Return a template; one without a record has neither limit nor rate."""
        record = await self._store.get_record(TEMPLATE_KIND, name)
        return LaneTemplate(name) if record is None else _template_of(record)

    async def explicit_setting(self, lane: str) -> tuple[RecordWrite, ...]:
        """Return the record which says that a filled-in name has its own setting; none where it says so already."""
        record = await self._store.get_record(SETTING_KIND, lane)
        if record is not None and json.loads(record.body)["template"] is None:
            return ()
        return (_setting(lane, None, record),)

    async def follow(self, principal: Principal, tasks: Iterable[Task], *, may_write: bool = True) -> None:
        """Give each lane of these tasks that a template stands for, and that has no setting yet, the one of the template.

        `may_write` False: refuse instead, because the caller has an open transaction, for which this write could wait.
        """
        placed = [task for task in tasks if task.lanes]
        if not placed:
            return
        templates = [_template_of(record) async for record in self._records(TEMPLATE_KIND)]
        names: dict[str, LaneTemplate] = {}
        for template in templates:
            for lane in _filled_in(template.name, placed):
                names.setdefault(lane, template)
        known: Collection[str] | None = None
        for lane, template in names.items():
            if await self._store.get_record(SETTING_KIND, lane) is None:
                if not may_write:
                    raise refuse_value("new_lane_in_caller_transaction", lane=lane, template=template.name)
                await self._check_count(principal, lane)
                if known is None:
                    known = self._known(await self._store.lanes())
                await self._apply(lane, template, known)

    async def apply(self, principal: Principal, template: LaneTemplate) -> None:
        """Give the filled-in names of a template its setting: those of stored tasks, and those that followed it before."""
        followers = {
            record.key
            async for record in self._records(SETTING_KIND)
            if json.loads(record.body)["template"] == template.name
        }
        async for tasks in self._tasks(principal):
            followers |= _filled_in(template.name, tasks)
        known = self._known(await self._store.lanes())
        for lane in sorted(followers):
            await self._apply(lane, template, known)

    async def _apply(self, lane: str, template: LaneTemplate, known: Collection[str]) -> None:
        """Write the setting of the template for a lane that follows it, or another template, or has none.

        The template is read again after the write: if it was changed meanwhile, its writer may not have seen this lane.
        """
        while True:
            record = await self._store.get_record(SETTING_KIND, lane)
            if record is None and lane in known:
                return
            if record is not None and json.loads(record.body)["template"] != template.name:
                return
            mark = () if record is not None else (_setting(lane, template.name, None),)
            write = self._store.set_lane(lane, template.limit, rate=template.rate, attached_records=mark)
            if not await write_unless_changed(write):
                continue
            current = await self.get(template.name)
            if current == template:
                return
            template = current

    @staticmethod
    def _known(lanes: Sequence[LaneUse]) -> frozenset[str]:
        """Return the lanes that have a setting of their own: another limit than the default one, a rate, or no run."""
        return frozenset(
            each.name for each in lanes if each.limit != DEFAULT_LIMIT or each.rate is not None or not each.used
        )

    async def _check_count(self, principal: Principal, lane: str) -> None:
        """Bound the lanes of an owner that is no admin, because the store reads the lanes of all owners together."""
        if principal.owner_filter is not None:
            check_lane_count(principal, lane, await self._store.lanes())

    async def _records(self, kind: str) -> AsyncIterator[Record]:
        after: str | None = None
        while True:
            page = await self._store.records(kind, after=after, limit=MAX_PAGE_SIZE)
            for record in page.items:
                yield record
            after = page.after
            if after is None:
                return

    async def _tasks(self, principal: Principal) -> AsyncIterator[list[Task]]:
        """Yield all tasks that may be in a filled-in lane, page by page."""
        after: str | None = None
        while True:
            page = await self._store.tasks(_ALL._replace(owner=principal.owner_filter), after, MAX_PAGE_SIZE)
            yield [facts.task for facts in page.items]
            after = page.after
            if after is None:
                return


def check_lane_count(principal: Principal, lane: str, lanes: Sequence[LaneUse]) -> None:
    """Refuse a further lane of an owner that has as many as its quota allows."""
    most = principal.quotas.lanes
    if most is None:
        return
    # The lanes with the quotas of its agents are not of its making.
    named = [each.name for each in lanes if each.name.startswith(owner_lane_prefix(principal.owner))]
    own = [name for name in named if agent_of_lane(principal.owner, name) is None]
    if len(own) >= most and lane not in own:
        raise refuse("too_many_lanes", owner=principal.owner, most=most, more=most + 1)


def _filled_in(template: str, tasks: Iterable[Task]) -> set[str]:
    return {
        lane
        for task in tasks
        if task.lanes
        for lane in lanes_of_template(template, task.owner, dict(task.labels), task.lanes)
    }


def _template_of(record: Record) -> LaneTemplate:
    body = json.loads(record.body)
    rate = None if body["rate"] is None else parse_rate(body["rate"])
    return LaneTemplate(record.key, body["limit"], rate, record.version)


def _setting(lane: str, template: str | None, before: Record | None) -> RecordWrite:
    """Return the write that says which template a lane follows; None: none, it has its own setting."""
    return RecordWrite(
        Record(SETTING_KIND, lane, "", json.dumps({"template": template})), None if before is None else before.version
    )
