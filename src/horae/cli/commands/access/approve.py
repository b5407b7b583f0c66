"""`horae approve`, `horae reject` and `horae agent`: approval and rejection of tasks that agents created, limits of agents, stop and restart."""

from __future__ import annotations

from typing import Final

import click

from ....message import Message
from ....model.accounts.account import ALL_AGENTS, Agent, agent_of
from ....model.change import Facts
from ....model.page import Page
from ....model.task import PauseCause
from ....schedule.describe import describe_schedule
from ....service.accounts.approval_policy import APPROVED_LABEL
from ....wire.accounts import agent_json
from ....wire.tasks.review import review_of
from ....wire.tasks.task import task_json
from ...command import Command, CommandGroup
from ...messages import account_messages
from ...messages.account_refusals import refuse
from ...output.command_hints import note_next_page
from ...output.formats import full_time
from ...output.printer import Printer
from ...output.receipt import review_cells
from ...output.styled_text import Cell, StyledText
from ...output.table import Fit
from ...parameters import after_option, limit_option, typed_limit
from ...session.command_session import CommandSession, has_store, run_in_session
from ...task_filter import optional_task_argument, task_argument
from .owner import read_quotas, show_quotas

_APPROVE: Final = Message("Let {name} run as it is", "允许 {name} 按现状运行")
_APPROVED: Final = Message(
    "✓ {name} may run as it is; any change closes it again", "✓ {name} 可按现状运行;任何修改都会重新锁定"
)
_APPROVED_BEFORE: Final = Message(
    "✓ {name} is approved already as it is; nothing was changed", "✓ {name} 此前已按现状批准;没有更改"
)
_REJECTED: Final = Message("✓ {name} is rejected and never runs", "✓ 已拒绝 {name},它不会运行")
_STOPPED: Final = Message(
    "✓ {agent}: {tasks} tasks paused, and it can make no more", "✓ {agent}:已暂停 {tasks} 个任务,且不能再新建"
)
_RESTARTED: Final = Message("✓ {agent} may go on: {tasks} tasks resumed", "✓ {agent} 可以继续:已恢复 {tasks} 个任务")
_STOP_ALL: Final = Message(
    "Stop all agents of all owners: their runs end, and their tasks are paused",
    "停止所有所有者的全部智能体:结束其运行,并暂停其任务",
)
_STOPPED_ALL: Final = Message(
    "✓ All agents are stopped: {tasks} tasks paused. They go on with: horae agent restart --all",
    "✓ 已停止所有智能体:暂停 {tasks} 个任务。恢复:horae agent restart --all",
)
_RESTARTED_ALL: Final = Message(
    "✓ All agents may go on: {tasks} tasks resumed", "✓ 所有智能体可以继续:已恢复 {tasks} 个任务"
)
_ALL_STOPPED: Final = Message(
    "All agents are stopped since {since}. They go on with: horae agent restart --all",
    "所有智能体自 {since} 起已停止。恢复:horae agent restart --all",
)
_LISTED: Final = 100
"""Tasks in one list of `horae approve`."""
_WAITING_FITS: Final = (Fit(wrap=12), Fit(1, wrap=12), Fit(2, wrap=12), Fit(wrap=12))
_FITS: Final = (Fit(wrap=12), Fit(1, wrap=12), Fit())
_agent_argument: Final = click.argument("agent", metavar="AGENT", help="Name of the agent, as its tasks show it.")
_agent_or_all: Final = click.argument(
    "agent", required=False, metavar="[AGENT]", help="Name of the agent, as its tasks show it."
)
_all_option: Final = click.option("--all", "every", is_flag=True, help="Stop or restart all agents of all owners.")
_owner_option: Final = click.option("--owner", help="Owner of the agent. Default: you.")


agent_commands: Final = CommandGroup("agent", help="List agents, limit one, stop it with all its tasks, or restart it.")


