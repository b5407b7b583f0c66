"""The tables are made, or brought up to this version, one numbered step after the other; by one node at a time.

Nothing that changes a table can be taken back here. Each statement of a step may be run again, and the number of the step
is written when all of them are done: whoever comes after a crash in the middle begins that step anew.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

from ...errors import StoreUnavailable
from ..named_sql import read_steps
from ..refusals import refuse
from .address import Address
from .connection_factory import qualified
from .errors import code_of
from .server_version import Server, one_row, refuse_what_will_not_do

_WAIT_SECONDS: Final = 60
_DONE_ALREADY: Final = frozenset({1060, 1061, 1091})
"""A column or an index is there, or is gone: of a step that was taken and not noted."""


async def bring_up_to_date(connection: Any, server: Server, address: Address) -> None:
    """Safe when several nodes do it at once: the version is looked at again by whoever has waited."""
    steps = read_steps(__package__)
    newest = steps[-1][0]
    await refuse_what_will_not_do(connection, server, address)
    known = await _version(connection, address)
    if known > newest:
        raise refuse("store_newer", place=address.shown, found=known, known=newest)
    if known == newest:
        return
    lock = _lock_name(address)
    if await one_row(connection, f"SELECT GET_LOCK('{lock}', {_WAIT_SECONDS})") != (1,):
        raise StoreUnavailable("Another node has been preparing the tables for a long time.")
    try:
        for number, script in steps[await _begun(connection, server, address) :]:
            await _take(connection, server, address, number, script)
    finally:
        await one_row(connection, f"SELECT RELEASE_LOCK('{lock}')")


async def _begun(connection: Any, server: Server, address: Address) -> int:
    """The step that was taken last, by whomever. The first table of ours is the one that tells that the others are, too."""
    tables = await _tables(connection, address)
    if not tables:
        await _execute(
            connection,
            qualified(
                "CREATE TABLE IF NOT EXISTS @migrations (number INT NOT NULL PRIMARY KEY) {options}", address, server
            ),
        )
    return await _version(connection, address)


async def _take(connection: Any, server: Server, address: Address, number: int, script: str) -> None:
    lines = [line for line in script.splitlines() if not line.startswith("--")]
    for statement in qualified("\n".join(lines), address, server).split(";"):
        if statement.strip():
            await _execute(connection, statement)
    await _execute(connection, f"INSERT INTO `{address.prefix}migrations` (number) VALUES ({number})")  # noqa: S608


async def _version(connection: Any, address: Address) -> int:
    """0 where there is nothing of ours."""
    tables = await _tables(connection, address)
    if not tables:
        return 0
    own = f"{address.prefix}migrations"
    columns = (
        "SELECT GROUP_CONCAT(column_name) FROM information_schema.columns"  # noqa: S608 - a prefix has only letters
        f" WHERE table_schema = DATABASE() AND table_name = '{own}'"
    )
    if own not in tables or await one_row(connection, columns) != ("number",):
        raise refuse("store_tables_not_ours", place=address.shown, prefix=address.prefix)
    (found,) = await one_row(connection, f"SELECT COALESCE(MAX(number), 0) FROM `{own}`")  # noqa: S608
    return int(found)


async def _tables(connection: Any, address: Address) -> set[str]:
    """Those that are called like one of ours."""
    wanted = ", ".join(f"'{address.prefix}{name}'" for name in ("migrations", "tasks", "standings", "agenda", "runs"))
    async with connection.cursor() as cursor:
        await cursor.execute(
            "SELECT table_name FROM information_schema.tables"  # noqa: S608 - a prefix has only letters
            f" WHERE table_schema = DATABASE() AND table_name IN ({wanted})"
        )
        return {str(name) for (name,) in await cursor.fetchall()}


async def _execute(connection: Any, statement: str) -> None:
    # Not by way of a cursor: it would log that a table is there already, which is no news.
    try:
        await connection.query(statement)
    except Exception as error:
        if code_of(error) not in _DONE_ALREADY:
            raise


def _lock_name(address: Address) -> str:
    """Such names are the whole server's, and short."""
    return "horae_" + blake2b(f"{address.database}/{address.prefix}".encode(), digest_size=16).hexdigest()
