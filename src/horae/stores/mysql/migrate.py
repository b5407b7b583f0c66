"""Schema migrations of MySQL and MariaDB: creates or upgrades the tables in numbered steps, one node at a time (GET_LOCK).

DDL cannot be rolled back here. Each statement of a migration is idempotent, and the number of the migration is written
when all of them are done: after a crash in the middle, the next node runs that migration again from its beginning.
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final

from ...errors import StoreUnavailable
from ..named_sql import read_migrations
from ..refusals import refuse
from ..upgrade_check import LEASE_RECORD_FILTER, refuse_live_nodes, requires_stopped_nodes
from .address import Address
from .connection_factory import qualify_tables
from .errors import code_of
from .server_version import ServerVersion, fetch_row, refuse_unsupported_server

_LOCK_SECONDS: Final = 60
_DONE_ALREADY: Final = {
    "ALTER": frozenset({1054, 1060, 1061, 1091, 1176}),
    "RENAME": frozenset({1050, 1146}),
}
"""Error codes of a statement, by its first word, whose column, index or table exists already, or is dropped or renamed
already: an interrupted migration is repeated."""


async def migrate(connection: Any, server: ServerVersion, address: Address) -> None:
    """Apply missing migrations. Safe when several nodes start at once: each checks the version again after the lock."""
    steps = read_migrations(__package__)
    newest, _ = steps[-1]
    await refuse_unsupported_server(connection, server, address)
    known = await _read_version(connection, address)
    if known > newest:
        raise refuse("store_newer", place=address.display_url, found=known, known=newest)
    if known == newest:
        return
    lock = _lock_name(address)
    if await fetch_row(connection, f"SELECT GET_LOCK('{lock}', {_LOCK_SECONDS})") != (1,):
        raise StoreUnavailable("Another node has been preparing the tables for a long time.")
    try:
        for number, script in steps[await _prepare_migrations_table(connection, server, address) :]:
            if requires_stopped_nodes(script):
                await _refuse_live_nodes(connection, address)
            await _apply(connection, server, address, number, script)
    finally:
        await fetch_row(connection, f"SELECT RELEASE_LOCK('{lock}')")


async def _prepare_migrations_table(connection: Any, server: ServerVersion, address: Address) -> int:
    """Create the `migrations` table in an empty database, and return the number of the last applied migration."""
    tables = await _read_tables(connection, address)
    if not tables:
        await _execute(
            connection,
            qualify_tables(
                "CREATE TABLE IF NOT EXISTS @migrations (number INT NOT NULL PRIMARY KEY) {options}", address, server
            ),
        )
    return await _read_version(connection, address)


async def _refuse_live_nodes(connection: Any, address: Address) -> None:
    lease = LEASE_RECORD_FILTER.format(key="record_key")
    async with connection.cursor() as cursor:
        await cursor.execute(f"SELECT id, version, renewed FROM `{address.prefix}nodes`")  # noqa: S608 - letters
        nodes = await cursor.fetchall()
        await cursor.execute(f"SELECT body FROM `{address.prefix}records` WHERE {lease}")  # noqa: S608
        found = await cursor.fetchone()
        await cursor.execute("SELECT DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%f')")
        (server_time,) = await cursor.fetchone()
    (lease_body,) = found or (None,)
    now = datetime.fromisoformat(server_time).replace(tzinfo=UTC)
    refuse_live_nodes(address.display_url, nodes, lease_body, now)


async def _apply(connection: Any, server: ServerVersion, address: Address, number: int, script: str) -> None:
    lines = [line for line in script.splitlines() if not line.startswith("--")]
    for statement in qualify_tables("\n".join(lines), address, server).split(";"):
        if statement.strip():
            await _execute(connection, statement)
    await _execute(connection, f"INSERT INTO `{address.prefix}migrations` (number) VALUES ({number})")  # noqa: S608


async def _read_version(connection: Any, address: Address) -> int:
    """Return the number of the last applied migration, 0 if there are no tables; refuse tables of another program."""
    tables = await _read_tables(connection, address)
    if not tables:
        return 0
    migrations_table = f"{address.prefix}migrations"
    columns = (
        "SELECT GROUP_CONCAT(column_name) FROM information_schema.columns"  # noqa: S608 - a prefix has only letters
        f" WHERE table_schema = DATABASE() AND table_name = '{migrations_table}'"
    )
    if migrations_table not in tables or await fetch_row(connection, columns) != ("number",):
        raise refuse("store_tables_not_ours", place=address.display_url, prefix=address.prefix)
    (version,) = await fetch_row(connection, f"SELECT COALESCE(MAX(number), 0) FROM `{migrations_table}`")  # noqa: S608
    return int(version)


async def _read_tables(connection: Any, address: Address) -> set[str]:
    """Return the existing tables that have the name of one of the store's tables."""
    table_names = ", ".join(f"'{address.prefix}{name}'" for name in ("migrations", "tasks", "agenda", "runs"))
    async with connection.cursor() as cursor:
        await cursor.execute(
            "SELECT table_name FROM information_schema.tables"  # noqa: S608 - a prefix has only letters
            f" WHERE table_schema = DATABASE() AND table_name IN ({table_names})"
        )
        return {str(name) for (name,) in await cursor.fetchall()}


async def _execute(connection: Any, statement: str) -> None:
    # A cursor would log a warning for each table that exists already.
    try:
        await connection.query(statement)
    except Exception as error:
        if code_of(error) not in _DONE_ALREADY.get(statement.split(maxsplit=1)[0], ()):
            raise


def _lock_name(address: Address) -> str:
    """Return a lock name that is unique per database and prefix; locks are server-wide and their names are short."""
    return "horae_" + blake2b(f"{address.database}/{address.prefix}".encode(), digest_size=16).hexdigest()
