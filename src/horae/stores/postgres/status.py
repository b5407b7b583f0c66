"""Status report of a PostgreSQL server for operators; read-only."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import join
from typing import TYPE_CHECKING, Any, Final

from ...clock import Clock
from ..named_sql import latest_schema
from ..sql.reads.status import RequestInstant, ServerStatus, Successors
from .address import Address
from .connection_factory import PostgresConnectionFactory
from .migrate import read_version

if TYPE_CHECKING:
    import asyncpg

_SETTINGS: Final = ("fsync", "full_page_writes", "synchronous_commit")
_SYNCHRONOUS_LEVELS: Final = ("on", "remote_apply")
"""Values of synchronous_commit with which a commit waits until a standby has written it to its disk."""
_STANDBY_NAMES: Final = "synchronous_standby_names"
_SIZE: Final = (
    "SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::bigint FROM pg_class"
    " JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = $1 AND relkind IN ('r', 'p', 'm')"
)


async def read_status(url: str, clock: Clock) -> ServerStatus:
    address = Address.parse(url)
    async with PostgresConnectionFactory(address, clock).open_first() as connection:
        return await _read_status(connection, address, clock)


async def _read_status(connection: asyncpg.Connection[Any], address: Address, clock: Clock) -> ServerStatus:
    # Not timed: the first statement of a connection takes longer than the next one.
    database, version = await connection.fetchrow(  # type: ignore[misc]
        "SELECT current_database()::text, current_setting('server_version')"
    )
    sent = RequestInstant.now(clock)
    offset = sent.clock_offset(await connection.fetchval("SELECT clock_timestamp()"), clock)
    names = [*_SETTINGS, _STANDBY_NAMES]
    rows = await connection.fetch("SELECT name, setting FROM pg_settings WHERE name = ANY($1)", names)
    settings: dict[str, str] = dict(sorted((name, setting) for name, setting in rows))
    successors = _successors(settings, has_other_hosts=len(address.servers.hosts) > 1)
    if not settings[_STANDBY_NAMES]:
        # Without a standby by name the setting says something only where there is another server.
        if successors is None:
            del settings[_STANDBY_NAMES]
        else:
            settings[_STANDBY_NAMES] = "(empty)"
    return ServerStatus(
        "PostgreSQL",
        version.split()[0],
        address.display_url.partition("://")[2].rpartition("/")[0],
        database,
        "schema",
        address.schema,
        await read_version(connection, address) or 0,
        latest_schema(__package__),
        await connection.fetchval(_SIZE, address.schema),
        offset,
        settings,
        tuple(name for name, value in settings.items() if value == "off"),
        join(
            [
                *("pg_dump", f"--schema={address.schema}", "--format=custom", "--file=horae.dump"),
                *(*address.dump_options, database),
            ]
        ),
        successors=successors,
    )


def _successors(settings: Mapping[str, str], *, has_other_hosts: bool) -> Successors | None:
    """Return the standbys that may take over. There is one if a setting names it, or if the address has its host."""
    names_standby = bool(settings[_STANDBY_NAMES])
    if not (names_standby or has_other_hosts):
        return None
    is_waited_for = names_standby and settings["synchronous_commit"] in _SYNCHRONOUS_LEVELS
    return Successors("standby", int(is_waited_for))
