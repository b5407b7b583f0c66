"""Warns about a store that can lose what it has acknowledged, or refuses it where the deployment requires durability."""

from __future__ import annotations

import logging
from typing import Final

from ..clock import Clock
from ..settings import Settings
from ..stores.refusals import refuse
from ..stores.sql.reads.status import PossibleLoss
from .process_settings import read_switch
from .store_status import read_server_status
from .stores import MEMORY, REDIS, mask_url, names_several_hosts

LOG: Final = logging.getLogger("horae")
_KILLED: Final = "when %s is killed, it can lose %s; with appendonly yes and appendfsync always nothing that was acknowledged is lost"
_LOSSES: Final = {
    PossibleLoss.LAST_SECOND: "writes of about the last second (appendfsync everysec)",
    PossibleLoss.SINCE_SNAPSHOT: "all writes since its last snapshot",
    PossibleLoss.UNKNOWN: "acknowledged writes; its settings cannot be read (CONFIG GET is denied)",
}
_FAILOVERS: Final = {
    "standby": "when a standby of %s takes over, it can lose the writes that the standby had not received; with "
    "synchronous_standby_names set and synchronous_commit on nothing that was acknowledged is lost",
    "replica": "when a replica takes over from %s, acknowledged writes that it had not received are lost; with "
    "wait_replicas=1 in the address, a commit counts when a replica has it",
    "cluster": "when a replica takes over from %s, acknowledged writes that it had not received are lost",
}


def reads_require_durable(settings: Settings) -> bool:
    """Whether the settings require a store that loses nothing that it has acknowledged."""
    return read_switch(settings, "require_durable")


async def require_durable_store(url: str, clock: Clock) -> None:
    """Raise a refusal if the store can lose what it has acknowledged. A file is always synced."""
    if url == MEMORY:
        raise refuse("store_not_durable", place=url, problem="it is in memory and ends with its process")
    server = await read_server_status(url, clock)
    if server is None or not server.possible_losses:
        return
    if server.possible_losses == (PossibleLoss.FAILOVER,) and server.successors is not None:
        problem = "a failover loses what no other server has received"
    else:
        problem = "its settings are " + ", ".join(f"{name} {value}" for name, value in server.settings.items())
    raise refuse("store_not_durable", place=mask_url(url), problem=problem)


async def warn_about_possible_loss(url: str, clock: Clock) -> None:
    """Log what a server can lose, or its standby. One database server that would lose writes is refused when it is opened."""
    if not url.startswith(REDIS) and not names_several_hosts(url):
        return
    server = await read_server_status(url, clock)
    if server is None:
        return
    for loss in server.possible_losses:
        if loss in _LOSSES:
            LOG.warning(_KILLED, mask_url(url), _LOSSES[loss])
        elif loss is PossibleLoss.FAILOVER and server.successors is not None:
            LOG.warning(_FAILOVERS[server.successors.kind], mask_url(url))
