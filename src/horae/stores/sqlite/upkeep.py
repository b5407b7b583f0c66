"""Integrity check and backup of a SQLite file; retention is the same for all SQL stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import apsw

from ..run_to_end import run_to_end
from ..sql.upkeep import CHECKS, SQLUpkeep, find_problems
from .backup import write_backup
from .connection import SqliteConnection, sql
from .readers import Readers
from .session import SqliteStatements

_INTEGRITY: Final = sql("integrity")


class SQLiteUpkeep(SQLUpkeep):
    _readers: Readers
    # One pass counts all tasks: no other reader waits for it.
    _scan_window = 2**62

    async def check(self) -> tuple[str, ...]:
        return await self._readers.run_long(_find_problems)

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> None:
        await self._readers.run_long(lambda connection: write_backup(path, connection, progress))


def _find_problems(connection: SqliteConnection) -> tuple[str, ...]:
    problems: list[str] = []
    try:
        problems += [f"The file is damaged: {found}" for (found,) in connection.query(_INTEGRITY) if found != "ok"]
        run_to_end(find_problems(SqliteStatements(connection), CHECKS, problems))
    except apsw.CorruptError as error:
        problems.append(f"The file is damaged: {error}")
    return tuple(problems)
