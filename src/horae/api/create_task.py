"""A task as it comes over the wire becomes a wish, and what was made of it is told: for one task and for many."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from ..errors import Refusal
from ..model.accounts.principal import Principal
from ..model.change import Facts
from ..model.record import Writing
from ..schedule import Schedule
from ..schedule.lint import lint
from ..schedule.warnings import ScheduleWarning
from ..service.tasks.advisories import Advisory
from ..service.tasks.default_zone import assumed_zone
from ..service.tasks.previews import understand
from ..service.tasks.task_request import Wish
from ..web.body import json_body
from ..web.etags import as_expected, tag_of
from ..web.idempotency import kept_for
from ..web.language import language
from ..web.request_context import house_of
from ..web.responses import encoded, written
from ..wire.agenda import agenda_json
from ..wire.receipts import receipt_more
from ..wire.tasks import read_task
from .parameters import acting
from .task_json_cache import task_text
from .trace_links import link_to_first


class Order(NamedTuple):
    """What somebody asks for, and what they should know of it."""

    wish: Wish
    schedule: Schedule
    warnings: tuple[ScheduleWarning | Advisory, ...]
    now: datetime
    declared: tuple[str, ...] = ()
    """Fields that came from the declaration of its function."""


async def understood(
    request: Request, who: Principal, value: object, *, owner: str | None = None, exported: bool = False
) -> Order:
    """The words of a schedule are read here, once, so that what may surprise can be told with the answer.

    `owner` is whose task it is, where the body does not say so.
    """
    house = house_of(request)
    wish, now = read_task(value, exported=exported), house.clock.now()
    resolved = await house.service.resolve(who, wish)
    wish = resolved.wish
    usual = await assumed_zone(house.service, who, wish.owner or owner)
    found = understand(wish.when, wish.zone, usual, now)
    declared = tuple(resolved.declared_in(found.schedule))
    warnings: tuple[ScheduleWarning | Advisory, ...] = (*resolved.warnings, *found.warnings)
    return Order(wish._replace(when=found.schedule), found.schedule, warnings, now, declared)


class Maker:
    """Makes one task, and tells of it: the answer is made before the task is written, so that both can be kept as one."""

    def __init__(self, request: Request, who: Principal, include: frozenset[str], *, dry_run: bool) -> None:
        self._request = request
        self._who = who
        self._include = include
        self._dry_run = dry_run
        self._answer: Response | None = None
        self._expected = as_expected(request, made=True)
        self._was_there = False

    async def make(self, order: Order, paused: str | None) -> Response:
        tasks = acting(self._request, dry_run=self._dry_run).tasks.when(self._looked_at)

        def beside(made: Sequence[Facts]) -> Sequence[Writing]:
            self._answer = self._told(made[0], order.now, order.warnings, order.declared)
            kept = kept_for(self._request)
            return () if kept is None else (kept.writing(self._answer.status_code, {"id": made[0].task.id}),)

        task = await tasks.create(self._who, order.wish, paused=paused, beside=beside)
        if self._answer is None:
            self._answer = self._told(await tasks.get(self._who, task.id), order.now, order.warnings, order.declared)
        return self._answer

    async def again(self, task_id: str) -> Response:
        """The receipt of a task that this request made before, as it is now."""
        facts = await house_of(self._request).service.tasks.get(self._who, task_id)
        now = house_of(self._request).clock.now()
        try:
            order = await ordered(self._request, self._who)
        except Refusal:
            # The schedule names a moment that has passed since.
            return self._told(facts, now, lint(facts.task.schedule, now))
        return self._told(facts, now, order.warnings, order.declared)

    def _looked_at(self, found: Facts | None) -> None:
        """Asked within the write: only there nobody else makes it in between, and whether it was made is what the answer
        says."""
        self._was_there = found is not None
        self._expected(found)

    def _told(
        self,
        facts: Facts,
        now: datetime,
        warnings: Sequence[ScheduleWarning | Advisory],
        declared: Sequence[str] = (),
    ) -> Response:
        said_in = language(self._request)
        more = receipt_more(facts, now, warnings, said_in, dry_run=self._dry_run, declared=declared)
        if "agenda" in self._include:
            more["agenda"] = agenda_json(facts)
        task = task_text(facts, said_in)
        text = b"%s,%s" % (task[:-1], encoded(more)[1:])
        if self._dry_run:
            return written(text)
        link_to_first(self._request, facts)
        head = {"Location": f"/v1/tasks/{facts.task.id}", "ETag": f'"{tag_of(task, facts.task.version)}"'}
        return written(text, 200 if self._was_there else 201, head)


async def ordered(request: Request, who: Principal, **fixed: Any) -> Order:
    """What the body asks for; `fixed` is said by the address."""
    body = await json_body(request)
    if fixed and isinstance(body, dict):
        body = {**body, **fixed}
    return await understood(request, who, body)
