"""Tasks of a server: create, find, pause, resume, edit, cancel and run now, as the local service; zones of functions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from ..clock import Clock
from ..errors import NotFound
from ..model.accounts.principal import Principal
from ..model.change import Facts
from ..model.inputs.run_input import RunInput
from ..model.page import Page
from ..model.policy import MissedMode
from ..model.refusals import refuse
from ..model.run import Run
from ..model.task import Task
from ..ports.store import TaskFilter
from ..service.tasks.advisories import Advisory, advisory_codes
from ..service.tasks.edits import EditResult, Edits, fire_changes
from ..service.tasks.lookup import TaskCount
from ..service.tasks.task_chain import TaskChain
from ..service.tasks.task_request import TaskRequest
from ..wire.instants import utc
from ..wire.runs import read_run
from ..wire.tasks.facts import read_facts, read_task_chain
from ..wire.tasks.requests import edits_json, task_request_json
from ..wire.tasks.run_inputs import input_body
from .connection import Connection, path_segment
from .decode import decode_response, fetch_page, system_parameter
from .refusals import refuse as refuse_here

_ALL: Final = TaskFilter()
_TASKS: Final = "/v1/tasks"
_WITH_AGENDA: Final = ("include", "agenda")
_DRY_RUN: Final = ("dry_run", "true")


class ServerReceipt(NamedTuple):
    """Additions of a server to a task: fields taken from the declaration of its function, and warnings about its
    target."""

    declared: tuple[str, ...] = ()
    warnings: tuple[Advisory, ...] = ()


class RemoteTasks:
    """`zone` is the caller's zone: it applies to requests that name none."""

    def __init__(self, connection: Connection, clock: Clock, zone: str) -> None:
        self._connection = connection
        self._clock = clock
        self._zone = zone
        self._last_runs: dict[str, Run] = {}
        self._digests: dict[str, str] = {}
        self.receipt = ServerReceipt()
        """Receipt of the task that was created or changed last."""

    # --- create --------------------------------------------------------------------------------------------------------

    async def create(self, principal: Principal, request: TaskRequest, *, paused: str | None = None) -> Task:
        if request.key is not None:
            return await self.declare(principal, request, paused=paused)
        response = await self._connection.post(
            _TASKS, task_request_json(request, self._zone), [_WITH_AGENDA, *_paused_parameter(paused)]
        )
        return (await self._decode_facts(response)).task

    async def tried(self, principal: Principal, request: TaskRequest) -> Facts:
        """Return the task that a request would create (dry run)."""
        del principal
        return await self._decode_facts(
            await self._connection.post(_TASKS, task_request_json(request, self._zone), [_WITH_AGENDA, _DRY_RUN])
        )

    async def declare(self, principal: Principal, request: TaskRequest, *, paused: str | None = None) -> Task:
        del principal
        response = await self._connection.put(
            _key_path(request), task_request_json(request, self._zone), [_WITH_AGENDA, *_paused_parameter(paused)]
        )
        return (await self._decode_facts(response)).task

    async def preview_declaration(
        self, principal: Principal, request: TaskRequest, *, paused: str | None = None
    ) -> tuple[Facts | None, Task]:
        """Return the task that has this key now, and the task that it would become (dry run)."""
        del principal
        owner = [] if request.owner is None else [("owner", request.owner)]
        try:
            before = await self._decode_facts(await self._connection.get(_key_path(request), [_WITH_AGENDA, *owner]))
        except NotFound:
            before = None
        query = [_WITH_AGENDA, _DRY_RUN, *_paused_parameter(paused)]
        response = await self._connection.put(_key_path(request), task_request_json(request, self._zone), query)
        return before, (await self._decode_facts(response)).task

    async def import_history(self, principal: Principal, task_id: str, ended: Sequence[Run]) -> None:
        del principal, task_id
        if ended:
            raise refuse_here("not_over_http", what="runs of another scheduler", what_zh="其他调度器的运行记录")

    # --- find ----------------------------------------------------------------------------------------------------------

    async def get(self, principal: Principal, task_id: str) -> Facts:
        del principal
        return await self._decode_facts(await self._connection.get(_task_path(task_id), [_WITH_AGENDA]))

    async def chain(self, principal: Principal, task_id: str) -> TaskChain:
        del principal
        response = await self._connection.get(f"{_task_path(task_id)}/chain", [_WITH_AGENDA])
        return await decode_response(self._connection, read_task_chain, response)

    async def find_by_name(self, principal: Principal, name: str) -> Facts:
        del principal
        if not name.strip("/"):
            raise refuse("no_such_task", id=name)
        try:
            return await self._decode_facts(
                await self._connection.get(f"{_TASKS}/named/{path_segment(name)}", [_WITH_AGENDA])
            )
        except NotFound:
            # Raised again with the name in it.
            raise refuse("no_such_task", id=name) from None

    async def page(
        self, principal: Principal, task_filter: TaskFilter = _ALL, after: str | None = None, limit: int = 100
    ) -> Page[Facts]:
        query = [("include", "last"), *filter_parameters(task_filter), *system_parameter(principal)]
        return await fetch_page(self._connection, _TASKS, self._read_listed_facts, query, after, limit)

    async def count(self, principal: Principal, task_filter: TaskFilter = _ALL) -> TaskCount:
        """Return how many tasks match, as the server counts them."""
        query = [*filter_parameters(task_filter), *system_parameter(principal), ("limit", "1"), ("count", "estimated")]
        return await decode_response(self._connection, _read_count, await self._connection.get(_TASKS, query))

    async def upcoming(self, principal: Principal, limit: int = 20) -> tuple[Facts, ...]:
        query = [("include", "last"), ("sort", "next"), *system_parameter(principal)]
        return (await fetch_page(self._connection, _TASKS, self._read_listed_facts, query, None, limit)).items

    async def latest(self, principal: Principal, listed: Sequence[Facts]) -> dict[str, Run]:
        """Return the last runs that came with earlier lists; a task that was in none of them is left out."""
        del principal
        return {each.task.id: self._last_runs[each.task.id] for each in listed if each.task.id in self._last_runs}

    def _read_listed_facts(self, value: Any) -> Facts:
        if value["last"] is not None:
            self._last_runs[value["id"]] = read_run(value["last"])
        return read_facts(value)

    # --- change --------------------------------------------------------------------------------------------------------

    async def edit(
        self, principal: Principal, task_id: str, edits: Edits, *, expected: int | None = None, dry_run: bool = False
    ) -> EditResult:
        """Edit a task. The version read before is sent as `If-Match`, so that a concurrent edit is not overwritten."""
        before = await self.get(principal, task_id)
        if expected is not None and expected != before.task.version:
            raise refuse("stale_version", version=before.task.version, expected=expected)
        now = self._clock.now()
        query = [_WITH_AGENDA, *([_DRY_RUN] if dry_run else ())]
        headers = {"If-Match": f'"{before.task.version}"'}
        response = await self._connection.request("PATCH", _task_path(task_id), query, edits_json(edits), headers)
        after = (await self._decode_facts(response.json)).task
        return EditResult(before.task, after, fire_changes(before.task, after, before.status, now))

    async def pause(
        self, principal: Principal, task_id: str, *, note: str = "", until: datetime | None = None
    ) -> Facts:
        del principal
        return await self._act(task_id, "pause", {"note": note, **({} if until is None else {"until": utc(until)})})

    async def resume(self, principal: Principal, task_id: str, missed: MissedMode = "skip") -> Facts:
        del principal
        return await self._act(task_id, "resume", {"missed": missed})

    async def cancel(self, principal: Principal, task_id: str) -> Facts:
        del principal
        return await self._act(task_id, "cancel")

    async def undo_cancel(self, principal: Principal, task_id: str) -> Facts:
        del principal
        return await self._act(task_id, "restore")

    async def skip_next(self, principal: Principal, task_id: str, number: int = 1) -> Facts:
        del principal
        return await self._act(task_id, "skip", {"number": number})

    async def delete(self, principal: Principal, task_id: str, *, force: bool = False) -> None:
        del principal
        await self._connection.delete(_task_path(task_id), [("force", "true")] if force else ())

    async def run_now(
        self,
        principal: Principal,
        task_id: str,
        given: RunInput | None = None,
        *,
        chain: bool = True,
        gate_only: bool = False,
    ) -> str:
        del principal
        body = _run_body(given, chain=chain) | ({"gate_only": True} if gate_only else {})
        response = await self._connection.post(f"{_task_path(task_id)}/run", body or None)
        return await decode_response(self._connection, lambda each: str(each["run_id"]), response)

    async def backfill(  # noqa: PLR0913 - one argument for each choice of a request
        self,
        principal: Principal,
        task_id: str,
        first: datetime,
        last: datetime,
        *,
        again: bool = False,
        given: RunInput | None = None,
        chain: bool = True,
    ) -> Facts:
        del principal
        body = {"from": utc(first), "to": utc(last), "again": again, **_run_body(given, chain=chain)}
        response = await self._connection.post(f"{_task_path(task_id)}/backfill", body, [_WITH_AGENDA])
        return await decode_response(self._connection, lambda each: read_facts(each["task"]), response)

    async def _act(self, task_id: str, action: str, body: dict[str, Any] | None = None) -> Facts:
        return await self._decode_facts(
            await self._connection.post(f"{_task_path(task_id)}/{action}", body, [_WITH_AGENDA])
        )

    def digest(self, task_id: str) -> str:
        """Return the digest of the task as last read: only the server can compute it, from its own stored form."""
        return self._digests.get(task_id, "")

    async def _decode_facts(self, response: Any) -> Facts:
        return await decode_response(self._connection, self._read_seen_facts, response)

    def _read_seen_facts(self, value: Any) -> Facts:
        facts = read_facts(value)
        if "dry_run" in value:
            self.receipt = _read_receipt(value)
        self._digests[facts.task.id] = value.get("agenda", {}).get("digest", "")
        return facts


