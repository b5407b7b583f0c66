"""How connections to PostgreSQL are made, and which servers will do."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from ...clock import SystemClock
from ..named_sql import filled, read_blocks
from .address import Address
from .connection import PostgresLink
from .errors import at_the_door, is_worth_another_try, translated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import asyncpg

OLDEST: Final = 13
"""The first with 64-bit transaction numbers, by which events are numbered."""
_CONNECT_SECONDS: Final = 5.0
_COMMAND_SECONDS: Final = 30.0
"""An answer that takes longer will not come: the connection is half open. It is several times what a slow server needs."""
_PATIENCE_SECONDS: Final = 3.0
_BETWEEN_TRIES: Final = 0.25
_PATIENT: Final = {
    # Whoever was frozen or cut off in the middle of a transaction must not keep others from its rows. It is well below a
    # lease, and well above what lies between two statements on a slow line.
    "idle_in_transaction_session_timeout": "10s",
}
_SETTINGS: Final = {
    **_PATIENT,
    "application_name": "horae",
    "default_transaction_isolation": "read committed",
    # Hot statements are few, always want the same plan, and have an index for everything: what the planner believes of
    # tables that are empty one minute and full the next must not matter. Lists are planned freely, each for itself.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}


def qualified(text: str, schema: str) -> str:
    """Tables are written with an @ before them: the same connection may serve another schema next."""
    return text.replace("@", f"{schema}.")


class PostgresDoor:
    def __init__(self, address: Address) -> None:
        self.address: Final = address
        known = read_blocks(__package__)
        self._statements = {name: qualified(filled(name, known), address.schema) for name in known}

    async def connect(self) -> PostgresLink:
        settings = _PATIENT if self.address.is_pooled else None
        return PostgresLink(await self.connection(self.address.dsn), self._statements, settings)

    def linked(self, connection: asyncpg.Connection[Any]) -> PostgresLink:
        """Somebody else's connection, as it is."""
        return PostgresLink(connection, self._statements)

    async def connection(self, dsn: str, **settings: str) -> asyncpg.Connection[Any]:
        import asyncpg  # noqa: PLC0415 - only who has such a store needs it

        # A pooler that gives each transaction another connection takes no settings for one.
        pooled = self.address.is_pooled and dsn == self.address.dsn
        made: asyncpg.Connection[Any] = await asyncpg.connect(
            dsn,
            timeout=_CONNECT_SECONDS,
            command_timeout=_COMMAND_SECONDS,
            server_settings={} if pooled else {**_SETTINGS, **settings},
            **self.address.options,
        )
        return made

    @asynccontextmanager
    async def first(self) -> AsyncIterator[asyncpg.Connection[Any]]:
        """The first connection of a process: whatever is wrong with the server is said in one sentence."""
        connection = None
        try:
            connection = await self._patiently()
            yield connection
        except Exception as error:
            told = at_the_door(error, self.address) or translated(error)
            if told is None:
                raise
            raise told from error
        finally:
            if connection is not None and not connection.is_closed():
                connection.terminate()

    async def _patiently(self) -> asyncpg.Connection[Any]:
        """A server that is just starting says so, and is waited for a little."""
        import asyncpg  # noqa: PLC0415

        clock = SystemClock()
        until = clock.steady() + _PATIENCE_SECONDS
        while True:
            try:
                return await self.connection(self.address.dsn)
            except (asyncpg.CannotConnectNowError, asyncpg.TooManyConnectionsError, ConnectionResetError):
                if clock.steady() > until:
                    raise
            await clock.pause(_BETWEEN_TRIES)

    def translated(self, error: BaseException) -> BaseException | None:
        return translated(error)

    def is_worth_another_try(self, error: BaseException) -> bool:
        return is_worth_another_try(error)
