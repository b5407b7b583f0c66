"""Task page: state and actions, 90 days as a heat map, lateness and duration, next fires, runs, definition and activity."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from ....choices import Language
from ....errors import HoraeError
from ....lifecycle.chain_graph import links_of
from ....model.accounts.principal import AGENT_LABEL, RESERVED_LABEL_PREFIX, TOKEN_LABEL, VIA_LABEL
from ....model.accounts.system_owner import is_system_owner
from ....model.agents.lineage import DEPTH_LABEL, MESSAGE_LABEL, RUN_LABEL
from ....model.change import Facts
from ....model.reason import describe_reason, reason_phrase
from ....model.run import Run, RunState
from ....model.task import OPEN_STATES, TaskState
from ....ports.store import RunFilter
from ....schedule.preview import Fire
from ....service.accounts.approval_policy import rejection_of
from ....service.accounts.audit import AuditRow
from ....service.tasks.catch_up_previews import compute_resume_choices, count_backfill_left
from ....service.tasks.previews import compute_task_preview
from ....service.tasks.task_chain import build_tree, roots_of
from ....wire.tasks.task import definition_json, next_due
from ...page import PageRequest, page
from ...tasks.texts import describe_pause, describe_wait, describe_when, error_line, other_zone
from ...viewer import Viewer
from ..runs.run import pretty_json
from .history import chart_data

_FIRES: Final = 5
_RUNS: Final = 25
_AUDIT_ROWS: Final = 500
"""Newest rows of the audit trail that are searched for those about a task."""
_DIGITS: Final = 10
_MAX_TEXT: Final = 65_536
"""Characters of a definition that are shown."""
TABS: Final = ("runs", "definition", "activity")
_PARTS: Final = frozenset({"head", "chain", "charts", "runs"})
"""Blocks of the template that scripts fetch one by one."""


async def show(request: PageRequest) -> Response:
    facts = await load(request)
    return request.render("task.html", await task_data(request, facts))


async def load(request: PageRequest) -> Facts:
    """Return the task of the path; absent and foreign ones are refused alike."""
    return await request.service.tasks.get(request.viewer.principal, request.request.path_params["id"])


async def render_refused(request: PageRequest, facts: Facts, refusal: HoraeError, opened: str) -> Response:
    """Show the task again with the form `opened`, its input and the problem."""
    data = await task_data(request, facts)
    return request.render_refused("task.html", {**data, "opened": opened, "values": request.form}, refusal)


async def task_data(request: PageRequest, facts: Facts) -> dict[str, Any]:
    """Return the data of the page, or only of the parts that a script asks for."""
    wanted = [*links_of(facts.task), *facts.task.successors]
    names = await request.service.tasks.names(request.viewer.principal, wanted) if wanted else {}
    data = _head_data(request, facts, names)
    may_undo = facts.status.state is TaskState.CANCELLED and data["may"].write
    tasks = request.service.tasks
    data["can_restore"] = may_undo and await tasks.can_undo_cancel(request.viewer.principal, facts.task.id)
    parts = request.parts if _PARTS.issuperset(request.parts) else []
    if not parts or "chain" in parts:
        data |= await _chain_data(request, facts)
    if not parts or "charts" in parts:
        data |= await chart_data(request, facts)
    if not parts or "runs" in parts:
        data |= await _tab_data(request, facts, "runs" if parts else data["tab"])
    return data


class _Rights(NamedTuple):
    """What the viewer may do with the task; only an admin controls a system task."""

    run: bool
    write: bool


def _head_data(request: PageRequest, facts: Facts, names: Mapping[str, str]) -> dict[str, Any]:
    viewer, task, status = request.viewer, facts.task, facts.status
    query, due = request.request.query_params, next_due(facts)
    when, meaning = describe_when(task.schedule, viewer.language, names)
    tab, total = query.get("tab", ""), query.get("backfill", "")
    may_control = viewer.is_admin or not is_system_owner(task.owner)
    return {
        "page": "tasks",
        "problem": None,
        "opened": query.get("open", ""),
        "values": {},
        "task": task,
        "status": status,
        "live": facts.live,
        "when": when,
        "meaning": meaning,
        "pause": describe_pause(viewer, status.pause),
        "waits": describe_wait(viewer, facts),
        "next": due,
        "next_zone": other_zone(viewer, task.schedule.zone, due),
        "rejection": rejection_of(facts.task),
        "reason": None if status.reason is None else describe_reason(status.reason, viewer.language),
        "is_system": is_system_owner(task.owner),
        "may": _Rights(viewer.can_run and may_control, viewer.can_write and may_control),
        "is_open": status.state in OPEN_STATES,
        "can_resume": status.state in (TaskState.PAUSED, TaskState.FAILED),
        "choices": compute_resume_choices(facts, viewer.now),
        "backfill_left": count_backfill_left(facts),
        "backfill_total": int(total) if total.isdecimal() and len(total) < _DIGITS else 0,
        "labels": {name: value for name, value in task.labels if not name.startswith(RESERVED_LABEL_PREFIX)},
        "origin": _origin(facts),
        "error_line": lambda run: error_line(run) or _skip_reason(run, viewer.language),
        "tab": tab if tab in TABS else TABS[0],
        "tabs": TABS,
        **_fires(viewer, facts),
    }


def _skip_reason(run: Run, language: Language) -> str:
    """Return why a run without an error was skipped; empty for all others."""
    if run.state is not RunState.SKIPPED or run.reason is None:
        return ""
    return reason_phrase(run.reason, language)


async def _chain_data(request: PageRequest, facts: Facts) -> dict[str, Any]:
    """Return the chain of the task as trees, one for each task that it begins with; none where the task has no link."""
    if not (facts.task.successors or links_of(facts.task)):
        return {"chain_trees": [], "is_chain_cut": False}
    chain = await request.service.tasks.chain(request.viewer.principal, facts.task.id)
    trees = [build_tree(chain, root.task.id) for root in roots_of(chain)]
    return {"chain_trees": trees, "is_chain_cut": chain.cut}


async def _tab_data(request: PageRequest, facts: Facts, tab: str) -> dict[str, Any]:
    principal, after = request.viewer.principal, request.request.query_params.get("after")
    query = {"tab": "runs", **({"after": after} if after else {})}
    if tab == "definition":
        text = pretty_json(json.dumps(definition_json(facts.task), ensure_ascii=False))
        return {"definition": text[:_MAX_TEXT], "is_text_cut": len(text) > _MAX_TEXT, "query": query}
    if tab == "activity":
        trail = await request.service.audit.page(principal, None, _AUDIT_ROWS)
        rows: list[AuditRow] = [row for row in trail.items if row.subject == facts.task.id]
        return {"audit": rows, "audit_searched": _AUDIT_ROWS if trail.after else 0, "query": query}
    listed = await request.service.runs.page(principal, RunFilter(task_id=facts.task.id), after or None, _RUNS)
    return {"runs": listed.items, "after": listed.after, "query": query}


def _fires(viewer: Viewer, facts: Facts) -> dict[str, Any]:
    """Return the next planned instants, each with the zone of the task where it differs, and whether it is skipped."""
    if facts.status.state not in OPEN_STATES:
        return {"fires": [], "warnings": []}
    preview = compute_task_preview(facts.task, facts.status, viewer.now, _FIRES)
    fires: list[tuple[Fire, str | None, bool]] = [
        (fire, other_zone(viewer, facts.task.schedule.zone, fire.utc), number < facts.status.skips_left)
        for number, fire in enumerate(preview.fires)
    ]
    return {"fires": fires, "warnings": [each.in_language(viewer.language) for each in preview.warnings]}


def _origin(facts: Facts) -> dict[str, str]:
    """Return through which front end, agent, token and run the task was made, as far as it is known."""
    labels = dict(facts.task.labels)
    names = {
        "via": VIA_LABEL,
        "agent": AGENT_LABEL,
        "token": TOKEN_LABEL,
        "run": RUN_LABEL,
        "depth": DEPTH_LABEL,
        "message": MESSAGE_LABEL,
    }
    return {name: labels[label] for name, label in names.items() if label in labels}


ROUTES: Final = (page("/tasks/{id}", show),)
