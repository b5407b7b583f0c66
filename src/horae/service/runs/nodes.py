"""Nodes: list them with their state, and drain them; for admins only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from ...clock import Clock
from ...model.accounts.principal import Principal, Scope
from ...model.refusals import refuse
from ...ports.full_store import FullStore
from ...ports.node_records import ClockStep, load_agreed_lease, load_clock_steps
from ...ports.store import Node
from ..accounts.audit import Audit
from ..query.argument_checks import check_id
from ..tasks.functions.functions import Functions

_MAX_LISTED: Final = 5


class NodeState(StrEnum):
    LIVE = "live"
    DRAINING = "draining"
    """It claims nothing more, and leaves when it executes nothing."""
    SILENT = "silent"
    """It has not renewed its lease in time: live nodes recover its runs."""


class NodeStatus(NamedTuple):
    """A node with its state.

    `ago` is the time since its last renewal, `clock_step` the last backward step of its host's clock within a day,
    `functions` the names of its registered functions.
    """

    node: Node
    state: NodeState
    ago: timedelta
    clock_step: ClockStep | None = None
    functions: tuple[str, ...] = ()


class Nodes:
    def __init__(
        self, store: FullStore, clock: Clock, on_write: Callable[[datetime | None], None] = lambda _due: None
    ) -> None:
        self._store = store
        self._clock = clock
        self._on_write = on_write
        self._audit = Audit(store, clock)
        self._functions = Functions(store, clock)

    async def all(
        self, principal: Principal, is_gone: Callable[[str], bool] = lambda _home: False
    ) -> tuple[NodeStatus, ...]:
        """Return every node that holds a lease, by id; `is_gone` may know that a process is certainly dead."""
        principal.require_scope(Scope.ADMIN)
        lease = await load_agreed_lease(self._store)
        now = self._clock.now()
        steps = {step.host: step for step in await load_clock_steps(self._store, now)}
        functions = await self._functions.by_node()
        return tuple(
            _with_state(node, now - node.renewed, lease, is_gone)._replace(
                clock_step=steps.get(node.host), functions=functions.get(node.id) or functions.get(node.home, ())
            )
            for node in await self._store.nodes()
        )

    async def drain(self, principal: Principal, name: str, *, draining: bool = True) -> Node:
        """Let a node claim nothing more, or undo that; a prefix of its id is enough."""
        principal.require_scope(Scope.ADMIN)
        node = await self._find_by_prefix(name)
        return (await self._set_draining(principal, (node,), name, draining=draining))[0]

    async def drain_host(self, principal: Principal, host: str, *, draining: bool = True) -> tuple[Node, ...]:
        """Drain all nodes of one machine, or undo that."""
        principal.require_scope(Scope.ADMIN)
        nodes = [node for node in await self._store.nodes() if node.host == host]
        return await self._set_draining(principal, nodes, host, draining=draining)

    async def _set_draining(
        self, principal: Principal, nodes: Sequence[Node], name: str, *, draining: bool
    ) -> tuple[Node, ...]:
        """Nodes that have left meanwhile are skipped; refused if none is left."""
        action = "node.drain" if draining else "node.undrain"
        changed = [
            node
            for node in nodes
            if await self._store.drain(
                node.id, draining=draining, attached_records=self._audit.row(principal, action, node.id)
            )
        ]
        if not changed:
            raise refuse("no_such_node", id=name)
        # Wake the node, and the nodes that take over its entries.
        self._on_write(None)
        return tuple(node._replace(draining=draining) for node in changed)

    async def _find_by_prefix(self, name: str) -> Node:
        nodes = {node.id: node for node in await self._store.nodes()}
        return nodes[find_node(nodes, name)]


def find_node(ids: Iterable[str], name: str) -> str:
    """Return the one id that equals this name or begins with it."""
    check_id(name, "no_such_node")
    matches = [each for each in ids if name and each.startswith(name)]
    exact = [each for each in matches if each == name] or matches
    if not exact:
        raise refuse("no_such_node", id=name)
    if len(exact) > 1:
        raise refuse("several_nodes", name=name, found=", ".join(exact[:_MAX_LISTED]))
    return exact[0]


def _with_state(node: Node, ago: timedelta, lease: timedelta, is_gone: Callable[[str], bool]) -> NodeStatus:
    if ago > lease or is_gone(node.home):
        return NodeStatus(node, NodeState.SILENT, ago)
    return NodeStatus(node, NodeState.DRAINING if node.draining else NodeState.LIVE, ago)
