"""Status report of a database server for operators: version, schema, size, clock offset and durability settings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, NamedTuple, Self

from ....clock import Clock


class RequestInstant(NamedTuple):
    """Instant at which a request was sent, by the wall clock and the steady clock of this machine."""

    wall: datetime
    steady: float

    @classmethod
    def now(cls, clock: Clock) -> Self:
        return cls(clock.now(), clock.steady())

    def clock_offset(self, server_time: datetime, clock: Clock) -> timedelta:
        """Return how far the server's clock is ahead of this machine's, assuming it was read halfway between request and
        response."""
        return server_time - self.wall - timedelta(seconds=(clock.steady() - self.steady) / 2)


class PossibleLoss(StrEnum):
    """What a server can lose of that which it has acknowledged."""

    NOTHING = "nothing"
    POWER_FAILURE = "power_failure"
    """The last writes, when the power fails."""
    FAILOVER = "failover"
    """The last writes, when a standby or a replica takes over from this server."""
    LAST_SECOND = "last_second"
    """Writes of about the last second, when the server is killed or the power fails."""
    SINCE_SNAPSHOT = "since_snapshot"
    """All writes since the last snapshot."""
    UNKNOWN = "unknown"
    """Its settings cannot be read."""


class Successors(NamedTuple):
    """Servers that may take over from this one by themselves: standbys of PostgreSQL, replicas of Redis."""

    kind: Literal["standby", "replica", "cluster"]
    """`cluster`: replicas in a Redis Cluster, for which commits cannot wait."""
    awaited: int
    """Number of them that have each commit before it is acknowledged; with 0, a failover can lose commits."""


class ServerStatus(NamedTuple):
    kind: str
    """PostgreSQL, MySQL, MariaDB, Redis or Valkey."""
    version: str
    address: str
    """Host and port."""
    database: str
    namespace_kind: Literal["schema", "prefix", "keys"]
    """Whether Horae's tables are in a schema of their own, or share a name prefix, or are keys with a hash tag."""
    namespace: str
    schema: int
    """Migration version of the tables; 0 if there are none yet."""
    latest_schema: int
    """Newest migration version of this installation."""
    size: int
    """Bytes of all tables."""
    clock_offset: timedelta
    settings: Mapping[str, str]
    """Durability settings of the server."""
    unsafe_settings: tuple[str, ...] = ()
    """Settings that would have to be another way, so that nothing that was acknowledged is lost when the server ends."""
    dump_command: str = ""
    """Shell command of the server's own tools that makes a backup; empty: `horae move` makes one."""
    loss_by_settings: PossibleLoss = PossibleLoss.NOTHING
    successors: Successors | None = None
    """None: no other server takes over by itself."""
    plan_layout: Literal["", "on", "cluster", "prefix", "denied"] = ""
    """Whether plans are shown in the documented layout of Redis, or why not; empty for other servers."""
    quarantined_plans: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    """Plans in that layout which cannot be used, with the reason by language."""

    @property
    def possible_losses(self) -> tuple[PossibleLoss, ...]:
        """What it can lose: by its own settings, and when another server takes over; empty: nothing."""
        found = []
        if self.loss_by_settings is not PossibleLoss.NOTHING:
            found.append(self.loss_by_settings)
        elif self.unsafe_settings:
            # Those of a database server matter when the power fails.
            found.append(PossibleLoss.POWER_FAILURE)
        if self.successors is not None and not self.successors.awaited:
            found.append(PossibleLoss.FAILOVER)
        return tuple(found)

    @property
    def possible_loss(self) -> PossibleLoss:
        """The first of its possible losses, which is the most frequent one."""
        return next(iter(self.possible_losses), PossibleLoss.NOTHING)
