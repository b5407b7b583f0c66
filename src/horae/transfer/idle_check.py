"""Nobody may be at work on a store that moves: nodes that left a row behind are watched until they are surely dead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from ..clock import Clock
from ..engine.process_identity import is_gone, own_home
from ..ports.store import STANDARD_TERMS, Node, Terms
from .progress import Side
from .refusals import refuse

_LOOK_EVERY_SECONDS: Final = 0.25


def lives_here(home: str) -> bool:
    """A process of this very machine that still runs: frozen or not, it may go on at any time."""
    machine = _machine_in(own_home())
    return not machine.startswith("?") and _machine_in(home) == machine and not is_gone(home)


def _machine_in(home: str) -> str:
    return home.rpartition("/")[0].rpartition("/")[0]


class Watching(NamedTuple):
    """What it takes to see that a node is dead: its process is gone from this machine, or, if it was on another one, it
    did not renew for a lease."""

    clock: Clock
    terms: Terms = STANDARD_TERMS
    is_gone: Callable[[str], bool] = is_gone
    lives_here: Callable[[str], bool] = lives_here


class Still(NamedTuple):
    """A store on which nobody works; `dead` are the nodes that were seen to be, each at its last renewal."""

    side: Side
    dead: frozenset[tuple[str, int]]

    async def check(self) -> set[tuple[str, int]]:
        """Somebody may have come since: one that is new, or has renewed, is alive. Who is still there."""
        nodes = await self.side.store.nodes()
        _refuse(self.side, [node for node in nodes if _sign(node) not in self.dead])
        return set(map(_sign, nodes))


async def see_still(
    side: Side, watching: Watching, told: Callable[[float], None], dead: frozenset[tuple[str, int]] = frozenset()
) -> Still:
    """Refused as soon as a node is seen to renew; `told` hears what share of the wait for the others is over.

    `dead` are known to be so: their rows are carried from one store to the other.
    """
    nodes = await refuse_who_lives_here(side, watching)
    known = dead | set(map(_sign, nodes))
    doubtful = {_sign(node) for node in nodes if not watching.is_gone(node.home)} - dead
    still = Still(side, known)
    lease = watching.terms.lease.total_seconds()
    since = watching.clock.steady()
    while doubtful and (waited := watching.clock.steady() - since) < lease:
        told(waited / lease)
        await watching.clock.pause(_LOOK_EVERY_SECONDS)
        # One that has left leaves nothing to wait for.
        doubtful &= await still.check()
    return still


async def refuse_who_lives_here(side: Side, watching: Watching) -> tuple[Node, ...]:
    """What can be told without waiting; all nodes that left a row."""
    nodes = await side.store.nodes()
    _refuse(side, [node for node in nodes if watching.lives_here(node.home)])
    return nodes


def _sign(node: Node) -> tuple[str, int]:
    return node.id, node.renewals


def _refuse(side: Side, living: list[Node]) -> None:
    if living:
        raise refuse("move_node_is_live", store=side.name, nodes=", ".join(node.id for node in living))
