"""The state of a store on a server as an operator asks for it: which server, which tables, which promises."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Self

from ...clock import Clock


class Asked(NamedTuple):
    """When a question left this machine, by both of its clocks."""

    wall: datetime
    steady: float

    @classmethod
    def at(cls, clock: Clock) -> Self:
        return cls(clock.now(), clock.steady())

    def offset(self, told: datetime, clock: Clock) -> timedelta:
        """What this machine's clock lacks against the server's: it was read halfway between question and answer."""
        return told - self.wall - timedelta(seconds=(clock.steady() - self.steady) / 2)


class ServerCondition(NamedTuple):
    kind: str
    """PostgreSQL, MySQL or MariaDB."""
    version: str
    place: str
    """Host and port."""
    database: str
    kept_in: Literal["schema", "prefix"]
    """Whether our tables have a schema of their own, or names that begin alike."""
    named: str
    schema: int
    """The version of our tables; 0 where there are none yet."""
    newest: int
    """The version that this Horae knows."""
    size: int
    """Bytes of all our tables."""
    offset: timedelta
    settings: Mapping[str, str]
    """Those by which the server promises to keep what it has acknowledged."""
    unsafe: tuple[str, ...] = ()
    """Those of them that break the promise when the power fails."""
    dump: str = ""
    """The command that makes a backup."""
