"""Tools that only look: at tasks, at why something happened, and at who is asking."""

from __future__ import annotations

from typing import Any, Final

from ..model.accounts.principal import Quotas
from ..model.change import Facts
from ..model.run import Run
from ..model.state_names import state_word
from ..model.task import GOING, PauseCause, TaskState
from ..ports.store import TaskFilter
from ..schedule.durations import iso_duration
from ..service.query.filters import narrowed_tasks
from ..service.runs.ledger import Why
from ..wire.instants import local, utc
from ..wire.review import review_of
from ..wire.runs import why_json
from ..wire.tasks import next_due, task_json
from .call import Call, Said, Told
from .lines import brief, listed
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
    STOPPED,
    TASK,
    TASK_ROW,
    TASKS,
    WHO,
)
from .receipt import list_zone, moment_line, receipt_of, task_row, with_cautions
from .task_arguments import id_of, zone_of

_USUAL: Final = 20
_COUNTED: Final = 1_000


async def list_tasks(call: Call, said: Said) -> Told:
    """One row for each task, in the order in which they were made."""
    wanted = narrowed_tasks(TaskFilter(), said.get("q", ""))
    page = await call.service.tasks.page(call.who, wanted, said.get("cursor"), said.get("limit", _USUAL))
    rows = [task_row(call, each, next_due(each)) for each in page.items]
    if not rows:
        return Told(
            {"tasks": [], "next_cursor": page.after}, (NO_TASKS if page.after is None else NONE_YET).told(call.language)
        )
    head = (TASKS if page.after is None else MORE_TASKS).told(call.language, number=len(rows), zone=list_zone(call))
    lines = [_row_line(call, each) for each in page.items]
    return Told({"tasks": rows, "next_cursor": page.after}, listed(head, lines, call.language))


def _row_line(call: Call, facts: Facts) -> str:
    upcoming = next_due(facts)
    when = (
        NO_NEXT_SHORT.told(call.language)
        if upcoming is None
        else NEXT_SHORT.told(call.language, local=moment_line(upcoming, list_zone(call)))
    )
    state = state_word(facts.standing.state.value, call.language)
    return TASK_ROW.told(call.language, name=brief(facts.task.name), id=facts.task.id, state=state, next=when)


async def get_task(call: Call, said: Said) -> Told:
    facts = await call.service.tasks.named(call.who, id_of(said))
    latest = await call.service.tasks.latest(call.who, [facts])
    last = latest.get(facts.task.id)
    receipt = await with_cautions(call, receipt_of(call, facts), facts)
    review = list(review_of(facts.task, call.language).lines)
    data = {"task": task_json(facts, call.language, last), "review": review, **receipt.values(call)}
    state = state_word(facts.standing.state.value, call.language)
    line = receipt.told(
        call, TASK, name=brief(facts.task.name), id=facts.task.id, state=state, last=_last(call, last, facts)
    )
    return Told(data, line)


def _last(call: Call, last: Run | None, facts: Facts) -> str:
    if last is None:
        return ""
    at = moment_line(last.planned, facts.task.schedule.zone or list_zone(call))
    return LAST.told(call.language, state=state_word(last.state.value, call.language), at=at)


_HELPS: Final[dict[str, tuple[str, ...]]] = {
    "paused": ("resume_task",),
    "skipped": ("run_task_now",),
    "ran": ("list_runs",),
    "running": ("list_runs",),
    "overdue": ("whoami",),
    "not_planned": ("get_task",),
    "over": ("get_task",),
}
"""Which calls help after which verdict."""
_OWNERS_TO_END: Final = frozenset(
    {PauseCause.AWAITING_APPROVAL, PauseCause.AGENT_STOPPED, PauseCause.OWNER_REVOKED, PauseCause.QUOTA}
)


async def explain_task(call: Call, said: Said) -> Told:
    """Why it did, or did not, run: a verdict, a sentence, the rows that it rests on, and what could be called next."""
    facts = await call.service.tasks.named(call.who, id_of(said))
    there = zone_of(call, said) if "zone" in said else facts.task.schedule.zone or call.who.zone
    there = there or "UTC"
    why = await call.service.ledger.explained(call.who, facts.task.id, said.get("at"), there)
    data = why_json(why.explanation, utc(why.at), facts.task.name, there, call.language, why.outage)
    data["sentence"] = call.complete(data["sentence"])
    data |= {"task_id": facts.task.id, "at_local": local(why.at, there), "suggested_calls": _suggested(why)}
    at = moment_line(why.at, there)
    line = EXPLAINED.told(call.language, name=brief(facts.task.name), at=at, zone=there, sentence=data["sentence"])
    return Told(data, line)


def _suggested(why: Why) -> list[dict[str, Any]]:
    pause = why.facts.standing.pause
    # No tool of an agent ends a pause that is its owner's to end: the sentence says what its owner does.
    kept = pause is not None and pause.cause in _OWNERS_TO_END
    names = ("get_task",) if kept else _HELPS.get(why.explanation.verdict.value, ())
    argument = {"list_runs": "task"}
    return [
        {"tool": name, "arguments": {} if name == "whoami" else {argument.get(name, "id"): why.facts.task.id}}
        for name in names
    ]


async def whoami(call: Call, said: Said) -> Told:
    """Who is asking, in which zone, and how much is left of what they may have."""
    del said
    who = call.who
    used = await _used(call)
    most = who.quotas.active_tasks
    left = None if most is None else max(0, most - used)
    is_stopped = await call.service.agents.is_stopped(who)
    if is_stopped:
        left = 0
    data = {
        "owner": who.owner,
        "agent": who.agent,
        "admin": who.admin,
        "zone": who.zone,
        "scopes": sorted(each.value for each in who.scopes),
        "quotas": _quotas(who.quotas),
        "active_tasks": used,
        "active_tasks_left": left,
        "engine_running": None if call.house.anybody is None else await call.house.anybody(),
        "now": utc(call.clock.now()),
        "now_local": None if who.zone is None else local(call.clock.now(), who.zone),
    }
    told = NO_LIMIT.told(call.language) if left is None else LEFT.told(call.language, left=left, most=most)
    if is_stopped:
        told = call.told(STOPPED, agent=who.agent, owner=who.owner)
    agent = "" if who.agent is None else AN_AGENT.told(call.language, agent=who.agent)
    zone = NO_ZONE if who.zone is None else who.zone
    notes = call.told(NO_NODE) if data["engine_running"] is False else ""
    return Told(data, WHO.told(call.language, agent=agent, owner=who.owner, zone=zone, left=told, notes=notes))


async def _used(call: Call) -> int:
    """Of the tasks that take a place: what an owner pauses takes none, what an agent pauses still does."""
    states = frozenset({TaskState.ACTIVE}) if call.who.agent is None else GOING
    page = await call.service.tasks.page(call.who, TaskFilter(call.who.owner, states), limit=_COUNTED)
    return len(page.items)


def _quotas(quotas: Quotas) -> dict[str, Any]:
    shortest, longest = quotas.shortest_interval, quotas.longest_life
    return {
        "shortest_interval": None if shortest is None else iso_duration(shortest),
        "active_tasks": quotas.active_tasks,
        "payload_bytes": quotas.payload_bytes,
        "runs_per_day": quotas.runs_per_day,
        "concurrent_runs": quotas.concurrent_runs,
        "longest_life": None if longest is None else iso_duration(longest),
    }
