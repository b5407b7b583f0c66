"""The chain of a task as a tree: what runs after it, level by level, with state and last result."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....lifecycle.chain_graph import links_of
from ....model.change import Facts
from ....model.task import Task
from ....schedule import After
from ...messages import messages
from ...output.formatting import state_cell
from ...output.printer import Printer
from ...output.styled_text import Cell, StyledText
from ...session.command_session import CommandSession


class ChainNode(NamedTuple):
    """A task of the tree. `on` is the end of its parent that fires it; `is_repeated`: shown above, with its successors."""

    facts: Facts
    on: str | None
    mode: str | None
    successors: tuple[ChainNode, ...] = ()
    is_repeated: bool = False


async def predecessor_names(app: CommandSession, *tasks: Task) -> dict[str, str]:
    """Return the names of the tasks that these run after, by id; those of the given tasks are not read again."""
    wanted = frozenset[str]().union(*map(links_of, tasks))
    if not wanted:
        return {}
    names = {task.id: task.name for task in tasks if task.id in wanted}
    found = [await app.facts(each) for each in sorted(wanted - names.keys())]
    return names | {facts.task.id: facts.task.name for facts in found if facts is not None}


async def load_tree(app: CommandSession, facts: Facts) -> ChainNode:
    """Read the task and all that run after it, each once."""
    return await _load_node(app, facts, None, set())


async def _load_node(app: CommandSession, facts: Facts, parent: Task | None, seen: set[str]) -> ChainNode:
    task = facts.task
    on = mode = None
    if isinstance(task.schedule, After) and parent is not None:
        on = next((link.on for link in task.schedule.links if link.task == parent.id), None)
        mode = task.schedule.mode if len(task.schedule.links) > 1 else None
    if task.id in seen:
        return ChainNode(facts, on, mode, is_repeated=True)
    seen.add(task.id)
    following = [await app.facts(each) for each in task.successors]
    nodes = [await _load_node(app, each, task, seen) for each in following if each is not None]
    return ChainNode(facts, on, mode, tuple(nodes))


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
