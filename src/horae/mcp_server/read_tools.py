"""Read-only MCP tools: list and get tasks, explain a task, whoami."""

from __future__ import annotations

from typing import Any, Final

from ..model.accounts.principal import Quotas
from ..model.change import Facts
from ..model.reason import Reason
from ..model.run import Run
from ..model.task import OPEN_STATES, PauseCause, TaskState
from ..ports.store import TaskFilter
from ..schedule import After, to_json
from ..schedule.durations import format_iso_duration
from ..service.accounts.approval_policy import rejection_of
from ..service.query.filters import narrow_task_filter
from ..service.runs.explanations import OccurrenceExplanation
from ..state_names import state_name
from ..wire.instants import local, utc
from ..wire.runs import why_json
from ..wire.tasks.review import review_of
from ..wire.tasks.task import next_due, task_json
from .arguments import id_of, list_reader, zone_of
from .call import Arguments, Call, ToolResult
from .lines import join_rows, shorten_line
from .messages import (
    AN_AGENT,
    EXPLAINED,
    LAST,
    LEFT,
    MORE_TASKS,
    NEXT_SHORT,
    NO_LIMIT,
    NO_NEXT_SHORT,
    NO_NODE,
    NO_TASKS,
    NO_ZONE,
    NONE_YET,
    REJECTED,
    REJECTED_BECAUSE,
    STOPPED,
    TASK,
    TASK_ROW,
    TASKS,
    WHO,
)
from .receipt import format_moment, list_zone, predecessor_names, receipt_of, task_row, with_warnings

_DEFAULT_LIMIT: Final = 20
_MAX_COUNTED: Final = 1_000


async def list_tasks(call: Call, arguments: Arguments) -> ToolResult:
    """List tasks in the order of their creation, one row each."""
    task_filter = narrow_task_filter(TaskFilter(), arguments.get("q", ""))
    page = await call.service.tasks.page(
        list_reader(call, arguments), task_filter, arguments.get("cursor"), arguments.get("limit", _DEFAULT_LIMIT)
    )
    names = await predecessor_names(call, *(each.task for each in page.items))
    rows = [task_row(call, each, next_due(each), names) for each in page.items]
    if not rows:
        return ToolResult(
            {"tasks": [], "next_cursor": page.after},
            (NO_TASKS if page.after is None else NONE_YET).in_language(call.language),
        )
    head = (TASKS if page.after is None else MORE_TASKS).in_language(
        call.language, number=len(rows), zone=list_zone(call)
    )
    lines = [_row_line(call, each) for each in page.items]
    return ToolResult({"tasks": rows, "next_cursor": page.after}, join_rows(head, lines, call.language))


def _row_line(call: Call, facts: Facts) -> str:
    upcoming = next_due(facts)
    when = (
        NO_NEXT_SHORT.in_language(call.language)
        if upcoming is None
        else NEXT_SHORT.in_language(call.language, local=format_moment(upcoming, list_zone(call)))
    )
    state = state_name(facts.status.state.value, call.language)
    return TASK_ROW.in_language(
        call.language, name=shorten_line(facts.task.name), id=facts.task.id, state=state, next=when
    )


async def get_task(call: Call, arguments: Arguments) -> ToolResult:
    facts = await call.service.tasks.find_by_name(call.principal, id_of(arguments))
    latest = await call.service.tasks.latest(call.principal, [facts])
    last = latest.get(facts.task.id)
    receipt = await with_warnings(call, receipt_of(call, facts), facts)
    review = list(review_of(facts.task, call.language).lines)
    names = await predecessor_names(call, facts.task)
    data = {
        "task": task_json(facts, call.language, last, names=names, now=call.clock.now()),
        "review": review,
        **receipt.to_json(call),
        **(await _chain_of(call, facts) if arguments.get("chain") else {}),
    }
    state = state_name(facts.status.state.value, call.language)
    line = receipt.render(
        call,
        TASK,
        name=shorten_line(facts.task.name),
        id=facts.task.id,
        state=state,
        last=_last_run_line(call, last, facts) + _rejection_line(call, facts),
    )
    return ToolResult(data, line)


async def _chain_of(call: Call, facts: Facts) -> dict[str, Any]:
    """Return the tasks that a task descends from, itself, and those that descend from it, one row each."""
    chain = await call.service.tasks.chain(call.principal, facts.task.id)
    names = await predecessor_names(call, *(each.task for each in chain.tasks))
    rows = [task_row(call, each, next_due(each), names) | {"after": _links_of(each)} for each in chain.tasks]
    return {"chain": {"tasks": rows, "cut": chain.cut}}


def _links_of(facts: Facts) -> dict[str, Any] | None:
    schedule = facts.task.schedule
    return to_json(schedule) if isinstance(schedule, After) else None


def _rejection_line(call: Call, facts: Facts) -> str:
    """Return that a person rejected the task, and why; empty if it was not rejected."""
    reason = rejection_of(facts.task)
    if reason is None:
        return ""
    message = REJECTED_BECAUSE if reason else REJECTED
    return message.in_language(call.language, reason=shorten_line(reason, 200))


