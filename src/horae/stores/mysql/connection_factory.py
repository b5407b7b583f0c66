"""How connections to MySQL and MariaDB are made."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from ...clock import SystemClock
from ..named_sql import filled, read_blocks
from ..refusals import refuse
from .address import Address
from .connection import MySQLLink
from .errors import at_the_door, code_of, is_worth_another_try, translated
from .server_version import Server, one_row
from .templates import Template, templates

_CONNECT_SECONDS: Final = 5.0
_PATIENCE_SECONDS: Final = 3.0
_BETWEEN_TRIES: Final = 0.25
_WORTH_WAITING: Final = frozenset({1040, 1053, 1077, 1203, 2013})
"""A server that is just starting or ending, or has too many connections for the moment."""
_TABLE: Final = re.compile(r"@(\w+)")
_SETTINGS: Final = (
    # Escapes are written with backslashes, and nothing is cut, or made up, to make it fit.
    "sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
    # Below the lease: whoever waits for a row longer than this begins again, and others come in between.
    "innodb_lock_wait_timeout = 5",
    "group_concat_max_len = 67108864",
)
_SETTINGS_OF: Final = {
    # A long list stays a list, and a join goes from row to row: in any other order than that of the locks, others would be
    # waited for in a circle.
    "MariaDB": ("in_predicate_conversion_threshold = 0", "join_cache_level = 0"),
    "MySQL": ("optimizer_switch = 'block_nested_loop=off'",),
}


def qualified(text: str, address: Address, server: Server) -> str:
    """Tables are written with an @ before them; their names begin as the address says."""
    text = text.replace("{collation}", server.collation).replace("{options}", server.table_options)
    return _TABLE.sub(rf"`{address.prefix}\1`", text)


class MySQLDoor:
    def __init__(self, address: Address) -> None:
        self.address: Final = address
        self._server: Server | None = None
        self._statements: dict[str, list[Template]] = {}

    async def connect(self) -> MySQLLink:
        connection = await self.connection()
        try:
            (packet,) = await one_row(connection, "SELECT @@max_allowed_packet")
        except BaseException:
            connection.close()
            raise
        return MySQLLink(connection, self._statements, packet)

    async def connection(self) -> Any:
        """With what every connection of ours has in common. The time is for the whole of it: a server that takes
        connections and says nothing more is not there."""
        import asyncmy  # noqa: PLC0415 - only who has such a store needs it

        async with asyncio.timeout(_CONNECT_SECONDS):
            made = await asyncmy.connect(
                **self.address.options, charset="utf8mb4", autocommit=True, program_name="horae"
            )
            try:
                await self._introduce(made)
            except BaseException:
                made.close()
                raise
        return made

    async def _introduce(self, connection: Any) -> None:
        server = await self.server(connection)
        if not server.is_known:
            return
        settings = ", ".join((*_SETTINGS, *_SETTINGS_OF[server.kind]))
        async with connection.cursor() as cursor:
            await cursor.execute(
                f"SET NAMES utf8mb4 COLLATE {server.collation};"
                f" SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SET SESSION {settings}"
            )

    async def server(self, connection: Any) -> Server:
        """Asked once: a proxy between may greet with a version of its own."""
        if self._server is None:
            (version,) = await one_row(connection, "SELECT VERSION()")
            server = self._server = Server.told(str(version))
            known = read_blocks(__package__)
            self._statements = {name: templates(qualified(filled(name, known), self.address, server)) for name in known}
        return self._server

    @asynccontextmanager
    async def first(self) -> AsyncIterator[Any]:
        """The first connection of a process: whatever is wrong with the server is said in one sentence."""
        connection = None
        try:
            connection = await self._patiently()
            yield connection
        except Exception as error:
            told = at_the_door(error, self.address)
            if told is None:
                raise
            raise told from error
        finally:
            if connection is not None:
                connection.close()

    async def _patiently(self) -> Any:
        clock = SystemClock()
        until = clock.steady() + _PATIENCE_SECONDS
        while True:
            try:
                return await self.connection()
            except Exception as error:
                if code_of(error) not in _WORTH_WAITING or clock.steady() > until:
                    raise
            await clock.pause(_BETWEEN_TRIES)

    def translated(self, error: BaseException) -> BaseException | None:
        return translated(error)

    def is_worth_another_try(self, error: BaseException) -> bool:
        return is_worth_another_try(error)


def library_or_refusal() -> None:
    try:
        import asyncmy  # noqa: F401, PLC0415 - only looked for
    except ImportError:
        raise refuse("store_library_missing", server="MySQL or MariaDB", library="asyncmy", extra="mysql") from None
