"""`horae approve` and `horae agent`: a person looks at what an agent wants, lets it run as it is, or stops all of it."""

from __future__ import annotations

from typing import Final

import typer

from ..model.change import Facts
from ..wire.review import review_of
from ..wire.tasks import task_json
from .families import new_family
from .filtering import ONE
from .frame import command
from .out import Out
from .review import review_cells
from .words import Words
from .workplace import Workplace, at_work

_APPROVE: Final = Words("Let {name} run as it is", "允许 {name} 按现状运行")
_APPROVED: Final = Words(
    "✓ {name} may run as it is; any change closes it again", "✓ {name} 可按现状运行;任何修改都会重新锁定"
)
_STOPPED: Final = Words(
    "✓ {agent}: {tasks} tasks paused, and it can make no more", "✓ {agent}:已暂停 {tasks} 个任务,且不能再新建"
)
_RESTARTED: Final = Words("✓ {agent} may go on: {tasks} tasks resumed", "✓ {agent} 可以继续:已恢复 {tasks} 个任务")
_AGENT: Final = typer.Argument(..., metavar="AGENT", help="Its name, as tasks show it.")
_OWNER: Final = typer.Option(None, "--owner", help="Whose agent it is. Default: yours.")


def register(app: typer.Typer) -> None:
    command(app, "approve", asks=True)(approve)
    family = new_family()
    command(family, "stop")(stop)
    command(family, "restart")(restart)
    app.add_typer(family, name="agent", help="Stop all that an agent made, or let it go on.")


def approve(out: Out, *, task: str = ONE) -> None:
    """Let a task run that an agent made and that waits for a person."""
    found, digest = at_work(out, lambda app: _looked_at(app, task))
    if not out.yes:
        _show(out, found)
    out.confirm(_APPROVE, name=found.task.name)
    # Exactly what was shown: whatever was changed meanwhile has another digest, and is refused.
    facts = at_work(out, lambda app: app.service.approvals.approve(app.who, found.task.id, digest))
    if out.json:
        out.data(task_json(facts, out.language))
    elif out.quiet:
        out.ids([facts.task.id])
    else:
        out.line(out.told(_APPROVED, name=facts.task.name))


async def _looked_at(app: Workplace, name: str) -> tuple[Facts, str]:
    facts = await app.service.tasks.named(app.who, name)
    return facts, app.digest(facts.task)


def _show(out: Out, facts: Facts) -> None:
    for line in review_cells(review_of(facts.task, out.language)):
        out.aside(line)


def stop(out: Out, *, agent: str = _AGENT, owner: str | None = _OWNER) -> None:
    """Pause all that an agent made; it makes and wakes nothing more."""
    _tell(out, agent, _STOPPED, at_work(out, lambda app: _stop(app, agent, owner)))


def restart(out: Out, *, agent: str = _AGENT, owner: str | None = _OWNER) -> None:
    """Let an agent go on, and what was paused with it."""
    _tell(out, agent, _RESTARTED, at_work(out, lambda app: _restart(app, agent, owner)))


async def _stop(app: Workplace, agent: str, owner: str | None) -> int:
    return await app.service.approvals.stop_agent(app.who, agent, owner)


async def _restart(app: Workplace, agent: str, owner: str | None) -> int:
    return await app.service.approvals.restart_agent(app.who, agent, owner)


def _tell(out: Out, agent: str, told: Words, tasks: int) -> None:
    if out.json:
        out.data({"agent": agent, "tasks": tasks, "stopped": told is _STOPPED})
    elif not out.quiet:
        out.line(out.told(told, agent=agent, tasks=tasks))