def _last_run_line(call: Call, last: Run | None, facts: Facts) -> str:
    if last is None:
        return ""
    at = format_moment(last.planned, facts.task.schedule.zone or list_zone(call))
    return LAST.in_language(call.language, state=state_name(last.state.value, call.language), at=at)


_CALLS_BY_VERDICT: Final[dict[str, tuple[str, ...]]] = {
    "paused": ("resume_task",),
    "skipped": ("run_task_now",),
    "ran": ("list_runs",),
    "running": ("list_runs",),
    "overdue": ("whoami",),
    "not_planned": ("get_task",),
    "over": ("get_task",),
}
"""Tools to suggest after each verdict."""
_CAUSES_ONLY_OWNER_ENDS: Final = frozenset(
    {PauseCause.AWAITING_APPROVAL, PauseCause.AGENT_STOPPED, PauseCause.OWNER_REVOKED, PauseCause.QUOTA}
)


async def explain_task(call: Call, arguments: Arguments) -> ToolResult:
    """Explain why a task did or did not run: verdict, sentence, the runs that it rests on, and suggested calls."""
    facts = await call.service.tasks.find_by_name(call.principal, id_of(arguments))
    zone = zone_of(call, arguments) if "zone" in arguments else facts.task.schedule.zone or call.principal.zone
    zone = zone or "UTC"
    why = await call.service.explanations.explain(call.principal, facts.task.id, arguments.get("at"), zone)
    data = why_json(why.explanation, utc(why.at), facts.task.name, zone, call.language, why.outage)
    data["sentence"] = call.complete(data["sentence"])
    data |= {"task_id": facts.task.id, "at_local": local(why.at, zone), "suggested_calls": _suggested_calls(why)}
    at = format_moment(why.at, zone)
    line = EXPLAINED.in_language(
        call.language, name=shorten_line(facts.task.name), at=at, zone=zone, sentence=data["sentence"]
    )
    return ToolResult(data, line)


def _suggested_calls(why: OccurrenceExplanation) -> list[dict[str, Any]]:
    pause = why.facts.status.pause
    # An agent's tools cannot end a pause that only its owner may end; the sentence names the owner's command.
    is_owners = pause is not None and pause.cause in _CAUSES_ONLY_OWNER_ENDS
    is_used_up = why.explanation.reason in (Reason.QUOTA, Reason.AGENT_QUOTA)
    verdict = why.explanation.verdict.value
    names = ("get_task",) if is_owners else ("whoami",) if is_used_up else _CALLS_BY_VERDICT.get(verdict, ())
    id_argument = {"list_runs": "task"}
    return [
        {"tool": name, "arguments": {} if name == "whoami" else {id_argument.get(name, "id"): why.facts.task.id}}
        for name in names
    ]


async def whoami(call: Call, arguments: Arguments) -> ToolResult:
    """Return the caller's identity, zone, quotas, and how many active tasks are left."""
    del arguments
    principal = call.principal
    used = await _count_active(call)
    quota = principal.quotas.active_tasks
    left = None if quota is None else max(0, quota - used)
    is_stopped = await call.service.agents.is_stopped(principal)
    if is_stopped:
        left = 0
    data = {
        "owner": principal.owner,
        "agent": principal.agent,
        "admin": principal.admin,
        "zone": principal.zone,
        "scopes": sorted(each.value for each in principal.scopes),
        "quotas": _quotas_json(principal.quotas),
        "active_tasks": used,
        "active_tasks_left": left,
        "engine_running": None if call.context.has_engine is None else await call.context.has_engine(),
        "now": utc(call.clock.now()),
        "now_local": None if principal.zone is None else local(call.clock.now(), principal.zone),
    }
    tasks_left = (
        NO_LIMIT.in_language(call.language) if left is None else LEFT.in_language(call.language, left=left, most=quota)
    )
    if is_stopped:
        tasks_left = call.render(STOPPED, agent=principal.agent, owner=principal.owner)
    agent = "" if principal.agent is None else AN_AGENT.in_language(call.language, agent=principal.agent)
    zone = NO_ZONE if principal.zone is None else principal.zone
    notes = call.render(NO_NODE) if data["engine_running"] is False else ""
    text = WHO.in_language(call.language, agent=agent, owner=principal.owner, zone=zone, left=tasks_left, notes=notes)
    return ToolResult(data, text)


async def _count_active(call: Call) -> int:
    """Count tasks against the quota: tasks paused by their owner do not count, tasks paused by an agent do."""
    states = frozenset({TaskState.ACTIVE}) if call.principal.agent is None else OPEN_STATES
    page = await call.service.tasks.page(call.principal, TaskFilter(call.principal.owner, states), limit=_MAX_COUNTED)
    return len(page.items)


def _quotas_json(quotas: Quotas) -> dict[str, Any]:
    shortest, longest = quotas.shortest_interval, quotas.longest_life
    return {
        "shortest_interval": None if shortest is None else format_iso_duration(shortest),
        "active_tasks": quotas.active_tasks,
        "payload_bytes": quotas.payload_bytes,
        "runs_per_day": quotas.runs_per_day,
        "concurrent_runs": quotas.concurrent_runs,
        "longest_life": None if longest is None else format_iso_duration(longest),
    }
