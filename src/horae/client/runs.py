"""Runs of a server: list, get, logs, cancel, retry; and the explanation of why an occurrence did or did not run."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from ..model.accounts.principal import Principal
from ..model.agents.usage import RunUsage
from ..model.change import Facts
from ..model.handled import Handled
from ..model.inputs.run_input import RunInput
from ..model.lanes.idle import IdleRun
from ..model.page import MAX_HTTP_PAGE_SIZE, Page
from ..model.run import Run
from ..model.task import Task, partial_task
from ..ports.journal import NumberedLine
from ..ports.store import RunFilter
from ..service.runs.explanations import OccurrenceExplanation
from ..service.runs.failures import FailureSummaries, RetryReport
from ..service.runs.planned import PlannedList
from ..service.runs.run_chain import RunChain
from ..wire.failures import read_failure_groups, read_retry_report
from ..wire.instants import parse_instant, utc
from ..wire.planned import read_planned_list
from ..wire.runs import (
    read_explanation,
    read_handled,
    read_idle,
    read_line,
    read_outage,
    read_run,
    read_run_chain,
    read_usage,
)
from ..wire.tasks.facts import read_facts
from ..wire.tasks.run_inputs import input_body
from .connection import Connection, path_segment
from .decode import decode_response, fetch_page, system_parameter
from .tasks import RemoteTasks

_ALL: Final = RunFilter()
_RUNS: Final = "/v1/runs"
_FAILURES: Final = "/v1/failures"


class RemoteRuns:
    """`tasks` holds, by id, the tasks of the runs read so far: the server sends their names with each run."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.tasks: dict[str, Task] = {}

    async def page(
        self, principal: Principal, run_filter: RunFilter = _ALL, after: str | None = None, limit: int = 100
    ) -> Page[Run]:
        query = [*_filter_query(run_filter), *system_parameter(principal)]
        return await fetch_page(self._connection, _RUNS, self.read_with_task, query, after, limit)

    async def get(self, principal: Principal, run_id: str) -> Run:
        del principal
        return await self._decode_run(await self._connection.get(_run_path(run_id)))

    async def usage(self, principal: Principal, run_id: str) -> RunUsage | None:
        del principal
        return await decode_response(self._connection, read_usage, await self._connection.get(_run_path(run_id)))

    async def handled(self, principal: Principal, run_id: str) -> tuple[Handled, ...]:
        del principal
        return await decode_response(self._connection, read_handled, await self._connection.get(_run_path(run_id)))

    async def idle(self, principal: Principal, run_id: str) -> IdleRun | None:
        del principal
        return await decode_response(self._connection, read_idle, await self._connection.get(_run_path(run_id)))

    async def chain(self, principal: Principal, run_id: str) -> RunChain:
        del principal
        response = await self._connection.get(f"{_run_path(run_id)}/chain")
        return await decode_response(self._connection, read_run_chain, response)

    async def lines(
        self, principal: Principal, run_id: str, after: int = 0, limit: int = 1_000, *, wait: int = 0
    ) -> tuple[NumberedLine, ...]:
        del principal
        query = [("after", str(after)), ("limit", str(limit)), *([("wait", str(wait))] if wait else [])]
        response = await self._connection.get(f"{_run_path(run_id)}/logs", query)
        return await decode_response(self._connection, lambda each: tuple(map(read_line, each["items"])), response)

    async def cancel(self, principal: Principal, run_id: str) -> Run:
        del principal
        return await self._decode_run(await self._connection.post(f"{_run_path(run_id)}/cancel"))

    async def retry(self, principal: Principal, run_id: str, given: RunInput | None = None) -> Facts:
        del principal
        response = await self._connection.post(f"{_run_path(run_id)}/retry", input_body(given), [("include", "agenda")])
        return await decode_response(self._connection, read_facts, response)

    async def _decode_run(self, response: Any) -> Run:
        return await decode_response(self._connection, self.read_with_task, response)

    def read_with_task(self, value: Any) -> Run:
        """Read a run, and note its task."""
        run = read_run(value)
        if value["task"] is not None:
            self.tasks[run.task_id] = partial_task(run.task_id, value["task"], value["zone"])
        return run


class RemoteFailures:
    def __init__(self, connection: Connection, runs: RemoteRuns) -> None:
        self._connection = connection
        self._runs = runs

    async def summaries(
        self, principal: Principal, run_filter: RunFilter = _ALL, key: str | None = None, limit: int = 100
    ) -> FailureSummaries:
        bound = ("limit", str(min(limit, MAX_HTTP_PAGE_SIZE)))
        query = [*_filter_query(run_filter), *system_parameter(principal), bound]
        response = await self._connection.get(_FAILURES, query if key is None else [*query, ("key", key)])
        return await decode_response(
            self._connection, lambda each: read_failure_groups(each, self._runs.read_with_task), response
        )

    async def retry(self, principal: Principal, run_ids: Iterable[str]) -> RetryReport:
        del principal
        response = await self._connection.post(f"{_FAILURES}/retry", {"run_ids": list(run_ids)})
        return await decode_response(self._connection, read_retry_report, response)


class RemotePlannedRuns:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self, principal: Principal, since: datetime, until: datetime, limit: int = 100) -> PlannedList:
        period = [("since", str(utc(since))), ("until", str(utc(until))), ("limit", str(limit))]
        query = [*period, *system_parameter(principal)]
        return await decode_response(
            self._connection, read_planned_list, await self._connection.get("/v1/planned", query)
        )


class RemoteExplanations:
    def __init__(self, connection: Connection, tasks: RemoteTasks) -> None:
        self._connection = connection
        self._tasks = tasks

    async def explain(
        self, principal: Principal, task_id: str, at: datetime | str | None, zone: str | None = None
    ) -> OccurrenceExplanation:
        query = [] if zone is None else [("zone", zone)]
        if at is not None:
            query.append(("at", at if isinstance(at, str) else str(utc(at))))
        facts = await self._tasks.get(principal, task_id)
        response = await self._connection.get(f"/v1/tasks/{path_segment(task_id)}/why", query)
        return await decode_response(self._connection, lambda each: _read_why(facts, each), response)


def _read_why(facts: Facts, value: Any) -> OccurrenceExplanation:
    return OccurrenceExplanation(
        facts, parse_instant(value["at"]), read_explanation(value), read_outage(value["outage"])
    )


def _run_path(run_id: str) -> str:
    return f"{_RUNS}/{path_segment(run_id)}"


def _filter_query(wanted: RunFilter) -> list[tuple[str, str]]:
    candidates = [
        ("owner", wanted.owner),
        ("task", wanted.task_id),
        ("since", utc(wanted.since)),
        ("until", utc(wanted.until)),
    ]
    query = [(name, value) for name, value in candidates if value]
    return query + [("state", state.value) for state in sorted(wanted.states or ())]
