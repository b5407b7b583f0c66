"""Plain SQL on a store's tables in SQLite, PostgreSQL or MariaDB, independent of the store's code."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from itertools import count
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

import apsw
import asyncmy
import asyncpg

from horae.runtime import sqlite_path

_SCHEMA: Final = "horae"
_PREFIX: Final = "horae_"
_TABLE: Final = re.compile(r"\b(FROM|JOIN|UPDATE) (\w+)(?![\w.])")
PATIENCE: Final = 10.0
"""Longest time for an answer of any store, in seconds."""


def read(url: str, statement: str, bindings: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return all rows; `?` marks a binding. Each call opens a connection, so that no fault affects a later call."""
    return _execute(url, statement, bindings, flags=apsw.SQLITE_OPEN_READONLY)


def write(url: str, statement: str, bindings: Sequence[Any] = ()) -> None:
    """Change rows without the store: for planted defects."""
    _execute(url, statement, bindings, flags=apsw.SQLITE_OPEN_READWRITE)


def _execute(url: str, statement: str, bindings: Sequence[Any], flags: int) -> list[tuple[Any, ...]]:
    if (path := sqlite_path(url)) is not None:
        return _execute_file(path, statement, bindings, flags)
    where = urlsplit(url)
    execute = _execute_postgres if where.scheme.startswith("postgres") else _execute_mariadb
    return asyncio.run(asyncio.wait_for(execute(where, statement, bindings), PATIENCE))


def _execute_file(path: str, statement: str, bindings: Sequence[Any], flags: int) -> list[tuple[Any, ...]]:
    connection = apsw.Connection(path, flags=flags)
    try:
        connection.set_busy_timeout(int(PATIENCE * 1_000))
        return connection.execute(statement, bindings).fetchall()
    finally:
        connection.close()


async def _execute_postgres(where: SplitResult, statement: str, bindings: Sequence[Any]) -> list[tuple[Any, ...]]:
    numbers = count(1)
    numbered = "".join(f"${next(numbers)}" if each == "?" else each for each in statement)
    connection = await asyncpg.connect(where.geturl(), server_settings={"search_path": _SCHEMA})
    try:
        return [tuple(row) for row in await connection.fetch(numbered, *bindings)]
    finally:
        await connection.close()


def _with_prefix(statement: str) -> str:
    """Put the table prefix of MariaDB before each table name."""
    return _TABLE.sub(rf"\1 {_PREFIX}\2 AS \2", statement)


async def _execute_mariadb(where: SplitResult, statement: str, bindings: Sequence[Any]) -> list[tuple[Any, ...]]:
    connection = await asyncmy.connect(
        host=where.hostname,
        port=where.port,
        user=unquote(where.username or "root"),
        password=unquote(where.password or ""),
        db=where.path.removeprefix("/"),
        charset="utf8mb4",
        autocommit=True,
    )
    try:
        async with connection.cursor() as cursor:
            await cursor.execute(_with_prefix(statement).replace("%", "%%").replace("?", "%s"), tuple(bindings))
            return [tuple(row) for row in await cursor.fetchall()]
    finally:
        connection.close()
