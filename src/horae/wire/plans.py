"""JSON of plans: the sixteen fields of Zero's message, with the state, a sentence and the task beside them."""

from __future__ import annotations

from typing import Any

from ..choices import Language
from ..lifecycle.plans.rules import PlanStatus
from ..model.plans.codes import PlanState, Status
from ..model.plans.describe import counter_text, describe_plan
from ..model.plans.plan import Plan, type_number
from ..schedule.compat.zero_plan import TYPES
from ..service.plans.plans import PlanView, results_of


def plan_json(view: PlanView, language: Language = "en", *, is_whole: bool = False) -> dict[str, Any]:
    """Return a plan as JSON. `is_whole`: with its frames and its newest results, which lists leave out."""
    plan, status = view.plan, view.status
    message: dict[str, Any] = {
        "plan_id": plan.plan_id,
        "request_id": plan.request_id,
        "station": plan.station,
        "caller": plan.caller,
        "description": plan.description,
        "plan_type": type_number(plan),
        "plan_value": plan.plan_value,
        "plan_repet": plan.plan_repet,
        "real_repet": status.real_repet,
        "no_keep": plan.no_keep,
        "last_state": status.last_state.value,
        "plan_time": status.plan_time,
        "skip_set": status.skip_set,
        "skip_num": status.skip_num,
        "exec_time": status.exec_time,
        "name": plan.name,
        "plan_state": status.state.value,
        "state": status.state.name.lower(),
        "counter": counter_text(status.state, status.skip_set, status.skip_num),
        "sentence": describe_plan(plan, language),
        "task_id": view.task_id,
        "owner": view.owner,
    }
    if is_whole:
        message |= {
            "messages": [text for _, text in plan.frames],
            "frames": [list(each) for each in plan.frames],
            "results": results_of(view),
            "participants": [
                {
                    "name": name,
                    "status": None if vote is None else vote.status,
                    "content": None if vote is None else vote.content,
                }
                for name, vote in view.participants
            ],
        }
    return message


def read_plan_view(value: Any) -> PlanView:
    """Read a plan of a server; times and skips that its publisher chose are not sent, the current ones stand for them."""
    plan = Plan(
        plan_id=int(value["plan_id"]),
        station=value["station"],
        plan_type=TYPES[value["plan_type"]],
        plan_value=value["plan_value"],
        plan_repet=value["plan_repet"],
        plan_time=value["plan_time"],
        no_keep=value["no_keep"],
        skip_set=value["skip_set"],
        description=value["description"],
        request_id=value["request_id"],
        caller=value["caller"],
        frames=tuple((kind, text) for kind, text in value.get("frames", ())),
    )
    status = PlanStatus(
        state=PlanState(value["plan_state"]),
        real_repet=value["real_repet"],
        skip_set=value["skip_set"],
        skip_num=value["skip_num"],
        plan_time=value["plan_time"],
        exec_time=value["exec_time"],
        last_state=Status(value["last_state"]),
    )
    return PlanView(plan, status, value["task_id"], value["owner"])
