"""Connection factory for PostgreSQL: session settings, timeouts, and retries while the server starts."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from ...clock import Clock
from ..addresses.server_choice import (
    HOST_CONNECT_SECONDS,
    STALLED_SECONDS,
    NoServerError,
    NotWritableError,
    ServerChoice,
)
from ..addresses.tcp import check_host, detect_lost_peer
from ..named_sql import expand_columns, read_blocks
from .address import Address, Servers, lookup_name
from .connection import PostgresConnection
from .errors import first_line, is_connection_error, is_retryable, refusal_for_first_connection, translate_error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import asyncpg

    from ..sql.connection import Connection

MIN_VERSION: Final = 13
"""Oldest supported major version: the first with 64-bit transaction ids, from which event numbers are derived."""
_CONNECT_SECONDS: Final = 5.0
_COMMAND_SECONDS: Final = 30.0
"""Timeout of a statement, several times what a slow server needs: after it the connection counts as half open."""
_STARTUP_SECONDS: Final = 3.0
_RETRY_SECONDS: Final = 0.25
_TRANSACTION_SETTINGS: Final = {
    # A process that froze or was cut off inside a transaction must not hold its row locks. Well below a lease, and well
    # above the time between two statements on a slow network.
    "idle_in_transaction_session_timeout": "10s",
}
_SETTINGS: Final = {
    **_TRANSACTION_SETTINGS,
    "application_name": "horae",
    "default_transaction_isolation": "read committed",
    # The few hot statements always need the same index plan: the statistics of tables that are empty one minute and full
    # the next must not change it. Lists override these settings and are planned individually.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}


def qualify_tables(text: str, schema: str) -> str:
    """Replace the `@` before table names by the schema; no search_path is used, as a pooler may share the connection."""
    return text.replace("@", f"{schema}.")


class PostgresConnectionFactory:
    def __init__(self, address: Address, clock: Clock) -> None:
        self.address: Final = address
        self._clock = clock
        blocks = read_blocks(__package__)
        self._statements = {name: qualify_tables(expand_columns(name, blocks), address.schema) for name in blocks}
        self._choices = {
            servers: ServerChoice(servers.names, is_connection_error, first_line)
            for servers in (address.servers, address.direct)
        }

    async def connect(self) -> PostgresConnection:
        settings = _TRANSACTION_SETTINGS if self.address.is_pooled else None
        raw, server = await self._open_chosen(self.address.servers, {})
        connection = PostgresConnection(raw, self._statements, self._clock, settings)
        connection.server = server
        return connection

    def wrap(self, connection: asyncpg.Connection[Any]) -> PostgresConnection:
        """Wrap a connection of the caller without changing its settings."""
        return PostgresConnection(connection, self._statements, self._clock)

    async def open_raw(self, servers: Servers, **settings: str) -> asyncpg.Connection[Any]:
        """Open a driver connection to the first of the servers that works, beginning with the one that did last."""
        connection, _ = await self._open_chosen(servers, settings)
        return connection

    async def _open_chosen(self, servers: Servers, settings: dict[str, str]) -> tuple[asyncpg.Connection[Any], int]:
        async def open_server(index: int) -> tuple[asyncpg.Connection[Any], int]:
            return await self._open_server(servers, index, settings), index

        return await self._choices[servers].connect(open_server)

    async def _open_server(self, servers: Servers, index: int, settings: dict[str, str]) -> asyncpg.Connection[Any]:
        import asyncpg  # noqa: PLC0415 - an optional dependency

        dsn, host = servers.dsns[index], lookup_name(servers.hosts[index])
        seconds = _CONNECT_SECONDS if len(servers.dsns) == 1 else HOST_CONNECT_SECONDS
        if host is not None:
            await check_host(host, 0, seconds)
        # A transaction pooler accepts no session settings.
        pooled = self.address.is_pooled and servers is self.address.servers
        connection: asyncpg.Connection[Any] = await asyncpg.connect(
            dsn,
            timeout=seconds,
            command_timeout=_COMMAND_SECONDS,
            server_settings={} if pooled else {**_SETTINGS, **settings},
            **self.address.driver_options,
        )
        try:
            detect_lost_peer(getattr(connection, "_transport", None))
            if servers.is_writable_required:
                await _refuse_standby(connection, seconds)
        except BaseException:
            connection.terminate()
            raise
        return connection

    @property
    def stalled_seconds(self) -> float | None:
        return STALLED_SECONDS if len(self.address.servers.dsns) > 1 else None

    async def is_serving(self, connection: Connection) -> bool:
        """Whether the server of this connection still accepts connections, and takes writes."""
        try:
            probe = await self._open_server(self.address.servers, connection.server, {})
        except Exception as error:  # noqa: BLE001 - an error that is not of the connection is an answer
            return not is_connection_error(error)
        probe.terminate()
        return True

    @asynccontextmanager
    async def open_first(self) -> AsyncIterator[asyncpg.Connection[Any]]:
        """Open the first connection of a process; errors are translated into refusals that name the problem."""
        connection = None
        try:
            connection = await self._connect_with_retries()
            yield connection
        except Exception as error:
            refusal = refusal_for_first_connection(error, self.address) or translate_error(error)
            if refusal is None:
                raise
            raise refusal from error
        finally:
            if connection is not None and not connection.is_closed():
                connection.terminate()

    async def _connect_with_retries(self) -> asyncpg.Connection[Any]:
        """Connect, retrying for up to 3 s while a server is starting, has too many connections, or is not yet elected."""
        import asyncpg  # noqa: PLC0415

        deadline = self._clock.steady() + _STARTUP_SECONDS
        while True:
            try:
                return await self.open_raw(self.address.servers)
            except (
                asyncpg.CannotConnectNowError,
                asyncpg.TooManyConnectionsError,
                ConnectionResetError,
                NoServerError,
            ):
                if self._clock.steady() > deadline:
                    raise
            await self._clock.pause(_RETRY_SECONDS)

    def translate_error(self, error: BaseException) -> BaseException | None:
        return translate_error(error)

    def is_retryable(self, error: BaseException) -> bool:
        return is_retryable(error)


async def _refuse_standby(connection: asyncpg.Connection[Any], seconds: float) -> None:
    """Raise NotWritableError for a standby, and for a server or database that is read-only by default."""
    standby, read_only = await connection.fetchrow(  # type: ignore[misc]
        "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only')", timeout=seconds
    )
    if standby or read_only == "on":
        raise NotWritableError("it is a standby" if standby else "it is read-only")
