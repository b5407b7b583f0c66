"""Creates tasks from request bodies: parses the task, resolves its schedule and warnings, and renders the receipt."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from ..errors import Refusal
from ..model.accounts.principal import Principal, Scope
from ..model.change import Facts
from ..model.ids import first_traceparent
from ..model.record import RecordWrite
from ..observe.traces import LINKS_KEY
from ..schedule.lint import lint
from ..schedule.warnings import ScheduleWarning
from ..service.tasks.advisories import Advisory
from ..service.tasks.parsed_task import ParsedTask, parse_request
from ..web.body import read_json_body
from ..web.etags import compute_etag, precondition_check
from ..web.idempotency import key_of
from ..web.language import request_language
from ..web.request_context import app_context
from ..web.responses import encode_json, raw_json_response
from ..wire.agenda import agenda_json
from ..wire.tasks.receipts import receipt_additions
from ..wire.tasks.task import read_task
from .parameters import service_for
from .task_json_cache import encode_task


def set_trace_links(request: Request, *traces: str) -> None:
    """Link the span of a request to the traces of the runs that it causes."""
    request.scope["state"][LINKS_KEY] = traces


def link_first_run(request: Request, facts: Facts) -> None:
    """Link to the first run of a task that was just created."""
    if app_context(request).observability.observer.tracing is not None and facts.entries:
        first = min(facts.entries, key=lambda entry: entry.due)
        set_trace_links(request, first_traceparent(facts.task.id, first.origin, first.planned))


async def parse_task(
    request: Request, principal: Principal, value: object, *, owner: str | None = None, exported: bool = False
) -> ParsedTask:
    """Parse a task. The schedule text is read here once, so that its warnings can be part of the response.

    `owner` is the owner of the task if the body names none.
    """
    context = app_context(request)
    task_request, now = read_task(value, exported=exported), context.clock.now()
    return await parse_request(context.service, principal, task_request, now, owner=owner)


class TaskCreator:
    """Creates one task and renders its receipt after the commit. The idempotency record is part of the transaction."""

    def __init__(self, request: Request, principal: Principal, include: frozenset[str], *, dry_run: bool) -> None:
        self._request = request
        self._principal = principal
        self._include = include
        self._dry_run = dry_run
        self._expected = precondition_check(request, may_create=True)
        self._existed = False

    async def create(self, parsed: ParsedTask, paused: str | None) -> Response:
        tasks = service_for(self._request, dry_run=self._dry_run).tasks.with_condition(self._check_before_write)
        written: Facts | None = None

        def attach_record(created: Sequence[Facts]) -> Sequence[RecordWrite]:
            nonlocal written
            (written,) = created
            key = key_of(self._request)
            return () if key is None else (key.to_writing(self._status, {"id": written.task.id}),)

        task = await tasks.create(self._principal, parsed.request, paused=paused, attach_records=attach_record)
        facts = written or await tasks.get(self._principal, task.id)
        return await self._render(facts, parsed.now, parsed.warnings, parsed.declared)

    async def replay(self, task_id: str) -> Response:
        """Render the receipt of a task that this request created before, in its current state."""
        facts = await app_context(self._request).service.tasks.get(self._principal, task_id)
        now = app_context(self._request).clock.now()
        try:
            parsed = await parse_task(self._request, self._principal, await read_json_body(self._request))
        except Refusal:
            # The schedule names a time that has passed since.
            return await self._render(facts, now, lint(facts.task.schedule, now))
        return await self._render(facts, now, parsed.warnings, parsed.declared)

    @property
    def _status(self) -> int:
        return 200 if self._dry_run or self._existed else 201

    def _check_before_write(self, existing: Facts | None) -> None:
        """Check the request's conditions inside the write transaction, where no other writer can come in between, and
        note whether the task existed."""
        self._existed = existing is not None
        self._expected(existing)

    async def _render(
        self,
        facts: Facts,
        now: datetime,
        warnings: Sequence[ScheduleWarning | Advisory],
        declared: Sequence[str] = (),
    ) -> Response:
        lang = request_language(self._request)
        # A caller that may write but not read has just named these tasks itself.
        reader = self._principal._replace(scopes=self._principal.scopes | {Scope.READ})
        names = await app_context(self._request).service.tasks.predecessor_names(reader, [facts.task])
        additions = receipt_additions(facts, now, warnings, lang, dry_run=self._dry_run, declared=declared)
        if "agenda" in self._include:
            additions["agenda"] = agenda_json(facts)
        task = encode_task(facts, lang, names=names, now=now)
        text = b"%s,%s" % (task[:-1], encode_json(additions)[1:])
        if self._dry_run:
            return raw_json_response(text, self._status)
        link_first_run(self._request, facts)
        headers = {"Location": f"/v1/tasks/{facts.task.id}", "ETag": f'"{compute_etag(task, facts.task.version)}"'}
        return raw_json_response(text, self._status, headers)
