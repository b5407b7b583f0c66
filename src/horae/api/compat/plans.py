"""`/plans`: plans of Zero under the names of its page; `Pause`, `Reset`, `Close`, `Remove`, `Clear` and `Flush` are GET there.

Every request needs a bearer token, so that no link or image of another page can send one of them.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal, Scope
from ...model.plans.plan import MAX_SKIP_SET
from ...schedule.compat.fields import parse_integer
from ...schedule.compat.zero_plan import TYPES
from ...service.plans.plans import HISTORY, TYPE_FILTERS, ImportResult, PlanFilter, Plans, PlanView
from ...web.idempotency import Ids, idempotent, store_ids
from ...web.language import request_language
from ...web.parameters import Body, Path, Query
from ...web.request_context import app_context
from ...wire.plans import plan_json
from .refusals import refuse
from .routes import compat_operation, compat_routes
from .schedule_json import envelope_response

routes: Final = compat_routes("/plans", "plans")
MAX_LISTED: Final = 1_000
EXAMPLE: Final = {
    "plan_type": "minute",
    "plan_value": 5,
    "plan_repet": 3,
    "description": "water the plants",
    "station": "garden",
    "command": "water",
    "argument": '{"liters": 2}',
    "no_skip": False,
    "skip_set": 0,
    "plan_time": 0,
}
Name = Annotated[str, Path(max_length=200, description="The id of a plan in hexadecimal, or `msg:STATION:ID`.")]
_SUNDAY: Final = 7


def _plans(request: Request) -> Plans:
    return app_context(request).service.plans


def _respond(request: Request, view: PlanView) -> Response:
    return envelope_response(request, plan_json(view, request_language(request), is_whole=True))


async def _list(request: Request, principal: Principal, plan_filter: PlanFilter) -> Response:
    views = await _plans(request).all(principal, plan_filter, MAX_LISTED)
    return envelope_response(request, [plan_json(each, request_language(request)) for each in views])


@routes.get("/Active", compat_operation("list_active_plans", "Plans that are not closed", "PlanList"))
async def active(request: Request, principal: Principal) -> Response:
    return await _list(request, principal, PlanFilter())


@routes.get("/History", compat_operation("list_closed_plans", "Plans that were closed within a day", "PlanList"))
async def history(request: Request, principal: Principal) -> Response:
    return await _list(request, principal, HISTORY)


@routes.get("/Station/{station}", compat_operation("list_station_plans", "Plans of one station", "PlanList"))
async def of_station(
    request: Request, principal: Principal, station: Annotated[str, Path(max_length=200, description="A station.")]
) -> Response:
    return await _list(request, principal, PlanFilter(station=station))


@routes.get("/Filter/{kind}", compat_operation("filter_plans", "Plans of one kind of time", "PlanList"))
async def of_kind(
    request: Request,
    principal: Principal,
    kind: Annotated[str, Path(max_length=20, description="`none`, `time`, `delay`, `week` or `month`.")],
) -> Response:
    types = TYPE_FILTERS.get(kind.lower())
    if types is None:
        raise refuse("compat_bad_field", name="Filter", value=kind, wanted=", ".join(TYPE_FILTERS))
    return await _list(request, principal, PlanFilter(types=types))


@routes.get(
    "/Message/{name}",
    compat_operation("get_plan", "One plan with its frames and results", "PlanAnswer", problems=(404,)),
)
async def message(request: Request, principal: Principal, name: Name) -> Response:
    return _respond(request, await _plans(request).get(principal, name))


async def _replay_plan(request: Request, principal: Principal, ids: Ids) -> Response:
    return _respond(request, await _plans(request).get(principal, ids["plan"]))


@routes.post("/Add", compat_operation("add_plan", "Publish a plan", "PlanAnswer", problems=(409,)))
@idempotent(Scope.WRITE, _replay_plan)
async def add(
    request: Request, principal: Principal, body: Annotated[Any, Body("NewPlan", example=EXAMPLE)]
) -> Response:
    view = await _plans(request).add(principal, read_form(body))
    store_ids(request, plan=view.plan.hex_id)
    return _respond(request, view)


def read_form(body: Any) -> Any:
    """Apply the rules of the form of Zero's page: Sunday is 7, too; skips are added to the repeats; a plan with one time has
    neither."""
    if not isinstance(body, dict):
        return body
    fields = {name: value for name, value in body.items() if value != ""}
    number = parse_integer(fields.get("plan_type"))
    kind = TYPES[number] if number is not None and 0 <= number < len(TYPES) else str(fields.get("plan_type")).lower()
    if kind == "week" and parse_integer(fields.get("plan_value")) == _SUNDAY:
        fields["plan_value"] = 0
    skips, repeats = parse_integer(fields.get("skip_set")), parse_integer(fields.get("plan_repet"))
    if kind in ("none", "time"):
        fields |= {"skip_set": 0, "plan_repet": 1}
    elif skips is not None and repeats is not None and skips > 0 and repeats > 0:
        fields["plan_repet"] = repeats + skips
    return fields


async def _replay_import(request: Request, _principal: Principal, ids: Ids) -> Response:
    return envelope_response(request, ids["rows"])


@routes.post(
    "/Import", compat_operation("import_plans", "Add stored plan messages of another installation", "PlanImports")
)
@idempotent(Scope.WRITE, _replay_import)
async def import_plans(
    request: Request, principal: Principal, body: Annotated[Any, Body("PlanMessages", example=[EXAMPLE])]
) -> Response:
    if not isinstance(body, list):
        raise refuse("compat_bad_field", name="plans", value=type(body).__name__, wanted="a list of plan messages")
    results = await _plans(request).import_plans(principal, body)
    rows = [_render_import(request, each) for each in results]
    store_ids(request, rows=rows)
    return envelope_response(request, rows)


def _render_import(request: Request, result: ImportResult) -> dict[str, Any]:
    refusal = result.refusal
    said = None if refusal is None else refusal.in_language(request_language(request))
    return {
        "name": result.name,
        "task_id": result.task_id,
        "code": None if refusal is None else refusal.code,
        "error": None if said is None else said.message,
        "hint": None if said is None else said.hint,
    }


@routes.get(
    "/Skip/{name}",
    compat_operation("skip_plan", "Skip the next occurrences; -1 skips all", "PlanAnswer", problems=(404, 409)),
)
async def skip(
    request: Request,
    principal: Principal,
    name: Name,
    *,
    number: Annotated[int, Query(minimum=-1, maximum=MAX_SKIP_SET, description="How many; -1: all, 0: none.")] = 1,
) -> Response:
    return _respond(request, await _plans(request).skip(principal, name, number))


@routes.get(
    "/Pause/{name}", compat_operation("pause_plan", "Take a plan out of the queue", "PlanAnswer", problems=(404, 409))
)
async def pause(request: Request, principal: Principal, name: Name) -> Response:
    return _respond(request, await _plans(request).pause(principal, name))


@routes.get(
    "/Reset/{name}",
    compat_operation("reset_plan", "Put a paused plan or one in error back", "PlanAnswer", problems=(404, 409)),
)
async def reset(request: Request, principal: Principal, name: Name) -> Response:
    return _respond(request, await _plans(request).reset(principal, name))


@routes.get("/Close/{name}", compat_operation("close_plan", "End a plan", "PlanAnswer", problems=(404,)))
async def close(request: Request, principal: Principal, name: Name) -> Response:
    return _respond(request, await _plans(request).close(principal, name))


@routes.get(
    "/Remove/{name}", compat_operation("remove_plan", "Delete a closed plan", "PlanAnswer", problems=(404, 409))
)
async def remove(request: Request, principal: Principal, name: Name) -> Response:
    return _respond(request, await _plans(request).remove(principal, name))


@routes.get("/Clear", compat_operation("clear_plans", "Delete your closed plans", "PlanCount"))
async def clear(request: Request, principal: Principal) -> Response:
    return envelope_response(request, await _plans(request).clear(principal))


@routes.get("/Flush", compat_operation("flush_plans", "Make the nodes look at the queue", "PlanCount"))
async def flush(request: Request, principal: Principal) -> Response:
    return envelope_response(request, await _plans(request).flush(principal))
