"""Connection factory for MySQL and MariaDB: session settings, timeouts, and retries while the server starts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

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
from ..refusals import refuse
from .address import Address
from .connection import MySQLConnection
from .errors import (
    code_of,
    first_line,
    is_connection_error,
    is_retryable,
    refusal_for_first_connection,
    translate_error,
)
from .galera import OtherWriterError, check_writer, read_galera_state
from .server_version import ServerVersion, fetch_row
from .templates import Template, parse_templates

if TYPE_CHECKING:
    from ..sql.connection import Connection

_CONNECT_SECONDS: Final = 5.0
_STARTUP_SECONDS: Final = 3.0
_RETRY_SECONDS: Final = 0.25
_STARTING_CODES: Final = frozenset({1040, 1053, 1077, 1203, 2013})
"""Error codes of a server that is starting or stopping, or has too many connections at the moment."""
_TABLE: Final = re.compile(r"@(\w+)")
_SETTINGS: Final = (
    # Backslash escapes are on, and values that do not fit are refused, not truncated or converted.
    "sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
    # Below the lease: a transaction that waits for a row lock longer than this is retried, and others get ahead.
    "innodb_lock_wait_timeout = 5",
    "group_concat_max_len = 67108864",
)
_SETTINGS_BY_KIND: Final = {
    # A long IN list is not converted to a subquery, and joins go row by row: any other order of row locks could deadlock.
    "MariaDB": ("in_predicate_conversion_threshold = 0", "join_cache_level = 0"),
    "MySQL": ("optimizer_switch = 'block_nested_loop=off'",),
}


def qualify_tables(text: str, address: Address, server: ServerVersion) -> str:
    """Replace the `@` before table names by the table prefix, and fill in collation and table options."""
    text = text.replace("{collation}", server.collation).replace("{options}", server.table_options)
    return _TABLE.sub(rf"`{address.prefix}\1`", text)


class _OpenServer(NamedTuple):
    """Driver connection to one of the servers. `begin_check` begins each transaction on a member of a Galera cluster."""

    connection: Any
    server: int
    begin_check: str


class MySQLConnectionFactory:
    def __init__(self, address: Address, clock: Clock) -> None:
        self.address: Final = address
        self._clock = clock
        self._server: ServerVersion | None = None
        self._statements: dict[str, list[Template]] = {}
        self._choice = ServerChoice(address.names, is_connection_error, first_line)

    async def connect(self) -> MySQLConnection:
        raw = await self._open_chosen()
        try:
            (packet,) = await fetch_row(raw.connection, "SELECT @@max_allowed_packet")
        except BaseException:
            raw.connection.close()
            raise
        connection = MySQLConnection(raw.connection, self._statements, packet, begin_check=raw.begin_check)
        connection.server = raw.server
        return connection

    async def open_raw(self) -> Any:
        """Open a driver connection to the first of the servers that takes writes, beginning with the one that did last."""
        return (await self._open_chosen()).connection

    async def _open_chosen(self) -> _OpenServer:
        """Connect to the server that takes the writes. In a Galera cluster whose writer this process cannot reach, let
        another member take over."""
        try:
            return await self._choice.connect(self._open_server)
        except NoServerError as error:
            if error.are_read_only or not error.has(OtherWriterError):
                raise
        return await self._choice.connect(partial(self._open_server, takes_over=True))

    async def _open_server(self, server: int, *, takes_over: bool = False) -> _OpenServer:
        """Open a driver connection, check that the server takes writes, and apply the session settings.

        The timeout covers all: a server that accepts connections but does not respond counts as unreachable.
        """
        import asyncmy  # noqa: PLC0415 - an optional dependency

        address = self.address
        seconds = _CONNECT_SECONDS if len(address.hosts) == 1 else HOST_CONNECT_SECONDS
        if address.socket is None:
            await check_host(*address.hosts[server], seconds)
        async with asyncio.timeout(seconds):
            connection = await asyncmy.connect(
                **address.driver_options(server), charset="utf8mb4", autocommit=True, program_name="horae"
            )
            try:
                detect_lost_peer(getattr(getattr(connection, "_writer", None), "transport", None))
                state = await read_galera_state(connection)
                begin_check = ""
                if state is not None:
                    begin_check = await check_writer(connection, state, address, takes_over=takes_over)
                elif len(address.hosts) > 1:
                    await _refuse_replica(connection)
                await self._apply_settings(connection)
            except BaseException:
                connection.close()
                raise
        return _OpenServer(connection, server, begin_check)

    async def _apply_settings(self, connection: Any) -> None:
        server = await self.read_server_version(connection)
        if not server.is_supported:
            return
        settings = ", ".join((*_SETTINGS, *_SETTINGS_BY_KIND[server.kind]))
        async with connection.cursor() as cursor:
            await cursor.execute(
                f"SET NAMES utf8mb4 COLLATE {server.collation};"
                f" SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SET SESSION {settings}"
            )

    async def read_server_version(self, connection: Any) -> ServerVersion:
        """Return the server's kind and version, queried once: the version in a proxy's handshake may be its own."""
        if self._server is None:
            (version,) = await fetch_row(connection, "SELECT VERSION()")
            server = self._server = ServerVersion.parse(str(version))
            blocks = read_blocks(__package__)
            self._statements = {
                name: parse_templates(qualify_tables(expand_columns(name, blocks), self.address, server))
                for name in blocks
            }
        return self._server

    @asynccontextmanager
    async def open_first(self) -> AsyncIterator[Any]:
        """Open the first connection of a process; errors are translated into refusals that name the problem."""
        connection = None
        try:
            connection = await self._connect_with_retries()
            yield connection
        except Exception as error:
            refusal = refusal_for_first_connection(error, self.address)
            if refusal is None:
                raise
            raise refusal from error
        finally:
            if connection is not None:
                connection.close()

    async def _connect_with_retries(self) -> Any:
        deadline = self._clock.steady() + _STARTUP_SECONDS
        while True:
            try:
                return await self.open_raw()
            except Exception as error:
                is_starting = code_of(error) in _STARTING_CODES or isinstance(error, NoServerError)
                if not is_starting or self._clock.steady() > deadline:
                    raise
            await self._clock.pause(_RETRY_SECONDS)

    @property
    def stalled_seconds(self) -> float | None:
        return STALLED_SECONDS if len(self.address.hosts) > 1 else None

    async def is_serving(self, connection: Connection) -> bool:
        """Whether the server of this connection still accepts connections, and takes writes."""
        try:
            probe = await self._open_server(connection.server)
        except Exception as error:  # noqa: BLE001 - an error that is not of the connection is an answer
            return not is_connection_error(error)
        probe.connection.close()
        return True

    def translate_error(self, error: BaseException) -> BaseException | None:
        return translate_error(error)

    def is_retryable(self, error: BaseException) -> bool:
        return is_retryable(error)


async def _refuse_replica(connection: Any) -> None:
    """Raise NotWritableError for a replica, and for a server that is read-only."""
    (read_only,) = await fetch_row(connection, "SELECT @@global.read_only")
    if str(read_only) not in ("0", "OFF"):
        raise NotWritableError("it is read-only")


def require_driver() -> None:
    try:
        import asyncmy  # noqa: F401, PLC0415 - only looked for
    except ImportError:
        raise refuse("store_library_missing", server="MySQL or MariaDB", library="asyncmy", extra="mysql") from None
