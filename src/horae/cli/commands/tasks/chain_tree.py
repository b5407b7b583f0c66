"""The chain of a task as a tree: what runs after it, level by level, with state and last result."""

from __future__ import annotations

from typing import Any

from ....lifecycle.chain_graph import links_of
from ....model.task import Task
from ....service.tasks.task_chain import ChainNode
from ...messages import messages
from ...output.formats import state_cell
from ...output.printer import Printer
from ...output.styled_text import Cell, StyledText
from ...session.command_session import CommandSession


async def predecessor_names(app: CommandSession, *tasks: Task) -> dict[str, str]:
    """Return the names of the tasks that these run after, by id; those of the given tasks are not read again."""
    wanted = frozenset[str]().union(*map(links_of, tasks))
    if not wanted:
        return {}
    names = {task.id: task.name for task in tasks if task.id in wanted}
    found = [await app.facts(each) for each in sorted(wanted - names.keys())]
    return names | {facts.task.id: facts.task.name for facts in found if facts is not None}


def show_tree(out: Printer, root: ChainNode) -> None:
    out.line(_describe(out, root))
    _show_successors(out, root, "")


def _show_successors(out: Printer, node: ChainNode, indent: str) -> None:
    for number, each in enumerate(node.successors, 1):
        is_last = number == len(node.successors)
        out.line((f"{indent}{'└─ ' if is_last else '├─ '}", *_describe(out, each)))
        _show_successors(out, each, indent + ("   " if is_last else "│  "))


def _describe(out: Printer, node: ChainNode) -> tuple[str | StyledText, ...]:
    task = node.facts.task
    on = "" if node.on is None else out.translate(messages.LINK_ENDS[node.on])
    mode = "" if node.mode is None else out.translate(messages.LINK_MODES[node.mode])
    link = f" {on}{mode}" if on else ""
    mark = " ↑" if node.is_repeated else ""
    state: Cell = state_cell(node.facts, out.language)
    shown = state if isinstance(state, str | StyledText) else StyledText("")
    return StyledText(task.name, "bold"), StyledText(f"{link}{mark}  {task.id}  ", "dim"), shown


def tree_json(node: ChainNode) -> dict[str, Any]:
    task, status = node.facts.task, node.facts.status
    return {
        "id": task.id,
        "name": task.name,
        "state": status.state.value,
        "on": node.on,
        "mode": node.mode,
        "last_result": status.last_result,
        "repeated": node.is_repeated,
        "successors": [tree_json(each) for each in node.successors],
    }
