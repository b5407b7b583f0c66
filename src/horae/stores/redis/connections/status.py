"""Status report of a Redis server for operators; read-only."""

from __future__ import annotations

from datetime import timedelta

from ....clock import Clock
from ....model.ids import from_microseconds
from ...sql.reads.status import PossibleLoss, RequestInstant, ServerStatus, Successors
from ..layout.keys import Keys
from ..plan_layout import read_layout_state, read_quarantined
from .address import Address
from .connection import RedisConnections
from .schema import SCHEMA
from .server import open_first


async def read_status(url: str, clock: Clock) -> ServerStatus:
    connections = RedisConnections(url)
    address = connections.address
    keys = Keys(address.prefix)
    try:
        facts = await open_first(connections, clock)
        offset = await read_clock_offset(connections, clock)
        schema = int(await connections.call("GET", keys.schema) or 0)
        layout = await read_layout_state(connections, address)
        quarantined = await read_quarantined(connections, keys) if layout == "on" else {}
    finally:
        await connections.close()
    loss = facts.possible_loss
    return ServerStatus(
        facts.kind,
        facts.version,
        ",".join(map(str, address.places)),
        address.service or str(address.database),
        "keys",
        address.prefix,
        schema,
        SCHEMA,
        facts.used_bytes,
        offset,
        facts.settings,
        () if loss is PossibleLoss.NOTHING else ("appendonly yes", "appendfsync always"),
        "",
        loss,
        _successors(address, facts.replicas),
        layout,
        quarantined,
    )


def _successors(address: Address, replicas: int) -> Successors | None:
    """Return the replicas that may take over; None where no failover happens by itself."""
    if address.layout == "cluster":
        return Successors("cluster", 0) if replicas else None
    if address.layout == "server" and not address.wait_replicas:
        return None
    return Successors("replica", address.wait_replicas)


async def read_clock_offset(connections: RedisConnections, clock: Clock) -> timedelta:
    """Return how far the clock of the server is ahead of this machine's."""
    sent = RequestInstant.now(clock)
    seconds, microseconds = await connections.call_server("TIME")
    return sent.clock_offset(from_microseconds(int(seconds) * 1_000_000 + int(microseconds)), clock)
