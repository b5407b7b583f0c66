"""Capability probe of a MySQL or MariaDB server: one small statement for each feature, on a temporary table.

Partial indexes and transaction ids are not used on these servers: unique keys are plain, and a counter numbers the events.
"""

from __future__ import annotations

from typing import Any, Final

from ...clock import Clock
from ..sql.features import Feature, MissingFeature
from .address import Address
from .connection_factory import MySQLConnectionFactory, require_driver
from .errors import code_of, first_line, is_connection_error
from .server_version import fetch_row

_ISOLATION: Final = "SHOW SESSION VARIABLES WHERE variable_name IN ('transaction_isolation', 'tx_isolation')"
_READ_COMMITTED: Final = "READ-COMMITTED"
_LOCK: Final = "horae_probe"
_BINLOG_REFUSES: Final = 1665
"""The binary log has the format STATEMENT; opening the store refuses such a server with its own sentence."""
_PROXY: Final = "a proxy is in front of the server"


async def find_missing_features(url: str, clock: Clock) -> tuple[MissingFeature, ...]:
    """Return the features that the server lacks. One that this login may not try (no temporary tables) is left out."""
    require_driver()
    factory = MySQLConnectionFactory(Address.parse(url), clock)
    async with factory.open_first() as connection:
        server = await factory.read_server_version(connection)
        probes = {
            Feature.CLOCK: _probe(connection, "SELECT UTC_TIMESTAMP(6) IS NOT NULL", "1"),
            Feature.COLLATION: _probe(
                connection,
                f"SELECT _utf8mb4'a' COLLATE {server.collation} <> _utf8mb4'a ' AND _utf8mb4'B' COLLATE {server.collation} < _utf8mb4'a'",
                "1",
            ),
            Feature.ISOLATION: _probe(connection, _ISOLATION, _READ_COMMITTED),
            Feature.NOTIFICATIONS: _find_notification_problem(connection),
            Feature.SKIP_LOCKED: _find_lock_problem(connection),
        }
        problems = {feature: await probe for feature, probe in probes.items()}
    return tuple(MissingFeature(feature, problem) for feature, problem in problems.items() if problem is not None)


async def _probe(connection: Any, statement: str, expected: str) -> str | None:
    """Run a statement; return the server's refusal, or that the last column has another value."""
    try:
        row = await fetch_row(connection, statement)
    except Exception as error:
        if code_of(error) is None or is_connection_error(error):
            raise
        return first_line(error)
    value = str(row[-1]) if row else "nothing"
    return None if value == expected else f"{value} instead of {expected}"


async def _find_notification_problem(connection: Any) -> str | None:
    if await _probe(connection, "SELECT CONNECTION_ID()", str(connection.thread_id())) is not None:
        return _PROXY
    problem = await _probe(connection, f"SELECT GET_LOCK('{_LOCK}_{connection.thread_id()}', 0)", "1")
    if problem is None:
        await fetch_row(connection, f"SELECT RELEASE_LOCK('{_LOCK}_{connection.thread_id()}')")
    return problem


async def _find_lock_problem(connection: Any) -> str | None:
    try:
        await fetch_row(connection, "CREATE TEMPORARY TABLE horae_probe (id INT PRIMARY KEY) ENGINE=InnoDB")
    except Exception as error:
        if code_of(error) is None or is_connection_error(error):
            raise
        return None
    try:
        await fetch_row(connection, "SELECT id FROM horae_probe FOR UPDATE SKIP LOCKED")
    except Exception as error:
        if code_of(error) is None or is_connection_error(error):
            raise
        return None if code_of(error) == _BINLOG_REFUSES else first_line(error)
    finally:
        await fetch_row(connection, "DROP TEMPORARY TABLE horae_probe")
    return None
