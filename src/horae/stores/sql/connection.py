"""One connection to a server, as the store uses it: named statements, values in, rows out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..codec.rows import Row

if TYPE_CHECKING:
    from ...model.record import Writing
    from .folded_decisions import Folded


class AlreadyMadeError(Exception):
    """The ledger has one of the runs that were to be born: the whole is decided again, and each birth looked up."""


class Link(Protocol):
    """Used by one at a time. A list among the values of a statement is an array."""

    async def query(self, name: str, *values: Any) -> list[Row]:
        """Run a named statement; all its rows."""

    async def write_rows(self, name: str, width: int, values: list[Any]) -> None:
        """Run a statement that takes many rows at once: `values` are those of all rows, one after the other."""

    async def write_events(self, rows: Sequence[Row]) -> None:
        """Append to the log, numbered so that nothing with a lower number can appear after a higher one was read."""

    async def write_at_once(self, folded: Folded) -> bool:
        """All of an ordinary claim, or of an ordinary settlement; False where the server takes it only piece by piece."""

    async def write_records(self, writings: Sequence[Writing]) -> Writing | None:
        """In this order. The first with which somebody else was faster: what was written then must not be committed."""

    async def begin(self) -> None: ...

    async def begin_reading(self) -> None:
        """A transaction that sees one instant and writes nothing."""

    async def commit(self) -> None: ...

    async def rollback(self) -> None: ...

    async def close(self) -> None:
        """Say goodbye."""

    def abandon(self) -> None:
        """Let go at once, without waiting for anybody: the server ends what was open."""

    @property
    def usable(self) -> bool:
        """Whether it may be used again."""


class Door(Protocol):
    """Where connections come from, and what their errors mean."""

    async def connect(self) -> Link: ...

    def translated(self, error: BaseException) -> BaseException | None:
        """The error of the store that says the same; None for what is not the server's."""

    def is_worth_another_try(self, error: BaseException) -> bool:
        """Whether the server ended the transaction only because of others: the same again may well succeed."""