@click.command("approve", cls=Command, asks=True)
@optional_task_argument
def approve(out: Printer, *, task: str | None) -> None:
    """Approve a task that an agent made, so that it runs; without a task, list those that wait."""
    if task is None:
        _list_waiting(out)
        return
    found, digest = run_in_session(out, lambda app: _load_with_digest(app, task))
    if dict(found.task.labels).get(APPROVED_LABEL) == digest and not awaits_approval(found):
        _show_approved(out, found, _APPROVED_BEFORE)
        return
    if not out.yes:
        _show(out, found)
    out.confirm(_APPROVE, name=found.task.name)
    # The digest pins the definition that was shown: a task that changed meanwhile is refused.
    facts = run_in_session(out, lambda app: app.service.approvals.approve(app.principal, found.task.id, digest))
    _show_approved(out, facts, _APPROVED)


def _list_waiting(out: Printer) -> None:
    """Show the tasks that wait for approval, in the order of creation."""

    async def work(app: CommandSession) -> Page[Facts]:
        return await app.service.approvals.page(app.principal, None, _LISTED)

    page = run_in_session(out, work) if has_store(out) else Page[Facts](())
    if out.json:
        out.data([task_json(each, out.language) for each in page.items])
        return
    if out.quiet:
        out.ids([each.task.id for each in page.items])
        return
    if not page.items:
        out.note(account_messages.NO_APPROVALS)
        return
    rows: list[list[Cell]] = [
        [
            each.task.name,
            agent_of(each.task) or "",
            each.task.owner,
            describe_schedule(each.task.schedule, out.language),
        ]
        for each in page.items
    ]
    out.table(out.translate(account_messages.APPROVAL_TITLES).split("|"), rows, _WAITING_FITS)
    message = account_messages.MORE_APPROVALS if page.after is not None else account_messages.SHOW_APPROVAL
    out.note(message, number=_LISTED)


@click.command("reject", cls=Command)
@task_argument
@click.option("--reason", default="", help="Reason in one line; the agent can read it.")
def reject(out: Printer, *, task: str, reason: str) -> None:
    """Reject a task that an agent made: it is cancelled and never runs."""

    async def work(app: CommandSession) -> Facts:
        found = await app.service.tasks.find_by_name(app.principal, task)
        return await app.service.approvals.reject(app.principal, found.task.id, reason)

    _show_approved(out, run_in_session(out, work), _REJECTED)


def awaits_approval(facts: Facts) -> bool:
    pause = facts.status.pause
    return pause is not None and pause.cause is PauseCause.AWAITING_APPROVAL


def _show_approved(out: Printer, facts: Facts, message: Message) -> None:
    if out.json:
        out.data(task_json(facts, out.language))
    elif out.quiet:
        out.ids([facts.task.id])
    else:
        out.line(out.translate(message, name=facts.task.name))


async def _load_with_digest(app: CommandSession, name: str) -> tuple[Facts, str]:
    facts = await app.service.tasks.find_by_name(app.principal, name)
    return facts, app.digest(facts.task)


def _show(out: Printer, facts: Facts) -> None:
    for line in review_cells(review_of(facts.task, out.language)):
        out.aside(line, hang=4)


@agent_commands.command("ls")
@limit_option
@after_option
def ls(out: Printer, *, limit: int, after: str | None) -> None:
    """List agents that have a token or have made something."""

    async def work(app: CommandSession) -> tuple[Page[Agent], str | None]:
        switch = await app.service.agent_stop.get(app.principal)
        since = None if switch is None else full_time(switch.since, app.zone, out.language)
        return await app.service.agents.page(app.principal, after, limit), since

    page, since = run_in_session(out, work) if has_store(out) else (Page[Agent](()), None)
    if out.json:
        out.data([agent_json(each) for each in page.items])
    elif out.quiet:
        out.ids([each.name for each in page.items])
    elif page.items:
        rows: list[list[Cell]] = [[each.name, each.owner, _state(out, each)] for each in page.items]
        out.table(out.translate(account_messages.AGENT_TITLES).split("|"), rows, _FITS)
    if not page.items:
        out.note(account_messages.NO_AGENTS)
    if since is not None:
        out.note(_ALL_STOPPED, since=since)
    if page.after is not None:
        note_next_page(out, "agent ls", {"--limit": typed_limit(limit)}, page.after)


