"""SQLite query plans of each statement that lists and overview use."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import apsw

from bench.lists.questions import QUESTIONS, Question
from horae import Horae
from horae.stores.sqlite.connection import STATEMENTS, sql

_NAMES: Final = {sql(name): name for name in STATEMENTS}


def plans(path: str) -> dict[str, list[str]]:
    """By the name of the statement, each as it was first bound."""
    return asyncio.run(_plans(path))


async def _plans(path: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    async with Horae(f"sqlite:///{path}", engine=False) as app:
        for question in QUESTIONS.values():
            for statement, bindings in await _sent(app, question):
                name = _NAMES.get(statement)
                if name is not None and name not in found:
                    found[name] = _plan(path, statement, bindings)
    return found


async def _sent(app: Horae, question: Question) -> list[tuple[str, Any]]:
    """Everything that a question sends to the file, on whichever of the connections."""
    sent: list[tuple[str, Any]] = []

    def trace(_cursor: apsw.Cursor, statement: str, bindings: Any) -> bool:
        sent.append((statement, bindings))
        return True

    readers: Any = app.store._readers  # type: ignore[attr-defined]  # noqa: SLF001 - to look under the lid is the point
    connect = readers._connect  # noqa: SLF001

    def watched() -> Any:
        link = connect()
        link._cursor.exec_trace = trace  # noqa: SLF001
        return link

    while not readers._idle.empty():  # noqa: SLF001
        readers._idle.get().close()  # noqa: SLF001
    readers._connect = watched  # noqa: SLF001
    try:
        await question(app)
    finally:
        readers._connect = connect  # noqa: SLF001
    return sent


def _plan(path: str, statement: str, bindings: Any) -> list[str]:
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", bindings)]
    finally:
        connection.close()
