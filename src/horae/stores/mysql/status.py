"""Status report of a MySQL or MariaDB server for operators; read-only."""

from __future__ import annotations

from datetime import UTC, datetime
from shlex import join
from typing import Any, Final

from ...clock import Clock
from ..named_sql import latest_schema
from ..sql.reads.status import RequestInstant, ServerStatus
from .address import Address
from .connection_factory import MySQLConnectionFactory, require_driver
from .server_version import ServerVersion, fetch_row

_TABLES: Final = (
    "FROM information_schema.tables WHERE table_schema = DATABASE() AND LEFT(table_name, {length}) = '{prefix}'"
)
_DUMP_COMMANDS: Final = {"MariaDB": "mariadb-dump", "MySQL": "mysqldump"}


async def read_status(url: str, clock: Clock) -> ServerStatus:
    require_driver()
    address = Address.parse(url)
    factory = MySQLConnectionFactory(address, clock)
    async with factory.open_first() as connection:
        return await _read_status(connection, await factory.read_server_version(connection), address, clock)


async def _read_status(connection: Any, server: ServerVersion, address: Address, clock: Clock) -> ServerStatus:
    sent = RequestInstant.now(clock)
    (server_time,) = await fetch_row(connection, "SELECT DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%f')")
    offset = sent.clock_offset(datetime.fromisoformat(server_time).replace(tzinfo=UTC), clock)
    settings = await _read_settings(connection)
    schema, size = await _read_tables(connection, address)
    return ServerStatus(
        server.kind,
        ".".join(map(str, server.numbers)),
        address.socket or address.display_url.partition("://")[2].rpartition("/")[0],
        address.database,
        "prefix",
        address.prefix,
        schema,
        latest_schema(__package__),
        size,
        offset,
        settings,
        tuple(name for name, value in settings.items() if value != "1"),
        join([_DUMP_COMMANDS[server.kind], "--single-transaction", *address.dump_options, address.database]),
    )


async def _read_settings(connection: Any) -> dict[str, str]:
    """Read the durability settings. A binary log that is not synced can lose the last commits at a power failure."""
    flushed, logged, synced = await fetch_row(
        connection, "SELECT @@global.innodb_flush_log_at_trx_commit, @@global.log_bin, @@global.sync_binlog"
    )
    settings = {"innodb_flush_log_at_trx_commit": str(flushed)}
    return {**settings, "sync_binlog": str(synced)} if str(logged) in ("1", "ON") else settings


async def _read_tables(connection: Any, address: Address) -> tuple[int, int]:
    """Return the migration version and the size in bytes of the store's tables."""
    where = _TABLES.format(length=len(address.prefix), prefix=address.prefix)
    migrations_table = f"{address.prefix}migrations"
    is_there, size = await fetch_row(
        connection,
        f"SELECT COALESCE(SUM(table_name = '{migrations_table}'), 0), COALESCE(SUM(data_length + index_length), 0) {where}",
    )
    if not int(is_there):
        return 0, int(size)
    (schema,) = await fetch_row(connection, f"SELECT COALESCE(MAX(number), 0) FROM `{migrations_table}`")  # noqa: S608
    return int(schema), int(size)
