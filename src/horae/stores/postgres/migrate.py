"""Schema migrations of PostgreSQL: creates or upgrades the schema in numbered steps, one node at a time (advisory lock)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..named_sql import read_migrations
from ..refusals import refuse
from ..upgrade_check import LEASE_RECORD_FILTER, refuse_live_nodes, requires_stopped_nodes
from .address import Address
from .connection_factory import MIN_VERSION, qualify_tables

if TYPE_CHECKING:
    import asyncpg

_LOCK_NAMESPACE: Final = 0x486F7261
"""Namespace of the advisory lock that a migration holds: "Hora" in ASCII."""
_MARKER_TABLES: Final = frozenset({"migrations", "numbering", "agenda", "records"})
"""Tables by which a schema of Horae is recognised."""
_MIGRATION_SECONDS: Final = 86_400.0
"""Timeout of a migration, and of the wait for that of another node: it may rewrite a large table, which takes longer than any
other statement may."""
_TABLES: Final = (
    "SELECT array_agg(relname::text) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace"
    " WHERE nspname = $1 AND relkind IN ('r', 'p', 'v', 'm', 'f')"
)
"""Reads the catalogue: name resolution by the server may use a snapshot from before the lock was acquired."""


async def migrate(connection: asyncpg.Connection[Any], address: Address) -> None:
    """Apply missing migrations. Safe when several nodes start at once: each takes the lock and checks the version again."""
    steps = read_migrations(__package__)
    await _refuse_unsupported_server(connection, address)
    newest, _ = steps[-1]
    if await read_version(connection, address) != newest:
        async with connection.transaction(isolation="read_committed"):
            lock = "SELECT pg_advisory_xact_lock($1, hashtext($2))"
            await connection.execute(lock, _LOCK_NAMESPACE, address.schema, timeout=_MIGRATION_SECONDS)
            await _apply_missing(connection, address, steps)
    await _adjust_event_numbers(connection, address.schema)


async def _apply_missing(connection: asyncpg.Connection[Any], address: Address, steps: list[tuple[int, str]]) -> None:
    known = await read_version(connection, address)
    newest, _ = steps[-1]
    if known is None:
        raise refuse("store_not_ours", place=address.display_url, schema=address.schema)
    if known > newest:
        raise refuse("store_newer", place=address.display_url, found=known, known=newest)
    for number, script in steps[known:]:
        if requires_stopped_nodes(script):
            await _refuse_live_nodes(connection, address)
        await _apply(connection, address.schema, number, script)


async def _refuse_live_nodes(connection: asyncpg.Connection[Any], address: Address) -> None:
    schema = address.schema
    nodes = [tuple(row) for row in await connection.fetch(f"SELECT id, version, renewed FROM {schema}.nodes")]  # noqa: S608
    condition = LEASE_RECORD_FILTER.format(key="key")
    lease = await connection.fetchval(f"SELECT body FROM {schema}.records WHERE {condition}")  # noqa: S608
    refuse_live_nodes(address.display_url, nodes, lease, await connection.fetchval("SELECT clock_timestamp()"))


async def _apply(connection: asyncpg.Connection[Any], schema: str, number: int, script: str) -> None:
    if number == 1:
        if not await connection.fetchval("SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)", schema):
            await connection.execute(f"CREATE SCHEMA {schema}")
        await connection.execute(f"CREATE TABLE {schema}.migrations (number integer PRIMARY KEY)")
    await connection.execute(qualify_tables(script, schema), timeout=_MIGRATION_SECONDS)
    await connection.execute(f"INSERT INTO {schema}.migrations (number) VALUES ($1)", number)  # noqa: S608


async def read_version(connection: asyncpg.Connection[Any], address: Address) -> int | None:
    """Return the number of the last applied migration, 0 for an empty schema; None if the tables are not Horae's."""
    tables: list[str] | None = await connection.fetchval(_TABLES, address.schema)
    if not tables:
        return 0
    if not _MARKER_TABLES.issubset(tables):
        return None
    version: int | None = await connection.fetchval(f"SELECT max(number) FROM {address.schema}.migrations")  # noqa: S608
    return version


async def _refuse_unsupported_server(connection: asyncpg.Connection[Any], address: Address) -> None:
    place = address.display_url
    version = connection.get_server_version()
    if version.major < MIN_VERSION:
        found, wanted = f"PostgreSQL {version.major}", f"PostgreSQL {MIN_VERSION} or newer"
        raise refuse("store_server_too_old", place=place, found=found, wanted=wanted)
    standby, read_only, encoding, unsafe = await connection.fetchrow(  # type: ignore[misc]
        "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only'), current_setting('server_encoding'),"
        " (SELECT min(name) FROM pg_settings"
        "  WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off')"
    )
    if standby or read_only == "on":
        raise refuse("store_read_only", place=place)
    if unsafe is not None:
        raise refuse("store_not_durable", place=place, problem=f"its setting {unsafe} is off")
    if encoding != "UTF8":
        raise refuse("store_server_too_old", place=place, found=f"a {encoding} database", wanted="a UTF8 database")


async def _adjust_event_numbers(connection: asyncpg.Connection[Any], schema: str) -> None:
    """Raise the shift of event numbers if the server's transaction ids are behind the stored ones, as after a restored
    dump: new events must get higher numbers than any that a reader may have seen."""
    await connection.execute(
        f"UPDATE {schema}.numbering SET shift = ids.last - ids.now + 1 FROM ("  # noqa: S608 - the schema name is validated
        f"  SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS now,"
        f"    coalesce((SELECT max(tx) FROM {schema}.event_batches), 0) AS last"
        f") AS ids WHERE ids.last > ids.now + shift"
    )
