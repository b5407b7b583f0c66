"""Capability probe of a PostgreSQL server: one small statement for each feature, in a transaction that is rolled back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...clock import Clock
from ..sql.features import Feature, MissingFeature
from .address import Address
from .connection_factory import PostgresConnectionFactory
from .errors import first_line, is_connection_error

if TYPE_CHECKING:
    import asyncpg

_TABLE: Final = 'CREATE TEMPORARY TABLE horae_probe (id int PRIMARY KEY, label text COLLATE "C") ON COMMIT DROP'
_TABLE_PROBES: Final = {
    Feature.PARTIAL_INDEXES: "CREATE UNIQUE INDEX horae_probe_labels ON horae_probe (label) WHERE label IS NOT NULL",
    Feature.SKIP_LOCKED: "SELECT id FROM horae_probe FOR UPDATE SKIP LOCKED",
}
_PROBES: Final = {
    Feature.CLOCK: ("SELECT clock_timestamp() IS NOT NULL", True),
    Feature.TRANSACTION_IDS: (
        "SELECT pg_current_xact_id()::text::bigint >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint",
        True,
    ),
    Feature.COLLATION: ("""SELECT 'B' < 'a' COLLATE "C" AND 'a ' > 'a' COLLATE "C" """, True),
    Feature.ISOLATION: ("SELECT current_setting('transaction_isolation')", "read committed"),
}
_CHANNEL: Final = "horae_probe"
_POOLED: Final = "a pooler gives each transaction another connection; add &direct= with the server's own address"


async def find_missing_features(url: str, clock: Clock) -> tuple[MissingFeature, ...]:
    """Return the features that the server lacks. One that this login may not try (no temporary tables) is left out."""
    address = Address.parse(url)
    factory = PostgresConnectionFactory(address, clock)
    async with factory.open_first() as connection:
        missing = await _probe_statements(connection)
    problem = await _find_notification_problem(factory, address)
    if problem is not None:
        missing.append(MissingFeature(Feature.NOTIFICATIONS, problem))
    return tuple(missing)


async def _probe_statements(connection: asyncpg.Connection[Any]) -> list[MissingFeature]:
    missing: list[MissingFeature] = []
    outer = connection.transaction(isolation="read_committed")
    await outer.start()
    try:
        for feature, (statement, expected) in _PROBES.items():
            problem, value = await _try(connection, statement)
            if problem is None and value != expected:
                problem = f"{value} instead of {expected}"
            if problem is not None:
                missing.append(MissingFeature(feature, problem))
        problem, _ = await _try(connection, _TABLE)
        if problem is None:
            for feature, statement in _TABLE_PROBES.items():
                problem, _ = await _try(connection, statement)
                if problem is not None:
                    missing.append(MissingFeature(feature, problem))
    finally:
        await outer.rollback()
    return missing


async def _try(connection: asyncpg.Connection[Any], statement: str) -> tuple[str | None, Any]:
    """Run a statement behind a savepoint; return the server's refusal, if there is one, and the value."""
    import asyncpg  # noqa: PLC0415 - an optional dependency

    try:
        async with connection.transaction():
            return None, await connection.fetchval(statement)
    except asyncpg.PostgresError as error:
        if is_connection_error(error):
            raise
        return first_line(error), None


async def _find_notification_problem(factory: PostgresConnectionFactory, address: Address) -> str | None:
    import asyncpg  # noqa: PLC0415 - an optional dependency

    if address.is_pooled and address.direct == address.servers:
        return _POOLED
    try:
        connection = await factory.open_raw(address.direct)
    except Exception as error:
        if not is_connection_error(error):
            raise
        return first_line(error)
    try:
        await connection.execute(f"LISTEN {_CHANNEL}")
        await connection.execute("SELECT pg_notify($1, '')", _CHANNEL)
        await connection.execute(f"UNLISTEN {_CHANNEL}")
    except asyncpg.PostgresError as error:
        return first_line(error)
    finally:
        connection.terminate()
    return None
