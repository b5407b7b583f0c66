"""Status report of a database server for operators: version, schema, size, clock offset and durability settings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Self

from ...clock import Clock


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


class ServerStatus(NamedTuple):
    kind: str
    """PostgreSQL, MySQL or MariaDB."""
    version: str
    address: str
    """Host and port."""
    database: str
    namespace_kind: Literal["schema", "prefix"]
    """Whether Horae's tables are in a schema of their own, or share a name prefix."""
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
    """Names of the settings under which acknowledged writes can be lost at a power failure."""
    dump_command: str = ""
    """Shell command that makes a backup."""
