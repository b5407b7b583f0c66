"""Galera: one member at a time takes the store's writes, because locks of one member do not exist on the others.

A row of the store names the member, by the id that the cluster gives it. Every transaction begins with a check of that row
under a shared lock. A member that takes over changes the row and the counter of event numbers, which every change of a
task or run changes too: what was under way on the old member then fails certification, and is tried again on the new one.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from ..addresses.server_choice import NotWritableError
from .address import Address
from .errors import code_of
from .server_version import fetch_row

NOT_THE_WRITER: Final = 1927
"""Error number that a transaction raises on a member that is not the writer: the connection counts as lost."""
_NO_TABLE: Final = 1146
_MEMBER_ID: Final = re.compile(r"[0-9a-f-]{1,64}", re.ASCII)
_TABLE: Final = "galera_writer"


class GaleraState(NamedTuple):
    """State of one member. `is_ready`: it belongs to the primary component, and executes statements."""

    member: str
    is_ready: bool


class OtherWriterError(NotWritableError):
    """Another member of the same cluster takes the writes."""


async def read_galera_state(connection: Any) -> GaleraState | None:
    """Return the state of a member; None for a server that belongs to no Galera cluster."""
    async with connection.cursor() as cursor:
        await cursor.execute("SHOW GLOBAL VARIABLES LIKE 'wsrep_on'")
        if (await cursor.fetchone() or ("", "OFF"))[1] != "ON":
            return None
        await cursor.execute("SHOW GLOBAL STATUS LIKE 'wsrep_%'")
        status = {str(name): str(value) for name, value in await cursor.fetchall()}
    is_ready = status.get("wsrep_ready") == "ON" and status.get("wsrep_cluster_status") == "Primary"
    return GaleraState(status.get("wsrep_gcomm_uuid", ""), is_ready)


async def check_writer(connection: Any, state: GaleraState, address: Address, *, takes_over: bool) -> str:
    """Return the text with which each transaction begins; raises NotWritableError where another member is the writer.

    The writer is replaced when it has left the cluster, and, with `takes_over`, when this process cannot reach it.
    """
    if not state.is_ready or not _MEMBER_ID.fullmatch(state.member):
        raise NotWritableError("it does not belong to the primary component of its cluster")
    # Reads wait until the member has applied what the cluster committed before.
    await _execute(connection, "SET SESSION wsrep_sync_wait = 1")
    writer = await _read_writer(connection, address)
    if writer != state.member:
        async with connection.cursor() as cursor:
            await cursor.execute("SELECT node_uuid FROM mysql.wsrep_cluster_members")
            members = {str(member) for (member,) in await cursor.fetchall()}
        if writer in members and not takes_over:
            raise OtherWriterError("another member of its cluster takes the writes")
        await _replace_writer(connection, address, writer, state.member)
    await _execute(connection, "SET SESSION wsrep_sync_wait = 0")
    return _check_text(address, state.member)


def _check_text(address: Address, member: str) -> str:
    table = f"`{address.prefix}{_TABLE}`"
    return (
        f"SELECT COUNT(*) INTO @horae_is_writer FROM {table} WHERE only = 1 AND member = '{member}' LOCK IN SHARE MODE; "  # noqa: S608 - a prefix and an id
        "BEGIN NOT ATOMIC IF @horae_is_writer = 0 THEN SIGNAL SQLSTATE '08S01' SET"
        f" MYSQL_ERRNO = {NOT_THE_WRITER}, MESSAGE_TEXT = 'another member of the cluster takes the writes'; END IF; END; "
    )


async def _read_writer(connection: Any, address: Address) -> str | None:
    table = f"`{address.prefix}{_TABLE}`"
    try:
        found = await fetch_row(connection, f"SELECT member FROM {table} WHERE only = 1")  # noqa: S608 - a prefix has only letters
    except Exception as error:
        if code_of(error) != _NO_TABLE:
            raise
        await _execute(
            connection,
            f"CREATE TABLE IF NOT EXISTS {table} (only TINYINT NOT NULL PRIMARY KEY, member VARCHAR(64) NOT NULL)"
            " ENGINE=InnoDB DEFAULT CHARACTER SET ascii",
        )
        return None
    return str(found[0]) if found else None


async def _replace_writer(connection: Any, address: Address, old: str | None, new: str) -> None:
    """Write the new writer, if the old one is still there; of two members that do it at once, certification lets one."""
    table = f"`{address.prefix}{_TABLE}`"
    await _execute(connection, "START TRANSACTION")
    try:
        if old is None:
            await _execute(connection, f"INSERT INTO {table} (only, member) VALUES (1, '{new}')")  # noqa: S608 - a prefix and an id
        else:
            await _execute(connection, f"UPDATE {table} SET member = '{new}' WHERE only = 1 AND member = '{old}'")  # noqa: S608 - the same
            await _skip_event_number(connection, address)
        await _execute(connection, "COMMIT")
    except Exception as error:
        await _execute(connection, "ROLLBACK")
        if code_of(error) is None:
            raise
        raise OtherWriterError("another member of its cluster has just become the one that takes the writes") from error
    if await _read_writer(connection, address) != new:
        raise OtherWriterError("another member of its cluster has just become the one that takes the writes")


async def _skip_event_number(connection: Any, address: Address) -> None:
    """Change the counter of event numbers, so that a transaction of the old writer that is under way conflicts with this."""
    try:
        await _execute(connection, f"UPDATE `{address.prefix}numbering` SET last = last + 1")  # noqa: S608 - a prefix has only letters
    except Exception as error:
        # Before the first migration there is no such table.
        if code_of(error) != _NO_TABLE:
            raise


async def _execute(connection: Any, text: str) -> None:
    async with connection.cursor() as cursor:
        await cursor.execute(text)
