"""Lanes and nodes: limits and use of lanes, what waits for a slot, and the nodes with drain."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from ...errors import HoraeError, Refusal
from ...model.lanes.idle import describe_yield
from ...model.lanes.lane import OWNER_LANE_PREFIX, LaneQueue, LaneStatus, LaneUse, agent_of_lane
from ...model.refusals import refuse
from ...ports.doctor import Check
from ...service.query.parser import Term, render_query
from ...service.runs.lanes import MAX_LANE_LIMIT
from ...service.runs.nodes import NodeState, NodeStatus
from ..notice import Undo
from ..outcomes import Sign
from ..page import FORM_ERRORS, PageRequest, form, form_problem, form_status, page

MAX_QUEUED: Final = 50
_NOTEWORTHY: Final = timedelta(milliseconds=100)
"""Clock offset from which a node is marked; smaller ones are usual."""
_DURABILITY_AGE: Final = timedelta(seconds=30)
_PATIENCE_SECONDS: Final = 0.5
"""What the store can lose is left out if its server does not answer in this time; the doctor says so."""
_GRADES: Final = {True: ("✓", "good"), False: ("△", "warn")}
_SIGNS: Final = {NodeState.LIVE: ("●", "good"), NodeState.DRAINING: ("◔", "warn"), NodeState.SILENT: ("△", "bad")}


class LaneRow(NamedTuple):
    """A lane as the page shows it. `owner` and `agent`: the lane holds a quota, which is set with the account."""

    use: LaneUse
    queue: LaneQueue | None
    owner: str | None
    agent: str | None
    idle: int = 0

    @property
    def is_quota(self) -> bool:
        return self.owner is not None

    @property
    def query(self) -> str:
        """Query for the tasks that use the lane; a quota covers all tasks of its owner or agent."""
        key, value = ("agent", self.agent) if self.agent else ("owner", self.owner) if self.owner else ("lane", None)
        return render_query((Term(key, (value or self.use.name,)),))

    @property
    def is_unlimited(self) -> bool:
        return self.use.limit >= MAX_LANE_LIMIT


class NodeRow(NamedTuple):
    status: NodeStatus
    sign: Sign
    is_clock_off: bool


async def show(request: PageRequest, error: HoraeError | None = None) -> Response:
    """Show lanes and nodes; with `?lane=NAME`, also the runs of that lane and the entries that wait in it."""
    principal, service = request.viewer.principal, request.service
    chosen = request.request.query_params.get("lane")
    data = {
        "page": "lanes",
        "lanes": [_row_of(each) for each in await service.lanes.statuses(principal)],
        "chosen": chosen,
        "detail": None if not chosen else await _load_detail(request, chosen),
        "given": request.form,
        **await _nodes(request),
        **form_problem(request, error),
    }
    return request.render("lanes.html", data, form_status(error))


async def set_limit(request: PageRequest) -> Response:
    """Set the limit and the rate of a lane; a blank field removes it, and one of them is needed. The notice offers the former ones."""
    name, principal = request.form.text("lane"), request.viewer.principal
    before = {each.name: each for each in await request.service.lanes.all(principal)}
    rate = request.form.text("rate").strip() or None
    try:
        limit = _read_limit(request, has_rate=rate is not None)
        lane = await request.service.lanes.limit(principal, name, limit, rate=rate)
    except FORM_ERRORS as error:
        return await show(request, error)
    former = before.get(lane.name)
    fields = {} if former is None else {"lane": lane.name, "limit": _limit_text(former), "rate": _rate_text(former)}
    undo = None if former is None else Undo("/lanes/limit", fields)
    if lane.rate is not None and lane.limit >= MAX_LANE_LIMIT:
        notice = request.notice("lanes_rate_alone", undo, lane=lane.name, rate=str(lane.rate))
    elif lane.rate is not None:
        notice = request.notice("lanes_limited_rate", undo, lane=lane.name, limit=lane.limit, rate=str(lane.rate))
    else:
        notice = request.notice("lanes_limited", undo, lane=lane.name, limit=lane.limit)
    return request.back("/lanes", notice)


async def drain(request: PageRequest) -> Response:
    return await _set_draining(request, draining=True)


async def undrain(request: PageRequest) -> Response:
    return await _set_draining(request, draining=False)


async def _set_draining(request: PageRequest, *, draining: bool) -> Response:
    node = await request.service.nodes.drain(request.viewer.principal, request.form.text("node"), draining=draining)
    undo = Undo("/lanes/undrain" if draining else "/lanes/drain", {"node": node.id})
    name = "lanes_drained" if draining else "lanes_undrained"
    return request.back("/lanes", request.notice(name, undo, node=node.host or node.id))


def make_lane_row(use: LaneUse, queue: LaneQueue | None) -> LaneRow:
    if use.name.startswith(OWNER_LANE_PREFIX):
        return LaneRow(use, queue, use.name.removeprefix(OWNER_LANE_PREFIX), None)
    owner = use.name.partition("/")[0]
    agent = agent_of_lane(owner, use.name)
    return LaneRow(use, queue, None if agent is None else owner, agent)


async def _nodes(request: PageRequest) -> dict[str, Any]:
    """Return the nodes for an admin; others do not see them."""
    if not request.viewer.is_admin:
        return {"nodes": None, "is_alive": True, "durability": ()}
    nodes = await request.service.nodes.all(request.viewer.principal)
    rows = [NodeRow(each, _node_sign(request, each.state), abs(each.node.offset) >= _NOTEWORTHY) for each in nodes]
    report = await request.service.doctor.durability(request.viewer.principal, _DURABILITY_AGE, _PATIENCE_SECONDS)
    checks = () if report is None else report.checks
    return {
        "nodes": rows,
        "is_alive": any(each.state is NodeState.LIVE for each in nodes),
        "durability": [(_durability_sign(request, each), each.sentence(request.viewer.language)) for each in checks],
    }


def _durability_sign(request: PageRequest, check: Check) -> Sign:
    return Sign(*_GRADES[check.grade == "ok"], request.text(f"doctor_grade_{check.grade}"))


def _node_sign(request: PageRequest, state: NodeState) -> Sign:
    return Sign(*_SIGNS[state], request.text(f"lanes_node_{state.value}"))


async def _load_detail(request: PageRequest, lane: str) -> dict[str, Any] | None:
    """Return the runs of a lane, and the entries that wait in it; None for a name that no lane has."""
    try:
        detail = await request.service.lanes.show(request.viewer.principal, lane, MAX_QUEUED)
    except Refusal:
        return None
    language = request.viewer.language
    runs = [
        (
            held,
            None
            if held.idle is None or held.idle.yield_reason is None
            else describe_yield(held.idle.yield_reason, language),
        )
        for held in detail.runs
    ]
    return {"runs": runs, "others": detail.others, "queue": detail.queue, "more": detail.more}


def _row_of(status: LaneStatus) -> LaneRow:
    queue = None if status.oldest is None else LaneQueue(status.use.name, status.waiting, status.oldest)
    return make_lane_row(status.use, queue)._replace(idle=status.idle)


def _rate_text(use: LaneUse) -> str:
    return "" if use.rate is None else str(use.rate)


def _limit_text(use: LaneUse) -> str:
    return "" if use.rate is not None and use.limit >= MAX_LANE_LIMIT else str(use.limit)


def _read_limit(request: PageRequest, *, has_rate: bool) -> int:
    """Return the limit; a lane that has a rate may have none."""
    text = request.form.text("limit").strip()
    if not text and has_rate:
        return MAX_LANE_LIMIT
    if not (text.isascii() and text.isdecimal()):
        raise refuse("bad_number", name="limit", value=text, least=0, most=MAX_LANE_LIMIT)
    return int(text)


ROUTES: Final = (
    page("/lanes", show),
    form("/lanes/limit", set_limit),
    form("/lanes/drain", drain),
    form("/lanes/undrain", undrain),
)
