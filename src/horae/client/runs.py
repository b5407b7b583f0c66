"""Runs of a server: listed, read, tried again, ended; what they said; and why something did or did not happen."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from ..model.accounts.principal import Principal
from ..model.change import Facts
from ..model.page import Page
from ..model.run import Run
from ..model.task import Task
from ..ports.journal import NumberedLine
from ..ports.store import RunFilter
from ..service.runs.ledger import Why
from ..wire.instants import instant, utc
from ..wire.overview import glimpse
from ..wire.runs import read_explanation, read_line, read_outage, read_run
from ..wire.task_facts import read_facts
from .connection import Connection, segment
from .decode import paged, understood
from .tasks import RemoteTasks

_ALL: Final = RunFilter()
_RUNS: Final = "/v1/runs"


class RemoteRuns:
    """`tasks` are those that the runs told so far are of, by id: a server says what each of them is called."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.tasks: dict[str, Task] = {}

    async def page(
        self, who: Principal, wanted: RunFilter = _ALL, after: str | None = None, limit: int = 100
    ) -> Page[Run]:
        del who
        return await paged(self._connection, _RUNS, self._read, _filter(wanted), after, limit)

    async def get(self, who: Principal, run_id: str) -> Run:
        del who
        return await self._run(await self._connection.get(_one(run_id)))

    async def lines(self, who: Principal, run_id: str, after: int = 0, limit: int = 1_000) -> tuple[NumberedLine, ...]:
        del who
        said = await self._connection.get(f"{_one(run_id)}/logs", [("after", str(after)), ("limit", str(limit))])
        return await understood(self._connection, lambda each: tuple(map(read_line, each["items"])), said)

    async def cancel(self, who: Principal, run_id: str) -> Run:
        del who
        return await self._run(await self._connection.post(f"{_one(run_id)}/cancel"))

    async def retry(self, who: Principal, run_id: str) -> Facts:
        del who
        said = await self._connection.post(f"{_one(run_id)}/retry", None, [("include", "agenda")])
        return await understood(self._connection, read_facts, said)

    async def _run(self, said: Any) -> Run:
        return await understood(self._connection, self._read, said)

    def _read(self, said: Any) -> Run:
        run = read_run(said)
        if said["task"] is not None:
            self.tasks[run.task_id] = glimpse(run.task_id, said["task"], said["zone"])
        return run


class RemoteLedger:
    def __init__(self, connection: Connection, tasks: RemoteTasks) -> None:
        self._connection = connection
        self._tasks = tasks

    async def explained(self, who: Principal, task_id: str, at: datetime | str | None, zone: str | None = None) -> Why:
        asked = [] if zone is None else [("zone", zone)]
        if at is not None:
            asked.append(("at", at if isinstance(at, str) else str(utc(at))))
        facts = await self._tasks.get(who, task_id)
        said = await self._connection.get(f"/v1/tasks/{segment(task_id)}/why", asked)
        return await understood(self._connection, lambda each: _why(facts, each), said)


def _why(facts: Facts, said: Any) -> Why:
    return Why(facts, instant(said["at"]), read_explanation(said), read_outage(said["outage"]))


def _one(run_id: str) -> str:
    return f"{_RUNS}/{segment(run_id)}"


def _filter(wanted: RunFilter) -> list[tuple[str, str]]:
    said = [
        ("owner", wanted.owner),
        ("task", wanted.task_id),
        ("since", utc(wanted.since)),
        ("until", utc(wanted.until)),
    ]
    asked = [(name, value) for name, value in said if value]
    return asked + [("state", state.value) for state in sorted(wanted.states or ())]
