"""Nodes: which there are, how they do, and which of them are to go. The operator's business, so an admin's only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from ...clock import Clock
from ...model.accounts.principal import Principal, Scope
from ...model.refusals import refuse
from ...ports.clock_steps import ClockStep, clock_steps
from ...ports.lease_terms import agreed_lease
from ...ports.records import Records
from ...ports.store import Book, Node
from ..accounts.audit import Audit
from ..query.argument_checks import check_id
from ..tasks.functions import Functions

_FEW: Final = 5


class NodeState(StrEnum):
    LIVE = "live"
    DRAINING = "draining"
    """It claims nothing more, and goes when it carries nothing."""
    SILENT = "silent"
    """It has not renewed its lease in time: whoever lives recovers what it carried."""


class NodeSeen(NamedTuple):
    """`ago` is how long its last renewal lies back, `clock_step` the last time within a day that the clock of its host was
    set back, `functions` the names of those that it has."""

    node: Node
    state: NodeState
    ago: timedelta
    clock_step: ClockStep | None = None
    functions: tuple[str, ...] = ()


class Keeping(Book, Records, Protocol):
    """What it asks of the store."""


class Nodes:
    def __init__(
        self, store: Keeping, clock: Clock, told: Callable[[datetime | None], None] = lambda _due: None
    ) -> None:
        self._store = store
        self._clock = clock
        self._told = told
        self._audit = Audit(store, clock)
        self._functions = Functions(store, clock)

    async def all(self, who: Principal, is_gone: Callable[[str], bool] = lambda _home: False) -> tuple[NodeSeen, ...]:
        """Every node that holds a lease, by id; `is_gone` may know of a process that it is certainly dead."""
        who.must(Scope.ADMIN)
        lease = await agreed_lease(self._store)
        now = self._clock.now()
        steps = {step.host: step for step in await clock_steps(self._store, now)}
        functions = await self._functions.by_node()
        return tuple(
            _seen(node, now - node.renewed, lease, is_gone)._replace(
                clock_step=steps.get(node.host), functions=functions.get(node.id) or functions.get(node.home, ())
            )
            for node in await self._store.nodes()
        )

    async def drain(self, who: Principal, name: str, *, draining: bool = True) -> Node:
        """Let a node claim nothing more, or take that back; a part of its id from the beginning is enough."""
        who.must(Scope.ADMIN)
        node = await self._named(name)
        return (await self._tell(who, (node,), name, draining=draining))[0]

    async def drain_host(self, who: Principal, host: str, *, draining: bool = True) -> tuple[Node, ...]:
        """The same for all nodes of one machine."""
        who.must(Scope.ADMIN)
        nodes = [node for node in await self._store.nodes() if node.host == host]
        return await self._tell(who, nodes, host, draining=draining)

    async def _tell(self, who: Principal, nodes: Sequence[Node], name: str, *, draining: bool) -> tuple[Node, ...]:
        """Whoever has gone meanwhile needs to be told nothing."""
        action = "node.drain" if draining else "node.undrain"
        told = [
            node
            for node in nodes
            if await self._store.drain(node.id, draining=draining, beside=self._audit.row(who, action, node.id))
        ]
        if not told:
            raise refuse("no_such_node", id=name)
        # It hears of it at once, and so do those who are to take over what comes due.
        self._told(None)
        return tuple(node._replace(draining=draining) for node in told)

    async def _named(self, name: str) -> Node:
        nodes = {node.id: node for node in await self._store.nodes()}
        return nodes[find_node(nodes, name)]


def find_node(ids: Iterable[str], name: str) -> str:
    """The one id that is this name or begins with it."""
    check_id(name, "no_such_node")
    found = [each for each in ids if name and each.startswith(name)]
    exact = [each for each in found if each == name] or found
    if not exact:
        raise refuse("no_such_node", id=name)
    if len(exact) > 1:
        raise refuse("several_nodes", name=name, found=", ".join(exact[:_FEW]))
    return exact[0]


def _seen(node: Node, ago: timedelta, lease: timedelta, is_gone: Callable[[str], bool]) -> NodeSeen:
    if ago > lease or is_gone(node.home):
        return NodeSeen(node, NodeState.SILENT, ago)
    return NodeSeen(node, NodeState.DRAINING if node.draining else NodeState.LIVE, ago)
