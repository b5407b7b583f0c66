"""Stations: which programs may join, and who has joined; and their plans, as a list and one plan with its results."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from ...model.plans.codes import Status
from ...model.plans.describe import counter_text, describe_plan
from ...model.run import Run
from ...service.plans.plans import HISTORY, PlanFilter, PlanView
from ...service.plans.results import values_of
from ..page import PageRequest, page

LIST_SIZE: Final = 100
MOST_CHARACTERS: Final = 2_000
"""Characters of a frame or a result that the page shows."""
_STYLES: Final = {"error": "bad", "retrying": "odd", "paused": "odd", "skipping": "odd"}


class PlanRow(NamedTuple):
    """A plan as the page shows it; `at` and `executed` are None where there is no such instant."""

    view: PlanView
    state: str
    style: str
    counter: str
    sentence: str
    status: str
    at: datetime | None
    executed: datetime | None


class ParticipantRow(NamedTuple):
    name: str
    status: str | None
    content: str


async def show_stations(request: PageRequest) -> Response:
    query = request.request.query_params
    found = await request.service.stations.page(request.viewer.principal, query.get("after") or None, LIST_SIZE)
    data: dict[str, Any] = {
        "page": "stations",
        "stations": found.items,
        "has_owners": request.viewer.is_admin,
        "after": found.after,
        "query": {"after": query["after"]} if query.get("after") else {},
    }
    return request.render("stations.html", data)


async def show_list(request: PageRequest) -> Response:
    query = request.request.query_params
    is_closed = query.get("closed") == "1"
    plan_filter = HISTORY if is_closed else PlanFilter(station=query.get("station") or None)
    found = await request.service.plans.page(
        request.viewer.principal, plan_filter, query.get("after") or None, LIST_SIZE
    )
    data: dict[str, Any] = {
        "page": "stations",
        "rows": [_make_row(request, each) for each in found.items],
        "is_closed": is_closed,
        "station": plan_filter.station,
        "has_owners": request.viewer.is_admin,
        "after": found.after,
        "query": {name: query[name] for name in ("after", "closed", "station") if query.get(name)},
    }
    return request.render("plans.html", data)


async def show(request: PageRequest) -> Response:
    view = await request.service.plans.get(request.viewer.principal, request.request.path_params["id"])
    data: dict[str, Any] = {
        "page": "stations",
        "row": _make_row(request, view),
        "plan": view.plan,
        "frames": [(kind, text[:MOST_CHARACTERS]) for kind, text in view.plan.frames],
        "results": [(run, _result_text(run)) for run in view.results],
        "participants": [
            ParticipantRow(name, None, "")
            if vote is None
            else ParticipantRow(name, _status_name(vote.status), _text(vote.content)[:MOST_CHARACTERS])
            for name, vote in view.participants
        ],
        "is_foreign": view.owner != request.viewer.principal.owner,
    }
    return request.render("plan.html", data)


def _make_row(request: PageRequest, view: PlanView) -> PlanRow:
    status = view.status
    name = status.state.name.lower()
    return PlanRow(
        view,
        request.text(f"plans_state_{name}"),
        _STYLES.get(name, "good"),
        counter_text(status.state, status.skip_set, status.skip_num),
        describe_plan(view.plan, request.viewer.language),
        "" if status.last_state is Status.NONE else status.last_state.name,
        _instant(status.plan_time),
        _instant(status.exec_time),
    )


def _instant(seconds: int) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def _status_name(number: int) -> str:
    return Status(number).name


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _result_text(run: Run) -> str:
    text = run.error if run.error is not None else " · ".join(map(_text, values_of(run.result_json)))
    return text[:MOST_CHARACTERS]


ROUTES: Final = (
    page("/stations", show_stations),
    page("/stations/plans", show_list),
    page("/stations/plans/{id}", show),
)
