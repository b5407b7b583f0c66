"""Plans of a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InvalidTask, Sentence
from ..model.accounts.principal import Principal
from ..service.plans.plans import ACTIVE, TYPE_FILTERS, ImportResult, PlanFilter, PlanView
from ..wire.plans import read_plan_view
from .connection import Connection, path_segment
from .decode import decode_response


class RemotePlans:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def add(self, principal: Principal, value: object) -> PlanView:
        del principal
        return await self._read(await self._connection.post("/plans/Add", value))

    async def import_plans(self, principal: Principal, values: Sequence[object]) -> list[ImportResult]:
        del principal
        response = await self._connection.post("/plans/Import", list(values))
        return await decode_response(self._connection, _read_imports, response)

    async def all(self, principal: Principal, plan_filter: PlanFilter = ACTIVE, most: int = 1_000) -> list[PlanView]:
        """Return plans; the server filters by one condition, the others are applied here."""
        del principal
        response = await self._connection.get(_list_path(plan_filter))
        views = await decode_response(
            self._connection, lambda value: [read_plan_view(each) for each in value["data"]], response
        )
        shown = [
            view
            for view in views
            if plan_filter.station in (None, view.plan.station)
            and (plan_filter.types is None or view.plan.plan_type in plan_filter.types)
        ]
        return shown[:most]

    async def get(self, principal: Principal, name: str) -> PlanView:
        del principal
        return await self._read(await self._connection.get(_path("Message", name)))

    async def skip(self, principal: Principal, name: str, number: int) -> PlanView:
        del principal
        return await self._read(await self._connection.get(_path("Skip", name), [("number", str(number))]))

    async def pause(self, principal: Principal, name: str) -> PlanView:
        return await self._act(principal, "Pause", name)

    async def reset(self, principal: Principal, name: str) -> PlanView:
        return await self._act(principal, "Reset", name)

    async def close(self, principal: Principal, name: str) -> PlanView:
        return await self._act(principal, "Close", name)

    async def remove(self, principal: Principal, name: str) -> PlanView:
        return await self._act(principal, "Remove", name)

    async def _act(self, principal: Principal, action: str, name: str) -> PlanView:
        del principal
        return await self._read(await self._connection.get(_path(action, name)))

    async def _read(self, response: Any) -> PlanView:
        return await decode_response(self._connection, lambda value: read_plan_view(value["data"]), response)


def _path(action: str, name: str) -> str:
    return f"/plans/{action}/{path_segment(name)}"


def _list_path(plan_filter: PlanFilter) -> str:
    if plan_filter.is_closed:
        return "/plans/History"
    if plan_filter.station is not None:
        return f"/plans/Station/{path_segment(plan_filter.station)}"
    kinds = [kind for kind, types in TYPE_FILTERS.items() if types == plan_filter.types]
    return f"/plans/Filter/{kinds[0]}" if kinds else "/plans/Active"


def _read_imports(value: Any) -> list[ImportResult]:
    return [_read_import(each) for each in value["data"]]


def _read_import(row: Any) -> ImportResult:
    if row["code"] is None:
        return ImportResult(row["name"], row["task_id"])
    # The server has written the sentence in the language of the caller.
    sentence = Sentence(row["error"], row["hint"])
    return ImportResult(row["name"], None, InvalidTask(row["code"], {"en": sentence, "zh": sentence}))
