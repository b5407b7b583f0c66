"""What an operator asks of a MySQL or MariaDB server before it is used. Nothing is written."""

from __future__ import annotations

from datetime import UTC, datetime
from shlex import join
from typing import Any, Final

from ...clock import Clock
from ..named_sql import read_steps
from ..sql.status import Asked, ServerCondition
from .address import Address
from .connection_factory import MySQLDoor, library_or_refusal
from .server_version import Server, one_row

_TABLES: Final = (
    "FROM information_schema.tables WHERE table_schema = DATABASE() AND LEFT(table_name, {length}) = '{prefix}'"
)
_DUMPS: Final = {"MariaDB": "mariadb-dump", "MySQL": "mysqldump"}


async def condition_of(url: str, clock: Clock) -> ServerCondition:
    library_or_refusal()
    address = Address.parsed(url)
    door = MySQLDoor(address)
    async with door.first() as connection:
        return await _looked_at(connection, await door.server(connection), address, clock)


async def _looked_at(connection: Any, server: Server, address: Address, clock: Clock) -> ServerCondition:
    asked = Asked.at(clock)
    (told,) = await one_row(connection, "SELECT DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%f')")
    offset = asked.offset(datetime.fromisoformat(told).replace(tzinfo=UTC), clock)
    settings = await _settings(connection)
    schema, size = await _tables(connection, address)
    return ServerCondition(
        server.kind,
        ".".join(map(str, server.numbers)),
        address.socket or address.shown.partition("://")[2].rpartition("/")[0],
        address.database,
        "prefix",
        address.prefix,
        schema,
        read_steps(__package__)[-1][0],
        size,
        offset,
        settings,
        tuple(name for name, value in settings.items() if value != "1"),
        join([_DUMPS[server.kind], "--single-transaction", *address.dump_options, address.database]),
    )


async def _settings(connection: Any) -> dict[str, str]:
    """A binary log that is not on the disk takes with it, when the power fails, what was committed last."""
    flushed, logged, synced = await one_row(
        connection, "SELECT @@global.innodb_flush_log_at_trx_commit, @@global.log_bin, @@global.sync_binlog"
    )
    found = {"innodb_flush_log_at_trx_commit": str(flushed)}
    return {**found, "sync_binlog": str(synced)} if str(logged) in ("1", "ON") else found


async def _tables(connection: Any, address: Address) -> tuple[int, int]:
    """The version of our tables, and their bytes."""
    where = _TABLES.format(length=len(address.prefix), prefix=address.prefix)
    own = f"{address.prefix}migrations"
    is_there, size = await one_row(
        connection,
        f"SELECT COALESCE(SUM(table_name = '{own}'), 0), COALESCE(SUM(data_length + index_length), 0) {where}",
    )
    if not int(is_there):
        return 0, int(size)
    (schema,) = await one_row(connection, f"SELECT COALESCE(MAX(number), 0) FROM `{own}`")  # noqa: S608
    return int(schema), int(size)