def _read_receipt(value: Any) -> ServerReceipt:
    """Read the receipt. Warnings about schedules are left out: the caller has parsed the schedule itself. Sentences are
    in the requested language."""
    known = advisory_codes()
    warnings = tuple(
        Advisory(each["code"], {"en": each["message"], "zh": each["message"]})
        for each in value.get("warnings", ())
        if each["code"] in known
    )
    return ServerReceipt(tuple(value.get("declared", ())), warnings)


def _run_body(given: RunInput | None, *, chain: bool) -> dict[str, Any]:
    return {**(input_body(given) or {}), **({} if chain else {"chain": False})}


def _task_path(task_id: str) -> str:
    return f"{_TASKS}/{path_segment(task_id)}"


def _key_path(request: TaskRequest) -> str:
    if request.key is None:
        raise refuse("bad_text", name="key", value=None, most=200)
    return f"{_TASKS}/by-key/{path_segment(request.key)}"


def _paused_parameter(paused: str | None) -> list[tuple[str, str]]:
    return [] if paused is None else [("paused", paused)]


def filter_parameters(wanted: TaskFilter) -> list[tuple[str, str]]:
    """Return a filter as query parameters."""
    candidates = [(name, getattr(wanted, name)) for name in ("owner", "name", "lane", "text", "kind", "prefix")]
    # An empty string is a condition too: an empty owner matches nothing, and without the parameter all would match.
    query = [(name, value) for name, value in candidates if value is not None]
    query += [("state", state.value) for state in sorted(wanted.states or ())]
    query += [("label", f"{name}={value}") for name, value in wanted.labels]
    return [*query, ("q", "is:failing")] if wanted.failing else query


def _read_count(response: Any) -> TaskCount:
    return TaskCount(int(response["count"]), bool(response["more"]))


class RemoteFunctions:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def zone(self, name: str) -> str | None:
        """Return the zone that a function declares; None if it declares none or is unknown to the server."""
        try:
            response = await self._connection.get(f"/v1/functions/{path_segment(name)}")
        except NotFound:
            return None
        return await decode_response(self._connection, _declared_zone, response)


def _declared_zone(value: Any) -> str | None:
    zone = value["defaults"]["zone"]
    return None if zone is None else str(zone)
