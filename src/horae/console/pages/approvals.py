"""Approvals: tasks of agents that wait for a person, whole as they would run; and the agents with their limits."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from starlette.responses import Response

from ...errors import HoraeError, NotAllowed
from ...model.accounts.account import Agent, agent_of
from ...model.accounts.principal import VIA_LABEL
from ...model.agents.group import folder_of_owner
from ...model.change import Facts
from ...schedule.preview import Fire
from ...service.tasks.previews import compute_task_preview
from ...wire.tasks.review import Review, review_of
from ..notice import Undo
from ..outcomes import Sign
from ..page import FORM_ERRORS, PageRequest, form, form_problem, form_status, page
from ..quota_forms import QuotaField, quota_fields, quota_inputs, read_quota_form

PROPOSALS: Final = 10
"""Tasks on a page: each is shown whole, with its payload."""
AGENTS: Final = 20
_FIRES: Final = 5
_PENDING: Final = 3
"""Tasks on the page of a group, a chat or a run; the page Approvals has all."""
_ERRORS: Final = (*FORM_ERRORS, NotAllowed)
"""A secret without a grant and an agent without a token are refused as not allowed, and mended on other pages."""
_AGENT_SIGNS: Final = {"active": ("●", "good"), "stopped": ("⏸", "warn"), "revoked": ("✕", "bad")}


class Proposal(NamedTuple):
    """A waiting task: `review` has every field, `fires` the next instants as if it were approved now."""

    facts: Facts
    review: Review
    fires: tuple[Fire, ...]
    warnings: list[str]
    agent: Agent | None
    since: datetime | None
    via: str | None


class AgentRow(NamedTuple):
    agent: Agent
    sign: Sign
    fields: list[QuotaField]


async def show(request: PageRequest, error: HoraeError | None = None) -> Response:
    principal, query = request.viewer.principal, request.request.query_params
    waiting = await request.service.approvals.page(principal, query.get("after") or None, PROPOSALS)
    agents = await request.service.agents.page(principal, query.get("agents_after") or None, AGENTS)
    known = {(each.owner, each.name): each for each in agents.items}
    data = {
        "page": "approvals",
        "proposals": [await _proposal(request, facts, known) for facts in waiting.items],
        "after": waiting.after,
        "query": {} if query.get("after") is None else {"after": query["after"]},
        "agents": [_agent_row(request, each, is_given=error is not None) for each in agents.items],
        "agents_after": agents.after,
        "refused_task": request.form.text("task") if error is not None else "",
        "reason": request.form.text("reason") if error is not None else "",
        "is_first": query.get("after") is None,
        "switch": await request.service.agent_stop.get(principal),
        **form_problem(request, error),
    }
    return request.render("approvals.html", data, form_status(error))


async def pending_of_group(request: PageRequest, owner: str) -> list[Proposal]:
    """Return the first tasks of a group that wait for approval, for the pages on which its agent is seen at work."""
    if folder_of_owner(owner) is None:
        return []
    waiting = await request.service.approvals.page(request.viewer.principal, None, _PENDING, owner=owner)
    known: dict[tuple[str, str], Agent] = {}
    return [await _proposal(request, facts, known) for facts in waiting.items]


async def approve(request: PageRequest) -> Response:
    """Approve the task with the digest that the page showed: an edit in between is refused."""
    digest = request.form.text("digest")
    try:
        facts = await request.service.approvals.approve(request.viewer.principal, request.form.text("task"), digest)
    except _ERRORS as error:
        return await show(request, error)
    return request.back("/approvals", request.notice("approvals_approved", task=facts.task.name))


async def reject(request: PageRequest) -> Response:
    """Cancel the task: it never runs, its definition stays readable, and the agent can read the reason."""
    task_id, reason = request.form.text("task"), request.form.text("reason").strip()
    try:
        facts = await request.service.approvals.reject(request.viewer.principal, task_id, reason)
    except FORM_ERRORS as error:
        return await show(request, error)
    return request.back("/approvals", request.notice("approvals_rejected", task=facts.task.name))


async def limit(request: PageRequest) -> Response:
    """Set quotas of an agent; the notice offers the former ones."""
    owner, name = request.form.text("owner"), request.form.text("agent")
    agents, principal = request.service.agents, request.viewer.principal
    chosen = dict((await agents.get(principal, name, owner)).quota_overrides)
    try:
        changed = read_quota_form(request.form, chosen)
        await agents.put(principal, name, changed, owner)
    except FORM_ERRORS as error:
        return await show(request, error)
    undo = Undo("/approvals/limit", {"owner": owner, "agent": name, **quota_inputs(chosen)})
    return request.back("/approvals", request.notice("approvals_limited", undo if changed else None, agent=name))


async def stop(request: PageRequest) -> Response:
    """Stop an agent with all its tasks; the notice offers to let it go on."""
    owner, name = request.form.text("owner"), request.form.text("agent")
    number = await request.service.approvals.stop_agent(request.viewer.principal, name, owner)
    undo = Undo("/approvals/restart", {"owner": owner, "agent": name})
    return request.back("/approvals", request.notice("approvals_stopped", undo, agent=name, number=number))


async def stop_all(request: PageRequest) -> Response:
    """Stop all agents of all owners; the notice offers to let them go on."""
    number = await request.service.agent_stop.stop_all(request.viewer.principal)
    return request.back(
        "/approvals", request.notice("agents_stopped_all", Undo("/approvals/restart-all", {}), number=number)
    )


async def restart_all(request: PageRequest) -> Response:
    number = await request.service.agent_stop.restart_all(request.viewer.principal)
    return request.back("/approvals", request.notice("agents_restarted_all", number=number))


async def restart(request: PageRequest) -> Response:
    owner, name = request.form.text("owner"), request.form.text("agent")
    try:
        number = await request.service.approvals.restart_agent(request.viewer.principal, name, owner)
    except _ERRORS as error:
        return await show(request, error)
    undo = Undo("/approvals/stop", {"owner": owner, "agent": name})
    return request.back("/approvals", request.notice("approvals_restarted", undo, agent=name, number=number))


async def _proposal(request: PageRequest, facts: Facts, known: dict[tuple[str, str], Agent]) -> Proposal:
    viewer, task = request.viewer, facts.task
    preview = compute_task_preview(task, facts.status, viewer.now, _FIRES)
    name = agent_of(task) or ""
    if (task.owner, name) not in known:
        known[task.owner, name] = await request.service.agents.get(viewer.principal, name, task.owner)
    pause = facts.status.pause
    return Proposal(
        facts,
        review_of(task, viewer.language),
        preview.fires,
        [each.in_language(viewer.language) for each in preview.warnings],
        known[task.owner, name],
        None if pause is None else pause.since,
        dict(task.labels).get(VIA_LABEL),
    )


def _agent_row(request: PageRequest, agent: Agent, *, is_given: bool) -> AgentRow:
    state = "revoked" if agent.revoked else "stopped" if agent.stopped else "active"
    is_this = (request.form.text("owner"), request.form.text("agent")) == (agent.owner, agent.name)
    given = request.form if is_given and is_this else None
    sign = Sign(*_AGENT_SIGNS[state], request.text(f"approvals_agent_{state}"))
    return AgentRow(agent, sign, quota_fields(agent.quotas, dict(agent.quota_overrides), given))


ROUTES: Final = (
    page("/approvals", show),
    form("/approvals/approve", approve),
    form("/approvals/stop-all", stop_all),
    form("/approvals/restart-all", restart_all),
    form("/approvals/reject", reject),
    form("/approvals/limit", limit),
    form("/approvals/stop", stop),
    form("/approvals/restart", restart),
)
