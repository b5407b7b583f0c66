"""Liveness check before a move: refuses a store with live nodes, and waits for a lease until silent nodes count as dead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from ..clock import Clock
from ..engine.process_identity import is_gone, own_home
from ..ports.store import DEFAULT_TERMS, Node, Terms
from .move_progress import NamedStore
from .refusals import refuse

_POLL_SECONDS: Final = 0.25


def is_running_here(home: str) -> bool:
    """Whether `home` names a process of this machine that still runs; even if it is frozen, it may continue."""
    machine = _machine_of(own_home())
    return not machine.startswith("?") and _machine_of(home) == machine and not is_gone(home)


def _machine_of(home: str) -> str:
    return home.rpartition("/")[0].rpartition("/")[0]


class LivenessCheck(NamedTuple):
    """Rules by which a node counts as dead: its process on this machine has ended, or, on another machine, it did not
    renew for the length of a lease."""

    clock: Clock
    terms: Terms = DEFAULT_TERMS
    is_gone: Callable[[str], bool] = is_gone
    is_running_here: Callable[[str], bool] = is_running_here


class IdleStore(NamedTuple):
    """A store without live nodes; `dead` holds each dead node with its last renewal."""

    named_store: NamedStore
    dead_nodes: frozenset[tuple[str, int]]

    async def check(self) -> set[tuple[str, int]]:
        """Refuse if a node is new or has renewed since; return the nodes that still have a row."""
        nodes = await self.named_store.store.nodes()
        _refuse(self.named_store, [node for node in nodes if _renewal_of(node) not in self.dead_nodes])
        return set(map(_renewal_of, nodes))


async def wait_until_idle(
    side: NamedStore,
    watching: LivenessCheck,
    on_wait: Callable[[float], None],
    dead: frozenset[tuple[str, int]] = frozenset(),
) -> IdleStore:
    """Wait until all nodes count as dead; refuse as soon as one renews. `on_wait` gets the completed share of the wait.

    `dead` are known to be dead already: the move copies their rows from the source to the target.
    """
    nodes = await refuse_local_nodes(side, watching)
    known = dead | set(map(_renewal_of, nodes))
    undecided = {_renewal_of(node) for node in nodes if not watching.is_gone(node.home)} - dead
    idle_store = IdleStore(side, known)
    lease = watching.terms.lease.total_seconds()
    started = watching.clock.steady()
    while undecided and (waited := watching.clock.steady() - started) < lease:
        on_wait(waited / lease)
        await watching.clock.pause(_POLL_SECONDS)
        # A node that has left needs no wait.
        undecided &= await idle_store.check()
    return idle_store


async def refuse_local_nodes(side: NamedStore, watching: LivenessCheck) -> tuple[Node, ...]:
    """Refuse if a node runs on this machine, which needs no wait; return all nodes of the store."""
    nodes = await side.store.nodes()
    _refuse(side, [node for node in nodes if watching.is_running_here(node.home)])
    return nodes


def _renewal_of(node: Node) -> tuple[str, int]:
    return node.id, node.renewals


def _refuse(side: NamedStore, live_nodes: list[Node]) -> None:
    if live_nodes:
        raise refuse("move_node_is_live", store=side.name, nodes=", ".join(node.id for node in live_nodes))