@agent_commands.command("show")
@_agent_argument
@_owner_option
def show_agent(out: Printer, *, agent: str, owner: str | None) -> None:
    """Show the rights and limits of an agent."""
    _show_limits(out, run_in_session(out, lambda app: app.service.agents.get(app.principal, agent, owner)))


@agent_commands.command("set")
@click.argument("agent", required=False, metavar="[AGENT]", help="Name of the agent, as its tasks show it.")
@click.option("--all", "every", is_flag=True, help="All agents of the owner, where nothing was set for one of them.")
@click.option(
    "--quota",
    multiple=True,
    required=True,
    metavar="NAME=VALUE",
    help="active_tasks=50, shortest_interval=1m, longest_life=never; repeatable.",
)
@_owner_option
def set_agent(out: Printer, *, agent: str | None, every: bool, quota: tuple[str, ...], owner: str | None) -> None:
    """Set limits of an agent, or of all agents of an owner."""
    if (agent is None) is not every:
        raise refuse("one_agent_or_all")
    name, limits = agent or ALL_AGENTS, read_quotas(quota)
    done = run_in_session(out, lambda app: app.service.agents.put(app.principal, name, limits, owner), create=True)
    _show_limits(out, done)


def _show_limits(out: Printer, agent: Agent) -> None:
    if out.json:
        out.data(agent_json(agent))
        return
    if out.quiet:
        out.ids([agent.name])
        return
    name = out.translate(account_messages.ALL_AGENTS) if agent.name == ALL_AGENTS else agent.name
    out.line((StyledText(name, "bold"), "  ", StyledText(agent.owner, "dim")))
    show_quotas(out, agent.quotas, dict(agent.quota_overrides))
    out.row(out.translate(account_messages.STATE), _state(out, agent))


def _state(out: Printer, agent: Agent) -> str:
    state = "revoked" if agent.revoked else "stopped" if agent.stopped else "active"
    return out.translate(account_messages.AGENT_STATES[state])


@agent_commands.command("stop", asks=True)
@_agent_or_all
@_all_option
@_owner_option
def stop(out: Printer, *, agent: str | None, every: bool, owner: str | None) -> None:
    """Stop an agent: its runs end, its tasks are paused; it can no longer make or resume tasks."""
    name = _one_or_all(agent, owner, every=every)
    if name == ALL_AGENTS:
        out.confirm(_STOP_ALL)
        _show_stopped(
            out, name, _STOPPED_ALL, run_in_session(out, lambda app: app.service.agent_stop.stop_all(app.principal))
        )
        return
    _show_stopped(out, name, _STOPPED, run_in_session(out, lambda app: _stop(app, name, owner)))


@agent_commands.command("restart")
@_agent_or_all
@_all_option
@_owner_option
def restart(out: Printer, *, agent: str | None, every: bool, owner: str | None) -> None:
    """Restart an agent, and resume the tasks that were paused with it."""
    name = _one_or_all(agent, owner, every=every)
    if name == ALL_AGENTS:
        tasks = run_in_session(out, lambda app: app.service.agent_stop.restart_all(app.principal))
        _show_stopped(out, name, _RESTARTED_ALL, tasks)
        return
    _show_stopped(out, name, _RESTARTED, run_in_session(out, lambda app: _restart(app, name, owner)))


def _one_or_all(agent: str | None, owner: str | None, *, every: bool) -> str:
    if (agent is None) is not every or (every and owner is not None):
        raise refuse("stop_one_or_all")
    return agent or ALL_AGENTS


async def _stop(app: CommandSession, agent: str, owner: str | None) -> int:
    return await app.service.approvals.stop_agent(app.principal, agent, owner)


async def _restart(app: CommandSession, agent: str, owner: str | None) -> int:
    return await app.service.approvals.restart_agent(app.principal, agent, owner)


def _show_stopped(out: Printer, agent: str, message: Message, tasks: int) -> None:
    if out.json:
        out.data({"agent": agent, "tasks": tasks, "stopped": message in (_STOPPED, _STOPPED_ALL)})
    elif not out.quiet:
        out.line(out.translate(message, agent=agent, tasks=tasks))
