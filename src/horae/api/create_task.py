"""Creates tasks from request bodies: parses the task, resolves its schedule and warnings, and renders the receipt."""

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
    """A parsed task request with its schedule and warnings."""

    request: Wish
    schedule: Schedule
    warnings: tuple[ScheduleWarning | Advisory, ...]
    now: datetime
    declared: tuple[str, ...] = ()
    """Fields taken from the declaration of its function."""


async def understood(
    request: Request, principal: Principal, value: object, *, owner: str | None = None, exported: bool = False
) -> Order:
    """Parse a task. The schedule text is read here once, so that its warnings can be part of the response.

    `owner` is the owner of the task if the body names none.
    """
    context = house_of(request)
    task_request, now = read_task(value, exported=exported), context.clock.now()
    resolved = await context.service.resolve(principal, task_request)
    task_request = resolved.request
    default_zone = await assumed_zone(context.service, principal, task_request.owner or owner)
    reading = understand(task_request.when, task_request.zone, default_zone, now)
    declared = tuple(resolved.declared_in(reading.schedule))
    warnings: tuple[ScheduleWarning | Advisory, ...] = (*resolved.warnings, *reading.warnings)
    return Order(task_request._replace(when=reading.schedule), reading.schedule, warnings, now, declared)


class Maker:
    """Creates one task and renders its receipt. The response is rendered before the task is written, so that its
    idempotency record is part of the same transaction."""

    def __init__(self, request: Request, principal: Principal, include: frozenset[str], *, dry_run: bool) -> None:
        self._request = request
        self._who = principal
        self._include = include
        self._dry_run = dry_run
        self._response: Response | None = None
        self._expected = as_expected(request, may_create=True)
        self._existed = False

    async def create(self, order: Order, paused: str | None) -> Response:
        tasks = acting(self._request, dry_run=self._dry_run).tasks.with_condition(self._check_before_write)

        def attach_record(created: Sequence[Facts]) -> Sequence[Writing]:
            self._response = self._render(created[0], order.now, order.warnings, order.declared)
            key = kept_for(self._request)
            return () if key is None else (key.to_writing(self._response.status_code, {"id": created[0].task.id}),)

        task = await tasks.create(self._who, order.request, paused=paused, attach_records=attach_record)
        if self._response is None:
            self._response = self._render(
                await tasks.get(self._who, task.id), order.now, order.warnings, order.declared
            )
        return self._response

    async def replay(self, task_id: str) -> Response:
        """Render the receipt of a task that this request created before, in its current state."""
        facts = await house_of(self._request).service.tasks.get(self._who, task_id)
        now = house_of(self._request).clock.now()
        try:
            order = await ordered(self._request, self._who)
        except Refusal:
            # The schedule names a time that has passed since.
            return self._render(facts, now, lint(facts.task.schedule, now))
        return self._render(facts, now, order.warnings, order.declared)

    def _check_before_write(self, existing: Facts | None) -> None:
        """Check the request's conditions inside the write transaction, where no other writer can come in between, and
        note whether the task existed."""
        self._existed = existing is not None
        self._expected(existing)

    def _render(
        self,
        facts: Facts,
        now: datetime,
        warnings: Sequence[ScheduleWarning | Advisory],
        declared: Sequence[str] = (),
    ) -> Response:
        lang = language(self._request)
        additions = receipt_more(facts, now, warnings, lang, dry_run=self._dry_run, declared=declared)
        if "agenda" in self._include:
            additions["agenda"] = agenda_json(facts)
        task = task_text(facts, lang)
        text = b"%s,%s" % (task[:-1], encoded(additions)[1:])
        if self._dry_run:
            return written(text)
        link_to_first(self._request, facts)
        headers = {"Location": f"/v1/tasks/{facts.task.id}", "ETag": f'"{tag_of(task, facts.task.version)}"'}
        return written(text, 200 if self._existed else 201, headers)


async def ordered(request: Request, principal: Principal, **fixed: Any) -> Order:
    """Parse the request body; `fixed` are fields given by the URL, which win over the body."""
    body = await json_body(request)
    if fixed and isinstance(body, dict):
        body = {**body, **fixed}
    return await understood(request, principal, body)
